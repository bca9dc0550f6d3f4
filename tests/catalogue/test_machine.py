"""A look at what this machine has: Pythons, node, npm, and the environment pip and npm get."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from roost.catalogue.machine import Machine
from roost.catalogue.settings import CatalogueSettings
from roost.process.runtimes.base import RuntimeSettings


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def machine_with(path: str, python: str = "none", javascript: str = "node") -> Machine:
    settings = RuntimeSettings(javascript=javascript, python=python, path=path)
    return Machine({"PATH": path}, CatalogueSettings(), settings)


def test_every_python_is_found_also_behind_one_that_only_stands_in(tmp_path: Path) -> None:
    program(tmp_path / "a", "python3.13", "echo no such version; exit 127")
    program(tmp_path / "a", "python3.12", "echo 3.12.1; echo 1 0")
    program(tmp_path / "a", "python3", "echo something else")
    good = program(tmp_path / "b", "python3.13", "echo 3.13.0; echo 0 1")
    program(tmp_path / "b", "python3", "echo 3.13.0; echo 0 1")
    (tmp_path / "b" / "python3.11").write_text("not executable")
    configured = program(tmp_path / "c", "my-python", "echo 3.11.2; echo 1 1")
    on = machine_with(f"{tmp_path}/a:{tmp_path}/b:relative", str(configured))
    found = list(on.pythons())
    assert [(python.version, python.has_pip, python.has_ensurepip) for python in found] == [
        ("3.11.2", True, True),
        ("3.13.0", False, True),
        ("3.12.1", True, False),
    ]
    assert found[1].path == str(good)


def test_this_python_knows_about_itself() -> None:
    found = next(machine_with("", sys.executable).pythons())
    assert found.version == ".".join(map(str, sys.version_info[:3]))


@pytest.mark.parametrize(("name", "version"), [("node", "22.1.0"), ("nodejs", "22.1.0"), ("bun", ""), ("none", "")])
def test_only_a_node_has_a_version_that_packages_ask_for(tmp_path: Path, name: str, version: str) -> None:
    for made in ("node", "nodejs", "bun"):
        program(tmp_path / "a", made, "echo v22.1.0")
    assert machine_with(str(tmp_path / "a"), javascript=name).node_version() == version


def test_pip_gets_the_users_settings_but_for_those_that_would_lead_it_elsewhere() -> None:
    env = {"PIP_INDEX_URL": "x", "PIP_TARGET": "y", "PIP_USER": "1", "PYTHONPATH": "z", "PYTHONHOME": "z"}
    given = Machine(env, CatalogueSettings(), RuntimeSettings()).pip_environment()
    assert given["PIP_INDEX_URL"] == "x"
    assert given["PIP_USER"] == "0"
    assert not given.keys() & {"PIP_TARGET", "PYTHONPATH", "PYTHONHOME"}
    assert given["PIP_NO_INPUT"] == "1"


def test_the_platform_is_called_as_registries_call_it() -> None:
    system, _, processor = machine_with("").platform.partition("-")
    assert system in ("linux", "darwin")
    assert processor
    assert processor not in ("amd64", "arm64")
