"""What a v1 agent wants to change through its client: asked about once, by somebody, and shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.acp.bridge.events import CommandRun, FileWrite, ServiceDecided, ServiceRequest, ServiceWithdrawn, Wish
from roost.acp.bridge.grants import grant_of
from roost.errors import RpcError
from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.rig import CWD, SERVICES, AgentRig, opened, tags

NOTE = f"{CWD}/note.md"
WRITE = FileWrite(NOTE, NOTE, True, False, "old\n")
RUN = CommandRun("make test", CWD, {})
OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "a", "name": "Always", "kind": "allow_always"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]
DIFF = {"type": "diff", "path": NOTE, "oldText": "old\n", "newText": "new\n"}


def rig() -> AgentRig:
    rig = opened(services=SERVICES)
    rig.running()
    rig.events.clear()
    return rig


def wished(rig: AgentRig, wish: Wish = WRITE, id: Any = "w") -> int:
    """A request of the agent whose driver asks whether it may; the token."""
    if isinstance(wish, FileWrite):
        rig.request(id, "fs/write_text_file", {"sessionId": "s1", "path": wish.asked, "content": "new\n"})
    else:
        rig.request(id, "terminal/create", {"sessionId": "s1", "command": wish.line})
    rig.north()
    token = next(event.token for event in rig.events if isinstance(event, ServiceRequest))
    rig.events.clear()
    rig.bridge.service_wishes(token, wish)
    return token


def question(rig: AgentRig) -> Json:
    (asked,) = [message for message in rig.north() if "id" in message and "method" in message]
    assert asked["method"] == "session/request_permission"
    return asked


def verdict(rig: AgentRig) -> bool | None:
    """Whether the driver may; None: it was not told yet."""
    rig.north()
    decided = [event.allowed for event in rig.events if isinstance(event, ServiceDecided)]
    rig.events.clear()
    assert len(decided) < 2
    return decided[0] if decided else None


def choose(rig: AgentRig, asked: Json, option: str) -> None:
    rig.answer(asked["id"], {"outcome": {"outcome": "selected", "optionId": option}})


def permitted(rig: AgentRig, call: Json, option: str = "y") -> None:
    """The agent's own question, and the user's answer."""
    rig.request("p", "session/request_permission", {"sessionId": "s1", "toolCall": call, "options": OPTIONS})
    choose(rig, question(rig), option)
    rig.north()


# ---- the question


@pytest.mark.parametrize(("option", "allowed"), [("allow_once", True), ("allow_always", True), ("reject_once", False)])
def test_a_write_nobody_was_asked_about_is_a_question_with_its_diff(option: str, allowed: bool) -> None:
    r = rig()
    wished(r)
    asked = question(r)
    params = asked["params"]
    assert params["title"] == f"Write {NOTE}"
    assert [option["kind"] for option in params["options"]] == ["allow_once", "allow_always", "reject_once"]
    [diff] = params["subject"]["toolCall"]["content"]
    assert "-old\n+new\n" in diff["patch"]["text"]
    assert verdict(r) is None
    choose(r, asked, option)
    assert verdict(r) is allowed


def test_a_command_is_asked_about_as_it_would_be_run() -> None:
    r = rig()
    wished(r, CommandRun("make test", CWD, {"LD_PRELOAD": "/tmp/x.so"}))
    params = question(r)["params"]
    assert params["subject"] == {"type": "command", "command": "make test", "cwd": CWD}
    assert "LD_PRELOAD=/tmp/x.so" in params["description"]


def test_while_the_user_is_asked_the_session_requires_action() -> None:
    r = rig()
    r.request("w", "terminal/create", {"sessionId": "s1", "command": "x"})
    r.north()
    r.bridge.service_wishes(next(e.token for e in r.events if isinstance(e, ServiceRequest)), RUN)
    messages = r.north()
    assert tags(m["params"]["update"] for m in messages if m["method"] == "session/update") == ["requires_action"]
    choose(r, messages[-1], "reject_once")
    assert tags(r.updates()) == ["running"]


@pytest.mark.parametrize(("wish", "other"), [(WRITE, RUN), (RUN, WRITE)])
def test_always_is_for_all_of_a_kind_and_for_one_session(wish: Wish, other: Wish) -> None:
    r = rig()
    wished(r, wish)
    choose(r, question(r), "allow_always")
    assert verdict(r)
    wished(r, wish, "again")
    assert verdict(r)
    wished(r, other, "other")
    choose(r, question(r), "reject_once")
    assert verdict(r) is False


def test_always_ends_with_the_session() -> None:
    r = rig()
    wished(r)
    choose(r, question(r), "allow_always")
    assert verdict(r)
    r.ask("session/close", {"sessionId": "s1"})
    r.ask("session/resume", {"sessionId": "s1", "cwd": CWD})
    r.north()
    r.events.clear()
    wished(r, id="again")
    assert question(r)


@pytest.mark.parametrize("answer", [{"outcome": {"outcome": "cancelled"}}, {"outcome": {"outcome": "x"}}, {}, None])
def test_what_is_no_choice_is_a_no(answer: Any) -> None:
    r = rig()
    wished(r)
    r.answer(question(r)["id"], answer)
    assert verdict(r) is False


def test_an_error_is_a_no() -> None:
    r = rig()
    wished(r)
    r.north_sends({"id": question(r)["id"], "error": {"code": -32603, "message": "broken"}})
    assert verdict(r) is False


@pytest.mark.parametrize("method", ["session/cancel", "session/close"])
def test_a_question_ends_with_the_turn_and_with_the_session(method: str) -> None:
    r = rig()
    wished(r)
    asked = question(r)
    if method == "session/cancel":
        r.tell(method, {"sessionId": "s1"})
    else:
        r.ask(method, {"sessionId": "s1"})
    assert {"requestId": asked["id"]} in [m["params"] for m in r.north() if m.get("method") == "$/cancel_request"]
    assert verdict(r) is False


def test_in_a_cancelled_turn_nothing_is_asked_any_more() -> None:
    r = rig()
    r.tell("session/cancel", {"sessionId": "s1"})
    wished(r)
    assert verdict(r) is False


def test_a_request_that_is_withdrawn_takes_its_question_with_it() -> None:
    r = rig()
    token = wished(r)
    asked = question(r)
    r.south_sends({"method": "$/cancel_request", "params": {"requestId": "w"}})
    messages = r.north()
    assert {"requestId": asked["id"]} in [m["params"] for m in messages if m.get("method") == "$/cancel_request"]
    assert ServiceWithdrawn(token) in r.events
    assert [m["error"]["code"] for m in r.south() if m.get("id") == "w"] == [-32800]
    choose(r, asked, "allow_once")
    assert verdict(r) is None
    r.bridge.service_answered(token, {})
    assert not r.south()


def test_a_driver_that_gives_up_takes_the_question_back() -> None:
    r = rig()
    token = wished(r)
    asked = question(r)
    r.bridge.service_failed(token, RpcError(-32603, "closed"))
    assert {"requestId": asked["id"]} in [m["params"] for m in r.north() if m.get("method") == "$/cancel_request"]
    assert [m["error"]["message"] for m in r.south() if m.get("id") == "w"] == ["closed"]


# ---- what the user has allowed already


@pytest.mark.parametrize(
    "call",
    [
        {"toolCallId": "t", "content": [DIFF]},
        {"toolCallId": "t", "kind": "edit", "locations": [{"path": NOTE}]},
        {"toolCallId": "t", "kind": "edit", "locations": [{"path": "note.md"}]},
        {"toolCallId": "t", "kind": "edit", "rawInput": {"file_path": NOTE, "old_string": "old", "new_string": "new"}},
    ],
)
@pytest.mark.parametrize("option", ["y", "a"])
def test_a_write_the_user_has_just_allowed_is_not_asked_about_again(call: Json, option: str) -> None:
    r = rig()
    permitted(r, call, option)
    wished(r)
    assert verdict(r) is True
    wished(r, id="second")
    assert question(r), "one yes is one write"


def test_the_kind_may_have_been_told_before() -> None:
    r = rig()
    r.update("s1", {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit", "kind": "edit"})
    permitted(r, {"toolCallId": "t", "rawInput": {"file_path": NOTE}})
    wished(r)
    assert verdict(r) is True


@pytest.mark.parametrize("source", [{"command": "make test"}, {"command": ["make", "test"]}])
def test_a_command_the_user_has_just_allowed_is_not_asked_about_again(source: Json) -> None:
    r = rig()
    permitted(r, {"toolCallId": "t", "kind": "execute", "rawInput": source})
    wished(r, CommandRun("make test", CWD, {"CLAUDECODE": "1"}))
    assert verdict(r) is True


@pytest.mark.parametrize(
    ("call", "option", "wish"),
    [
        ({"toolCallId": "t", "content": [DIFF]}, "n", WRITE),
        ({"toolCallId": "t", "content": [DIFF]}, "y", FileWrite(f"{CWD}/other", f"{CWD}/other", True, True)),
        ({"toolCallId": "t", "content": [DIFF]}, "y", FileWrite(f"{CWD}/.git/hooks/x", NOTE, False, True)),
        ({"toolCallId": "t", "kind": "read", "locations": [{"path": NOTE}]}, "y", WRITE),
        ({"toolCallId": "t", "locations": [{"path": NOTE}]}, "y", WRITE),
        ({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "make test"}}, "n", RUN),
        ({"toolCallId": "t", "kind": "edit", "rawInput": {"command": "make test"}}, "y", RUN),
        ({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "make"}}, "y", RUN),
        (
            {"toolCallId": "t", "kind": "execute", "rawInput": {"command": "make test"}},
            "y",
            CommandRun("make test", CWD, {"PATH": "/tmp"}),
        ),
        (
            {"toolCallId": "t", "kind": "execute", "rawInput": {"command": "make test"}},
            "y",
            CommandRun("make test", "/elsewhere", {}),
        ),
        ({"toolCallId": "t", "content": [DIFF]}, "y", RUN),
        ({"toolCallId": "t", "kind": "execute", "rawInput": {"command": "make test"}}, "y", WRITE),
    ],
)
def test_what_the_question_did_not_name_is_asked_about(call: Json, option: str, wish: Wish) -> None:
    r = rig()
    permitted(r, call, option)
    wished(r, wish)
    assert question(r)


def test_the_directory_may_be_called_as_the_session_calls_it() -> None:
    r = rig()
    permitted(r, {"toolCallId": "t", "kind": "execute", "rawInput": {"command": "make test"}})
    wished(r, CommandRun("make test", "/real/work", {}, f"{CWD}/"))
    assert verdict(r) is True


@pytest.mark.parametrize(
    ("call", "wish"),
    [
        ({"kind": "edit", "locations": [{"path": f"{CWD}/{n}"} for n in range(64)] + [{"path": NOTE}]}, WRITE),
        ({"kind": "edit", "locations": [{"path": "x" * 5000}]}, FileWrite("x" * 5000, "x" * 5000, True, True)),
        ({"kind": "execute", "rawInput": {"command": "x" * 70_000}}, CommandRun("x" * 70_000, CWD, {})),
    ],
)
def test_a_question_that_names_more_than_anybody_reads_allows_nothing(call: Json, wish: Wish) -> None:
    r = rig()
    permitted(r, {"toolCallId": "t", **call})
    wished(r, wish)
    assert question(r)


def test_an_option_that_means_two_things_allows_nothing() -> None:
    r = rig()
    both = [
        {"optionId": "y", "name": "No", "kind": "reject_once"},
        {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    ]
    params = {"sessionId": "s1", "toolCall": {"toolCallId": "t", "content": [DIFF]}, "options": both}
    r.request("p", "session/request_permission", params)
    choose(r, question(r), "y")
    wished(r)
    assert question(r)


def test_a_yes_ends_with_its_turn() -> None:
    r = opened(services=SERVICES)
    prompt = r.running()
    permitted(r, {"toolCallId": "t", "content": [DIFF]})
    r.reply(prompt, {"stopReason": "end_turn"})
    r.later(1)
    r.running("next")
    r.events.clear()
    wished(r)
    assert question(r)


def test_a_yes_outside_of_a_turn_covers_nothing() -> None:
    r = opened(services=SERVICES)
    permitted(r, {"toolCallId": "t", "content": [DIFF]})
    r.running()
    r.events.clear()
    wished(r)
    assert question(r)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "/w/x", "x", "diff", "a b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["path", "command", "cwd", "args", "type", "file_path"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["content", "locations", "rawInput", "kind"]), json_values), st.text(max_size=5))
def test_whatever_a_tool_call_holds_its_grant_names_absolute_files(call: Json, kind: str) -> None:
    grant = grant_of(call, kind, "/w")
    if grant is not None:
        assert grant.files or grant.commands
        assert all(path.startswith("/") for path in grant.files)
        assert "" not in grant.commands


# ---- what a write looks like


def test_a_write_of_no_tool_call_gets_one_of_its_own() -> None:
    r = rig()
    token = wished(r)
    messages = r.north()
    [announced] = [m["params"]["update"] for m in messages if "toolCallId" in m.get("params", {}).get("update", {})]
    assert announced["status"] == "pending"
    choose(r, messages[-1], "allow_once")
    r.bridge.service_answered(token, {})
    [done] = [update for update in r.updates() if update["sessionUpdate"] == "tool_call_update"]
    assert done == {"sessionUpdate": "tool_call_update", "toolCallId": announced["toolCallId"], "status": "completed"}


def test_a_write_that_is_denied_has_failed() -> None:
    r = rig()
    token = wished(r)
    choose(r, question(r), "reject_once")
    r.bridge.service_failed(token, RpcError(-32603, "not allowed"))
    [done] = [update for update in r.updates() if update["sessionUpdate"] == "tool_call_update"]
    assert done["status"] == "failed"


@pytest.mark.parametrize("shows", [True, False])
def test_the_agents_own_tool_call_shows_the_write_once(shows: bool) -> None:
    r = rig()
    call: Json = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit", "locations": [{"path": NOTE}]}
    r.update("s1", {**call, "content": [DIFF] if shows else []})
    token = wished(r)
    asked = question(r)
    assert asked["params"]["subject"]["toolCall"]["toolCallId"] == "t"
    assert ("content" in asked["params"]["subject"]["toolCall"]) is not shows
    choose(r, asked, "allow_once")
    r.bridge.service_answered(token, {})
    chunks = [update for update in r.updates() if update["sessionUpdate"] == "tool_call_content_chunk"]
    assert len(chunks) == (0 if shows else 1)
    assert all("+new" in chunk["content"]["patch"]["text"] for chunk in chunks)


@pytest.mark.parametrize(("is_new", "operation"), [(True, "add"), (False, "modify")])
def test_a_file_whose_text_cannot_be_shown_is_named(is_new: bool, operation: str) -> None:
    r = rig()
    r.request("w", "fs/write", {"sessionId": "s1", "path": NOTE, "content": "AA==", "encoding": "base64"})
    r.north()
    token = next(event.token for event in r.events if isinstance(event, ServiceRequest))
    r.bridge.service_wishes(token, FileWrite(NOTE, NOTE, True, is_new, None))
    [diff] = question(r)["params"]["subject"]["toolCall"]["content"]
    assert diff["changes"] == [{"operation": operation, "path": NOTE}]
    assert "patch" not in diff
