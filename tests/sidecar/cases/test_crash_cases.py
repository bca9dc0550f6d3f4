"""Cases 75 to 85: crashes and restarts."""

from __future__ import annotations

from typing import Any

import pytest

from roost.sidecar.gen.messages import AcpAgentExitedEvent, AcpErrorResponse
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json

LOAD = {"loadSession": True}
PREFIX = "ACP adapter process acp-agent-{0} exited with code {1} before response id=3; "
RETRY = "; ACP adapter was auto-restarted (attempt {0}/3) and the session is live again — retry the request"


def opened(capabilities: Json, **options: Any) -> tuple[Rig, int, str]:
    """A session whose agent leaves prompts unanswered."""
    rig = Rig(options.pop("script", None) or silent, **options)
    rig.capabilities = capabilities
    caller = rig.connect()
    return rig, caller, rig.create(caller).session_id


def silent(agent: Agent, message: Json) -> bool:
    return message.get("method") == "session/prompt"


def exits(rig: Rig, caller: int) -> list[AcpAgentExitedEvent]:
    return [event for event in rig.events(caller) if isinstance(event, AcpAgentExitedEvent)]


def test_case_075_a_crash_is_told_the_request_fails_and_the_retry_works() -> None:
    rig, caller, session = opened(LOAD)
    prompt = rig.prompt(caller, session)
    rig.agent.exit(7)
    assert exits(rig, caller) == [AcpAgentExitedEvent(session, "echo", "acp-agent-1", 7, "restarted", 1, 3)]
    error = rig.reply(caller, prompt)
    assert isinstance(error, AcpErrorResponse)
    assert error.code == "invalid_state"
    assert error.message.startswith(PREFIX.format(1, 7))
    assert error.message.endswith(RETRY.format(1))
    state = rig.state(caller, session)
    assert (state.process_id, state.closed, state.exit_code) == ("acp-agent-2", False, None)
    retry = rig.prompt(caller, session)
    assert rig.agent.heard[-1]["id"] == 3
    rig.agent.result({"id": 3}, {"stopReason": "end_turn"})
    assert rig.rpc(caller, retry)["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize(
    ("capabilities", "method"),
    [
        ({"resume": True}, "session/resume"),
        ({"sessionCapabilities": {"resume": {}}}, "session/resume"),
        ({"loadSession": True}, "session/load"),
        ({"loadSession": True, "resume": True}, "session/load"),
    ],
)
def test_case_076_the_agents_own_way_of_attaching_is_used(capabilities: Json, method: str) -> None:
    """Ours: mcpServers are sent again."""
    rig = Rig()
    rig.capabilities = capabilities
    caller = rig.connect()
    session = rig.create(caller, mcp_servers='[{"name":"m"}]', env={"K": "V"}, args=["-x"]).session_id
    launch = rig.agent.launch
    rig.agent.exit(1)
    assert rig.agent.launch == launch
    assert rig.agent.heard[1] == {
        "jsonrpc": "2.0",
        "id": 2,
        "method": method,
        "params": {"sessionId": session, "cwd": "/w", "mcpServers": [{"name": "m"}]},
    }


def test_case_076_version_2_resumes_without_a_replay() -> None:
    rig = Rig()
    caller = rig.connect()
    session = rig.create(caller, protocol_version=2).session_id
    rig.agent.exit(1)
    assert rig.agent.heard[1]["method"] == "session/resume"
    assert "replayFrom" not in rig.agent.heard[1]["params"]
    assert rig.state(caller, session).process_id == "acp-agent-2"


@pytest.mark.parametrize("capabilities", [{}, {"loadSession": False}, {"resume": {}}, {"sessionCapabilities": True}])
def test_case_077_without_a_way_to_attach_the_session_is_given_up(capabilities: Json) -> None:
    rig, caller, session = opened(capabilities)
    prompt = rig.prompt(caller, session)
    rig.agent.exit(3)
    assert exits(rig, caller) == [AcpAgentExitedEvent(session, "echo", "acp-agent-1", 3, "unsupported", 1, 3)]
    assert rig.reply(caller, prompt).message.endswith(
        "; ACP adapter auto-restart unsupported (adapter does not advertise loadSession/resume) — session evicted"
    )
    assert rig.state(caller, session) == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    rig.assert_nothing_left()


def test_case_078_an_attach_error_fails_the_restart_and_no_new_session_is_made() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/load":
            agent.error(message, -32603, "gone", {"kind": "unknown_session"})
            return True
        return silent(agent, message)

    rig, caller, session = opened(LOAD, script=script)
    prompt = rig.prompt(caller, session)
    rig.agent.exit(1)
    assert exits(rig, caller)[0].restart == "failed"
    assert rig.reply(caller, prompt).message.endswith(
        '; ACP adapter auto-restart failed (ACP session/load failed: gone (data: {"kind":"unknown_session"})) '
        "— session evicted"
    )
    assert rig.agent.requests("session/new") == []
    rig.assert_nothing_left()


