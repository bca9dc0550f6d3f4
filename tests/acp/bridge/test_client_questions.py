"""Questions of a v2 agent to a v1 client (B-28, B-29, B-32, B-33)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.client_rig import ClientRig, ready
from tests.acp.bridge.rig import text

OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "z", "name": "Hm", "kind": "_maybe"},
]


def permission(rig: ClientRig, **params: Any) -> list[Json]:
    rig.request("q", "session/request_permission", {"sessionId": "s1", "title": "May I?", "options": OPTIONS, **params})
    return rig.north()


def test_b_28_a_permission_about_a_command_is_about_a_tool_call() -> None:
    """B-28"""
    rig = ready()
    update, request = permission(rig, subject={"type": "command", "command": "ls", "cwd": "/w"}, description="Why.")
    call = update["params"]["update"]
    assert (call["sessionUpdate"], call["kind"], call["title"]) == ("tool_call", "execute", "May I?")
    asked = request["params"]["toolCall"]
    assert asked["toolCallId"] == call["toolCallId"]
    assert asked["rawInput"] == {"command": "ls", "cwd": "/w"}
    assert asked["content"][-1]["content"] == text("Why.")
    rig.answer(request["id"], {"outcome": {"outcome": "selected", "optionId": "y"}})
    assert rig.south()[0]["result"] == {"outcome": {"outcome": "selected", "optionId": "y"}}


def test_b_29_an_option_of_an_unknown_kind_is_never_shown_as_allowing() -> None:
    """B-29"""
    rig = ready()
    request = permission(rig)[-1]
    assert [option["kind"] for option in request["params"]["options"]] == ["allow_once", "reject_once"]


def test_a_permission_about_a_known_tool_call_has_its_title() -> None:
    rig = ready()
    rig.update({"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Write"})
    rig.north()
    (request,) = permission(rig, title="Write", subject={"type": "tool_call", "toolCall": {"toolCallId": "t"}})
    assert request["params"]["toolCall"] == {"toolCallId": "t", "title": "Write"}


@pytest.mark.parametrize(
    "result", [{"outcome": {"outcome": "selected", "optionId": "never"}}, {"outcome": {"outcome": "x"}}, None, {}]
)
def test_no_choice_of_an_offered_option_is_no_permission(result: Any) -> None:
    rig = ready()
    rig.answer(permission(rig)[-1]["id"], result)
    assert rig.south()[0]["result"] == {"outcome": {"outcome": "cancelled"}}


def test_a_cancel_answers_the_agent_once() -> None:
    rig = ready()
    rig.running()
    request = permission(rig)[-1]
    rig.tell("session/cancel", {"sessionId": "s1"})
    assert [message.get("result") for message in rig.south()] == [None, {"outcome": {"outcome": "cancelled"}}]
    rig.answer(request["id"], {"outcome": {"outcome": "cancelled"}})
    assert rig.south() == []


def test_b_33_a_form_about_a_prompt_has_the_clients_id() -> None:
    """B-33"""
    rig = ready()
    call = rig.running("one")
    form = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}
    rig.request(1, "elicitation/create", {**form, "requestId": call})
    (request,) = rig.north()
    assert request["params"]["requestId"] == "p-one"
    rig.answer(request["id"], {"action": "decline"})
    assert rig.south()[0]["result"] == {"action": "decline"}
    rig.request(2, "elicitation/create", {**form, "requestId": 999})
    assert rig.south()[0]["error"]["code"] == -32602


def test_b_32_a_withdrawal_has_the_bridges_id() -> None:
    """B-32"""
    rig = ready()
    rig.ask("session/list", {}, id="mine")
    call = rig.asked()["id"]
    rig.tell("$/cancel_request", {"requestId": "mine"})
    assert rig.south()[0]["params"] == {"requestId": call}
