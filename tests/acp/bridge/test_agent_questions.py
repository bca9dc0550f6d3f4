"""What a v1 agent asks of a v2 client (B-18, B-20, B-32, B-33), and of the driver."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp.bridge.events import ServiceRequest, ServiceWithdrawn
from roost.errors import RpcError
from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.rig import SERVICES, AgentRig, opened, tags

OPTIONS = [
    {"optionId": "proceed_once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "other", "name": "Also", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def ask(rig: AgentRig, tool: Json, options: Any = OPTIONS, id: Any = 0) -> list[Json]:
    rig.request(id, "session/request_permission", {"sessionId": "s1", "toolCall": tool, "options": options})
    return rig.north()


def test_b_18_a_permission_gets_a_title_and_the_option_comes_back_verbatim() -> None:
    """B-18, quirk 5, PER-4"""
    rig = opened()
    rig.update("s1", {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Write /x"})
    rig.north()
    (request,) = ask(rig, {"toolCallId": "t1"})
    assert request["params"]["title"] == "Write /x"
    assert request["params"]["subject"] == {"type": "tool_call", "toolCall": {"toolCallId": "t1"}}
    rig.answer(request["id"], {"outcome": {"outcome": "selected", "optionId": "other"}})
    assert rig.south() == [
        {"jsonrpc": "2.0", "id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "other"}}}
    ]


def test_quirk_3_a_tool_call_announced_in_a_permission_alone_is_reported_first() -> None:
    rig = opened()
    update, request = ask(rig, {"toolCallId": "t9", "title": "Run", "kind": "execute", "rawInput": {"command": "ls"}})
    assert update["params"]["update"]["sessionUpdate"] == "tool_call_update"
    assert update["params"]["update"]["title"] == request["params"]["title"] == "Run"
    (again,) = ask(rig, {"toolCallId": "t9"}, id=1)
    assert again["params"]["title"] == "Run"


def test_such_a_tool_call_comes_behind_the_prompt_whose_turn_it_is() -> None:
    """PRM-4: also when it is the first thing the agent says to that prompt"""
    rig = opened()
    rig.prompt()
    told = ask(rig, {"toolCallId": "t9", "title": "Run"})
    updates = [message["params"]["update"] for message in told if message.get("method") == "session/update"]
    assert tags(updates) == ["user_message", "running", "tool_call_update", "requires_action"]


@pytest.mark.parametrize("tool", [None, {}, {"toolCallId": 5}, "x"])
def test_a_permission_about_nothing_known_has_the_common_title(tool: Any) -> None:
    (request,) = ask(opened(), tool)
    assert request["params"]["title"] == "Permission required"
    assert "subject" not in request["params"]


@pytest.mark.parametrize("options", [None, [], ["x"], [{"name": "n", "kind": "allow_once"}]])
def test_a_permission_without_options_is_refused(options: Any) -> None:
    """PER-2"""
    rig = opened()
    assert ask(rig, {}, options) == []
    assert rig.south()[0]["error"]["code"] == -32602


def test_an_option_without_a_kind_is_none_that_allows() -> None:
    (request,) = ask(opened(), {}, [{"optionId": "a"}])
    assert request["params"]["options"] == [{"optionId": "a", "name": "a", "kind": "_unknown"}]


@pytest.mark.parametrize(
    "result",
    [
        {"outcome": {"outcome": "selected", "optionId": "never offered"}},
        {"outcome": {"outcome": "_custom", "optionId": "proceed_once"}},
        {"outcome": {"outcome": "cancelled"}},
        {"outcome": "selected"},
        None,
    ],
)
def test_what_is_no_choice_of_an_offered_option_is_cancelled(result: Any) -> None:
    """PER-5"""
    rig = opened()
    (request,) = ask(rig, {})
    rig.answer(request["id"], result)
    assert rig.south()[0]["result"] == {"outcome": {"outcome": "cancelled"}}


@pytest.mark.parametrize(("code", "passed"), [(-32800, None), (-32601, -32601)])
def test_an_error_is_no_permission(code: int, passed: int | None) -> None:
    """CAN-13, BR-7"""
    rig = opened()
    (request,) = ask(rig, {})
    rig.north_sends({"id": request["id"], "error": {"code": code, "message": "m"}})
    (answer,) = rig.south()
    if passed is None:
        assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    else:
        assert answer["error"]["code"] == passed


def test_a_permission_for_no_session_is_refused() -> None:
    rig = opened()
    rig.request(0, "session/request_permission", {"sessionId": "nobody", "options": OPTIONS, "toolCall": {}})
    assert rig.south()[0]["error"]["code"] == -32602


def test_the_agent_takes_a_question_back() -> None:
    """BR-3, CAN-9"""
    rig = opened()
    (request,) = ask(rig, {}, id="srv_1")
    rig.south_sends({"method": "$/cancel_request", "params": {"requestId": "srv_1"}})
    (answer,) = rig.south()
    assert (answer["id"], answer["error"]["code"]) == ("srv_1", -32800)
    (withdrawal,) = rig.north()
    assert withdrawal["params"] == {"requestId": request["id"]}


def test_the_end_of_a_turn_takes_its_questions_along() -> None:
    rig = opened()
    call = rig.running()
    rig.request(0, "session/request_permission", {"sessionId": "s1", "toolCall": {}, "options": OPTIONS})
    rig.north()
    rig.reply(call, {"stopReason": "end_turn"})
    rig.later(0.02)
    messages = rig.north()
    assert messages[0]["method"] == "$/cancel_request"
    assert rig.south()[0]["result"] == {"outcome": {"outcome": "cancelled"}}
    assert tags(message["params"]["update"] for message in messages[1:]) == ["idle"]


def test_b_32_a_withdrawal_reaches_the_agent_under_the_bridges_own_id() -> None:
    """B-32, BR-3"""
    rig = opened({"sessionCapabilities": {"list": {}}})
    rig.ask("session/list", {}, id="mine")
    call = rig.asked()["id"]
    assert call != "mine"
    rig.tell("$/cancel_request", {"requestId": "mine"})
    (withdrawal,) = rig.south()
    assert withdrawal == {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": call}}
    rig.refuse(call, -32800)
    (answer,) = rig.north()
    assert (answer["id"], answer["error"]["code"]) == ("mine", -32800)


FORM = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}


def test_b_33_the_request_a_form_is_about_gets_the_clients_id() -> None:
    """B-33"""
    rig = AgentRig()
    rig.initialize({"protocolVersion": 1, "authMethods": [{"id": "k", "name": "K"}]}, {"elicitation": {"form": {}}})
    rig.ask("auth/login", {"methodId": "k"}, id="login-1")
    call = rig.asked()["id"]
    rig.request(4, "elicitation/create", {**FORM, "requestId": call})
    (request,) = rig.north()
    assert request["params"]["requestId"] == "login-1"
    rig.answer(request["id"], {"action": "accept", "content": {"a": 1}})
    assert rig.south()[0]["result"] == {"action": "accept", "content": {"a": 1}}
    rig.request(5, "elicitation/create", {**FORM, "requestId": 999})
    assert rig.south()[0]["error"]["code"] == -32602


def test_a_form_about_a_prompt_is_about_its_session_and_cancelled_with_it() -> None:
    """ELI-17: the prompt's request has its answer already."""
    rig = opened()
    call = rig.running()
    rig.request(4, "elicitation/create", {**FORM, "requestId": call})
    state, request = rig.north()
    assert state["params"]["update"]["state"] == "requires_action"
    assert request["params"]["sessionId"] == "s1"
    rig.tell("session/cancel", {"sessionId": "s1"})
    assert rig.south()[-1]["result"] == {"action": "cancel"}


