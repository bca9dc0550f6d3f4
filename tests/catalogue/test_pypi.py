"""Agents from PyPI: pip, with wheels of a folder, and an index that is a folder too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from roost.catalogue.installed import with_record
from roost.catalogue.pypi import split_pypi
from roost.errors import CatalogueError
from roost.process.runtimes.base import RuntimeSettings
from roost.process.runtimes.registry import Runtimes
from tests.catalogue.rig import House, machine, pip_environment, wheel


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    (tmp_path / "wheels").mkdir()
    return tmp_path / "wheels"


def run(house: House, name: str) -> str:
    plan = with_record(house.packages().find(name)).plan(
        cwd="/", own_env={"PATH": os.environ["PATH"]}, runtimes=Runtimes(RuntimeSettings())
    )
    return subprocess.run(plan.argv, env=plan.env, cwd=plan.cwd, capture_output=True, text=True, check=True).stdout


def test_a_package_gets_a_venv_that_knows_where_it_is(house: House, wheels: Path, tmp_path: Path) -> None:
    code = "import sys\ndef main():\n    print(sys.prefix, *sys.argv[1:])\n"
    wheel(wheels, "some-agent", "1.0", code=code)
    on = machine({**pip_environment(wheels, tmp_path), "PYTHONPATH": "/nowhere", "PIP_TARGET": str(tmp_path / "no")})
    outcome = house.installer(on).install("pypi:some-agent", args=("--acp",))
    assert (outcome.record.version, outcome.record.origin) == ("1.0", "pypi:some-agent")
    folder = house.root / "pkgs" / "some-agent" / "1.0"
    assert run(house, "some-agent") == f"{folder}/venv --acp\n"
    assert not (tmp_path / "no").exists()
    staged = str(house.root / "pkgs" / ".staging").encode()
    for path in [*(folder / "venv" / "bin").iterdir(), folder / "venv" / "pyvenv.cfg", folder / "bin" / "some-agent"]:
        assert staged not in path.read_bytes(), path
    own = subprocess.run([folder / "venv" / "bin" / "some-agent"], capture_output=True, text=True, check=True)
    assert own.stdout == f"{folder}/venv\n"
    by_hand = subprocess.run([house.root / "bin" / "some-agent"], capture_output=True, text=True, check=True)
    assert by_hand.stdout == f"{folder}/venv\n"


def test_an_update_takes_the_newest_and_a_pinned_one_stays(house: House, wheels: Path, tmp_path: Path) -> None:
    wheel(wheels, "some-agent", "1.0")
    on = machine(pip_environment(wheels, tmp_path))
    house.installer(on).install("pypi:some-agent")
    wheel(wheels, "some-agent", "1.1")
    assert house.installer(on).update("some-agent").record.version == "1.1"
    outcome = house.installer(on).install("pypi:some-agent==1.0")
    assert outcome.record.pinned
    outcome = house.installer(on).update("some-agent")
    assert (outcome.record.version, outcome.changed) == ("1.0", False)
    assert "`roost install pypi:some-agent`" in outcome.note


def test_a_program_of_several_is_chosen(house: House, wheels: Path, tmp_path: Path) -> None:
    scripts = "one = some_agent:one\ntwo = some_agent:Two.run"
    code = "def one(): print('one')\nclass Two:\n    run = staticmethod(lambda: print('two'))\n"
    wheel(wheels, "some-agent", "1.0", scripts=scripts, code=code)
    on = machine(pip_environment(wheels, tmp_path))
    house.installer(on).install("pypi:some-agent", command="two")
    assert run(house, "some-agent") == "two\n"


def test_a_package_that_is_for_another_python_is_told_with_what_it_needs(
    house: House, wheels: Path, tmp_path: Path
) -> None:
    wheel(wheels, "some-agent", "1.0", requires=">=3.99")
    on = machine({**pip_environment(wheels, tmp_path), "PATH": "/nowhere"})
    with pytest.raises(CatalogueError, match=r"fits no Python here: it is for Python >=3\.99, and ") as caught:
        house.installer(on).install("pypi:some-agent")
    assert caught.value.code == "unsuitable"
    assert not (house.root / "pkgs" / "some-agent").exists()


def index_of(tmp_path: Path, wheels: Path) -> dict[str, str]:
    """The environment of a pip whose index says which Python each wheel is for."""
    page = tmp_path / "simple" / "some-agent"
    page.mkdir(parents=True)
    links = ""
    for version, requires in (("1.0", "&gt;=3.8"), ("2.0", "&gt;=3.99")):
        file = wheel(wheels, "some-agent", version, requires=requires.replace("&gt;", ">"))
        links += f'<a href="{file.as_uri()}" data-requires-python="{requires}">{file.name}</a>\n'
    (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    env = pip_environment(wheels, tmp_path)
    del env["PIP_NO_INDEX"], env["PIP_FIND_LINKS"]
    return {**env, "PATH": "/nowhere", "PIP_INDEX_URL": (tmp_path / "simple").as_uri()}


def test_an_older_version_is_not_taken_in_silence(house: House, wheels: Path, tmp_path: Path) -> None:
    installer = house.installer(machine(index_of(tmp_path, wheels)))
    for spec in ("pypi:some-agent", "pypi:some-agent==2.0"):
        with pytest.raises(CatalogueError, match=r"2\.0 is for Python >=3\.99, and ") as caught:
            installer.install(spec)
        assert caught.value.code == "unsuitable"


def test_what_the_index_does_not_know_is_unknown(house: House, wheels: Path, tmp_path: Path) -> None:
    wheel(wheels, "some-agent", "1.0")
    installer = house.installer(machine(pip_environment(wheels, tmp_path)))
    for spec in ("pypi:none", "pypi:some-agent==7"):
        with pytest.raises(CatalogueError) as caught:
            installer.install(spec)
        assert caught.value.code == "unknown"
        assert "No matching distribution" in caught.value.detail


def test_a_wheel_that_is_damaged_fails_and_changes_nothing(house: House, wheels: Path, tmp_path: Path) -> None:
    wheel(wheels, "some-agent", "1.0")
    on = machine(pip_environment(wheels, tmp_path))
    house.installer(on).install("pypi:some-agent")
    wheel(wheels, "some-agent", "2.0").write_bytes(b"no wheel")
    with pytest.raises(CatalogueError) as caught:
        house.installer(on).update("some-agent")
    assert caught.value.code == "failed"
    assert caught.value.detail
    assert run(house, "some-agent") == "agent\n"
    assert not house.left_behind()


def test_a_python_project_is_installed_from_its_folder(house: House, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "backend.py").write_text(BACKEND)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "some-agent"\nversion = "0.3"\n'
    )
    on = machine(pip_environment(tmp_path, tmp_path))
    outcome = house.installer(on).install(str(folder))
    assert (outcome.record.name, outcome.record.version, outcome.record.kind) == ("some-agent", "0.3", "folder")
    assert run(house, "some-agent") == "agent\n"


# The smallest builder of wheels: nothing has to be there but Python.
BACKEND = """
import os, sys, zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "some_agent-0.3-py3-none-any.whl"
    info = "some_agent-0.3.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("some_agent.py", "def main(): print('agent')")
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: some-agent\\nVersion: 0.3\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "entry_points.txt", "[console_scripts]\\nsome-agent = some_agent:main\\n")
        wheel.writestr(info + "RECORD", "")
    return name
