"""Updates of a v2 agent as a v1 client sees them (B-23 to B-27)."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from roost.acp.bridge.diffs import patch_text
from roost.acp.bridge.limits import BridgeLimits
from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.client_rig import ready
from tests.acp.bridge.rig import chunk, tags, text


def told(*updates: Json, **options: Any) -> list[Json]:
    rig = ready(**options)
    for update in updates:
        rig.update(update)
    rig.later(100)
    return rig.updates()


def message(*blocks: Json | None, id: str = "m", **more: Any) -> Json:
    content = {} if blocks == (None,) else {"content": list(blocks)}
    return {"sessionUpdate": "agent_message", "messageId": id, **content, **more}


def part(value: str, id: str = "m") -> Json:
    return chunk(value, messageId=id)


def tool(**members: Any) -> Json:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "t", **members}


def shown(updates: list[Json]) -> list[str]:
    return [update["content"]["text"] for update in updates]


# ---- messages


def test_b_23_an_upsert_that_extends_what_was_streamed_sends_the_rest_only() -> None:
    """B-23"""
    assert shown(told(part("Hel"), part("lo"), message(text("Hello, you")))) == ["Hel", "lo", ", you"]
    assert shown(told(part("Hello"), message(text("Hello")))) == ["Hello"]
    assert shown(told(message(text("a"), text("b")), part("c"), message(text("abcd")))) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("content", [[text("Bye")], [], None])
def test_a_rewrite_shows_nothing_and_is_counted(content: Any) -> None:
    rig = ready()
    rig.update(part("Hello"))
    rig.update({**message(None), "content": content})
    assert shown(rig.updates()) == ["Hello"]
    assert rig.bridge.losses.counts["message_rewrite"] == 1
    rig.update({**message(None), "content": [*(content or []), text("!")]})
    assert shown(rig.updates()) == ["!"]  # behind what the agent has now


def test_messages_of_several_ids_and_kinds_stay_apart() -> None:
    updates = told(part("a", "x"), part("b", "y"), message(text("aa"), id="x"), message(text("bb"), id="y"))
    assert [(update["messageId"], update["content"]["text"]) for update in updates] == [
        ("x", "a"),
        ("y", "b"),
        ("x", "a"),
        ("y", "b"),
    ]


def test_the_prompt_is_not_shown_again_but_other_messages_of_users_are() -> None:
    rig = ready()
    rig.running("hello")
    rig.update(chunk("hello", "user_message_chunk", messageId="u-hello"))
    rig.update(chunk("somebody else", "user_message_chunk", messageId="other"))
    assert shown(rig.updates()) == ["somebody else"]


def test_content_v1_has_not_is_a_line_of_text() -> None:
    link = {"type": "resource_link", "name": "n", "uri": "file:///x", "icons": [{"src": "i"}]}
    first, second = told(
        {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "_video", "x": 1}},
        {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": link},
    )
    assert first["content"] == text("[content of type _video]")
    assert "icons" not in second["content"]


# ---- tools


def test_b_24_content_that_grows_is_sent_whole_and_seldom() -> None:
    """B-24"""
    rig = ready()
    rig.update(tool(title="T"))
    rig.north()
    item = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "t"}
    sizes = []
    for value in "abc":
        rig.update({**item, "content": {"type": "content", "content": text(value)}})
        sizes += [len(update["content"]) for update in rig.updates()]
    assert sizes == [1]
    rig.later(0.2)
    (update,) = rig.updates()
    assert [entry["content"]["text"] for entry in update["content"]] == ["a", "b", "c"]
    rig.later(10)
    assert rig.updates() == []
    assert rig.bridge.next_deadline() is None


def test_grown_content_is_sent_before_the_turn_ends() -> None:
    rig = ready()
    rig.running()
    for value in "ab":
        content = {"type": "content", "content": text(value)}
        rig.update({"sessionUpdate": "tool_call_content_chunk", "toolCallId": "t", "content": content})
    rig.state("idle", stopReason="end_turn")
    *updates, answer = rig.north()
    assert [len(entry["params"]["update"]["content"]) for entry in updates] == [1, 2]
    assert answer["result"] == {"stopReason": "end_turn"}


def test_what_is_resent_is_linear_in_what_there_is() -> None:
    rig = ready(limits=BridgeLimits(tool_content_bytes=1 << 30))
    sent = 0
    for _ in range(2000):
        content = {"type": "content", "content": text("x" * 500)}
        rig.update({"sessionUpdate": "tool_call_content_chunk", "toolCallId": "t", "content": content})
        rig.later(0.001)
        sent += sum(map(len, rig.bridge.north()))
    assert sent < 4 * 2000 * 500


def test_very_much_content_loses_its_beginning() -> None:
    rig = ready(limits=BridgeLimits(tool_content_bytes=1000))
    for value in range(100):
        content = {"type": "content", "content": text(str(value))}
        rig.update({"sessionUpdate": "tool_call_content_chunk", "toolCallId": "t", "content": content})
    rig.later(10)
    entries = rig.updates()[-1]["content"]
    assert entries[-1]["content"] == text("99")
    assert len(entries) < 30
    assert rig.bridge.losses.counts["tool_content"] > 0


@pytest.mark.parametrize(
    ("members", "title"),
    [({}, "Tool call"), ({"kind": "read"}, "read"), ({"name": "bash", "kind": "read"}, "bash"), ({"title": "T"}, "T")],
)
def test_b_25_the_first_sight_of_a_tool_has_a_title(members: Json, title: str) -> None:
    """B-25"""
    first, second = told(tool(**members), tool(status="completed"))
    assert (first["sessionUpdate"], first["title"]) == ("tool_call", title)
    assert second == tool(status="completed")


def test_b_26_cancelled_is_failed_for_tools_and_completed_for_plans() -> None:
    """B-26"""
    entry = {"content": "c", "priority": "_urgent", "status": "cancelled"}
    plan = {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": [entry]}}
    call, planned = told(tool(status="cancelled", title="T"), plan)
    assert call["status"] == "failed"
    assert call["_meta"] == {"_bridge": {"status": "cancelled"}}
    assert planned == {
        "sessionUpdate": "plan",
        "entries": [{"content": "c", "priority": "medium", "status": "completed"}],
    }


def test_cleared_members_are_what_v1_has_for_them() -> None:
    _, update = told(
        tool(title="T", kind="read"),
        tool(title=None, kind=None, status=None, content=None, locations=None, rawInput=None),
    )
    assert update == tool(kind="other", status="pending", content=[], locations=[])


def test_unknown_kinds_and_statuses_are_general_ones() -> None:
    (update,) = told(tool(title="T", kind="_dream", status="_paused"))
    assert (update["kind"], update["status"]) == ("other", "in_progress")


# ---- diffs and terminals


def diff(before: str | None, after: str, operation: str = "modify", **more: Any) -> Json:
    patch = {"format": "git_patch", "text": patch_text("/f", before, after)}
    return {"type": "diff", "changes": [{"operation": operation, "path": "/f"}], "patch": patch, **more}


def test_an_added_file_is_a_diff_with_its_text() -> None:
    (update,) = told(tool(title="T", content=[diff(None, "a\nb", "add")]))
    assert update["content"] == [{"type": "diff", "path": "/f", "oldText": None, "newText": "a\nb"}]


OLD = "".join(f"{n}\n" for n in range(40))
NEW = OLD.replace("20\n", "twenty\n")


@pytest.mark.parametrize("now", [OLD, NEW])
def test_a_changed_file_is_read_to_have_both_texts(now: str) -> None:
    (update,) = told(tool(title="T", content=[diff(OLD, NEW)]), read_file=lambda path: now)
    assert update["content"] == [{"type": "diff", "path": "/f", "oldText": OLD, "newText": NEW}]


@pytest.mark.parametrize("now", [None, "something else\n"])
def test_a_patch_that_does_not_fit_is_shown_as_it_is(now: str | None) -> None:
    rig = ready(read_file=lambda path: now)
    rig.update(tool(title="T", content=[diff(OLD, NEW)]))
    (item,) = rig.updates()[0]["content"]
    assert item["content"]["text"].startswith("```diff\ndiff --git /f /f\n")
    assert rig.bridge.losses.counts["diff_form"] == 1


def test_changes_without_a_patch_are_listed() -> None:
    moved = {"type": "diff", "changes": [{"operation": "move", "oldPath": "/a", "path": "/b"}]}
    (update,) = told(tool(title="T", content=[moved]))
    assert update["content"][0]["content"] == text("move /b")


def output(data: bytes) -> Json:
    return {"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": b64encode(data).decode()}


def test_terminals_are_shown_as_text_in_their_tool_call() -> None:
    rig = ready()
    rig.update({"sessionUpdate": "terminal_update", "terminalId": "x", "command": "ls", "cwd": "/"})
    rig.update(tool(title="T", content=[{"type": "terminal", "terminalId": "x"}]))
    rig.update(output(b"one\x1b[31m\n"))
    rig.update(output(b"two ```\n"))
    rig.update({"sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": {"exitCode": 2}})
    rig.later(1)
    last = rig.updates()[-1]["content"][0]["content"]["text"]
    assert last == "````\n$ ls\none\ntwo ```\n[exit code 2]\n````"
    rig.update(output(b"late"))
    assert rig.updates() == []  # not that soon
    rig.later(1)
    assert "late" in rig.updates()[-1]["content"][0]["content"]["text"]


def test_a_terminal_keeps_the_newest_of_its_output_whole_characters() -> None:
    rig = ready(limits=BridgeLimits(terminal_bytes=10))
    rig.update(tool(title="T", content=[{"type": "terminal", "terminalId": "x"}]))
    for _ in range(10):
        rig.update(output("éé".encode() + b"\n"))
    rig.later(1)
    assert rig.updates()[-1]["content"][0]["content"]["text"] == "```\néé\néé\n```"


def test_what_is_no_base64_is_left_out() -> None:
    """TRM-6"""
    rig = ready()
    rig.update(tool(title="T", content=[{"type": "terminal", "terminalId": "x"}]))
    rig.update({**output(b""), "data": "%%%"})
    assert len(rig.updates()) == 1


# ---- the rest


def test_b_27_what_v1_has_not_is_never_sent() -> None:
    """B-27, BR-5"""
    rig = ready()
    rig.update({"sessionUpdate": "notice", "severity": "warning"})
    rig.update({"sessionUpdate": "_custom"})
    rig.state("requires_action")
    rig.update({"sessionUpdate": "terminal_update", "terminalId": "x"})
    assert rig.updates() == []
    assert rig.bridge.losses.counts["update_form"] == 2
    assert rig.bridge.losses.counts["state"] == 1


def test_the_plan_updated_last_is_the_plan() -> None:
    items = {"type": "items", "planId": "a", "entries": []}
    removed = {"sessionUpdate": "plan_removed"}
    updates = told(
        {"sessionUpdate": "plan_update", "plan": items},
        {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "b", "content": "# B"}},
        {**removed, "planId": "a"},
        {**removed, "planId": "b"},
    )
    assert tags(updates) == ["plan"] * 3
    assert updates[1]["entries"][0]["content"] == "# B"
    assert updates[2]["entries"] == []


def test_commands_lose_the_tag_of_their_input() -> None:
    commands = [
        {"name": "a", "description": "A", "input": {"type": "text", "hint": "h"}},
        {"name": "b", "description": "B", "input": {"type": "_form"}},
    ]
    (update,) = told({"sessionUpdate": "available_commands_update", "availableCommands": commands})
    assert update["availableCommands"] == [
        {"name": "a", "description": "A", "input": {"hint": "h"}},
        {"name": "b", "description": "B"},
    ]


def test_malformed_members_do_not_reach_the_client() -> None:
    rig = ready()
    rig.update(tool(title="T", locations=[{"path": 5}, {"path": "/a"}]))
    rig.update({"sessionUpdate": "usage_update"})
    assert rig.updates() == [
        {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "locations": [{"path": "/a"}]}
    ]
    assert rig.bridge.losses.counts["malformed_update"] == 1


def test_the_content_of_all_tools_is_bounded_the_oldest_goes() -> None:
    rig = ready(limits=BridgeLimits(session_content_bytes=1000))
    item = {"type": "content", "content": text("x" * 400)}
    for name in "abc":
        rig.update({**tool(title=name, content=[item]), "toolCallId": name})
    rig.north()
    for name in "ac":
        rig.update({"sessionUpdate": "tool_call_content_chunk", "toolCallId": name, "content": item})
        rig.later(10)
    first, second = rig.updates()
    assert (len(first["content"]), len(second["content"])) == (1, 2)
    assert rig.bridge.losses.counts["tool_content"] > 0


def test_terminals_beyond_the_bound_are_forgotten() -> None:
    rig = ready(limits=BridgeLimits(terminals=1))
    rig.update(output(b"old"))
    rig.update({**output(b"new"), "terminalId": "y"})
    rig.update(tool(title="T", content=[{"type": "terminal", "terminalId": "x"}]))
    assert rig.updates()[0]["content"][0]["content"]["text"] == "```\n```"