def test_mcp_traffic_passes_both_ways() -> None:
    rig = opened({"mcpCapabilities": {"acp": True}})
    rig.request(1, "mcp/connect", {"serverId": "srv"})
    (request,) = rig.north()
    rig.answer(request["id"], {"connectionId": "k"})
    assert rig.south()[0]["result"] == {"connectionId": "k"}
    rig.ask("mcp/message", {"connectionId": "k", "method": "ping"})
    rig.reply(rig.asked()["id"], [1, 2])
    assert rig.north()[0]["result"] == [1, 2]
    rig.south_sends({"method": "mcp/message", "params": {"connectionId": "k", "method": "n"}})
    assert rig.north()[0]["params"] == {"connectionId": "k", "method": "n"}


def test_suggestions_have_their_ids_renamed() -> None:
    rig = opened({"nes": {}})
    position = {"sessionId": "n", "uri": "file:///a", "version": 1, "position": {"line": 0, "character": 0}}
    rig.ask("nes/suggest", {**position, "triggerKind": "automatic"})
    edit = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "newText": "x"}
    rig.reply(rig.asked()["id"], {"suggestions": [{"kind": "edit", "id": "g", "uri": "file:///a", "edits": [edit]}]})
    assert rig.north()[0]["result"]["suggestions"][0]["suggestionId"] == "g"
    rig.tell("nes/accept", {"sessionId": "n", "suggestionId": "g"})
    assert rig.south()[0]["params"] == {"sessionId": "n", "id": "g"}