"""


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ("a", "")),
        ("a==1", ("a", "1")),
        ("a[b]", ("a[b]", "")),
        ("a[b,c] == 1.0", ("a[b,c]", "1.0")),
        ("A.b_c-d@1!2", ("A.b_c-d", "1!2")),
    ],
)
def test_a_package_has_a_name_and_maybe_a_version(text: str, parts: tuple[str, str]) -> None:
    assert split_pypi(text) == parts


def test_a_python_that_cannot_make_a_venv_is_passed_over(house: House, wheels: Path, tmp_path: Path) -> None:
    wheel(wheels, "some-agent", "1.0")
    broken = tmp_path / "broken-python"
    broken.write_text('#!/bin/sh\ncase "$*" in *venv*) echo no venv >&2; exit 1;; esac\necho 3.99.0; echo 1 1\n')
    broken.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3.13").symlink_to(sys.executable)
    env = {**pip_environment(wheels, tmp_path), "PATH": str(tmp_path / "bin")}
    house.installer(machine(env, python=str(broken))).install("pypi:some-agent")
    assert run(house, "some-agent") == "agent\n"
    with pytest.raises(CatalogueError, match=r"fits no Python here: .*broken-python could not make a venv"):
        house.installer(machine({**env, "PATH": "/nowhere"}, python=str(broken))).install("pypi:some-agent==2")
