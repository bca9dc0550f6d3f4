"""An agent that has no session yet: what it asks is answered however its start ends, what it tells is bounded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar.gen.messages import (
    AcpErrorResponse,
    AcpPermissionCallbackResponse,
    AcpResumeSessionRequest,
    AcpSessionResumedResponse,
)
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json

REJECTABLE = {"options": [{"optionId": "no", "name": "No", "kind": "reject_once"}]}


def asking(then: Any) -> Rig:
    """Agents that put two questions before they answer `initialize`; `then` is what they do next."""

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") != "initialize":
            return False
        agent.ask("session/request_permission", REJECTABLE, "permission")
        agent.ask("fs/read_text_file", {"path": "/x"}, "file")
        then(agent, message)
        return True

    return Rig(script)


def test_what_is_asked_in_a_start_that_fails_is_answered_before_the_agent_is_ended() -> None:
    rig = asking(lambda agent, message: agent.error(message, -32000, "no licence"))
    caller = rig.connect()
    answer = rig.ask(caller, create_request())
    assert answer == AcpErrorResponse("invalid_state", "ACP initialize failed: no licence")
    permission, file = rig.agent.answers()
    assert permission["result"] == {"outcome": {"outcome": "cancelled"}}
    assert file["error"]["code"] == -32800
    rig.answer(caller, 1, AcpPermissionCallbackResponse("permission", "once"))  # too late
    assert len(rig.agent.answers()) == 2
    rig.assert_nothing_left()


def test_an_agent_that_dies_with_open_questions_leaves_none() -> None:
    rig = asking(lambda agent, message: agent.exit(3))
    caller = rig.connect()
    assert rig.ask(caller, create_request()).code == "execution"
    rig.answer(caller, 1, AcpPermissionCallbackResponse("permission", "once"))
    rig.assert_nothing_left()


def test_a_question_of_a_start_can_be_withdrawn() -> None:
    """CAN-4."""

    def withdraw(agent: Agent, message: Json) -> None:
        agent.notify("$/cancel_request", {"requestId": "permission"})
        agent.notify("$/cancel_request", {"requestId": "file"})
        agent.answer(message)

    rig = asking(withdraw)
    caller = rig.connect()
    rig.create(caller)
    assert [(answer["id"], answer["error"]["code"]) for answer in rig.agent.answers()] == [
        ("permission", -32800),
        ("file", -32800),
    ]
    assert not rig.engine._context.callers.connections[caller].asks


@pytest.mark.parametrize(("data", "told"), [("null", ""), ("0", " (data: 0)"), ('{"a": [1]}', ' (data: {"a":[1]})')])
def test_data_of_null_is_none(data: str, told: str) -> None:
    def script(agent: Agent, message: Json) -> bool:
        error = f'{{"code":-32000,"message":"m","data":{data}}}'
        agent.write(f'{{"jsonrpc":"2.0","id":{message["id"]},"error":{error}}}\n'.encode())
        return True

    rig = Rig(script)
    assert rig.ask(rig.connect(), create_request()).message == f"ACP initialize failed: m{told}"


def test_what_was_told_of_a_session_that_is_not_there_counts_no_more() -> None:
    line = {"jsonrpc": "2.0", "method": "_told", "params": {"text": "x" * 500}}

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") in ("session/load", "session/new"):
            agent.say(line)
        if message.get("method") == "session/load":
            agent.error(message, -32002, "no such session", {"sessionId": "old"})
            return True
        return False

    rig = Rig(script, bootstrap_bytes=len(json.dumps(line)) + 100)
    rig.capabilities = {"loadSession": True}
    caller = rig.connect()
    answer = rig.ask(caller, AcpResumeSessionRequest("old", "echo", None, "/w", {}))
    assert answer == AcpSessionResumedResponse("s-acp-agent-1", "fallback")
    assert rig.notifications(caller) == [line]


def test_of_an_exit_whose_code_nobody_knows_none_is_told() -> None:
    def script(agent: Agent, message: Json) -> bool:
        agent.exit(None)
        return True

    rig = Rig(script)
    text = rig.ask(rig.connect(), create_request()).message
    assert text.startswith("ACP adapter process acp-agent-1 exited before response id=1; ")
