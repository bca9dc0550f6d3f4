"""`roost agents`: the list, from this machine and from a daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roost.cli.agents import table
from roost.cli.catalogue import Agent, agents_here, agents_of
from roost.sidecar.gen.messages import AcpAgentEntry
from tests.cli.rig import objects, roost


def install(root: Path, name: str, manifest: str | None = None, *, program: bool = True) -> None:
    """A package of that name."""
    folder = root / "pkgs" / name / "1"
    folder.mkdir(parents=True)
    (root / "pkgs" / name / "current").symlink_to("1")
    text = json.dumps({"name": name, "version": "1.2.3", "agent": {"acpEntrypoint": name}})
    (folder / "agentos-package.json").write_text(text if manifest is None else manifest)
    if program:
        (root / "bin").mkdir(exist_ok=True)
        (root / "bin" / name).write_text("#!/bin/sh\n")
        (root / "bin" / name).chmod(0o755)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "data" / "roost"
    install(made, "good")
    install(made, "empty", program=False)
    install(made, "broken", "{")
    return made


def test_the_list_says_what_can_be_run_and_why_not(root: Path) -> None:
    result = roost("agents", "--json")
    agents = {agent["name"]: agent for agent in objects(result)}
    assert [*agents] == sorted(agents)
    assert agents["good"] == {
        "name": "good",
        "version": "1.2.3",
        "source": str(root),
        "installed": True,
        "reason": None,
        "hint": None,
        "origin": None,
        "pinned": False,
    }
    assert agents["empty"]["installed"] is False
    assert "does not exist" in agents["empty"]["reason"]
    assert agents["broken"]["installed"] is False
    assert "agentos-package.json" in agents["broken"]["reason"]
    assert agents["wren"]["source"] == "shipped with Roost"


def test_the_table_has_columns(root: Path) -> None:
    result = roost("agents")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["NAME", "VERSION", "FROM", "STATE"]
    good = next(line for line in lines if line.startswith("good"))
    assert good.split() == ["good", "1.2.3", str(root), "ready"]
    assert good.index("1.2.3") == lines[0].index("VERSION")
    assert any(line.startswith("broken") and "cannot be run: " in line for line in lines)


def test_a_manifest_cannot_write_on_the_terminal() -> None:
    lines = table([Agent("a", "\x1b[2J", "b\n", True, None)])
    assert "<U+001B>[2J" in lines[1]
    assert "b<U+000A>" in lines[1]


def test_a_daemon_that_looks_elsewhere_is_believed(tmp_path: Path, root: Path) -> None:
    other = tmp_path / "other"
    install(other, "theirs")
    entries = [
        AcpAgentEntry("theirs", True, str(other / "bin" / "theirs")),
        AcpAgentEntry("good", False, str(root / "bin" / "good")),
        AcpAgentEntry("ghost", False, "/nowhere/bin/ghost"),
        AcpAgentEntry("odd", True, "some.module"),
    ]
    agents = {agent.name: agent for agent in agents_of(entries, {"XDG_DATA_HOME": str(tmp_path / "data")})}
    assert agents["theirs"] == Agent("theirs", "1.2.3", str(other), True, None)
    assert agents["good"].reason == "the daemon lacks what it needs; look at its PATH"
    assert agents["ghost"] == Agent("ghost", "", "/nowhere/bin/ghost", False, "the daemon says so")
    assert agents["odd"].installed
    assert not agents["broken"].installed


def test_without_agents_the_way_on_is_told() -> None:
    assert "any command line can be run" in table([])[0]


def test_a_socket_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    result = roost("agents", "--socket", str(tmp_path / ("x" * 200)))
    assert result.exit_code == 2
    assert "a socket path may be" in result.stderr


def test_a_look_at_this_machine_needs_no_daemon(root: Path) -> None:
    assert "good" in [agent.name for agent in agents_here({"XDG_DATA_HOME": str(root.parent)})]
