"""A v1 client and a v2 agent that ask what cannot be, at the wrong time, or of nobody."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp.bridge.limits import BridgeLimits
from roost.rpc.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LIMIT_EXCEEDED,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    RESOURCE_NOT_FOUND,
)
from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.client_rig import ClientRig, ready
from tests.acp.bridge.rig import CWD, text

OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]
MODE: Json = {
    "configId": "m",
    "name": "Mode",
    "category": "mode",
    "type": "select",
    "currentValue": "a",
    "options": [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}],
}


def refusal(rig: ClientRig) -> int:
    (answer,) = rig.north()
    code: int = answer["error"]["code"]
    return code


# ---- what the client asks


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/prompt", {"prompt": []}, INVALID_PARAMS),
        ("session/prompt", {"sessionId": "other", "prompt": []}, RESOURCE_NOT_FOUND),
        ("session/prompt", {"sessionId": "s1", "prompt": "text"}, INVALID_PARAMS),
        ("session/close", {"sessionId": "other"}, RESOURCE_NOT_FOUND),
        ("session/new", {"cwd": 7}, INVALID_PARAMS),
        ("session/load", {"cwd": CWD}, INVALID_PARAMS),
        ("session/load", {"sessionId": "s", "cwd": 7}, INVALID_PARAMS),
        ("session/set_mode", {"sessionId": "s1", "modeId": "a"}, INVALID_PARAMS),
        ("session/set_model", {"sessionId": "s1", "modelId": "a"}, INVALID_PARAMS),
        ("session/set_mode", {"sessionId": "other", "modeId": "a"}, RESOURCE_NOT_FOUND),
        ("authenticate", {}, INVALID_PARAMS),
        ("no/such", {}, METHOD_NOT_FOUND),
    ],
)
def test_what_no_agent_of_v2_could_take_is_refused_here(method: str, params: Json, code: int) -> None:
    rig = ready()
    rig.ask(method, params)
    assert refusal(rig) == code
    assert rig.south() == []


def test_a_closed_session_is_not_there() -> None:
    rig = ready()
    rig.ask("session/close", {"sessionId": "s1"})
    rig.reply(rig.asked()["id"], {})
    assert rig.north()[0]["result"] == {}
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("x")]})
    assert refusal(rig) == RESOURCE_NOT_FOUND


def test_a_session_at_work_is_not_loaded() -> None:
    rig = ready()
    rig.running()
    rig.ask("session/load", {"sessionId": "s1", "cwd": CWD, "mcpServers": []})
    assert refusal(rig) == INVALID_REQUEST


def test_nothing_is_asked_of_an_agent_before_initialize() -> None:
    """INI-1"""
    rig = ClientRig()
    rig.ask("session/new", {"cwd": CWD, "mcpServers": []})
    assert refusal(rig) == INVALID_REQUEST
    assert rig.south() == []


def test_an_initialize_in_flight_is_the_only_one() -> None:
    """INI-10"""
    rig = ClientRig()
    rig.ask("initialize", {"protocolVersion": 1})
    rig.ask("initialize", {"protocolVersion": 1})
    assert refusal(rig) == INVALID_REQUEST
    rig.refuse(rig.asked()["id"], -32602)
    assert refusal(rig) == INVALID_PARAMS
    rig.initialize()  # a failed one may be tried again


def test_an_answer_without_a_session_is_an_error_and_opens_nothing() -> None:
    rig = ready()
    rig.ask("session/new", {"cwd": CWD, "mcpServers": []})
    rig.reply(rig.asked()["id"], {"sessionId": 5})
    assert refusal(rig) == INTERNAL_ERROR
    assert list(rig.bridge.sessions) == ["s1"]
    assert rig.bridge.opening == 0


def test_sessions_are_bounded() -> None:
    rig = ready(limits=BridgeLimits(sessions=1))
    rig.ask("session/new", {"cwd": CWD, "mcpServers": []})
    rig.reply(rig.asked()["id"], {"sessionId": "s2"})
    assert refusal(rig) == LIMIT_EXCEEDED


def test_a_load_that_fails_is_forgotten_and_a_session_that_was_open_stays() -> None:
    rig = ready()
    for session_id, left in (("new", False), ("s1", True)):
        rig.ask("session/resume", {"sessionId": session_id, "cwd": CWD, "mcpServers": []})
        rig.refuse(rig.asked()["id"], RESOURCE_NOT_FOUND)
        assert refusal(rig) == RESOURCE_NOT_FOUND
        assert (session_id in rig.bridge.sessions) is left


def test_a_session_that_is_loaded_again_is_told_from_the_beginning() -> None:
    """SES-24"""
    rig = ready()
    call = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "T"}
    rig.update(call)
    rig.north()
    for method, kind in (("session/resume", "tool_call_update"), ("session/load", "tool_call")):
        rig.ask(method, {"sessionId": "s1", "cwd": CWD, "mcpServers": []})
        request = rig.asked()
        rig.update(call)
        assert [update["sessionUpdate"] for update in rig.updates()] == [kind]
        rig.reply(request["id"], {})
        rig.north()


def test_a_fork_names_the_session_it_is_of() -> None:
    rig = ready()
    rig.ask("session/fork", {"sessionId": "s1", "cwd": CWD, "mcpServers": []})
    request = rig.asked()
    assert request["params"]["sessionId"] == "s1"
    rig.reply(request["id"], {"sessionId": "s2"})
    assert rig.north()[0]["result"]["sessionId"] == "s2"


def test_a_model_is_the_option_that_stands_for_it() -> None:
    rig = ClientRig()
    rig.initialize()
    rig.new(configOptions=[{**MODE, "category": "model"}])
    rig.ask("session/set_model", {"sessionId": "s1", "modelId": "b"})
    assert rig.asked()["params"] == {"sessionId": "s1", "configId": "m", "type": "id", "value": "b"}


# ---- what it tells


@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("nes/accept", {"sessionId": "n", "id": "x"}, {"sessionId": "n", "suggestionId": "x"}),
        (
            "nes/reject",
            {"sessionId": "n", "id": "x", "reason": "ignored"},
            {"sessionId": "n", "reason": "ignored", "suggestionId": "x"},
        ),
        ("_vendor/told", {"a": [1]}, {"a": [1]}),
        ("_vendor/told", None, None),
        ("document/didClose", {"sessionId": "n", "uri": "file:///a"}, {"sessionId": "n", "uri": "file:///a"}),
    ],
)
def test_a_notification_is_passed_in_the_agents_words(method: str, params: Any, told: Any) -> None:
    rig = ready()
    rig.north_sends({"method": method, **({} if params is None else {"params": params})})
    (message,) = rig.south()
    assert (message["method"], message.get("params")) == (method, told)


@pytest.mark.parametrize(
    ("method", "params"),
    [("session/cancel", {"sessionId": "other"}), ("session/cancel", {}), ("no/such", {}), ("session/update", {})],
)
def test_a_notification_of_nothing_that_is_there_is_dropped(method: str, params: Json) -> None:
    rig = ready()
    rig.tell(method, params)
    assert (rig.south(), rig.north()) == ([], [])


def test_a_suggestion_has_the_id_that_each_side_knows() -> None:
    rig = ready()
    at = {"sessionId": "n", "uri": "file:///a", "version": 1, "position": {"line": 0, "character": 0}}
    rig.ask("nes/suggest", {**at, "triggerKind": "manual"})
    request = rig.asked()
    suggestion = {"kind": "jump", "suggestionId": "x", "uri": "file:///b", "position": {"line": 1, "character": 0}}
    rig.reply(request["id"], {"suggestions": [suggestion]})
    (answer,) = rig.north()
    (told,) = answer["result"]["suggestions"]
    assert (told["id"], "suggestionId" in told) == ("x", False)


# ---- what the agent asks


def ask_permission(rig: ClientRig, id: Any = 7, **params: Any) -> None:
    question = {"sessionId": "s1", "title": "May I?", "options": OPTIONS, **params}
    rig.request(id, "session/request_permission", question)


def outcome(rig: ClientRig, id: Any = 7) -> Json:
    (answer,) = [message for message in rig.south() if message.get("id") == id and "method" not in message]
    return answer


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"sessionId": "other"}, INVALID_PARAMS),
        ({"sessionId": None}, INVALID_PARAMS),
        ({"options": []}, INVALID_PARAMS),
    ],
)
def test_a_question_that_cannot_be_shown_is_refused(params: Json, code: int) -> None:
    rig = ready()
    ask_permission(rig, **params)
    assert outcome(rig)["error"]["code"] == code
    assert rig.north() == []


def test_a_question_in_a_cancelled_turn_or_a_closed_session_is_answered_at_once() -> None:
    """PER-10"""
    form = {"mode": "form", "message": "?", "sessionId": "s1", "requestedSchema": {"type": "object", "properties": {}}}
    for end in ("cancel", "close"):
        rig = ready()
        if end == "cancel":
            rig.running()
            rig.tell("session/cancel", {"sessionId": "s1"})
        else:
            rig.ask("session/close", {"sessionId": "s1"})
            rig.reply(rig.asked()["id"], {})
        rig.south()
        rig.north()
        ask_permission(rig, 7)
        rig.request(8, "elicitation/create", form)
        answers = {message["id"]: message["result"] for message in rig.south()}
        assert answers == {7: {"outcome": {"outcome": "cancelled"}}, 8: {"action": "cancel"}}
        assert rig.north() == []


@pytest.mark.parametrize("question", ["permission", "form", "vendor"])
def test_a_question_the_agent_takes_back_is_answered_here_and_taken_back_from_the_client(question: str) -> None:
    """CAN-4"""
    rig = ready()
    rig.request(6, "_vendor/other", {})
    other = rig.north()[-1]
    if question == "permission":
        ask_permission(rig)
    elif question == "form":
        schema = {"type": "object", "properties": {}}
        form = {"mode": "form", "message": "?", "sessionId": "s1", "requestedSchema": schema}
        rig.request(7, "elicitation/create", form)
    else:
        rig.request(7, "_vendor/ask", {"a": 1})
    asked = rig.north()[-1]
    rig.south_sends({"method": "$/cancel_request", "params": {"requestId": 7}})
    assert outcome(rig)["error"]["code"] == REQUEST_CANCELLED
    (withdrawn,) = rig.north()
    assert withdrawn["params"] == {"requestId": asked["id"]}
    rig.answer(asked["id"], {"outcome": {"outcome": "selected", "optionId": "y"}})  # too late
    assert rig.south() == []
    rig.answer(other["id"], {"x": 1})
    assert outcome(rig, 6)["result"] == {"x": 1}


def test_what_is_open_when_a_client_leaves_is_cancelled_each_in_its_words() -> None:
    rig = ready()
    ask_permission(rig, 1)
    form = {"mode": "form", "message": "?", "sessionId": "s1", "requestedSchema": {"type": "object", "properties": {}}}
    rig.request(2, "elicitation/create", form)
    rig.request(3, "_vendor/ask", None)
    rig.bridge.end_north("gone", rig.now)
    answers = {message["id"]: message.get("result", message.get("error", {}).get("code")) for message in rig.south()}
    assert answers == {1: {"outcome": {"outcome": "cancelled"}}, 2: {"action": "cancel"}, 3: REQUEST_CANCELLED}


def test_an_error_of_the_client_is_the_agents() -> None:
    rig = ready()
    ask_permission(rig)
    rig.north_sends({"id": rig.north()[-1]["id"], "error": {"code": -32000, "message": "no", "data": [1]}})
    assert outcome(rig)["error"] == {"code": -32000, "message": "no", "data": [1]}


def test_a_form_about_nothing_or_about_a_request_that_is_not_open() -> None:
    rig = ready()
    form = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}
    rig.request(1, "elicitation/create", {**form, "requestId": 99})
    assert outcome(rig, 1)["error"]["code"] == INVALID_PARAMS
    rig.request(2, "elicitation/create", {**form, "sessionId": "other"})
    assert outcome(rig, 2)["error"]["code"] == INVALID_PARAMS
    rig.request(3, "elicitation/create", form)
    assert rig.north()[-1]["params"] == form


@pytest.mark.parametrize(
    ("subject", "kind", "title"),
    [
        ({"type": "tool_call", "toolCall": {"toolCallId": "t", "title": "Its own"}}, None, "May I?"),
        ({"type": "tool_call", "toolCall": {"title": "no id"}}, "other", "May I?"),
        ({"type": "command", "command": "ls", "cwd": CWD}, "execute", "May I?"),
        ({"type": "command", "command": "ls", "cwd": CWD, "toolCallId": "t"}, "execute", "May I?"),
        ({"type": "_vendor"}, "other", "May I?"),
        (None, "other", "May I?"),
    ],
)
def test_a_permission_is_about_a_tool_call_whatever_it_is_about(subject: Any, kind: Any, title: str) -> None:
    """B-28"""
    rig = ready()
    ask_permission(rig, **({} if subject is None else {"subject": subject}), description="Why")
    announced, asked = rig.north()
    call = asked["params"]["toolCall"]
    assert announced["params"]["update"]["toolCallId"] == call["toolCallId"]
    assert (call["title"], call.get("kind")) == (title, kind)
    named = "t" if "'t'" in repr(subject) else "_bridge_1"
    assert call["toolCallId"] == named
    assert call["content"][-1]["content"]["text"] == "Why"
    assert rig.bridge.losses.counts["permission_text"] >= 1


def test_a_title_that_says_nothing_leaves_the_tool_calls_own_and_is_no_loss() -> None:
    rig = ready()
    rig.update({"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Known"})
    ask_permission(rig, title="", subject={"type": "tool_call", "toolCall": {"toolCallId": "t"}})
    asked = rig.north()[-1]
    assert asked["params"]["toolCall"]["title"] == "Known"
    assert "content" not in asked["params"]["toolCall"]
    ask_permission(rig, 8, title="Known", subject={"type": "tool_call", "toolCall": {"toolCallId": "t"}})
    assert rig.bridge.losses.counts.get("permission_text", 0) == 0
    ask_permission(rig, 9, title="Other", subject={"type": "tool_call", "toolCall": {"toolCallId": "t"}})
    assert rig.bridge.losses.counts["permission_text"] == 1


@pytest.mark.parametrize("method", ["no/such", "fs/read_text_file"])
def test_what_no_client_of_v1_answers_for_a_v2_agent_is_refused(method: str) -> None:
    rig = ready()
    rig.request(7, method, {})
    assert outcome(rig)["error"]["code"] == METHOD_NOT_FOUND
    rig.south_sends({"method": "no/such", "params": {}})
    assert rig.north() == []
