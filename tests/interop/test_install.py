"""What is installed for these tests, from what, and what is said when it cannot be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from tests.interop.installed import installed
from tools.interop import install, pins
from tools.interop.agents import AGENTS, DEFAULT
from tools.interop.clients import ACPX, CLIENTS, PYTHON_SDK, SDK
from tools.interop.pins import Npm, PyPI, Unavailable


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pins, "CACHE", tmp_path / "cache")
    monkeypatch.delenv("CI", raising=False)  # there it would wait between attempts, for real
    return tmp_path / "cache"


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_every_pin_has_a_folder_of_its_own_and_names_one_version() -> None:
    folders = {agent.pin.spec: agent.pin.folder for agent in AGENTS.values()}
    assert len(set(folders.values())) == len(folders)
    assert all(agent.pin.version in agent.pin.spec for agent in AGENTS.values())


def test_what_roost_offers_to_install_is_what_was_tried() -> None:
    registry = json.loads(resources.files("roost.catalogue").joinpath("registry.json").read_text())
    offered = {entry["id"]: entry for entry in registry["agents"]}
    for name in AGENTS.keys() & offered.keys():
        [distribution] = offered[name]["distribution"].values()
        pin = AGENTS[name].pin
        assert pin.spec.partition(":")[2] == distribution["package"], name
    untried = {"sdk-example", "sdk-dual-version", "kimi"}  # two examples, and one that is no agent any more
    assert AGENTS.keys() - offered.keys() == untried


def test_the_default_set_needs_no_later_python_than_roost() -> None:
    chosen = [AGENTS[name].pin for name in DEFAULT]
    assert all(pin.python == (3, 11) for pin in chosen if isinstance(pin, PyPI))


def test_without_npm_the_packages_that_bring_it_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="apt-get install nodejs npm"):
        install.install(Npm("x", "1"))


def test_no_program_of_a_package_is_run_by_its_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    program(tmp_path, "node", "exit 0")
    said = 'mkdir -p node_modules/@a/b && echo "$@" > said && echo "{}" > node_modules/@a/b/package.json'
    program(tmp_path, "npm", said)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    pin = Npm("@a/b", "1.2")
    install.install(pin)
    assert pin.installed
    assert "--ignore-scripts" in (pin.folder / "said").read_text()
    assert "@a/b@1.2" in (pin.folder / "said").read_text()
    assert [each.name for each in (cache / "npm").iterdir()] == ["@a+b@1.2"]


def test_an_install_that_fails_leaves_nothing_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    program(tmp_path, "node", "exit 0")
    program(tmp_path, "npm", "mkdir -p node_modules/x; echo no such package >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(Unavailable, match="no such package"):
        install.install(Npm("x", "1"))
    assert list((cache / "npm").iterdir()) == []


def failing_npm(folder: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Says that the registry hung up, so many times; then it installs. The file has a line for each attempt."""
    program(folder, "node", "exit 0")
    said = folder / "said"
    program(
        folder,
        "npm",
        f'echo "$@" >> {said}; mkdir -p node_modules/x/bin\n'
        f"if [ $(wc -l < {said}) -le {times} ]; then echo npm error ETIMEDOUT >&2; exit 1; fi\n"
        'echo "{}" > node_modules/x/package.json; echo > node_modules/x/bin/tool',
    )
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return said


def test_in_ci_a_registry_that_stumbles_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    said = failing_npm(tmp_path, 2, monkeypatch)
    pauses: list[float] = []
    install.install(Npm("x", "1"), pause=pauses.append)
    assert Npm("x", "1").installed
    assert [each.name for each in (cache / "npm").iterdir()] == ["x@1"]
    assert pauses == list(install.IN_CI.pauses[:2])
    assert all(flag in said.read_text().splitlines()[0] for flag in install.IN_CI.npm)
    assert capsys.readouterr().err.count("npm:x@1: npm error ETIMEDOUT\n  once more in ") == 2


def test_in_ci_the_attempts_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("CI", "true")
    said = failing_npm(tmp_path, 99, monkeypatch)
    with pytest.raises(Unavailable, match="ETIMEDOUT"):
        install.install(Npm("x", "1"), pause=lambda _: None)
    assert len(said.read_text().splitlines()) == len(install.IN_CI.pauses) + 1
    assert list((cache / "npm").iterdir()) == []


def test_there_is_no_attempt_after_the_time_is_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(install, "IN_CI", replace(install.IN_CI, pauses=(install.INSTALL_TIMEOUT,)))
    said = failing_npm(tmp_path, 99, monkeypatch)
    with pytest.raises(Unavailable, match="ETIMEDOUT"):
        install.install(Npm("x", "1"), pause=lambda _: None)
    assert len(said.read_text().splitlines()) == 1


