"""Agents that nobody here wrote hold whole conversations through the sidecar, in version 2, with a scripted model.

`ROOST_INTEROP` names the agents to try, or `all`; without it the default set is tried.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from tests.interop.harness.results import Results
from tests.interop.harness.scenarios import SCENARIOS
from tests.interop.harness.stage import Stage, staged
from tests.interop.installed import installed
from tools.interop.agents import AGENTS, DEFAULT
from tools.interop.spec import Agent

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]


def chosen() -> list[str]:
    names = os.environ.get("ROOST_INTEROP", "")
    if names == "all":
        return list(AGENTS)
    return [name for name in AGENTS if name in (names.split(",") if names else DEFAULT)]


TRIED = [(name, scenario) for name in chosen() for scenario in AGENTS[name].scenarios]


class Stages:
    """The stage of the agent at hand; that of the one before is taken down first."""

    def __init__(self, folder: Callable[[str], Path]) -> None:
        self._folder = folder
        self._stack = AsyncExitStack()
        self._stage: Stage | None = None

    async def of(self, agent: Agent) -> Stage:
        if self._stage is None or self._stage.agent is not agent:
            await self.close()
            self._stage = await self._stack.enter_async_context(staged(agent, self._folder(agent.name)))
        return self._stage

    async def close(self) -> None:
        stack, self._stack, self._stage = self._stack, AsyncExitStack(), None
        await stack.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stages]:
    stages = Stages(tmp_path_factory.mktemp)
    yield stages
    await stages.close()


@pytest.mark.parametrize(("name", "scenario"), TRIED)
async def test_a_conversation_through_the_sidecar(stages: Stages, name: str, scenario: str, results: Results) -> None:
    agent = AGENTS[name]
    if scenario in agent.lacks:
        results.add(agent, scenario, "lacks", agent.lacks[scenario])
        return
    installed(agent.pin)
    stage = await stages.of(agent)
    stage.note = ""
    try:
        await SCENARIOS[scenario](stage)
    except BaseException:
        results.add(agent, scenario, "fails", "")
        await stage.discard()
        raise
    results.add(agent, scenario, "works", stage.note)
    if scenario in agent.spoils:
        await stage.discard()
