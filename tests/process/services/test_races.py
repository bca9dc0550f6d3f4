"""An agent that changes the file system while it is being used: before any step, it gains nothing."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.errors import RpcError
from roost.process.services import ServiceLimits, files
from roost.process.services.roots import Roots

STEPS = ("open", "stat", "readlink", "mkdir", "rename", "write", "fstat")
LIMITS = ServiceLimits()


def folder_becomes_link(workspace: Path, outside: Path) -> None:
    (workspace / "sub").rename(workspace / "moved")
    (workspace / "sub").symlink_to(outside)


def file_becomes_link(workspace: Path, outside: Path) -> None:
    (workspace / "sub/file").unlink()
    (workspace / "sub/file").symlink_to(outside / "file")


def file_becomes_pipe(workspace: Path, outside: Path) -> None:
    (workspace / "sub/file").unlink()
    os.mkfifo(workspace / "sub/file")


def file_becomes_folder(workspace: Path, outside: Path) -> None:
    (workspace / "sub/file").unlink()
    (workspace / "sub/file").mkdir()


def folder_leaves(workspace: Path, outside: Path) -> None:
    """To where it takes everybody with it who is in it and looks for `..`."""
    (workspace / "sub").rename(outside / "sub")


def link_turns_around(workspace: Path, outside: Path) -> None:
    (workspace / "link").unlink()
    (workspace / "link").symlink_to(outside)


def new_folder_becomes_link(workspace: Path, outside: Path) -> None:
    if (workspace / "new").exists():
        (workspace / "new").rename(workspace / "moved")
    (workspace / "new").symlink_to(outside)


ATTACKS = [
    folder_becomes_link,
    file_becomes_link,
    file_becomes_pipe,
    file_becomes_folder,
    folder_leaves,
    link_turns_around,
    new_folder_becomes_link,
]


def read(roots: Roots, path: str) -> str:
    with roots.find(path) as place:
        return files.read(place, 1, None, False, LIMITS)


def write(roots: Roots, path: str) -> str:
    with roots.find(path) as place:
        files.write(place, b"written", durable=False)
    return ""


def listed(roots: Roots, path: str) -> str:
    with roots.find(os.path.dirname(path)) as place:
        return str(files.entries(place, LIMITS))


def tree(base: Path) -> Iterator[Path]:
    workspace, outside = base / "workspace", base / "outside"
    (workspace / "sub").mkdir(parents=True)
    (workspace / "sub/file").write_text("inside")
    (workspace / "link").symlink_to("sub")
    outside.mkdir()
    (outside / "file").write_text("SECRET")
    (outside / "only-here").write_text("")
    return iter((workspace, outside))


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.parts[len(folder.parts)] != "sub"
    }


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
@pytest.mark.parametrize("use", [read, write, listed], ids=lambda use: use.__name__)
@pytest.mark.parametrize("path", ["sub/file", "link/file", "link/../sub/file", "new/er/file"])
def test_whatever_changes_before_whichever_step_nothing_outside_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: Any, use: Any, path: str
) -> None:
    attacked = 0
    for step in itertools.count():
        workspace, outside = tree(tmp_path.resolve() / str(step))
        before = contents(outside)
        roots = Roots([str(workspace)])
        done = strike_at(monkeypatch, step, lambda: attack(workspace, outside))  # noqa: B023
        try:
            answer = use(roots, f"{workspace}/{path}")
        except (RpcError, OSError):
            answer = None
        monkeypatch.undo()
        if use is read:
            assert answer in (None, "inside")
        assert "only-here" not in (answer or "")
        assert contents(outside) == before
        if not done():
            break
        attacked += 1
    assert attacked >= 3


def strike_at(monkeypatch: pytest.MonkeyPatch, step: int, attack: Callable[[], None]) -> Callable[[], bool]:
    """Do something just before the system call with this number; the result tells whether there was one."""
    left = [step]

    def before(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] == -1:
                try:
                    attack()
                except OSError:  # what it wanted to change is not there any more
                    pass
            return real(*args, **kwargs)

        return call

    for name in STEPS:
        monkeypatch.setattr(os, name, before(getattr(os, name)))
    return lambda: left[0] < 0


def flip_folder(workspace: Path, outside: Path) -> None:
    (workspace / "sub").rename(workspace / "good")
    (workspace / "evil").rename(workspace / "sub")
    (workspace / "sub").rename(workspace / "evil")
    (workspace / "good").rename(workspace / "sub")


def flip_link(workspace: Path, outside: Path) -> None:
    for target in (outside, workspace / "sub"):
        (workspace / "next").symlink_to(target)
        (workspace / "next").rename(workspace / "link")


@pytest.mark.parametrize(
    ("flip", "path", "uses"),
    # A write into the gap between two renames would make the folder, and end the game.
    [(flip_folder, "sub/file", [read]), (flip_link, "link/file", [read, write])],
    ids=["folder", "link"],
)
def test_what_flips_all_the_time_never_leads_out(tmp_path: Path, flip: Any, path: str, uses: list[Any]) -> None:
    workspace, outside = tree(tmp_path.resolve())
    (workspace / "evil").symlink_to(outside)
    roots = Roots([str(workspace)])
    over = threading.Event()

    def keep_flipping() -> None:
        while not over.is_set():
            flip(workspace, outside)

    flipping = threading.Thread(target=keep_flipping)
    flipping.start()
    answers: dict[str, int] = {}
    try:
        # Until it has often met either side; the bound is for a machine where the threads do not mix.
        for _ in range(20_000):
            for use in uses:
                try:
                    answer = use(roots, f"{workspace}/{path}")
                except RpcError as error:
                    answer = "outside" if "outside" in error.message else "other"
                except OSError:
                    answer = "other"
                answers[answer] = answers.get(answer, 0) + 1
            if answers.get("outside", 0) > 100 and answers.get("inside", 0) + answers.get("written", 0) > 100:
                break
    finally:
        over.set()
        flipping.join(10)
    assert (outside / "file").read_text() == "SECRET"
    assert sorted(os.listdir(outside)) == ["file", "only-here"]
    assert set(answers) <= {"inside", "written", "", "outside", "other"}
    assert answers.get("outside", 0) > 0
    assert answers.get("inside", 0) + answers.get("written", 0) > 0


async def test_what_was_approved_is_what_is_written(make: Any, workspace: Path, outside: Path, refusal: Any) -> None:
    asked = []

    async def may_write(path: str) -> bool:
        asked.append(path)
        (workspace / "link").unlink()
        (workspace / "link").symlink_to("other")
        return True

    (workspace / "sub").mkdir()
    (workspace / "other").mkdir()
    (workspace / "link").symlink_to("sub")
    error = await refusal(
        make(may_write=may_write), "fs/write_text_file", {"path": f"{workspace}/link/f", "content": "x"}
    )
    assert asked == [f"{workspace}/sub/f"]
    assert "changed" in error.message
    assert os.listdir(workspace / "sub") == os.listdir(workspace / "other") == []


async def test_a_folder_that_is_swapped_while_a_person_thinks_is_not_followed(
    make: Any, workspace: Path, outside: Path, refusal: Any
) -> None:
    async def may_write(path: str) -> bool:
        folder_becomes_link(workspace, outside)
        return True

    (workspace / "sub").mkdir()
    error = await refusal(
        make(may_write=may_write), "fs/write_text_file", {"path": f"{workspace}/sub/file", "content": "x"}
    )
    assert "outside" in error.message
    assert (outside / "file").read_text() == "SECRET"


async def test_a_working_directory_that_is_swapped_while_a_person_thinks_is_not_used(
    make: Any, workspace: Path, outside: Path, refusal: Any, runner: Any
) -> None:
    async def may_run(command: Any) -> bool:
        folder_becomes_link(workspace, outside)
        return True

    (workspace / "sub").mkdir()
    error = await refusal(make(may_run=may_run), "terminal/create", {"command": "ls", "cwd": f"{workspace}/sub"})
    assert "outside" in error.message
    assert runner.processes == []


async def test_a_command_runs_only_where_it_was_approved_to_run(
    make: Any, workspace: Path, refusal: Any, runner: Any
) -> None:
    async def may_run(command: Any) -> bool:
        (workspace / "link").unlink()
        (workspace / "link").symlink_to("other")
        return True

    (workspace / "sub").mkdir()
    (workspace / "other").mkdir()
    (workspace / "link").symlink_to("sub")
    error = await refusal(make(may_run=may_run), "terminal/create", {"command": "ls", "cwd": f"{workspace}/link"})
    assert "changed" in error.message
    assert runner.processes == []


async def test_a_working_directory_that_is_swapped_at_the_very_last_moment_runs_nothing(
    make: Any, workspace: Path, outside: Path, runner: Any
) -> None:
    class SwappingRunner:
        def spawn(self, plan: Any, listener: Any) -> Any:
            folder_becomes_link(workspace, outside)
            return runner.spawn(plan, listener)

    (workspace / "sub").mkdir()
    services = make(runner=SwappingRunner())
    made = await services.handle("terminal/create", {"command": "touch here", "cwd": f"{workspace}/sub"})
    assert await services.handle("terminal/wait_for_exit", made) == {"exitCode": 126, "signal": None}
    assert "has moved" in (await services.handle("terminal/output", made))["output"]
    assert sorted(os.listdir(outside)) == ["file"]