def test_without_a_network_at_home_it_is_soon_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    said = failing_npm(tmp_path, 1, monkeypatch)
    with pytest.raises(Unavailable, match="ETIMEDOUT"):
        install.install(Npm("x", "1"), pause=lambda _: pytest.fail("it waits"))
    assert all(flag in said.read_text() for flag in install.AT_HOME.npm)


def test_a_missing_tool_does_not_come_by_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="apt-get install nodejs npm"):
        install.install(Npm("x", "1"), pause=lambda _: pytest.fail("it waits"))


@pytest.mark.parametrize(
    ("name", "there"), [("bin/tool", True), ("bin/none", False), ("x/b*/tool", True), ("y*/z", False)]
)
def test_what_came_without_its_program_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path, name: str, there: bool
) -> None:
    """npm is content without an optional package, which for several agents is the program."""
    monkeypatch.delenv("CI", raising=False)
    failing_npm(tmp_path, 0, monkeypatch)
    pin = Npm("x", "1")
    if there:
        install.install(pin, [name])
    else:
        with pytest.raises(Unavailable, match=r"came without its program"):
            install.install(pin, [name])
    assert pin.installed is there
    assert len(list((cache / "npm").iterdir())) == int(there)


def test_what_a_killed_run_has_left_is_cleared_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    failing_npm(tmp_path, 0, monkeypatch)
    ended = subprocess.Popen(["true"])
    ended.wait()
    kept = [f".y@1.draft.{os.getppid()}", "y@1.2", ".cache"]
    for left in (f".y@1.draft.{ended.pid}", *kept):
        (cache / "npm" / left / "node_modules").mkdir(parents=True)
    install.install(Npm("x", "1"))
    assert sorted(each.name for each in (cache / "npm").iterdir()) == sorted([*kept, "x@1"])


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_the_step_of_make_test_fails_in_ci_when_something_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: str, status: int
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install.main(["sdk-example"]) == status
    said = capsys.readouterr().err
    assert "it needs node and npm (Debian: apt-get install nodejs npm)" in said
    assert "not installed, so not tried: npm:@agentclientprotocol/sdk@1.9.0\n" in said


def test_all_that_make_test_needs_is_brought_by_its_step() -> None:
    assert {*SDK.values(), ACPX, PYTHON_SDK} <= set(CLIENTS["default"]) <= set(CLIENTS["all"])


def test_a_venv_that_is_moved_names_its_place(tmp_path: Path) -> None:
    draft, folder = tmp_path / "draft", tmp_path / "place"
    (draft / "bin").mkdir(parents=True)
    (draft / "bin" / "tool").write_text(f"#!{draft}/bin/python\nrun()\n")
    (draft / "bin" / "binary").write_bytes(b"\0" + str(draft).encode())
    (draft / "pyvenv.cfg").write_text(f"command = python -m venv {draft}\n")
    install._move_venv(draft, folder)
    assert (draft / "bin" / "tool").read_text().startswith(f"#!{folder}/bin/python")
    assert str(folder) in (draft / "pyvenv.cfg").read_text()
    assert str(draft).encode() in (draft / "bin" / "binary").read_bytes()


def test_a_later_python_is_looked_for_on_path_and_has_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "python3.12", "echo not installed >&2; exit 127")
    found = program(tmp_path, "python3.13", "echo 99 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pins.interpreter((99, 0)) == str(found)
    assert pins.interpreter((3, 11)) == sys.executable
    with pytest.raises(Unavailable, match=r"Python 99\.2"):
        pins.interpreter((99, 2))


@pytest.mark.parametrize(
    ("engines", "lacking"),
    [
        ({}, None),
        ({"node": ">=18"}, None),
        ({"node": "^18 || >=20"}, None),
        ({"node": ">=22.13"}, "node 22 or later for npm:x@1"),
    ],
)
def test_a_node_that_is_too_old_is_said(
    monkeypatch: pytest.MonkeyPatch, engines: dict[str, str], lacking: str | None
) -> None:
    monkeypatch.setattr(pins, "node_major", lambda: 20)
    pin = Npm("x", "1")
    (pin.modules / "x").mkdir(parents=True)
    (pin.modules / "x" / "package.json").write_text(json.dumps({"engines": engines}))
    assert pin.lacking == lacking


def test_what_brings_a_node_of_its_own_does_not_lack_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the newest acpx would be skipped wherever it is wanted."""
    monkeypatch.setattr(pins, "node_major", lambda: 20)
    pin = Npm("x", "1")
    (pin.modules / "x").mkdir(parents=True)
    (pin.modules / "x" / "package.json").write_text('{"engines": {"node": ">=22"}}')
    installed(pin, own_node=True)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="node 22"):
        installed(pin)


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_what_is_not_there_is_skipped_here_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="npm:x@1"):
        installed(Npm("x", "1"))
