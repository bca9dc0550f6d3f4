"""Installing, updating and removing in one root: what is there afterwards, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from roost.catalogue.installed import RECORD_NAME, read_record, with_record
from roost.errors import CatalogueError, LimitError, SidecarError
from roost.process.runtimes.base import RuntimeSettings
from roost.process.runtimes.registry import Runtimes
from tests.catalogue.rig import House, agent_folder, machine


def run(house: House, name: str, *args: str) -> str:
    """What an installed agent says when it is started as a session would."""
    plan = with_record(house.packages().find(name)).plan(
        cwd="/", own_env={"PATH": os.environ["PATH"]}, runtimes=Runtimes(RuntimeSettings())
    )
    return subprocess.run([*plan.argv, *args], env=plan.env, cwd=plan.cwd, capture_output=True, text=True).stdout


def link(house: House, name: str, which: str = "current") -> str:
    return os.readlink(house.root / "pkgs" / name / which)


def test_a_folder_is_installed_as_the_reference_lays_packages_out(house: House, tmp_path: Path) -> None:
    folder = agent_folder(tmp_path / "mine", "1.2", launchArgs=["--acp"], env={"A": "b"})
    (folder / ".git").mkdir()
    outcome = house.installer().install(str(folder))
    assert (outcome.changed, outcome.previous) == (True, "")
    package = house.packages().find("mine")
    assert (package.version, package.launch_args, package.env) == ("1.2", ("--acp",), {"A": "b"})
    assert package.missing is None
    assert package.entrypoint == str(house.root / "bin" / "mine")
    assert os.readlink(package.entrypoint) == "../pkgs/mine/current/bin/mine"
    assert link(house, "mine") == "1.2"
    assert run(house, "mine", "more") == "agent --acp more\n"
    assert not (house.root / "pkgs/mine/current/.git").exists()
    assert not house.left_behind()


def test_the_record_says_where_it_is_from(house: House, tmp_path: Path) -> None:
    folder = agent_folder(tmp_path / "mine")
    house.installer().install(str(folder), name="called")
    found = with_record(house.packages().find("called"))
    assert found.record == read_record(house.root / "pkgs/called/current")
    assert found.record is not None
    assert (found.record.kind, found.record.package, found.record.origin) == ("folder", str(folder), str(folder))


def test_the_next_version_takes_its_place_and_the_one_before_stays_until_the_one_after(
    house: House, tmp_path: Path
) -> None:
    folder = agent_folder(tmp_path / "mine", "1")
    house.installer().install(str(folder))
    for version in ("2", "3"):
        agent_folder(folder, version, program=f"#!/bin/sh\necho version {version}\n")
        outcome = house.installer().update("mine")
        assert (outcome.record.version, outcome.previous) == (version, str(int(version) - 1))
    assert run(house, "mine") == "version 3\n"
    assert (link(house, "mine"), link(house, "mine", "previous")) == ("3", "2")
    assert sorted(os.listdir(house.root / "pkgs/mine")) == ["2", "3", "current", "previous"]


def test_the_same_version_again_gets_a_folder_of_its_own(house: House, tmp_path: Path) -> None:
    folder = agent_folder(tmp_path / "mine", "1")
    for number in range(3):
        agent_folder(folder, "1", program=f"#!/bin/sh\necho number {number}\n")
        house.installer().install(str(folder))
        assert run(house, "mine") == f"number {number}\n"
        assert house.packages().find("mine").version == "1"
    assert len(os.listdir(house.root / "pkgs/mine")) == 4


def test_a_command_line_gets_a_name(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it's here.sh").write_text("echo script $@\n")
    outcome = house.installer().install("sh \"./it's here.sh\" 'a  b'", name="mine")
    assert run(house, "mine", "$HOME") == "script a b $HOME\n"
    assert str(tmp_path / "it's here.sh") in (house.root / "bin" / "mine").read_text().replace("'\"'\"'", "'")
    assert house.installer().install("sh \"./it's here.sh\" 'a  b'", name="mine").changed is False
    assert house.installer().update("mine").note.startswith("it is a command line")
    assert outcome.record.kind == "command"


def test_a_command_line_whose_program_says_nothing_needs_a_name(house: House) -> None:
    with pytest.raises(CatalogueError, match="--name says it"):
        house.installer().install("sh -c true")


def test_a_program_by_its_path_is_called_as_it_is(house: House, tmp_path: Path) -> None:
    program = tmp_path / "some-agent"
    program.write_text("#!/bin/sh\necho $@\n")
    program.chmod(0o755)
    house.installer().install(str(program), args=("--acp", "a b"))
    assert run(house, "some-agent") == "--acp a b\n"


def test_a_program_whose_path_has_spaces_is_one_word(house: House, tmp_path: Path) -> None:
    program = tmp_path / "an agent"
    program.write_text("#!/bin/sh\necho $@\n")
    program.chmod(0o755)
    house.installer().install(str(program), name="mine", args=("--acp",))
    assert run(house, "mine") == "--acp\n"


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        ("#!/bin/sh\n", 0o644, r"is not executable \(chmod \+x"),
        ("#!/no/such/sh\n", 0o755, "needs the interpreter /no/such/sh, which does not exist"),
    ],
)
def test_a_program_that_cannot_be_run_is_told_before_it_is_installed(
    house: House, tmp_path: Path, text: str, mode: int, told: str
) -> None:
    program = tmp_path / "some-agent"
    program.write_text(text)
    program.chmod(mode)
    with pytest.raises(CatalogueError, match=told) as caught:
        house.installer().install(str(program))
    assert caught.value.code == "unsuitable"
    assert not (house.root / "pkgs" / "some-agent").exists()


def test_the_agent_in_the_box_is_not_to_be_installed(house: House) -> None:
    with pytest.raises(CatalogueError, match="wren ships with Roost") as caught:
        house.installer().install("wren")
    assert caught.value.code == "exists"


def test_another_agent_of_that_name_is_only_replaced_when_that_is_wanted(house: House, tmp_path: Path) -> None:
    one, other = agent_folder(tmp_path / "one" / "mine"), agent_folder(tmp_path / "other" / "mine", "9")
    house.installer().install(str(one))
    with pytest.raises(CatalogueError, match="is installed from") as caught:
        house.installer().install(str(other))
    assert caught.value.code == "exists"
    assert house.packages().find("mine").version == "1"
    house.installer().install(str(other), force=True)
    assert house.packages().find("mine").version == "9"


def test_what_somebody_else_put_there_is_neither_replaced_nor_removed(house: House, tmp_path: Path) -> None:
    theirs = house.root / "pkgs" / "mine" / "1"
    theirs.mkdir(parents=True)
    (theirs.parent / "current").symlink_to("1")
    (theirs / "agentos-package.json").write_text(json.dumps({"agent": {"acpEntrypoint": "mine"}}))
    folder = agent_folder(tmp_path / "mine")
    for work in (
        lambda: house.installer().install(str(folder), force=True),
        lambda: house.installer().remove("mine"),
    ):
        with pytest.raises(CatalogueError, match="not installed by Roost") as caught:
            work()
        assert caught.value.code == "exists"
    assert (theirs / "agentos-package.json").exists()


def test_a_program_of_somebody_else_in_bin_is_left_alone(house: House, tmp_path: Path) -> None:
    (house.root / "bin").mkdir(parents=True)
    (house.root / "bin" / "mine").write_text("theirs")
    with pytest.raises(CatalogueError, match="not made by Roost"):
        house.installer().install(str(agent_folder(tmp_path / "mine")))
    assert (house.root / "bin" / "mine").read_text() == "theirs"
    assert not (house.root / "pkgs" / "mine").exists()


def test_an_agent_that_would_be_hidden_is_refused(house: House, tmp_path: Path) -> None:
    first = House(tmp_path / "first")
    folder = agent_folder(tmp_path / "mine")
    first.installer().install(str(folder))
    with pytest.raises(CatalogueError, match="is looked into first"):
        house.installer(earlier=(first.root,)).install(str(folder))


@pytest.mark.parametrize("name", ["wren", "a/b", "..", ".x", "a b", "-x", "a@b", "x" * 101])
def test_a_name_that_cannot_be_is_refused(house: House, tmp_path: Path, name: str) -> None:
    with pytest.raises(CatalogueError):
        house.installer().install(str(agent_folder(tmp_path / "mine")), name=name)
    assert not house.root.exists()


def test_removing_takes_everything_and_the_name_is_free(house: House, tmp_path: Path) -> None:
    folder = agent_folder(tmp_path / "mine")
    house.installer().install(str(folder))
    assert house.installer().remove("mine").name == "mine"
    assert not (house.root / "pkgs/mine").exists()
    assert not os.path.lexists(house.root / "bin/mine")
    assert not house.left_behind()
    with pytest.raises(SidecarError):
        house.packages().find("mine")
    house.installer().install(str(folder))


def test_what_is_not_installed_can_be_neither_updated_nor_removed(house: House, tmp_path: Path) -> None:
    house.installer().install(str(agent_folder(tmp_path / "mine")))
    for work in (house.installer().update, house.installer().remove):
        with pytest.raises(CatalogueError, match="did you mean mine") as caught:
            work("mien")
        assert caught.value.code == "unknown"
    with pytest.raises(CatalogueError):
        house.installer().remove("../pkgs")


def test_a_folder_that_is_no_agent_is_told(house: House, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CatalogueError, match="neither agentos-package") as caught:
        house.installer().install(str(tmp_path / "empty"))
    assert caught.value.code == "unsuitable"


@pytest.mark.parametrize("manifest", ["{", "[]", "{}", '{"agent": {"acpEntrypoint": "none"}}'])
def test_a_folder_that_is_damaged_changes_nothing(house: House, tmp_path: Path, manifest: str) -> None:
    folder = agent_folder(tmp_path / "mine")
    house.installer().install(str(folder))
    (folder / "agentos-package.json").write_text(manifest)
    with pytest.raises(CatalogueError) as caught:
        house.installer().install(str(folder))
    assert caught.value.code == "damaged"
    assert run(house, "mine") == "agent\n"
    assert not house.left_behind()


def test_a_folder_with_a_link_that_leads_out_is_refused(house: House, tmp_path: Path) -> None:
    folder = agent_folder(tmp_path / "mine")
    (folder / "out").symlink_to("../elsewhere")
    with pytest.raises(CatalogueError, match="leads out"):
        house.installer().install(str(folder))


@pytest.mark.parametrize("bound", [{"unpacked_files": 2}, {"unpacked_bytes": 10}])
def test_a_folder_that_holds_too_much_is_a_limit(house: House, tmp_path: Path, bound: dict[str, int]) -> None:
    with pytest.raises(LimitError, match=r"catalogue\.unpacked"):
        house.installer(machine(**bound)).install(str(agent_folder(tmp_path / "mine")))
    assert not (house.root / "pkgs" / "mine").exists()


def test_a_disk_that_refuses_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("a file")
    with pytest.raises(CatalogueError) as caught:
        House(tmp_path / "root").installer().install(str(agent_folder(tmp_path / "mine")))
    assert caught.value.code == "failed"


def test_a_record_that_is_damaged_counts_as_none_when_the_agent_is_run(house: House, tmp_path: Path) -> None:
    house.installer().install(str(agent_folder(tmp_path / "mine")))
    (house.root / "pkgs/mine/current" / RECORD_NAME).write_text("{")
    assert with_record(house.packages().find("mine")).record is None
    assert run(house, "mine") == "agent\n"
    with pytest.raises(CatalogueError):
        house.installer().update("mine")


def test_an_update_does_not_change_the_folder_of_what_runs_already(house: House, tmp_path: Path) -> None:
    (tmp_path / "mine" / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "mine" / "venv" / "bin" / "python").symlink_to("../../own-python")
    (tmp_path / "mine" / "own-python").write_text("#!/bin/sh\n")
    (tmp_path / "mine" / "own-python").chmod(0o755)
    folder = agent_folder(tmp_path / "mine", program="#!/usr/bin/env python3\n")
    house.installer().install(str(folder))
    plan = with_record(house.packages().find("mine")).plan(
        cwd="/", own_env={"PATH": os.environ["PATH"]}, runtimes=Runtimes(RuntimeSettings())
    )
    assert plan.argv[0] == str(house.root / "pkgs/mine/1/venv/bin/python")
