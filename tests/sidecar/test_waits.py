"""Every wait: how long it is, which setting says so, and what comes after it."""

from __future__ import annotations

import pytest

from roost.sidecar import commands, events
from roost.sidecar.gen.messages import AcpAgentExitedEvent, AcpErrorResponse, AcpListAgentsRequest
from tests.sidecar.limited import opened
from tests.sidecar.rig import Rig, create_request


@pytest.mark.parametrize(
    ("hung", "setting", "seconds"),
    [("initialize", "initialize_timeout", 7.0), ("session/new", "session_open_timeout", 8.0)],
)
def test_handshake_timeouts_are_settings(hung: str, setting: str, seconds: float) -> None:
    rig = Rig(lambda agent, message: message.get("method") == hung, **{setting: seconds})
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.advance(seconds + 0.1)
    assert f"({setting})" in rig.reply(caller, request).message
    assert rig.reply(caller, request).code == "timeout"


def test_request_and_inactivity_timeouts_are_settings() -> None:
    rig, caller, session = opened(request_timeout=7.0, inactivity_timeout=9.0)
    slow, prompt = rig.request(caller, session, "_slow"), rig.prompt(caller, session)
    rig.advance(7.1)
    assert rig.rpc(caller, slow)["error"]["data"]["timeoutMs"] == 7000
    rig.advance(2)
    assert rig.rpc(caller, prompt)["error"]["data"]["timeoutMs"] == 9000


def test_the_wait_before_a_restart_and_the_time_that_refills_the_budget_are_settings() -> None:
    rig, caller, session = opened(restarts=2, restart_backoff=4.0, restart_refill_after=50.0)
    rig.agent.exit(1)
    rig.agent.exit(1)
    rig.advance(3.9)
    assert rig.agent.process == "acp-agent-2"
    rig.advance(0.2)
    assert rig.agent.process == "acp-agent-3"
    rig.advance(50)
    rig.agent.exit(1)
    assert rig.agent.process == "acp-agent-4", "the first crash of a new count: no wait"
    assert rig.state(caller, session).closed is False


@pytest.mark.parametrize(("quiet", "restart"), [(45.8, "exhausted"), (46.0, "restarted")])
def test_the_budget_is_full_again_after_exactly_that_time_without_a_crash(quiet: float, restart: str) -> None:
    rig, caller, _ = opened(restarts=2, restart_backoff=4.0, restart_refill_after=50.0)
    rig.agent.exit(1)
    rig.agent.exit(1)
    rig.advance(4)
    rig.advance(quiet)
    rig.agent.exit(1)
    told = [event.restart for event in rig.events(caller) if isinstance(event, AcpAgentExitedEvent)]
    assert told == ["restarted", "restarted", restart]


def test_the_grace_after_a_failed_start_is_a_setting() -> None:
    rig = Rig(lambda agent, message: message.get("method") == "initialize", initialize_timeout=1.0, abort_grace=3.0)
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.agent.exits_on_eof, rig.agent.exits_on = False, frozenset((9,))
    rig.advance(1.1)
    assert rig.agent.signals == [15]
    rig.advance(2.8)
    assert rig.agent.signals == [15]
    assert rig.reply(caller, request) is None
    rig.advance(0.2)
    assert rig.agent.signals == [15, 9]
    assert rig.reply(caller, request).code == "timeout"


class DeafDriver(Rig):
    """A driver that does not carry commands of one kind out."""

    ignored: type = commands.Load

    def _do(self, command: commands.Command) -> None:
        if not isinstance(command, self.ignored):
            super()._do(command)


def test_a_driver_that_never_finds_a_record_costs_one_request() -> None:
    rig = DeafDriver(load_timeout=7.0)
    caller = rig.connect()
    request, listing = rig.send(caller, create_request()), rig.send(caller, AcpListAgentsRequest(False))
    rig.advance(7.1)
    assert rig.reply(caller, request) == AcpErrorResponse("timeout", "no record was found within 7 s (load_timeout)")
    assert rig.reply(caller, listing).agents == []
    rig.feed(events.RecordLoaded(1, None))  # too late
    rig.assert_nothing_left()


def test_an_agent_that_is_never_started_costs_one_request() -> None:
    rig = DeafDriver(initialize_timeout=7.0)
    rig.ignored = (commands.SpawnAgent, commands.CloseAgentInput, commands.SignalAgent)  # type: ignore[assignment]
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.advance(30)
    assert rig.reply(caller, request).message == "acp-agent-1 was not started within 7 s (initialize_timeout)"
    assert rig.engine.idle
