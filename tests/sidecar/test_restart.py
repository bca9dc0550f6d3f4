"""What a session is after a restart, and where there is none: beyond the reference's cases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar.gen.messages import AcpAgentExitedEvent
from tests.sidecar.kept_sessions import kept
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json

LOAD = {"loadSession": True}
OPTION = {"configId": "speed", "name": "Speed", "currentValue": "slow"}


def numbered(agent: Agent, message: Json) -> bool:
    """Agents whose modes and options say which of them it is."""
    if message.get("method") not in ("session/new", "session/load", "session/resume"):
        return False
    modes = {"currentModeId": agent.process, "availableModes": []}
    agent.result(message, {"sessionId": "s", "modes": modes, "configOptions": [{**OPTION, "of": agent.process}]})
    return True


def exits(rig: Rig, caller: int) -> list[str]:
    return [event.restart for event in rig.events(caller) if isinstance(event, AcpAgentExitedEvent)]


@pytest.mark.parametrize("session", [None, False, True, [], "yes"])
def test_an_agent_of_version_2_without_sessions_in_its_capabilities_is_not_asked_to_attach_one(session: Any) -> None:
    rig = Rig()
    rig.capabilities = {"session": session}
    caller = rig.connect()
    rig.create(caller, protocol_version=2)
    rig.agent.exit(1)
    assert exits(rig, caller) == ["unsupported"]
    assert [message["method"] for message in rig.agent.heard] == ["initialize"]
    rig.assert_nothing_left()


def test_a_session_that_is_given_up_is_noted_with_the_reason() -> None:
    rig = Rig()
    rig.create(rig.connect())
    rig.agent.exit(1)
    [note] = [note for note in rig.notes if "given up after a crash" in note.text]
    assert note.level == "warning"
    assert "auto-restart unsupported" in note.text


@pytest.mark.parametrize("version", [1, 2])
def test_the_state_and_the_journal_have_what_the_new_agent_says(version: int) -> None:
    rig, shelf, me = kept(numbered)
    rig.capabilities = LOAD
    session = rig.create(me, protocol_version=version).session_id
    before = rig.state(me, session)
    rig.agent.exit(1)
    after = rig.state(me, session)
    assert json.loads(after.modes)["currentModeId"] == "acp-agent-2"
    assert json.loads(after.config_options[0])["of"] == "acp-agent-2"
    assert (after.agent_capabilities, after.agent_info) == (before.agent_capabilities, before.agent_info)
    stored = shelf.sessions[session]
    assert (stored.modes, list(stored.config_options)) == (after.modes, after.config_options)


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_set_after_a_restart_is_tracked_as_before_it(version: int) -> None:
    rig, _, me = kept(numbered)
    rig.capabilities = LOAD
    session = rig.create(me, protocol_version=version).session_id
    rig.agent.exit(1)
    rig.request(me, session, "session/set_config_option", {"configId": "speed", "value": "fast"})
    [option] = rig.state(me, session).config_options
    if version == 2:
        assert json.loads(option) == {**OPTION, "of": "acp-agent-2", "currentValue": "fast"}
    else:
        assert json.loads(option)["currentValue"] == "slow", "in version 1 an option is called by its `id`"


def test_the_prompt_that_a_crash_has_lost_is_told_of_its_past_again() -> None:
    rig, _, me = kept(lambda agent, message: message.get("method") == "session/prompt")
    rig.capabilities = LOAD
    session = rig.create(me).session_id
    found = rig.session(session)
    assert found is not None
    found.preamble = "remember"
    rig.prompt(me, session)
    rig.agent.exit(1)
    rig.prompt(me, session)
    assert rig.agent.requests("session/prompt")[0]["params"]["prompt"][0] == {"type": "text", "text": "remember"}
