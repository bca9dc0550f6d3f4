"""A permission request as a question: all of it is there, literally, and only an answer is an answer."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec

from roost.cli.keyboard import Keyboard
from roost.cli.permission import Decision
from roost.cli.question import ask, subject_lines
from roost.host.events import PermissionRequest

OPTIONS = [
    {"optionId": "a", "name": "Yes", "kind": "allow_once"},
    {"optionId": "b", "name": "Yes, always", "kind": "allow_always"},
    {"optionId": "c", "name": "No", "kind": "reject_once"},
    {"optionId": "d", "name": "Perhaps", "kind": "_perhaps"},
]


class TypedKeyboard:
    """A person who types these lines; None ends the input."""

    def __init__(self, *lines: str | None) -> None:
        self._lines = list(lines)
        self.seen = ""
        self.turn = asyncio.Lock()

    def write(self, text: str) -> None:
        self.seen += text

    async def ask(self, prompt: str) -> str | None:
        self.seen += prompt
        return self._lines.pop(0)


def request(**params: Any) -> PermissionRequest:
    return PermissionRequest("s", "p", msgspec.json.encode({"title": "Do it", "options": OPTIONS, **params}).decode())


async def answer(asked: PermissionRequest, *lines: str | None) -> tuple[Decision, str]:
    keyboard = TypedKeyboard(*lines)
    return await ask(asked, cast(Keyboard, keyboard)), keyboard.seen


def shown(**params: Any) -> list[str]:
    return list(subject_lines(request(**params)))


def test_a_long_command_is_shown_to_its_last_character() -> None:
    command = "echo " + "a" * 100_000 + " ; rm -rf ~"
    lines = shown(subject={"type": "command", "command": command, "cwd": "/w/here"})
    assert f"  command: {command}" in lines
    assert "  in: /w/here" in lines


def test_characters_that_would_not_show_are_spelt_out() -> None:
    lines = shown(title="Do\x1b[2K it", subject={"type": "command", "command": "ls \u202e\u200b\x07", "cwd": "/\x00"})
    assert lines == ["Do<U+001B>[2K it", "  command: ls <U+202E><U+200B><U+0007>", "  in: /<U+0000>"]


def test_a_further_line_of_a_text_cannot_pass_for_one_of_ours() -> None:
    lines = shown(subject={"type": "command", "command": "true\n  1  No  [reject this once]", "cwd": "/"})
    assert lines[1:4] == ["  command:", "  | true", "  |   1  No  [reject this once]"]


def test_a_tool_call_is_shown_with_its_paths_its_input_and_its_patch() -> None:
    call = {
        "title": "Write notes",
        "locations": [{"path": "/w/notes.txt", "line": 3}],
        "rawInput": {"path": "/w/notes.txt", "mode": "force"},
        "content": [
            {
                "type": "diff",
                "changes": [{"operation": "move", "oldPath": "/w/a", "path": "/etc/passwd"}],
                "patch": {"format": "git_patch", "text": "-a\n+b"},
            }
        ],
    }
    assert shown(subject={"type": "tool_call", "toolCall": call}) == [
        "Do it",
        "  tool: Write notes",
        "  path: /w/notes.txt:3",
        '  input: {"path":"/w/notes.txt","mode":"force"}',
        "  move: /w/a -> /etc/passwd",
        "  patch:",
        "  | -a",
        "  | +b",
    ]


def test_a_version_1_request_shows_command_and_written_text() -> None:
    content = [{"type": "diff", "path": "/w/x", "oldText": None, "newText": "one\ntwo"}]
    call = {"title": "make test", "rawInput": {"command": "make test; true", "cwd": "/w"}, "content": content}
    params = {"toolCall": call, "options": OPTIONS}
    asked = PermissionRequest("s", "p", msgspec.json.encode(params).decode())
    assert list(subject_lines(asked)) == [
        "make test",
        "  command: make test; true",
        "  in: /w",
        "  writes: /w/x",
        "  text:",
        "  | one",
        "  | two",
    ]


def test_an_unknown_subject_is_shown_whole() -> None:
    assert shown(subject={"type": "_spell", "power": 9}) == ["Do it", '  about: {"type":"_spell","power":9}']


async def test_options_are_shown_with_what_they_mean_beside_what_they_say() -> None:
    options = [{"optionId": "b", "name": "No, thanks", "kind": "allow_always"}]
    _, seen = await answer(request(options=options), "n")
    assert "  1  No, thanks  [ALLOW FROM NOW ON]\n" in seen
    assert "y =" not in seen


async def test_answers() -> None:
    for typed, chosen in (("1\n", "a"), ("2\n", "b"), ("4\n", "d"), ("y\n", "a"), ("YES\n", "a"), ("n\n", "c")):
        decision, _ = await answer(request(), typed)
        assert (decision.option and decision.option.id, decision.by) == (chosen, "user")


async def test_what_is_no_answer_is_asked_again() -> None:
    decision, seen = await answer(request(), "\n", "0\n", "5\n", "ok\n", "²\n", "n\n")
    assert seen.count("none of the answers") == 5
    assert decision.option is not None
    assert decision.option.id == "c"


async def test_the_end_of_input_is_a_no() -> None:
    decision, _ = await answer(request(), None)
    assert decision.option is not None
    assert decision.option.id == "c"


async def test_y_does_not_allow_for_ever() -> None:
    options = [{"optionId": "b", "name": "Yes", "kind": "allow_always"}]
    decision, seen = await answer(request(options=options), "y\n", "n\n")
    assert "none of the answers" in seen
    assert decision.option is None
