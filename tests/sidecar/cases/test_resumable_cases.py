"""Cases 102 to 112: the resumable path."""

from __future__ import annotations

import json

from roost.sidecar.gen.messages import (
    AcpDeliverAgentOutputRequest,
    AcpErrorResponse,
    AcpListAgentsRequest,
    AcpListAgentsResponse,
    AcpPendingResponse,
    AcpSessionCreatedResponse,
    AcpSessionRequest,
    AcpSessionRpcResponse,
)
from tests.sidecar.embedded import EmbeddedRig
from tests.sidecar.rig import Rig, create_request

INITIALIZED = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}\n'
OPENED = b'{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}\n'
ONE = "acp-agent-1"
PENDING = AcpPendingResponse(ONE)


def mute() -> EmbeddedRig:
    """Agents that say nothing by themselves."""
    return EmbeddedRig(lambda agent, message: True)


def opened() -> tuple[EmbeddedRig, int]:
    """A session `s` on the first agent."""
    rig = mute()
    caller = rig.connect()
    rig.send(caller, create_request())
    rig.deliver(caller, ONE, INITIALIZED + OPENED)
    rig.answers.clear()
    return rig, caller


def no_pending(process: str) -> AcpErrorResponse:
    return AcpErrorResponse("invalid_state", f"no pending ACP interaction for {process}")


def answer(number: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}\n' % number


def test_case_102_create_is_pending_until_both_answers_were_delivered() -> None:
    rig = mute()
    caller = rig.connect()
    rig.send(caller, create_request())
    assert rig.answers == [PENDING]
    assert [message["method"] for message in rig.agent.heard] == ["initialize"]
    assert rig.deliver(caller, ONE, INITIALIZED) == PENDING
    assert [message["method"] for message in rig.agent.heard] == ["initialize", "session/new"]
    created = rig.deliver(caller, ONE, OPENED)
    assert isinstance(created, AcpSessionCreatedResponse)
    assert (created.session_id, created.pid) == ("s", None)


def test_case_103_both_answers_in_one_chunk_are_enough() -> None:
    rig = mute()
    caller = rig.connect()
    rig.send(caller, create_request())
    assert isinstance(rig.deliver(caller, ONE, INITIALIZED + OPENED), AcpSessionCreatedResponse)


def test_case_104_byte_by_byte_it_is_pending_until_the_newline() -> None:
    rig = mute()
    caller = rig.connect()
    rig.send(caller, create_request())
    data = INITIALIZED + OPENED
    for index in range(len(data) - 1):
        assert rig.deliver(caller, ONE, data[index : index + 1]) == PENDING
    assert isinstance(rig.deliver(caller, ONE, data[-1:]), AcpSessionCreatedResponse)


def test_case_105_notifications_and_garbage_leave_it_pending() -> None:
    """Ours: the notification is not lost; it follows the answer."""
    rig = mute()
    caller = rig.connect()
    rig.send(caller, create_request())
    for chunk in (
        b"loading\n",
        b"",
        b'{"jsonrpc":"2.0","method":"_hello","params":{}}\n',
        b'{"jsonrpc":"2.0","id":9}\n',
    ):
        assert rig.deliver(caller, ONE, chunk) == PENDING
    rig.deliver(caller, ONE, INITIALIZED + OPENED)
    assert [message["method"] for message in rig.notifications(caller)] == ["_hello"]


def test_case_106_an_unknown_process_has_nothing_pending() -> None:
    rig = mute()
    assert rig.deliver(rig.connect(), "acp-agent-9", b"x") == no_pending("acp-agent-9")


def test_case_107_an_initialize_error_ends_it_and_nothing_is_left() -> None:
    """Ours: the engine's code is `invalid_state` on either path; the reference left the agent behind."""
    rig = mute()
    caller = rig.connect()
    rig.send(caller, create_request())
    error = b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}\n'
    assert rig.deliver(caller, ONE, error) == PENDING  # the agent is still being ended
    assert list(rig.replies.values()) == [AcpErrorResponse("invalid_state", "ACP initialize failed: no")]
    assert rig.deliver(caller, ONE, b"x") == no_pending(ONE)
    rig.assert_nothing_left()


def test_case_108_a_prompt_is_pending_until_its_own_id_is_answered() -> None:
    rig, caller = opened()
    rig.send(caller, AcpSessionRequest("s", "session/prompt", '{"prompt":[]}'))
    assert rig.answers == [PENDING]
    assert rig.agent.heard[-1]["id"] == 3
    assert rig.deliver(caller, ONE, answer(7)) == PENDING
    done = rig.deliver(caller, ONE, answer(3))
    assert isinstance(done, AcpSessionRpcResponse)
    assert json.loads(done.response)["result"] == {"stopReason": "end_turn"}


def test_case_109_two_sessions_side_by_side_do_not_mix() -> None:
    rig = mute()
    caller = rig.connect()
    rig.send(caller, create_request())
    rig.send(caller, create_request())
    two = "acp-agent-2"
    assert rig.deliver(caller, two, INITIALIZED[:20]) == AcpPendingResponse(two)
    assert rig.deliver(caller, ONE, INITIALIZED) == PENDING
    assert rig.deliver(caller, two, INITIALIZED[20:]) == AcpPendingResponse(two)
    created = rig.deliver(caller, two, OPENED.replace(b'"s"', b'"t"'))
    assert isinstance(created, AcpSessionCreatedResponse)
    assert created.session_id == "t"
    assert rig.deliver(caller, ONE, OPENED).session_id == "s"  # type: ignore[union-attr]


def test_case_110_nobody_else_can_ask_of_a_session_nor_deliver_to_it() -> None:
    rig, caller = opened()
    rig.send(caller, AcpSessionRequest("s", "session/prompt", None))
    stranger = rig.connect()
    foreign = rig.ask(stranger, AcpSessionRequest("s", "session/prompt", None))
    assert foreign == AcpErrorResponse("invalid_state", "unknown ACP session s")
    assert rig.deliver(stranger, ONE, answer(3)) == no_pending(ONE)
    assert rig.deliver(stranger, "acp-agent-9", answer(3)) == no_pending("acp-agent-9")
    assert isinstance(rig.deliver(caller, ONE, answer(3)), AcpSessionRpcResponse)


def test_case_111_each_path_has_its_own_requests() -> None:
    """Ours: the resumable path lists agents too."""
    rig = Rig()
    assert rig.ask(rig.connect(), AcpDeliverAgentOutputRequest("p", b"")) == AcpErrorResponse(
        "invalid_state",
        "AcpDeliverAgentOutputRequest is dispatched by the engine/browser resumable path, not the native ACP extension",
    )
    embedded = mute()
    assert isinstance(embedded.ask(embedded.connect(), AcpListAgentsRequest(False)), AcpListAgentsResponse)


def test_case_112_after_the_answer_nothing_is_pending() -> None:
    rig, caller = opened()
    assert rig.deliver(caller, ONE, b"x") == no_pending(ONE)
    rig.send(caller, AcpSessionRequest("s", "_x", None))
    rig.deliver(caller, ONE, answer(3))
    assert rig.deliver(caller, ONE, answer(3)) == no_pending(ONE)
