"""What is told of a session's updates: what is new, once, and nothing that acts on a terminal."""

from __future__ import annotations

import base64
from typing import Any, cast

import pytest

from roost.acp import v2
from roost.cli import narrator
from roost.cli.narrator import Narrator
from roost.cli.output import Output
from roost.cli.screen import Screen
from roost.wire.decode import convert
from tests.cli.paper import Paper


class Telling:
    def __init__(self) -> None:
        self.paper = Paper()
        self.narrator = Narrator(Screen(cast(Output, self.paper)), "/w")

    def tell(self, kind: str, /, **members: Any) -> str:
        """Tells an update; what that wrote."""
        before = len(self.paper.text)
        self.narrator.tell(convert(v2.SessionUpdate, {"sessionUpdate": kind, **members}))
        return self.paper.text[before:]

    def chunk(self, kind: str, message: str, text: str) -> str:
        return self.tell(kind, messageId=message, content={"type": "text", "text": text})

    def output(self, data: bytes, terminal: str = "t") -> str:
        return self.tell("terminal_output_chunk", terminalId=terminal, data=base64.b64encode(data).decode())

    def call(self, **members: Any) -> str:
        return self.tell("tool_call_update", toolCallId="c", **members)

    def plan(self, *entries: tuple[str, str]) -> str:
        listed = [{"content": text, "status": status, "priority": "low"} for text, status in entries]
        return self.tell("plan_update", plan={"type": "items", "planId": "p", "entries": listed})


@pytest.fixture
def telling() -> Telling:
    return Telling()


def test_text_goes_out_as_it_comes(telling: Telling) -> None:
    assert telling.chunk("agent_message_chunk", "m", "Hel") == "Hel"
    assert telling.chunk("agent_message_chunk", "m", "lo\nwor") == "lo\nwor"
    assert telling.chunk("agent_message_chunk", "n", "Next") == "\n\nNext"


def test_thoughts_have_a_gutter_on_every_line(telling: Telling) -> None:
    telling.chunk("agent_thought_chunk", "t", "one\ntw")
    telling.chunk("agent_thought_chunk", "t", "o\n")
    assert telling.paper.text == "~ one\n~ two\n"


def test_what_the_user_said_is_not_repeated(telling: Telling) -> None:
    assert telling.chunk("user_message_chunk", "u", "Hello") == ""
    assert telling.tell("user_message", messageId="u", content=[{"type": "text", "text": "Hello"}]) == ""


def test_an_escape_sequence_in_a_message_does_not_get_through_even_in_pieces(telling: Telling) -> None:
    telling.chunk("agent_message_chunk", "m", "a\x1b]52;c;ZXZ")
    telling.chunk("agent_message_chunk", "m", "pbA==\x07b\x1b[2Jc\rd")
    assert telling.paper.text == "abc\nd"


def test_a_whole_message_adds_what_was_not_streamed(telling: Telling) -> None:
    telling.chunk("agent_message_chunk", "m", "Hello")
    whole = [{"type": "text", "text": "Hello, world"}]
    assert telling.tell("agent_message", messageId="m", content=whole) == ", world"
    assert telling.tell("agent_message", messageId="m", content=whole) == ""
    assert telling.tell("agent_message", messageId="m") == ""
    anew = telling.tell("agent_message", messageId="m", content=[{"type": "text", "text": "Bye"}])
    assert anew == "\n\n(replaces what was said before)\n\nBye"


def test_content_that_is_no_text_is_named(telling: Telling) -> None:
    blocks = [
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource_link", "name": "notes", "uri": "file:///w/n"},
        {"type": "resource", "resource": {"uri": "file:///w/t", "text": "inside"}},
        {"type": "hologram", "x": 1},
    ]
    said = telling.tell("agent_message", messageId="m", content=blocks)
    assert said == "[image/png, 3 bytes][notes: file:///w/n][file:///w/t]\ninside[hologram]"


def test_a_tool_call_is_told_when_it_starts_and_when_it_ends(telling: Telling) -> None:
    assert telling.call(title="Read a", kind="read") == "* Read a (read) - pending\n"
    assert telling.call(status="in_progress") == ""
    assert telling.call(locations=[{"path": "/w/a/b.py", "line": 2}]) == "    a/b.py:2\n"
    assert telling.call(locations=[{"path": "/w/a/b.py", "line": 2}, {"path": "/etc/x"}]) == "    /etc/x\n"
    assert telling.call(status="completed") == "* Read a (read) - completed\n"
    assert telling.call(status="completed", title="Read b") == ""


def test_an_unknown_status_is_told_as_it_is(telling: Telling) -> None:
    telling.call(title="T")
    assert telling.call(status="_paused\x1b") == "* T - _paused<U+001B>\n"


def test_a_title_cannot_start_a_line_of_its_own(telling: Telling) -> None:
    assert telling.call(title="T\n? Allow") == "* T<U+000A>? Allow - pending\n"


