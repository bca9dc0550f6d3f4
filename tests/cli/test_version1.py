"""ACP v1 updates, read as v2."""

from __future__ import annotations

from roost.acp import v2
from roost.cli.version1 import Version1


def chunk(kind: str, text: str) -> dict[str, object]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def test_a_message_ends_where_something_else_comes_between() -> None:
    reader = Version1()
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "T"}
    updates = [
        chunk("agent_message_chunk", "a"),
        chunk("agent_message_chunk", "b"),
        chunk("agent_thought_chunk", "c"),
        chunk("agent_message_chunk", "d"),
        call,
        chunk("agent_message_chunk", "e"),
        {**chunk("agent_message_chunk", "f"), "messageId": "own"},
    ]
    read = [reader.read(update) for update in updates]
    ids = [getattr(update, "message_id", None) for update in read]
    assert ids[0] == ids[1]
    assert len({*ids} - {None}) == 5
    assert ids[-1] == "own"


def test_a_tool_call_becomes_an_update_of_one() -> None:
    diff = {"type": "diff", "path": "/w/a", "newText": "one\n"}
    update = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "T", "content": [diff, 7]}
    read = Version1().read(update)
    assert isinstance(read, v2.ToolCallUpdate)
    assert read.title == "T"
    (piece,) = read.content or ()
    assert piece == v2.Diff(
        changes=[v2.DiffAdd(path="/w/a")],
        patch=v2.DiffPatch(format="git_patch", text="--- /dev/null\n+++ /w/a\n@@ -0,0 +1 @@\n+one\n"),
    )


def test_a_large_diff_is_named_and_not_compared() -> None:
    diff = {"type": "diff", "path": "/w/a", "oldText": "x\n" * 80_000, "newText": "y\n" * 80_000}
    read = Version1().read({"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [diff]})
    assert isinstance(read, v2.ToolCallUpdate)
    assert read.content == [v2.Diff(changes=[v2.DiffModify(path="/w/a")])]


def test_a_plan_has_one_id() -> None:
    entries = [{"content": "a", "status": "pending", "priority": "low"}]
    read = Version1().read({"sessionUpdate": "plan", "entries": entries})
    assert isinstance(read, v2.PlanUpdate)
    assert isinstance(read.plan, v2.PlanItems)
    assert [entry.content for entry in read.plan.entries] == ["a"]


def test_what_cannot_be_read_is_nothing() -> None:
    reader = Version1()
    assert reader.read({}) is None
    assert reader.read({"sessionUpdate": "tool_call"}) is None
    assert reader.read({"sessionUpdate": 5}) is None
    assert reader.read({"sessionUpdate": "current_mode_update", "currentModeId": "x"}) is None
