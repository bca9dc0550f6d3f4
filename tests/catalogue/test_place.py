"""The root: changed at once or not at all, by one at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.catalogue.place import flush_tree
from roost.errors import CatalogueError
from tests.catalogue.rig import House, agent_folder, machine

PATIENCE = 50.0

HOLDER = """
import sys
from pathlib import Path
from roost.catalogue.lock import locked
with locked(Path(sys.argv[1]), "mine", 5.0, print):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def somebody_has(lock: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.stdin.close()
        process.wait(PATIENCE)
        process.stdout.close()


@pytest.mark.parametrize("scene", ["first", "next"])
def test_killed_at_any_step_the_agent_is_as_before_or_as_it_should_be(tmp_path: Path, scene: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.catalogue.killed", str(tmp_path), scene],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 15  # or it was not killed where it matters


def test_the_one_that_waits_too_long_is_told_who_has_it(house: House, tmp_path: Path) -> None:
    folder = agent_folder(tmp_path / "mine")
    lock = house.root / "pkgs" / ".locks" / "mine"
    with somebody_has(lock) as holder:
        with pytest.raises(CatalogueError, match=f"process {holder.pid} works on mine") as caught:
            house.installer(machine(lock_timeout=0.2)).install(str(folder))
        assert caught.value.code == "locked"
        assert house.said[-1] == f"mine: process {holder.pid} works on it; waiting"
        assert not (house.root / "pkgs" / "mine").exists()
        house.installer(machine(lock_timeout=0.0)).install(str(folder), name="other")
    house.installer(machine(lock_timeout=0.0)).install(str(folder))


def test_a_lock_ends_with_its_holder(house: House, tmp_path: Path) -> None:
    with somebody_has(house.root / "pkgs" / ".locks" / "mine") as holder:
        holder.kill()
        holder.wait(PATIENCE)
        house.installer(machine(lock_timeout=0.0)).install(str(agent_folder(tmp_path / "mine")))
    assert [package.name for package in house.packages().list()] == ["mine"]


def test_what_another_agents_installation_has_made_is_left_alone(house: House, tmp_path: Path) -> None:
    made = house.root / "pkgs" / ".staging" / "mine-too@x"
    made.mkdir(parents=True)
    debris = house.root / "pkgs" / ".staging" / "mine@x"
    debris.mkdir()
    with somebody_has(house.root / "pkgs" / ".locks" / "mine-too"):
        house.installer().install(str(agent_folder(tmp_path / "mine")))
        assert house.left_behind() == ["mine-too@x"]


def test_what_a_killed_installation_of_another_agent_has_left_is_cleared_away(house: House, tmp_path: Path) -> None:
    """Nobody may ever ask for that agent again. What has no lock was not made by Roost."""
    pkgs = house.root / "pkgs"
    for left in ("other@x/made", "no-lock@x", "something"):
        (pkgs / ".staging" / left).mkdir(parents=True)
    (pkgs / ".locks").mkdir()
    (pkgs / ".locks" / "other").touch()
    house.installer().install(str(agent_folder(tmp_path / "mine")))
    assert house.left_behind() == ["no-lock@x", "something"]
    assert (pkgs / ".locks" / "other").exists()


def test_places_of_work_are_no_agents(house: House, tmp_path: Path) -> None:
    house.installer().install(str(agent_folder(tmp_path / "mine")))
    assert [package.name for package in house.packages().list()] == ["mine"]
    assert not house.packages().damaged()


@pytest.mark.parametrize("files", [3, 600])
def test_a_tree_is_written_to_the_disk_however_many_files_it_has(tmp_path: Path, files: int) -> None:
    (tmp_path / "dangling").symlink_to("none")
    for number in range(files):
        (tmp_path / str(number)).write_text("x")
    flush_tree(tmp_path)
    assert len(os.listdir(tmp_path)) == files + 1