# ---- services


def service(rig: AgentRig) -> ServiceRequest:
    rig.north()
    (request,) = [event for event in rig.events if isinstance(event, ServiceRequest)]
    return request


def test_services_nobody_has_are_refused() -> None:
    rig = opened()
    for method in ("fs/read_text_file", "terminal/create"):
        rig.request(0, method, {"sessionId": "s1"})
        assert rig.south()[0]["error"]["code"] == -32601


def test_a_service_is_the_drivers_and_answered_once() -> None:
    rig = opened(services=SERVICES)
    rig.request(0, "fs/read_text_file", {"sessionId": "s1", "path": "/x"})
    request = service(rig)
    assert (request.session_id, request.method, request.params["path"]) == ("s1", "fs/read_text_file", "/x")
    rig.bridge.service_answered(request.token, {"content": "text"})
    rig.bridge.service_failed(request.token, RpcError(-32603, "late"))
    assert rig.south() == [{"jsonrpc": "2.0", "id": 0, "result": {"content": "text"}}]


def test_a_service_that_fails_is_an_error() -> None:
    rig = opened(services=SERVICES)
    rig.request(0, "fs/read_text_file", {"sessionId": "s1", "path": "/x"})
    rig.bridge.service_failed(service(rig).token, RpcError(-32002, "Resource not found", {"uri": "/x"}))
    assert rig.south()[0]["error"] == {"code": -32002, "message": "Resource not found", "data": {"uri": "/x"}}


def test_a_service_that_is_withdrawn_is_answered_here() -> None:
    rig = opened(services=SERVICES)
    rig.request(0, "terminal/wait_for_exit", {"sessionId": "s1", "terminalId": "t"})
    token = service(rig).token
    rig.south_sends({"method": "$/cancel_request", "params": {"requestId": 0}})
    assert rig.south()[0]["error"]["code"] == -32800
    rig.north()
    assert ServiceWithdrawn(token) in rig.events
    rig.bridge.service_answered(token, {})
    assert rig.south() == []


def test_services_are_of_a_session() -> None:
    rig = opened(services=SERVICES)
    rig.request(0, "fs/read_text_file", {"path": "/x"})
    assert rig.south()[0]["error"]["code"] == -32602


def test_what_a_terminal_does_is_shown() -> None:
    rig = opened(services=SERVICES)
    rig.bridge.terminal_created("s1", "t1", "ls", "/w")
    rig.bridge.terminal_wrote("s1", "t1", b"\xff\n")
    rig.bridge.terminal_exited("s1", "t1", None, "SIGKILL")
    rig.bridge.terminal_exited("s1", "t2", 0, None)
    rig.bridge.terminal_wrote("nobody", "t1", b"x")
    assert rig.updates() == [
        {"sessionUpdate": "terminal_update", "terminalId": "t1", "command": "ls", "cwd": "/w"},
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "t1", "data": "/wo="},
        {"sessionUpdate": "terminal_update", "terminalId": "t1", "exitStatus": {"signal": "SIGKILL"}},
        {"sessionUpdate": "terminal_update", "terminalId": "t2", "exitStatus": {"exitCode": 0}},
    ]
