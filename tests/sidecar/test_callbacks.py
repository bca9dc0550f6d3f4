"""Questions of an agent: withdrawn, answered twice, asked of several, and told in what is remembered."""

from __future__ import annotations

import pytest

from roost.sidecar.gen.messages import (
    AcpHostRequestCallbackResponse,
    AcpPermissionCallback,
    AcpPermissionCallbackResponse,
)
from tests.sidecar.rig import Rig

ONCE = AcpPermissionCallbackResponse("permission", "once")
REJECT = AcpPermissionCallbackResponse("permission", "reject")


def opened(name: str | None = None) -> tuple[Rig, int, str]:
    rig = Rig()
    caller = rig.connect(name)
    return rig, caller, rig.create(caller).session_id


@pytest.mark.parametrize("method", ["session/request_permission", "fs/read_text_file", "elicitation/create"])
def test_a_question_that_is_withdrawn_is_answered_so_and_nobody_else_can_answer_it(method: str) -> None:
    """CAN-4."""
    rig, caller, _ = opened()
    rig.agent.ask(method, {}, 7)
    rig.agent.ask(method, {}, "7")
    rig.agent.notify("$/cancel_request", {"requestId": 7})
    (answer,) = rig.agent.answers()
    assert (answer["id"], answer["error"]["code"]) == (7, -32800)
    rig.answer(caller, 1, ONCE)
    assert len(rig.agent.answers()) == 1
    rig.answer(caller, 2, AcpHostRequestCallbackResponse(None))
    assert rig.agent.answers()[1]["id"] == "7"


def test_what_is_withdrawn_twice_or_was_never_asked_changes_nothing() -> None:
    """CAN-3."""
    rig, caller, _ = opened()
    rig.agent.ask("session/request_permission", {}, 7)
    rig.answer(caller, 1, ONCE)
    for number in (7, 8, None, [1]):
        rig.agent.notify("$/cancel_request", {"requestId": number})
    assert len(rig.agent.answers()) == 1


def test_the_first_answer_counts() -> None:
    rig, caller, _ = opened()
    rig.agent.ask("session/request_permission", {})
    rig.answer(caller, 1, REJECT)
    rig.answer(caller, 1, ONCE)
    assert [a["result"]["outcome"]["optionId"] for a in rig.agent.answers()] == ["reject_once"]


def test_of_several_connections_the_first_answer_counts_and_the_others_are_asked_no_more() -> None:
    rig, one, session = opened("me")
    two = rig.connect("me")
    rig.state(two, session)
    rig.agent.ask("session/request_permission", {})
    assert [connection for connection, _, _ in rig.asked] == [one, two]
    rig.answer(two, rig.asked[1][1], ONCE)
    rig.answer(one, rig.asked[0][1], REJECT)
    assert [a["result"]["outcome"]["optionId"] for a in rig.agent.answers()] == ["allow_once"]
    assert not any(connection.asks for connection in rig.engine._context.callers.connections.values())


def test_an_answer_with_a_number_of_another_connection_is_not_heard() -> None:
    rig, caller, _ = opened()
    other = rig.connect()
    rig.create(other)
    rig.agents["acp-agent-1"].ask("session/request_permission", {})
    rig.answer(other, 1, ONCE)
    rig.answer(caller, 2, ONCE)
    assert rig.agents["acp-agent-1"].answers() == []


def test_the_old_name_of_the_permission_method_is_one_too() -> None:
    rig, _, _ = opened()
    rig.agent.ask("request/permission", {})
    assert isinstance(rig.asked[0][2], AcpPermissionCallback)


def test_a_question_is_remembered_among_the_recent_activity() -> None:
    rig, caller, session = opened()
    rig.agent.hear = lambda agent, message: message.get("method") == "_slow"
    request = rig.request(caller, session, "_slow")
    update = b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"x"}}}\n'
    rig.agent.write(update + b"noise\n" + update + update)
    rig.agent.ask("fs/read_text_file", {}, "q")
    rig.advance(125)
    assert rig.rpc(caller, request)["error"]["data"]["recentActivity"][3:] == [
        "received notification session/update",
        "invalid_json_rpc code=-32700 Parse error",
        "received notification session/update",
        "received notification session/update",
        'received request fs/read_text_file id="q"',
    ]
