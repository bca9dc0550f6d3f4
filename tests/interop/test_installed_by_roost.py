"""What `roost install` installs runs by its name: for `make interop`, since it asks the registries each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop.harness.scenarios import SCENARIOS
from tests.interop.harness.stage import staged
from tools.interop.agents import AGENTS

INSTALL_TIMEOUT = 240
NAMES = ("gemini", "opencode", "agentao")

pytestmark = pytest.mark.timeout(INSTALL_TIMEOUT + 60)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    command = [sys.executable, "-m", "roost.cli.main", "install", "--root", str(root), *NAMES]
    subprocess.run(command, check=True, timeout=INSTALL_TIMEOUT, stdin=subprocess.DEVNULL)
    return root


@pytest.mark.parametrize("name", NAMES)
async def test_an_agent_that_roost_installed_holds_a_conversation(root: Path, name: str, tmp_path: Path) -> None:
    async with staged(AGENTS[name], tmp_path, root=root) as stage:
        for scenario in ("text", "write", "run", "cancel", "end"):
            await SCENARIOS[scenario](stage)
