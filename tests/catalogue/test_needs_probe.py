"""A look at the machine: which node or Python would run an agent, and what its package asks for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from roost.catalogue import needs_probe
from roost.catalogue.needs import Found
from roost.catalogue.needs_probe import look_at, meet_node, node_range_of, node_version, venv_version
from tests.program_file import program


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node that counts how often it is asked."""
    return program(tmp_path / "bin" / "node", f"#!/bin/sh\necho >> {tmp_path}/asked\necho v20.19.0\n")


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """A program of an npm package, by its link."""
    folder = tmp_path / "node_modules" / "@me" / "agent"
    program(folder / "cli.js", "#!/usr/bin/env node\n")
    (folder / "package.json").write_text(json.dumps({"name": "@me/agent", "engines": {"node": ">=22"}}))
    link = tmp_path / "node_modules" / ".bin" / "agent"
    link.parent.mkdir()
    link.symlink_to("../@me/agent/cli.js")
    return link


def test_a_program_of_npm_is_run_by_the_node_on_its_path(node: Path, agent: Path) -> None:
    found = look_at([str(agent), "--acp"], {"PATH": str(node.parent)}, "/")
    assert found == Found(node_range=">=22", node="20.19.0", node_path=str(node))


def test_a_node_that_is_named_runs_the_file_after_its_options(node: Path, agent: Path) -> None:
    argv = [str(node), "--no-warnings", str(agent), "--acp"]
    assert look_at(argv, {}, "/") == Found(node_range=">=22", node="20.19.0", node_path=str(node))


def test_a_path_is_taken_from_the_agent_s_directory(node: Path, agent: Path, tmp_path: Path) -> None:
    found = look_at(["node_modules/.bin/agent"], {"PATH": str(node.parent)}, str(tmp_path))
    assert found.node_range == ">=22"


def test_a_missing_node_is_seen(agent: Path) -> None:
    assert look_at([str(agent)], {"PATH": "/nowhere"}, "/") == Found(lacks_node=True)


def test_a_node_is_asked_once_until_it_changes(node: Path, tmp_path: Path) -> None:
    assert [node_version(str(node)), node_version(str(node))] == ["20.19.0", "20.19.0"]
    assert len((tmp_path / "asked").read_text().splitlines()) == 1
    program(node, "#!/bin/sh\necho v22.14.0 with more words\n")
    assert node_version(str(node)) == "22.14.0"


def test_a_node_is_not_asked_when_nothing_depends_on_it(node: Path, tmp_path: Path) -> None:
    script = program(tmp_path / "plain.js", "#!/usr/bin/env node\n")
    assert look_at([str(script)], {"PATH": str(node.parent)}, "/") == Found(node_path=str(node))
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 3\n", "#!/bin/sh\necho hello\n", "#!/nowhere/at/all\n"])
def test_a_node_that_does_not_tell_its_version_has_none(tmp_path: Path, text: str) -> None:
    assert node_version(str(program(tmp_path / "node", text))) == ""


def test_a_node_that_takes_too_long_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs_probe, "VERSION_TIMEOUT", 0.05)
    assert node_version(str(program(tmp_path / "node", "#!/bin/sh\nexec sleep 60\n"))) == ""


@pytest.mark.parametrize(
    "manifest",
    [
        "{",
        "[]",
        "{}",
        '{"engines": []}',
        '{"engines": {"node": 22}}',
        json.dumps({"engines": {"node": "x" * 500}}),
        json.dumps({"engines": {"node": ">=22\u001b[2J"}}),
    ],
)
def test_a_package_that_says_nothing_sensible_asks_for_nothing(agent: Path, manifest: str) -> None:
    agent.resolve().with_name("package.json").write_text(manifest)
    assert node_range_of(str(agent)) == ""


def test_a_file_of_no_package_asks_for_nothing(tmp_path: Path) -> None:
    assert node_range_of(str(tmp_path / "x.js")) == ""


@pytest.mark.parametrize("line", ["version = 3.11.2", "version_info = 3.11.2.final.0"])
def test_a_program_of_a_virtual_environment_is_run_by_its_python(tmp_path: Path, line: str) -> None:
    (tmp_path / "pyvenv.cfg").write_text(f"home = /usr/bin\n{line}\n")
    python = program(tmp_path / "bin" / "python", "")
    script = program(tmp_path / "bin" / "agent", f"#!{python}\n")
    for argv in ([str(script)], [str(python), "-m", "agent"]):
        found = look_at(argv, {}, "/")
        assert found.python.startswith("3.11.2")
        assert found.python_path == str(python)


def test_a_python_of_no_virtual_environment_tells_nothing() -> None:
    assert venv_version("/usr/bin/python3") == ""


@pytest.mark.parametrize("argv", [[], ["/nowhere/at/all"], ["/bin/sh", "-c", "x"]])
def test_of_any_other_program_nothing_is_known(argv: list[str]) -> None:
    assert look_at(argv, {}, "/") == Found()


def test_the_python_of_these_tests_is_recognised_where_it_is_one() -> None:
    assert look_at([sys.executable], {}, "/").python_path == sys.executable


def test_the_usual_node_is_met_beforehand(node: Path, tmp_path: Path) -> None:
    meeting = meet_node({"PATH": str(node.parent)})
    assert meeting is not None
    meeting.join(30)
    asked = (tmp_path / "asked").read_text()
    assert node_version(str(node)) == "20.19.0"
    assert (tmp_path / "asked").read_text() == asked == "\n"
    assert meet_node({"PATH": "/nowhere"}) is None
