"""What the tests of the command share: the scripted agent, and ways to run `roost` and to wait for it."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from roost.cli.main import main

AGENT = Path(__file__).with_name("scripted_agent.py")
ROOST = [sys.executable, "-m", "roost.cli.main"]
# Every wait for a real process: far more than it needs, so that only a hang reaches it. Seconds.
PATIENCE = 20.0


def scripted(*flags: str) -> str:
    """The scripted agent as a command line."""
    return " ".join([sys.executable, "-I", "-S", str(AGENT), *flags])


def roost(*args: str, stdin: str | bytes = "", env: dict[str, str] | None = None) -> Result:
    """The command, in this process, away from any terminal."""
    return CliRunner().invoke(main, list(args), input=stdin, env=env, prog_name="roost")


def patient(folder: Path) -> str:
    """A configuration that gives an agent longer to end than any test waits: who ends in time did not wait for it."""
    file = folder / "patient.toml"
    graces = ("cancel_grace", "input_close_grace", "kill_grace", "abort_grace")
    limits = "".join(f"{grace} = {10 * PATIENCE}\n" for grace in graces)
    file.write_text(f"[store]\nenabled = false\n[limits]\n{limits}")
    return str(file)


def objects(result: Result) -> list[dict[str, Any]]:
    """The JSON lines of stdout, which holds nothing else."""
    return [json.loads(line) for line in result.stdout.splitlines()]


class Program:
    """A process of ours, read as it goes."""

    def __init__(self, argv: list[str], **options: Any) -> None:
        options.setdefault("stdin", subprocess.DEVNULL)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        self.process = subprocess.Popen(argv, **streams)
        self.stdout = b""
        self.stderr = b""

    @property
    def pid(self) -> int:
        return self.process.pid

    def read_until(self, true: Callable[[Program], object]) -> None:
        """Reads both streams until something holds. Fails when they end before, or when it takes too long."""
        deadline = time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as selector:
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None and not stream.closed:
                    selector.register(stream, selectors.EVENT_READ)
            while not true(self):
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                assert ready, f"nothing more within {PATIENCE} s: {self.stdout!r} {self.stderr!r}"
                for key, _ in ready:
                    data = os.read(key.fd, 65536)
                    if not data:
                        selector.unregister(key.fileobj)
                        assert selector.get_map(), f"it ended: {self.stdout!r} {self.stderr!r}"
                    elif key.fileobj is self.process.stdout:
                        self.stdout += data
                    else:
                        self.stderr += data

    def until(self, text: str) -> None:
        self.read_until(lambda program: text.encode() in program.stdout + program.stderr)

    def end(self) -> int:
        """Reads to the end; the exit status."""
        out, err = self.process.communicate(timeout=PATIENCE)
        self.stdout += out or b""
        self.stderr += err or b""
        return self.process.returncode

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@contextmanager
def program(*args: str, **options: Any) -> Iterator[Program]:
    """`roost ARGS` as a process of its own."""
    made = Program([*ROOST, *args], **options)
    try:
        yield made
    finally:
        made.kill()


@contextmanager
def daemon(socket: Path, *args: str) -> Iterator[Program]:
    """A daemon that listens at `socket`."""
    with program("daemon", "--socket", str(socket), *args) as made:
        made.until("listens at")
        yield made


def ended(*pids: int) -> bool:
    """Waits until processes, anybody's, have ended; false when one has not."""
    deadline = time.monotonic() + PATIENCE
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(handle, selectors.EVENT_READ)
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return False
        finally:
            os.close(handle)
    return True


def pids_told(text: bytes | str) -> list[int]:
    """The numbers after `pids` in what the scripted agent said."""
    words = text if isinstance(text, str) else text.decode()
    return [int(number) for number in words.partition("pids ")[2].splitlines()[0].split()]