def test_content_that_is_repeated_is_told_once(telling: Telling) -> None:
    first, second = ({"type": "content", "content": {"type": "text", "text": text}} for text in ("one\n", "two"))
    assert telling.call(title="T", content=[first]) == "* T - pending\n| one\n"
    assert telling.call(content=[first, second]) == "| two\n"
    assert telling.call(content=[first, second]) == ""
    assert telling.tell("tool_call_content_chunk", toolCallId="c", content=first) == "| one\n"
    assert telling.call(content=[first, second, first]) == ""
    assert telling.call(content=[second]) == "| two\n"


def test_a_diff_is_told_with_its_changes_and_its_patch(telling: Telling) -> None:
    changes = [{"operation": "add", "path": "/w/n"}, {"operation": "move", "oldPath": "/w/a", "path": "/w/b"}]
    diff = {"type": "diff", "changes": [*changes, {"operation": "_melt"}]}
    patch = {"format": "git_patch", "text": "--- a\n+++ b\n-x\n+y\u202e\n"}
    assert telling.call(title="T", content=[{**diff, "patch": patch}]).splitlines()[1:] == [
        "    add n",
        "    move a -> b",
        "    (_melt)",
        "| --- a",
        "| +++ b",
        "| -x",
        "| +y<U+202E>",
    ]


def test_terminal_output_streams_below_its_command(telling: Telling) -> None:
    assert telling.tell("terminal_update", terminalId="t", command="make\ttest") == "$ make<U+0009>test\n"
    assert telling.output(b"one\ntw") == "| one\n| tw"
    assert telling.output(b"o \xe2\x82") == "o "
    assert telling.output(b"\xac\x1b[31m!\x1b[0m\n") == "€!\n"
    assert telling.tell("terminal_update", terminalId="t", exitStatus={"exitCode": 2}) == "exit code 2\n"
    assert telling.tell("terminal_update", terminalId="t", exitStatus={"exitCode": 2}) == ""


def test_two_terminals_are_told_apart(telling: Telling) -> None:
    telling.tell("terminal_update", terminalId="t", command="one")
    telling.tell("terminal_update", terminalId="u", command="two")
    assert telling.output(b"a\n", "t") == "\n$ one\n| a\n"
    assert telling.output(b"b\n", "u") == "\n$ two\n| b\n"
    assert telling.tell("terminal_update", terminalId="t", exitStatus={"signal": "SIGKILL"}) == (
        "\n$ one\nended by SIGKILL\n"
    )


def test_output_before_its_terminal_is_described_is_told(telling: Telling) -> None:
    assert telling.output(b"a\n") == "$ (terminal t)\n| a\n"
    assert telling.tell("terminal_update", terminalId="t", command="make", exitStatus={}) == "$ make\nended\n"


def test_a_snapshot_adds_what_was_not_told(telling: Telling) -> None:
    def snapshot(data: bytes) -> str:
        return telling.tell("terminal_update", terminalId="t", output={"data": base64.b64encode(data).decode()})

    telling.output(b"one\n")
    assert snapshot(b"one\ntwo\n") == "| two\n"
    assert snapshot(b"one\ntwo\n") == ""
    assert telling.output(b"three\n") == "| three\n"
    assert snapshot(b"zero\n") == "| zero\n"


def test_a_plan_is_told_whole_and_then_by_what_changed(telling: Telling) -> None:
    assert telling.plan(("a", "pending"), ("b", "pending")) == "Plan\n  [ ] a\n  [ ] b\n"
    telling.chunk("agent_message_chunk", "m", "Working.")
    assert telling.plan(("a", "completed"), ("b", "in_progress")) == "\n\nPlan\n  [x] a\n  [>] b\n"
    assert telling.plan(("a", "completed"), ("b", "cancelled")) == "  [-] b\n"
    assert telling.plan(("a", "completed"), ("b", "cancelled")) == ""
    assert telling.plan(("a", "completed"), ("c", "_odd")) == "  [x] a\n  [?] c\n"


def test_plans_of_other_forms_are_told(telling: Telling) -> None:
    markdown = {"type": "markdown", "planId": "m", "content": "# Do\nit\x1b[1m"}
    assert telling.tell("plan_update", plan=markdown) == "Plan\n  # Do\n  it\n"
    assert telling.tell("plan_update", plan={"type": "file", "planId": "f", "uri": "file:///p"}) == (
        "\nPlan\n  file:///p\n"
    )
    assert telling.tell("plan_update", plan={"type": "_graph", "planId": "g"}) == "\nPlan\n  (_graph)\n"


def test_updates_nobody_knows_are_passed_over(telling: Telling) -> None:
    assert telling.tell("_weather", sunny=True) == ""
    assert telling.tell("state_update", state="_dreaming") == ""
    assert telling.tell("available_commands_update", availableCommands=[]) == ""


def test_many_pieces_of_content_take_time_in_proportion(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each chunk is looked at once, however many came before it."""
    looked: list[object] = []
    monkeypatch.setattr(narrator, "_print_of", lambda piece: looked.append(piece) or 0)
    piece = {"type": "content", "content": {"type": "text", "text": "x"}}
    for _ in range(500):
        telling.tell("tool_call_content_chunk", toolCallId="c", content=piece)
    assert len(looked) == 500
