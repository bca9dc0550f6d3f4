"""The resumable path beyond the reference's cases: one agent at work, ownership, ends without a Deliver."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar import events
from roost.sidecar.gen.messages import (
    AcpAgentExitedEvent,
    AcpCloseSessionRequest,
    AcpErrorResponse,
    AcpGetSessionStateRequest,
    AcpPendingResponse,
    AcpPermissionCallbackResponse,
    AcpRequest,
    AcpResumeSessionRequest,
    AcpSessionClosedResponse,
    AcpSessionRequest,
    AcpSessionResumedResponse,
    AcpSessionRpcResponse,
)
from tests.sidecar.embedded import EmbeddedRig
from tests.sidecar.rig import create_request
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf

ONE, TWO = "acp-agent-1", "acp-agent-2"
PENDING = AcpPendingResponse(ONE)
HANDSHAKE = ("initialize", "session/new", "session/load")


def opened(name: str | None = None, **options: Any) -> tuple[EmbeddedRig, int]:
    """A session `s`; its agent answers the handshake and nothing else."""

    def script(agent: Agent, message: Json) -> bool:
        return message.get("method") not in HANDSHAKE

    rig = EmbeddedRig(script, **options)
    rig.session_id = "s"
    rig.capabilities = {"loadSession": True}
    caller = rig.connect(name)
    rig.create(caller)
    rig.answers.clear()
    return rig, caller


def prompt(rig: EmbeddedRig, caller: int) -> int:
    return rig.send(caller, AcpSessionRequest("s", "session/prompt", '{"prompt":[]}'))


def line(number: int, **result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode() + b"\n"


@pytest.mark.parametrize("method", ["session/prompt", "session/set_mode", "_x"])
def test_a_second_request_to_an_agent_at_work_is_a_conflict_and_the_first_goes_on(method: str) -> None:
    rig, caller = opened()
    first = prompt(rig, caller)
    heard = len(rig.agent.heard)
    conflict = rig.ask(caller, AcpSessionRequest("s", method, None))
    assert conflict == AcpErrorResponse("conflict", f"{ONE} is busy with another ACP interaction")
    assert len(rig.agent.heard) == heard
    rig.deliver(caller, ONE, line(3, stopReason="end_turn"))
    assert isinstance(rig.reply(caller, first), AcpSessionRpcResponse)
    assert prompt(rig, caller)
    assert rig.answers[-1] == PENDING


def test_a_strangers_request_to_an_agent_at_work_is_not_a_conflict_but_unknown() -> None:
    rig, caller = opened()
    prompt(rig, caller)
    stranger = rig.connect()
    assert rig.ask(stranger, AcpSessionRequest("s", "_x", None)).message == "unknown ACP session s"
    assert rig.ask(stranger, AcpSessionRequest("t", "_x", None)).message == "unknown ACP session t"


def test_an_agent_that_is_being_woken_for_a_request_is_at_work() -> None:
    rig, caller = opened("me", journal=Shelf())
    rig.request(caller, "s", "_roost/sleep")
    rig.script = lambda agent, message: True
    first = prompt(rig, caller)
    assert rig.answers[-1] == AcpPendingResponse(TWO)
    conflict = rig.ask(caller, AcpSessionRequest("s", "_x", None))
    assert conflict == AcpErrorResponse("conflict", f"{TWO} is busy with another ACP interaction")
    capable = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    rig.deliver(caller, TWO, line(1, **capable))
    assert rig.deliver(caller, TWO, line(2)) == AcpPendingResponse(TWO)
    assert rig.ask(caller, AcpSessionRequest("s", "_x", None)) == conflict
    rig.deliver(caller, TWO, line(3, stopReason="end_turn"))
    assert rig.rpc(caller, first)["result"] == {"stopReason": "end_turn"}  # once the journal has it
    assert rig.resumable.pending == 0


def test_what_the_sidecar_answers_by_itself_may_come_beside_a_prompt() -> None:
    rig, caller = opened("me", journal=Shelf())
    prompt(rig, caller)
    history = rig.ask(caller, AcpSessionRequest("s", "_roost/history", None))
    assert [entry["kind"] for entry in json.loads(history.response)["result"]["entries"]] == ["prompt"]
    assert rig.resumable.pending == 1


def test_a_cancel_and_a_notification_may_come_beside_a_prompt() -> None:
    rig, caller = opened()
    first = prompt(rig, caller)
    told = rig.ask(caller, AcpSessionRequest("s", "document/didSave", None))
    assert json.loads(told.response)["result"] == {}
    cancel = rig.send(caller, AcpSessionRequest("s", "session/cancel", None))
    assert rig.answers[-1] == PENDING
    assert rig.agent.requests("session/cancel")
    done = rig.deliver(caller, ONE, line(3, stopReason="cancelled"))
    assert done == rig.reply(caller, first)  # the oldest one is what the Deliver is answered with
    assert json.loads(rig.reply(caller, cancel).response)["result"]["cancelled"] is True


def test_close_is_pending_until_the_agent_is_gone() -> None:
    rig, caller = opened()
    rig.agent.exits_on_eof = False
    first = prompt(rig, caller)
    close = rig.close(caller, "s")
    assert rig.answers[-1] == PENDING
    assert json.loads(rig.reply(caller, first).response)["result"] == {"stopReason": "cancelled"}
    assert rig.deliver(caller, ONE, b"last words\n") == PENDING
    rig.advance(1)
    assert rig.reply(caller, close) == AcpSessionClosedResponse("s")
    rig.assert_nothing_left()


def test_reading_the_state_needs_nobody() -> None:
    rig, caller = opened()
    prompt(rig, caller)
    assert rig.ask(caller, AcpGetSessionStateRequest("s")).process_id == ONE


def test_resume_goes_the_same_way() -> None:
    rig = EmbeddedRig(lambda agent, message: True)
    caller = rig.connect()
    rig.send(caller, AcpResumeSessionRequest("old", "echo", None, "/w", {}))
    assert rig.answers == [PENDING]
    capable = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    assert rig.deliver(caller, ONE, line(1, **capable)) == PENDING
    assert rig.agent.heard[-1]["method"] == "session/load"
    replayed = b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"x"}}}\n'
    assert rig.deliver(caller, ONE, replayed) == PENDING
    assert rig.deliver(caller, ONE, line(2)) == AcpSessionResumedResponse("old", "native")
    assert len(rig.notifications(caller)) == 1


def test_joining_a_live_session_is_answered_at_once() -> None:
    rig, _ = opened("me")
    second = rig.connect("me")
    assert rig.ask(second, AcpResumeSessionRequest("s", "echo", None, "/w", {})).mode == "native"


def test_another_connection_of_the_same_caller_may_deliver() -> None:
    rig, caller = opened("me")
    first = prompt(rig, caller)
    second = rig.connect("me")
    assert isinstance(rig.deliver(second, ONE, line(3)), AcpSessionRpcResponse)
    assert isinstance(rig.reply(caller, first), AcpSessionRpcResponse)


def test_an_exchange_moves_to_the_next_agent_when_its_own_has_crashed() -> None:
    rig, caller = opened()
    rig.agent.hear = rig.script = lambda agent, message: True
    first = prompt(rig, caller)
    rig.agent.exit(1)
    assert rig.reply(caller, first) is None  # until it is known what became of it
    assert rig.deliver(caller, ONE, b"") == AcpErrorResponse("invalid_state", f"no pending ACP interaction for {ONE}")
    capable = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    assert rig.deliver(caller, TWO, line(1, **capable)) == AcpPendingResponse(TWO)
    failed = rig.deliver(caller, TWO, line(2))
    assert isinstance(failed, AcpErrorResponse)
    assert "auto-restarted (attempt 1/3)" in failed.message
    assert [type(event) for event in rig.events(caller)] == [AcpAgentExitedEvent]
    assert rig.resumable.pending == 0


def test_an_abandoned_exchange_is_over_when_its_time_is_and_nothing_is_left() -> None:
    rig = EmbeddedRig(lambda agent, message: True)
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.deliver(caller, ONE, b"half a li")
    rig.advance(31)
    assert rig.reply(caller, request).code == "timeout"
    assert rig.resumable.pending == 0
    rig.assert_nothing_left()


def test_time_passes_with_every_step() -> None:
    """A host that has forgotten to call `expire` loses nothing but punctuality."""
    rig = EmbeddedRig(lambda agent, message: True)
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.now += 40
    assert rig.deliver(caller, ONE, line(1, protocolVersion=1)) == PENDING  # its agent is being ended
    assert rig.reply(caller, request).code == "timeout"


def test_time_passes_with_what_is_told_too() -> None:
    rig = EmbeddedRig(lambda agent, message: True)
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.now += 40
    rig.feed(events.AgentWrote(ONE, line(1, protocolVersion=1)))
    assert rig.reply(caller, request).code == "timeout"


def test_delivering_nothing_is_no_sign_of_life() -> None:
    rig, caller = opened()
    first = prompt(rig, caller)
    rig.advance(400)
    assert rig.deliver(caller, ONE, b"") == PENDING
    rig.advance(201)
    assert json.loads(rig.reply(caller, first).response)["error"]["data"]["kind"] == "acp_timeout"


@pytest.mark.parametrize(
    "beside",
    [
        AcpSessionRequest("s", "session/cancel", None),
        AcpCloseSessionRequest("s"),
        AcpResumeSessionRequest("s", "echo", None, "", {}),
    ],
    ids=lambda request: type(request).__name__,
)
def test_what_may_come_beside_a_prompt_waits_for_the_agent_that_is_being_woken_and_names_it(beside: AcpRequest) -> None:
    rig, caller = opened("me", journal=Shelf())
    rig.request(caller, "s", "_roost/sleep")
    rig.script = lambda agent, message: True
    prompt(rig, caller)
    request = rig.send(caller, beside)
    assert rig.answers[-1] == AcpPendingResponse(TWO)
    assert rig.resumable.pending == 2
    capable = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    rig.deliver(caller, TWO, line(1, **capable))
    rig.deliver(caller, TWO, line(2))
    if rig.reply(caller, request) is None:
        rig.deliver(caller, TWO, line(3, stopReason="cancelled"))
    assert rig.reply(caller, request) is not None


def test_a_host_that_cannot_start_an_agent_says_so_afterwards() -> None:
    rig = EmbeddedRig(lambda agent, message: True)
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.feed(events.AgentFailedToStart(ONE, "io", "no room"))
    assert rig.reply(caller, request) == AcpErrorResponse("io", "no room")


def test_questions_go_out_as_commands_and_their_answers_come_back() -> None:
    rig, caller = opened()
    prompt(rig, caller)
    rig.agent.ask("session/request_permission", {})
    assert len(rig.asked) == 1
    rig.answer(caller, 1, AcpPermissionCallbackResponse("permission", "once"))
    assert rig.agent.answers()[0]["result"]["outcome"]["outcome"] == "selected"


def test_output_between_requests_is_told_by_the_host() -> None:
    rig, caller = opened()
    rig.agent.update(sessionUpdate="later")  # the rig tells it: nothing is pending
    assert len(rig.notifications(caller)) == 1


def test_a_caller_that_leaves_completes_its_exchanges() -> None:
    rig, caller = opened()
    prompt(rig, caller)
    rig.send(rig.connect(), create_request())
    rig.leave(caller)
    rig.leave(2)
    rig.advance(20)
    assert rig.resumable.pending == 0
    rig.assert_nothing_left()
