"""What an agent was told about where it runs it is told again whenever its session is started again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar.gen.messages import AcpResumeSessionRequest
from roost.sidecar.instructions import APPEND_VARIABLE, CONTEXT_PATHS_VARIABLE
from roost.sidecar.launch import Launch
from tests.sidecar.rig import Rig, Shelf

TOLD = "Be brief.\n\n---"
AGENTS = ("pi", "codex", "opencode", "echo")


def kept(agent: str, **fields: Any) -> tuple[Shelf, str]:
    """A session with instructions, in the journal of a daemon that is gone."""
    shelf = Shelf()
    rig = Rig(journal=shelf)
    rig.install(agent)
    session = rig.create(rig.connect("me"), agent=agent, additional_instructions="Be brief.", **fields).session_id
    assert told(rig.agent.launch) == TOLD
    return shelf, session


def told(launch: Launch) -> str | None:
    """The instructions, wherever this agent looks for them."""
    if launch.args:
        return launch.args[-1]
    if launch.agent_type == "opencode":
        ((path, text),) = launch.files or (("", ""),)
        return text if path and json.loads(launch.env[CONTEXT_PATHS_VARIABLE])[-1] == path else None
    return launch.env.get(APPEND_VARIABLE)


def resume(session: str, agent: str = "", **env: str) -> AcpResumeSessionRequest:
    return AcpResumeSessionRequest(session, agent, None, "", env)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("how", ["woken", "resumed", "started again"])
def test_instructions_outlive_the_daemon(agent: str, how: str) -> None:
    shelf, session = kept(agent)
    for _ in range(2):  # and the daemon after that
        rig = Rig(journal=shelf)
        rig.install(agent)
        rig.capabilities = {"loadSession": True}
        me = rig.connect("me")
        if how == "resumed":
            rig.ask(me, resume(session))
        else:
            rig.prompt(me, session)
        if how == "started again":
            rig.agent.exit(1)
            assert len(rig.agents) == 2
        assert told(rig.agent.launch) == TOLD


@pytest.mark.parametrize("agent", AGENTS)
def test_the_variable_that_tells_instructions_has_not_to_be_given_again(agent: str) -> None:
    shelf, session = kept(agent, env={"KEY": "secret"})
    assert shelf.sessions[session].launch.env_names == ("KEY",)


@pytest.mark.parametrize("knows", [True, False])
@pytest.mark.parametrize(("agent", "variable"), [("echo", APPEND_VARIABLE), ("opencode", CONTEXT_PATHS_VARIABLE)])
def test_who_resumes_a_session_may_set_the_variable_and_has_to_give_it_again_then(
    agent: str, variable: str, knows: bool
) -> None:
    """`knows`: by the daemon that has put the session to sleep, which has its secrets."""
    shelf = Shelf()
    rig = Rig(journal=shelf, sleep_after=10.0)
    rig.install(agent)
    me = rig.connect("me")
    session = rig.create(me, agent=agent, additional_instructions="Be brief.").session_id
    if knows:
        rig.advance(60)
    else:
        rig = Rig(journal=shelf)
        rig.install(agent)
        me = rig.connect("me")
    rig.capabilities = {"loadSession": True}
    rig.ask(me, resume(session, agent, **{variable: "[]"}))
    assert rig.agent.launch.env[variable] == "[]"
    assert shelf.sessions[session].launch.env_names == (variable,)
    assert shelf.sessions[session].launch.instructions is None


def test_a_session_that_nobody_knows_is_resumed_without_instructions() -> None:
    """Section 7."""
    rig = Rig()
    rig.ask(rig.connect(), AcpResumeSessionRequest("old", "echo", None, "/w", {}))
    assert APPEND_VARIABLE not in rig.agent.launch.env