def test_case_078_an_agent_that_cannot_be_started_again_fails_the_restart() -> None:
    rig, caller, _ = opened(LOAD)
    rig.spawn_error = ("execution", "no such file")
    rig.agent.exit(1)
    assert exits(rig, caller)[0].restart == "failed"
    rig.assert_nothing_left()


def test_case_079_the_fourth_crash_exhausts_the_budget_which_good_prompts_do_not_refill() -> None:
    rig, caller, session = opened(LOAD)
    for attempt in range(1, 4):
        prompt = rig.prompt(caller, session)
        rig.agent.result({"id": 3}, {"stopReason": "end_turn"})
        assert rig.rpc(caller, prompt)["result"] == {"stopReason": "end_turn"}
        rig.agent.exit(attempt)
        rig.advance(5)
    prompt = rig.prompt(caller, session)
    rig.agent.exit(9)
    told = [(event.restart, event.restart_count, event.exit_code) for event in exits(rig, caller)]
    assert told == [("restarted", 1, 1), ("restarted", 2, 2), ("restarted", 3, 3), ("exhausted", 3, 9)]
    assert rig.reply(caller, prompt).message.endswith(
        "; ACP adapter restart budget exhausted (3 restarts) — session evicted"
    )
    rig.assert_nothing_left()


def test_case_079_ten_quiet_minutes_refill_the_budget() -> None:
    """Ours."""
    rig, caller, session = opened(LOAD)
    for _ in range(3):
        rig.agent.exit(1)
        rig.advance(5)
    rig.advance(600)
    rig.agent.exit(1)
    assert exits(rig, caller)[-1].restart_count == 1
    assert rig.state(caller, session).closed is False


def test_case_079_each_further_restart_waits_twice_as_long() -> None:
    """Ours: the first one is at once, then 0.5 s, 1 s."""
    rig, caller, session = opened(LOAD)
    for number, wait in enumerate((0.0, 0.5, 1.0), 2):
        rig.agent.exit(1)
        if wait:
            rig.advance(wait - 0.01)
            assert rig.state(caller, session).closed is True
            rig.advance(0.02)
        assert list(rig.agents)[-1] == f"acp-agent-{number}"
        assert rig.state(caller, session).closed is False


def test_case_080_an_idle_agents_exit_is_noticed_at_once() -> None:
    """Ours: the reference noticed at the next request."""
    rig, caller, session = opened(LOAD)
    rig.agent.exit(None)
    assert exits(rig, caller) == [AcpAgentExitedEvent(session, "echo", "acp-agent-1", None, "restarted", 1, 3)]


def test_case_081_exit_code_0_is_a_crash() -> None:
    rig, caller, session = opened(LOAD)
    prompt = rig.prompt(caller, session)
    rig.agent.exit(0)
    assert exits(rig, caller)[0].exit_code == 0
    assert "exited with code 0 before response id=3" in rig.reply(caller, prompt).message


@pytest.mark.parametrize(("code", "told"), [(-9, -9), (0xC0000005, -1073741819), (2**31, -(2**31))])
def test_case_081_an_exit_code_fits_the_wire(code: int, told: int) -> None:
    rig, caller, _ = opened(LOAD)
    rig.agent.exit(code)
    assert exits(rig, caller)[0].exit_code == told


def test_case_082_one_event_per_crash_before_the_answers_of_all_that_was_in_flight() -> None:
    rig, caller, session = opened(LOAD)
    requests = [rig.prompt(caller, session) for _ in range(3)]
    rig.told.clear()
    rig.agent.exit(1)
    kinds = [told[0] if isinstance(told, tuple) else type(told).__name__ for _, told in rig.told]
    assert kinds == ["AcpAgentExitedEvent", *requests]


def test_case_083_close_is_no_crash() -> None:
    rig, caller, session = opened(LOAD)
    rig.close(caller, session)
    assert exits(rig, caller) == []
    rig.assert_nothing_left()


def test_case_084_what_is_replayed_in_a_restart_was_heard_before() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/load":
            agent.update(sessionUpdate="user_message_chunk")
        return False

    rig, caller, _ = opened(LOAD, script=script)
    rig.agent.exit(1)
    assert rig.notifications(caller) == []
    rig.agent.update(sessionUpdate="agent_message_chunk")
    assert len(rig.notifications(caller)) == 1


@pytest.mark.parametrize("value", ["true", 1, {}, None])
def test_case_085_only_a_literal_true_is_a_capability(value: Any) -> None:
    rig, caller, _ = opened({"loadSession": value, "resume": value})
    rig.agent.exit(1)
    assert exits(rig, caller)[0].restart == "unsupported"
