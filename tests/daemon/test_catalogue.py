"""What the engine is told of an agent, and what keeps one from being started."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from roost.daemon.catalogue import LocalCatalogue
from roost.errors import ProcessError
from roost.process.packages import Packages
from roost.process.runtimes.base import RuntimeSettings
from roost.process.runtimes.registry import Runtimes
from roost.sidecar.launch import AgentProgram, Launch
from roost.sidecar.quirks import NO_QUIRKS, Quirks
from tests.program_file import program


@pytest.fixture
def gemini(tmp_path: Path) -> Path:
    """What npm would have installed, beside a node that is too old for it."""
    program(tmp_path / "bin" / "node", "#!/bin/sh\necho v18.1.0\n")
    folder = tmp_path / "node_modules" / "@google" / "gemini-cli"
    program(folder / "cli.js", "#!/usr/bin/env node\n")
    (folder / "package.json").write_text(json.dumps({"engines": {"node": ">=20"}}))
    return folder / "cli.js"


@pytest.fixture
def root(tmp_path: Path, gemini: Path) -> Path:
    """A root with the agent installed by hand, under a name of its own."""
    root = tmp_path / "root"
    folder = root / "pkgs" / "my-gemini" / "1"
    folder.mkdir(parents=True)
    folder.parent.joinpath("current").symlink_to("1")
    manifest = {"version": "1", "agent": {"acpEntrypoint": "my-gemini", "launchArgs": ["--acp"]}}
    (folder / "agentos-package.json").write_text(json.dumps(manifest))
    inside = folder / "node_modules" / "@google"
    inside.mkdir(parents=True)
    gemini.parent.rename(inside / "gemini-cli")
    (root / "bin").mkdir()
    (root / "bin" / "my-gemini").symlink_to(inside / "gemini-cli" / "cli.js")
    return root


def catalogue(
    tmp_path: Path, *roots: Path, quirks: Mapping[str, Mapping[str, Any]] | None = None, **own: str
) -> LocalCatalogue:
    path = str(tmp_path / "bin")
    runtimes = Runtimes(RuntimeSettings(path=path))
    environment = {"PATH": path, **own}
    let_through = tuple(own)
    return LocalCatalogue(
        Packages(roots, runtimes), runtimes, own_env=environment, let_through=let_through, quirks=quirks
    )


def launch(program: AgentProgram | None) -> Launch:
    from roost.sidecar.gen.messages import AcpRuntimeKind

    assert program is not None
    return Launch(
        program=program,
        runtime=AcpRuntimeKind.JAVA_SCRIPT,
        cwd="/",
        args=program.launch_args,
        env={},
        protocol_version=2,
        client_capabilities="{}",
        mcp_servers="[]",
    )


def test_an_installed_agent_comes_with_its_quirks(tmp_path: Path, root: Path) -> None:
    found = catalogue(tmp_path, root).find("my-gemini")
    assert found is not None
    assert found.quirks.authenticate == {"gemini-api-key": ("GEMINI_API_KEY",)}
    assert found.quirks.missing_file == "empty"
    assert found.quirks_by_info == {}
    assert found.inherited == ()


def test_a_command_line_comes_with_its_quirks(tmp_path: Path, gemini: Path) -> None:
    for command in (f"{gemini} --acp", "npx -y @google/gemini-cli --acp"):
        found = catalogue(tmp_path).find(command)
        assert found is not None
        assert found.quirks.resume == "transcript"


def test_a_program_nobody_knows_may_tell_its_name(tmp_path: Path) -> None:
    found = catalogue(tmp_path, quirks={"odd": {"speaks": 1}}).find("/srv/agent --acp")
    assert found is not None
    assert found.quirks == NO_QUIRKS
    assert found.quirks_by_info["gemini-cli"].resume == "transcript"
    assert found.quirks_by_info["odd"] == Quirks(speaks=1)


def test_what_the_user_says_wins(tmp_path: Path, root: Path) -> None:
    found = catalogue(tmp_path, root, quirks={"my-gemini": {"resume": "native"}}).find("my-gemini")
    assert found is not None
    assert found.quirks.resume == "native"


def test_only_the_variables_a_login_asks_for_are_named(tmp_path: Path, root: Path) -> None:
    here = catalogue(tmp_path, root, GEMINI_API_KEY="k", OTHER_KEY="o")
    for agent in ("my-gemini", "/srv/unknown"):
        found = here.find(agent)
        assert found is not None
        assert found.inherited == ("GEMINI_API_KEY",)


def test_an_agent_that_its_node_is_too_old_for_is_not_started(tmp_path: Path, root: Path) -> None:
    here = catalogue(tmp_path, root)
    with pytest.raises(ProcessError) as caught:
        here.plan(launch(here.find("my-gemini")))
    assert str(caught.value) == (
        f"my-gemini needs node >=20, and {tmp_path}/bin/node is 18.1.0"
        ' (needs = "ignored" in [quirks.my-gemini] of the configuration tries it)'
    )


def test_a_command_line_that_its_node_is_too_old_for_is_not_started(tmp_path: Path, gemini: Path) -> None:
    here = catalogue(tmp_path)
    with pytest.raises(ProcessError, match="needs node >=20, and"):
        here.plan(launch(here.find(f"{gemini} --acp")))


def test_a_user_may_try_it_all_the_same(tmp_path: Path, root: Path) -> None:
    here = catalogue(tmp_path, root, quirks={"gemini": {"needs": "ignored"}})
    plan = here.plan(launch(here.find("my-gemini")))
    assert plan.argv == (f"{tmp_path}/bin/node", f"{root}/bin/my-gemini", "--acp")


def test_a_node_that_is_new_enough_stops_nobody(tmp_path: Path, root: Path) -> None:
    program(tmp_path / "bin" / "node", "#!/bin/sh\necho v22.0.0\n")
    here = catalogue(tmp_path, root)
    assert here.plan(launch(here.find("my-gemini"))).argv[0] == f"{tmp_path}/bin/node"
