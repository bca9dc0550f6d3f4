"""A v2 client and a v1 agent that ask what cannot be, at the wrong time, or of nobody."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp.bridge.events import ServiceDecided, ServiceRequest
from roost.acp.bridge.limits import BridgeLimits
from roost.errors import RpcError
from roost.rpc.messages import (
    AUTH_REQUIRED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    RESOURCE_NOT_FOUND,
)
from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.rig import AUTH, CWD, SERVICES, AgentRig, chunk, opened, tags, text
from tests.acp.bridge.test_service_wishes import DIFF, NOTE, RUN, WRITE, question, rig, verdict, wished

OPTIONS = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
FORM: Json = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}


def refusal(r: AgentRig) -> int:
    (answer,) = [message for message in r.north() if "error" in message]
    code: int = answer["error"]["code"]
    return code


def answers(r: AgentRig) -> dict[Any, Any]:
    """What the agent was answered, by its ids."""
    return {m["id"]: m.get("result", m.get("error", {}).get("code")) for m in r.south() if "method" not in m}


# ---- what the client asks


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/request_permission", {}, METHOD_NOT_FOUND),
        ("no/such", {}, METHOD_NOT_FOUND),
        ("session/list", {"cwd": 7}, INVALID_PARAMS),
        ("session/prompt", {"sessionId": "other", "prompt": []}, RESOURCE_NOT_FOUND),
        (
            "session/prompt",
            {"sessionId": "s1", "prompt": [{"type": "image", "data": "", "mimeType": "x"}]},
            INVALID_PARAMS,
        ),
        ("session/prompt", {"sessionId": "s1", "prompt": [{"type": "_vendor"}]}, INVALID_PARAMS),
        ("session/new", {"cwd": CWD, "additionalDirectories": ["/more"]}, INVALID_PARAMS),
        ("session/new", {"cwd": CWD, "mcpServers": [{"type": "http", "name": "h", "url": "http://h"}]}, INVALID_PARAMS),
        ("session/resume", {"sessionId": "other", "cwd": CWD}, RESOURCE_NOT_FOUND),
        ("session/resume", {"sessionId": "s1", "cwd": CWD, "replayFrom": {"type": "start"}}, INVALID_PARAMS),
        ("session/resume", {"sessionId": "s1", "cwd": CWD, "replayFrom": {"type": "_there"}}, INVALID_PARAMS),
        ("auth/login", {"methodId": "key"}, METHOD_NOT_FOUND),
        ("mcp/message", {"connectionId": "c", "method": "x"}, METHOD_NOT_FOUND),
    ],
)
def test_what_the_agent_cannot_do_is_refused_here(method: str, params: Json, code: int) -> None:
    r = opened()
    r.ask(method, params)
    assert refusal(r) == code
    assert r.south() == []


@pytest.mark.parametrize(("method_id", "code"), [("key", None), ("tty", INVALID_PARAMS), ("none", INVALID_PARAMS)])
def test_a_login_is_by_a_method_that_goes_over_the_protocol(method_id: str, code: int | None) -> None:
    """AUTH-4"""
    r = AgentRig()
    r.initialize({"protocolVersion": 1, "authMethods": AUTH}, {"auth": {"terminal": {}}})
    r.ask("auth/login", {"methodId": method_id})
    if code is None:
        assert r.asked()["params"] == {"methodId": method_id}
    else:
        assert refusal(r) == code


def test_directories_are_passed_when_they_were_offered_and_listed_with_their_session() -> None:
    """SES-8"""
    r = opened({"sessionCapabilities": {"additionalDirectories": {}}})
    for directories in (["/more"], []):
        r.ask("session/new", {"cwd": CWD, "additionalDirectories": directories})
        request = r.asked()
        assert request["params"].get("additionalDirectories", []) == directories
        r.reply(request["id"], {"sessionId": f"s{len(directories)}x"})
        r.north()
    r.ask("session/list", {})
    rows = {row["sessionId"]: row.get("additionalDirectories") for row in r.north()[0]["result"]["sessions"]}
    assert (rows["s1x"], rows["s0x"]) == (["/more"], None)


def test_a_form_of_loading_that_some_agents_have_is_one() -> None:
    r = opened({"loadSession": {}})
    r.ask("session/resume", {"sessionId": "old", "cwd": CWD, "replayFrom": {"type": "start"}})
    assert r.asked()["method"] == "session/load"


def test_a_resume_the_agent_refuses_forgets_what_was_not_known() -> None:
    r = opened({"loadSession": True})
    for session_id, left in (("new", False), ("s1", True)):
        r.ask("session/resume", {"sessionId": session_id, "cwd": CWD, "replayFrom": {"type": "start"}})
        r.refuse(r.asked()["id"], RESOURCE_NOT_FOUND)
        assert refusal(r) == RESOURCE_NOT_FOUND
        assert (session_id in r.bridge.sessions) is left
    assert r.prompt() > 0


def test_an_answer_that_is_malformed_is_an_error_of_the_agents() -> None:
    r = opened()
    r.ask("session/new", {"cwd": CWD})
    r.reply(r.asked()["id"], {"sessionId": 5})
    assert refusal(r) == INTERNAL_ERROR
    r = opened({"nes": {}})
    r.ask("nes/start", {})
    r.reply(r.asked()["id"], {"sessionId": 5})
    assert refusal(r) == INTERNAL_ERROR


def test_an_initialize_in_flight_is_the_only_one() -> None:
    """INI-10"""
    r = AgentRig()
    hello = {"protocolVersion": 2, "info": {"name": "c", "version": "1"}, "capabilities": {}}
    r.ask("initialize", hello)
    r.ask("initialize", hello)
    assert refusal(r) == INVALID_REQUEST
    r.refuse(r.asked()["id"], -32602)
    assert refusal(r) == INVALID_PARAMS
    r.initialize()
    r.ask("initialize", hello)
    assert refusal(r) == INVALID_REQUEST


@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("_vendor/told", {"a": [1]}, True),
        ("_vendor/told", None, True),
        ("document/didClose", {"sessionId": "n", "uri": "file:///a"}, True),
        ("session/update", {"sessionId": "s1"}, False),
        ("no/such", {}, False),
        ("mcp/message", {"connectionId": "c", "method": "x"}, True),
    ],
)
def test_a_notification_goes_to_the_agent_when_it_is_one_for_agents(method: str, params: Any, told: bool) -> None:
    r = opened()
    r.north_sends({"method": method, **({} if params is None else {"params": params})})
    messages = r.south()
    assert [(m["method"], m.get("params")) for m in messages] == ([(method, params)] if told else [])
    r.north()
    assert r.bridge.losses.counts.get("vendor_traffic", 0) == (0 if told else 1)


# ---- turns


def test_an_agent_that_cancels_by_itself_has_cancelled() -> None:
    r = opened()
    id = r.running()
    r.refuse(id, REQUEST_CANCELLED, "withdrawn")
    r.later(0.1)
    (idle,) = r.updates()
    assert (idle["state"], idle["stopReason"]) == ("idle", "cancelled")


def test_an_error_without_words_is_told_by_its_number() -> None:
    r = opened()
    r.refuse(r.running(), -5, "")
    r.later(0.1)
    message, _ = r.updates()
    assert message["content"] == [text("error -5")]


def test_usage_that_is_malformed_is_left_out() -> None:
    r = opened()
    r.reply(r.running(), {"stopReason": "end_turn", "usage": {"totalTokens": "many"}})
    r.later(0.1)
    (idle,) = r.updates()
    assert "usage" not in idle


def test_what_is_no_echo_of_the_prompt_is_told() -> None:
    r = opened()
    r.running("hello world")
    for words in ("hello", "other", ""):
        r.update("s1", chunk(words, "user_message_chunk"))
    assert [update["content"]["text"] for update in r.updates()] == ["other", ""]
    r.update("s1", {"sessionUpdate": "user_message_chunk", "content": 5})
    assert r.updates() == []


def test_a_prompt_that_is_withdrawn_before_it_is_accepted_is_cancelled() -> None:
    """CAN-12"""
    r = opened()
    r.ask("session/prompt", {"sessionId": "s1", "prompt": [text("one")]}, id="one")
    prompt = r.asked()["id"]
    r.ask("session/prompt", {"sessionId": "s1", "prompt": [text("two")]}, id="two")
    r.ask("session/prompt", {"sessionId": "s1", "prompt": [text("three")]}, id="three")
    r.tell("$/cancel_request", {"requestId": "three"})
    assert refusal(r) == REQUEST_CANCELLED
    r.tell("$/cancel_request", {"requestId": "one"})
    assert [message["method"] for message in r.south()] == ["session/cancel"]
    assert refusal(r) == REQUEST_CANCELLED  # the one that waited goes with it (PRM-18)
    r.reply(prompt, {"stopReason": "cancelled"})
    r.later(0.1)
    assert tags(r.updates())[-1] == "idle"


def test_with_prompts_waiting_the_next_begins_without_a_pause() -> None:
    r = opened()
    first = r.running()
    r.ask("session/prompt", {"sessionId": "s1", "prompt": [text("next")]})
    r.reply(first, {"stopReason": "end_turn"})
    assert r.asked()["params"]["prompt"] == [text("next")]
    assert tags(r.updates()) == ["idle"]


# ---- what the agent asks


def test_a_form_names_its_session_or_a_request_and_nothing_that_is_not_there() -> None:
    r = opened()
    r.request(1, "elicitation/create", {**FORM, "sessionId": "s1", "requestId": 99})  # ELI-3
    (asked,) = r.north()
    assert asked["params"] == {**FORM, "sessionId": "s1"}
    r.request(2, "elicitation/create", {**FORM, "requestId": 99})
    r.request(3, "elicitation/create", {**FORM, "sessionId": "other"})
    r.request(4, "elicitation/create", {**FORM, "sessionId": "s1", "message": 5})
    assert answers(r) == {2: INVALID_PARAMS, 3: INVALID_PARAMS, 4: INVALID_PARAMS}
    assert r.north() == []


def test_a_permission_that_no_client_could_show_is_refused() -> None:
    r = opened()
    r.request(1, "session/request_permission", {"sessionId": 7, "toolCall": {}, "options": OPTIONS})
    assert answers(r) == {1: INVALID_PARAMS}


def test_questions_over_the_bound_leave_the_turn_as_it_was() -> None:
    r = opened()
    r.running()
    call = {"toolCallId": "t", "title": "T"}
    bound = 0
    while not (refused := answers(r)):
        bound += 1
        r.request(bound, "session/request_permission", {"sessionId": "s1", "toolCall": call, "options": OPTIONS})
        assert bound < 100_000
    assert list(refused) == [bound]
    assert r.bridge.sessions["s1"].turn.asking == bound - 1


@pytest.mark.parametrize("end", ["cancel", "close"])
def test_a_question_of_cancelled_work_is_answered_at_once(end: str) -> None:
    """PER-10"""
    r = opened()
    r.running()
    if end == "cancel":
        r.tell("session/cancel", {"sessionId": "s1"})
    else:
        r.ask("session/close", {"sessionId": "s1"})
    r.south()
    r.north()
    r.request(1, "session/request_permission", {"sessionId": "s1", "toolCall": {}, "options": OPTIONS})
    r.request(2, "elicitation/create", {**FORM, "sessionId": "s1"})
    assert answers(r) == {1: {"outcome": {"outcome": "cancelled"}}, 2: {"action": "cancel"}}
    assert r.north() == []


def test_a_withdrawal_of_what_was_never_asked_is_nothing() -> None:
    r = opened()
    r.request(1, "session/request_permission", {"sessionId": "s1", "toolCall": {}, "options": OPTIONS})
    asked = r.north()[-1]
    for id in (9, 1):
        r.south_sends({"method": "$/cancel_request", "params": {"requestId": id}})
    assert answers(r) == {1: REQUEST_CANCELLED}
    assert r.north()[-1]["params"] == {"requestId": asked["id"]}
    r.answer(asked["id"], {"outcome": {"outcome": "selected", "optionId": "y"}})
    assert r.south() == []


# ---- services


def test_a_closed_session_is_served_no_more() -> None:
    r = opened(services=SERVICES)
    r.ask("session/close", {"sessionId": "s1"})
    r.request(1, "fs/read_text_file", {"sessionId": "s1", "path": NOTE})
    assert answers(r) == {1: INVALID_PARAMS}


def test_a_wish_after_the_session_is_closed_or_asked_twice_is_a_no() -> None:
    r = rig()
    token = wished(r)
    question(r)
    r.bridge.service_wishes(token, WRITE)
    assert verdict(r) is False  # who asks again gets no second question
    r.ask("session/close", {"sessionId": "s1"})
    assert verdict(r) is False  # the first
    r.bridge.service_wishes(token, WRITE)
    assert verdict(r) is False


def test_a_wish_of_a_request_that_is_over_is_nothing() -> None:
    r = rig()
    token = wished(r, RUN)
    asked = question(r)
    r.bridge.service_failed(token, RpcError(-1, "gave up"))
    r.bridge.service_wishes(token, RUN)
    r.bridge.service_requests.decided(token, "allow_once")
    r.answer(asked["id"], {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
    assert verdict(r) is None


def test_questions_over_the_bound_are_a_no() -> None:
    r = rig()
    call = r.bridge.client.call
    r.bridge.client.call = lambda method, params: (_ for _ in ()).throw(RpcError(-1, "too many"))
    wished(r)
    assert verdict(r) is False
    r.bridge.client.call = call
    assert r.bridge.sessions["s1"].turn.asking == 0


def own_write(r: AgentRig, **more: Any) -> int:
    """A write that the driver has decided by itself."""
    r.request("w", "fs/write_text_file", {"sessionId": "s1", "path": NOTE, "content": "new\n", **more})
    r.north()
    token = next(event.token for event in r.events if isinstance(event, ServiceRequest))
    r.bridge.service_writes(token, WRITE)
    assert r.updates() == []
    return token


def test_a_write_that_was_decided_elsewhere_is_shown_when_it_is_done_and_asked_of_nobody() -> None:
    r = rig()
    token = own_write(r)
    r.bridge.service_writes(token, WRITE)  # said once is enough
    r.bridge.service_answered(token, {})
    (card,) = r.updates()
    assert (card["title"], card["status"]) == (f"Write {NOTE}", "completed")
    assert "+new" in card["content"][0]["patch"]["text"]
    assert not any(isinstance(event, ServiceDecided) for event in r.events)
    r.bridge.service_writes(token, WRITE)
    assert r.updates() == []


@pytest.mark.parametrize("end", ["fails", "is withdrawn", "outlives its session"])
def test_a_write_that_was_not_done_is_not_shown(end: str) -> None:
    r = rig()
    token = own_write(r)
    if end == "fails":
        r.bridge.service_failed(token, RpcError(-1, "disk full"))
    elif end == "is withdrawn":
        r.south_sends({"method": "$/cancel_request", "params": {"requestId": "w"}})
    else:
        r.ask("session/close", {"sessionId": "s1"})
        r.bridge.service_answered(token, {})
    assert not [update for update in r.updates() if update["sessionUpdate"].startswith("tool_call")]


@pytest.mark.parametrize(("shown", "kinds"), [(True, []), (False, ["tool_call_content_chunk"])])
def test_a_write_the_agents_own_tool_call_names_is_shown_there(shown: bool, kinds: list[str]) -> None:
    r = rig()
    content = [DIFF] if shown else []
    call = {"toolCallId": "t", "title": "T", "locations": [{"path": NOTE}], "content": content}
    r.update("s1", {"sessionUpdate": "tool_call", **call})
    r.updates()
    r.bridge.service_answered(own_write(r), {})
    assert tags(r.updates()) == kinds


def test_only_so_many_tool_calls_of_a_turn_are_known_by_their_files() -> None:
    r = opened(services=SERVICES, limits=BridgeLimits(tool_facts=1))
    r.running()
    r.events.clear()
    for id, path in (("t", NOTE), ("u", f"{CWD}/other")):
        r.update("s1", {"sessionUpdate": "tool_call", "toolCallId": id, "title": "T", "locations": [{"path": path}]})
    r.updates()
    r.bridge.service_answered(own_write(r), {})
    (card,) = r.updates()
    assert card["toolCallId"].startswith("_bridge_")


def test_logged_out_nothing_goes_through_but_a_login() -> None:
    r = AgentRig()
    r.initialize({"protocolVersion": 1, "authMethods": AUTH, "agentCapabilities": {"auth": {}}})
    r.new()
    r.ask("auth/logout", {})
    r.north()
    r.ask("session/prompt", {"sessionId": "s1", "prompt": [text("x")]})
    assert refusal(r) == AUTH_REQUIRED
    r.ask("auth/login", {"methodId": "key"})
    r.reply(r.asked()["id"], {})
    r.north()
    assert r.prompt() > 0
