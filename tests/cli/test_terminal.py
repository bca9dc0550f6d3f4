"""At a terminal: colours, and permission questions that a person answers."""

from __future__ import annotations

import json
import os
import pty
import re
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.rig import PATIENCE, ROOST, scripted

# Makes stdin the controlling terminal, as a login does, and becomes the program.
ADOPT = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    """`roost` on a pseudo terminal, as its controlling one: Ctrl-C typed here is a SIGINT there."""

    def __init__(self, *argv: str) -> None:
        environment = {**os.environ, "TERM": "xterm-256color"}
        for name in ("NO_COLOR", "COLORTERM", "FORCE_COLOR"):
            environment.pop(name, None)
        self.fd, theirs = pty.openpty()
        command = [sys.executable, "-I", "-S", "-c", ADOPT, *argv]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
        )
        os.close(theirs)
        self.raw = ""

    @property
    def text(self) -> str:
        return ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def until(self, words: str, count: int = 1) -> None:
        self._read(lambda: self.text.count(words) >= count)
        assert self.text.count(words) >= count, self.raw

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def end(self) -> int:
        self._read(lambda: False)
        return self.process.wait(PATIENCE)

    def _read(self, enough: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as selector:
            selector.register(self.fd, selectors.EVENT_READ)
            while not enough():
                assert selector.select(max(0.0, deadline - time.monotonic())), f"nothing more: {self.raw!r}"
                try:
                    data = os.read(self.fd, 65536)
                except OSError:  # how a pseudo terminal says that the other side is closed
                    return
                self.raw += data.decode("utf-8", "replace")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self.fd)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    made: list[Terminal] = []
    yield made
    for terminal in made:
        terminal.close()


def run(terminals: list[Terminal], prompt: str, *args: str) -> Terminal:
    return start(terminals, *ROOST, "run", *args, scripted(), prompt)


def start(terminals: list[Terminal], *argv: str) -> Terminal:
    made = Terminal(*argv)
    terminals.append(made)
    return made


def test_a_conversation_is_coloured_and_its_question_answered(terminals: list[Terminal]) -> None:
    terminal = run(terminals, "story")
    terminal.until("Answer (1-3, y = allow this once, n = no): ")
    assert "? Run the tests\n  says: They take a minute.\n  command: make test\n  in: " in terminal.text
    assert "  2  Always  [ALLOW FROM NOW ON]\n" in terminal.text
    terminal.type("2\n")
    assert terminal.end() == 0
    assert "-> Always [allow_always] (user)" in terminal.text
    assert "You chose yes-2." in terminal.text
    assert "\x1b[32m| +print('hello')\x1b[0m" in terminal.raw
    assert "\x1b[2;3m~ first.\x1b[0m" in terminal.raw
    assert "52;c;" not in terminal.raw  # the clipboard is not the agent's


def test_what_was_typed_before_the_question_is_no_answer(terminals: list[Terminal], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    terminal = run(terminals, f"ask-after {pipe}")
    terminal.until("thinking")
    terminal.type("y\n")
    terminal.until("y\n")  # the terminal has it, and echoes it
    pipe.write_text("go on")
    terminal.until("Answer (")
    terminal.type("n\n")
    assert terminal.end() == 0
    assert "answer: no-1" in terminal.text


def test_ctrl_d_is_a_no(terminals: list[Terminal]) -> None:
    terminal = run(terminals, "story")
    terminal.until("Answer (")
    terminal.type("\x04")
    assert terminal.end() == 0
    assert "You chose no-1." in terminal.text


def test_ctrl_c_in_a_question_cancels_the_turn(terminals: list[Terminal]) -> None:
    terminal = run(terminals, "story")
    terminal.until("Answer (")
    terminal.type("\x03")
    assert terminal.end() == 3
    assert "cancelling the turn; press Ctrl-C again to leave at once" in terminal.text
    assert "nothing was chosen" in terminal.text
    assert "Turn ended: cancelled" in terminal.text


def test_a_question_whose_agent_died_is_taken_back(terminals: list[Terminal]) -> None:
    terminal = run(terminals, "ask-and-crash")
    assert terminal.end() == 2
    assert "it exited with code 7 in mid-turn" in terminal.text


def test_hidden_characters_in_the_command_are_seen(terminals: list[Terminal]) -> None:
    subject = {"type": "command", "command": "ls \u202e# \x1b[2K", "cwd": "/"}
    options = [{"optionId": "n", "name": "Go\rNo", "kind": "allow_always"}]
    terminal = run(terminals, "ask " + json.dumps({"subject": subject, "options": options}))
    terminal.until("Answer (")
    assert "  command: ls <U+202E># <U+001B>[2K\n" in terminal.text
    assert "  1  Go<U+000D>No  [ALLOW FROM NOW ON]\n" in terminal.text
    terminal.type("n\n")
    terminal.end()


def test_the_prompt_can_be_typed(terminals: list[Terminal]) -> None:
    made = start(terminals, *ROOST, "run", scripted())
    made.until("type the prompt, and end it with Ctrl-D")
    made.type("say typed\n\x04")
    assert made.end() == 0
    assert "typed\n\nTurn ended: end_turn" in made.text


def test_json_asks_on_stderr_alone(terminals: list[Terminal], tmp_path: Path) -> None:
    """Stdout is a file, the rest a terminal: the question is seen, and the file holds JSON only."""
    path = tmp_path / "out"
    command = f"exec {' '.join(ROOST)} run --json '{scripted()}' story > {path}"
    made = start(terminals, "/bin/sh", "-c", command)
    made.until("Answer (")
    made.type("y\n")
    assert made.end() == 0
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert events[-1]["type"] == "end"
    (answer,) = (event for event in events if event["type"] == "permission_answer")
    assert (answer["optionId"], answer["by"]) == ("yes-1", "user")


def test_ask_finds_the_terminal_when_the_prompt_is_piped(terminals: list[Terminal]) -> None:
    command = f"echo story | {' '.join(ROOST)} run --ask '{scripted()}' -"
    made = start(terminals, "/bin/sh", "-c", command)
    made.until("Answer (")
    made.type("y\n")
    assert made.end() == 0
    assert "You chose yes-1." in made.text


def test_without_any_terminal_asking_is_a_misuse() -> None:
    done = subprocess.run(
        [*ROOST, "run", "--ask", scripted(), "say hi"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"--ask needs a terminal" in done.stderr
