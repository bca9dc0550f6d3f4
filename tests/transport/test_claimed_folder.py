"""Folders of one program, and what the next does about those of a program that was killed."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.transport.claimed_folder import FILES, RELAY, ClaimedFolder, sweep_folders, temporary_bases

PATIENCE = 50.0
KINDS = (RELAY, FILES)
HOLDER = """
import os, sys
from roost.transport.claimed_folder import ClaimedFolder
folder = ClaimedFolder(sys.argv[1], sys.argv[2])
folder.make()
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def base() -> Iterator[str]:
    """A folder of the test's own; pytest's may be too long for a socket."""
    with tempfile.TemporaryDirectory(prefix="rc-", dir="/tmp") as made:
        yield made


def fill(path: str) -> None:
    """With what is in such a folder when its program is at work."""
    name = os.path.basename(path)
    if name.startswith(RELAY):
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.join(path, "s"))
    else:
        Path(path, "agentos-system-prompt-00ff.md").write_text("Be brief.")


@contextmanager
def holder(base: str, kind: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Another program with such a folder; killed at the end, as it may have been before."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, base, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


def abandoned(base: Path, name: str, mode: int = 0o700) -> Path:
    """A folder that nobody holds."""
    path = base / name
    path.mkdir()
    path.chmod(mode)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_is_new_private_and_gone_at_the_end(base: str, kind: str) -> None:
    folder = ClaimedFolder(base, kind)
    assert not os.path.exists(folder.path)
    folder.remove()
    for _ in range(2):
        folder.make()
        assert stat.S_IMODE(os.stat(folder.path).st_mode) == 0o700
    fill(folder.path)
    folder.remove()
    folder.remove()
    assert not os.path.exists(folder.path)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_killed_program_has_left_is_taken_away_and_what_a_live_one_has_is_not(base: str, kind: str) -> None:
    with holder(base, kind) as (path, process):
        fill(path)
        assert sweep_folders([base, "/nowhere/at/all"]) == []
        process.kill()
        process.wait(PATIENCE)
        assert sweep_folders([base]) == [path]
        assert not os.path.exists(path)


@pytest.mark.parametrize("kind", KINDS)
def test_ones_own_folder_is_in_use(base: str, kind: str) -> None:
    folder = ClaimedFolder(base, kind)
    folder.make()
    assert sweep_folders([base]) == []
    folder.remove()


@pytest.mark.parametrize(
    "name",
    [
        f"{RELAY}{'0' * 15}",
        f"{RELAY}{'0' * 17}",
        f"{RELAY}{'g' * 16}",
        f"{RELAY}{'A' * 16}",
        f"{FILES}{'0' * 16}",
        f"x{FILES}{'0' * 24}",
        "roost-mcp-0000000000000000",
    ],
)
def test_a_folder_of_another_name_is_left_alone(tmp_path: Path, name: str) -> None:
    abandoned(tmp_path, name)
    assert sweep_folders([str(tmp_path)]) == []
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o1700])
def test_a_folder_that_others_may_enter_is_left_alone(tmp_path: Path, mode: int) -> None:
    path = abandoned(tmp_path, f"{FILES}{'0' * 24}", mode)
    assert sweep_folders([str(tmp_path)]) == []
    assert path.exists()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = abandoned(tmp_path, f"{FILES}{'0' * 24}")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert sweep_folders([str(tmp_path)]) == []
    assert path.exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    real = abandoned(tmp_path, "real")
    (real / "agentos-system-prompt-1.md").write_text("x")
    (tmp_path / f"{FILES}{'0' * 24}").symlink_to(real)
    assert sweep_folders([str(tmp_path)]) == []
    assert (real / "agentos-system-prompt-1.md").exists()


@pytest.mark.parametrize("odd", ["s", "other.md", "agentos-system-prompt-1.txt", "agentos-system-prompt-2.md/"])
def test_a_folder_with_anything_else_in_it_is_left_alone_and_whole(tmp_path: Path, odd: str) -> None:
    path = abandoned(tmp_path, f"{FILES}{'0' * 24}")
    (path / "agentos-system-prompt-1.md").write_text("x")
    if odd.endswith("/"):
        (path / odd).mkdir()
    else:
        (path / odd).write_text("x")
    assert sweep_folders([str(tmp_path)]) == []
    assert len(os.listdir(path)) == 2


def test_a_link_among_its_files_is_none_of_ours(tmp_path: Path) -> None:
    path = abandoned(tmp_path, f"{FILES}{'0' * 24}")
    (path / "agentos-system-prompt-1.md").symlink_to(tmp_path / "elsewhere")
    assert sweep_folders([str(tmp_path)]) == []


def test_a_relays_folder_holds_a_socket_and_nothing_else(tmp_path: Path) -> None:
    path = abandoned(tmp_path, f"{RELAY}{'0' * 16}")
    (path / "s").write_text("a file")
    assert sweep_folders([str(tmp_path)]) == []


def test_the_places_are_those_of_the_environment_that_are_there(tmp_path: Path) -> None:
    assert temporary_bases({}) == ["/tmp"]
    assert temporary_bases({"XDG_RUNTIME_DIR": str(tmp_path), "TMPDIR": "relative"}) == [str(tmp_path), "/tmp"]
    assert temporary_bases({"XDG_RUNTIME_DIR": str(tmp_path / "none"), "TMPDIR": "/tmp"}) == ["/tmp"]


def test_a_folder_that_was_swept_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its making and its lock it looks like one that was left behind."""
    folder, real_open, swept = ClaimedFolder(str(tmp_path), FILES), os.open, []

    def after_a_sweep(path: str, *arguments: int, **more: int) -> int:
        if not swept:
            swept.append(path)
            os.rmdir(path)
        return real_open(path, *arguments, **more)

    monkeypatch.setattr(os, "open", after_a_sweep)
    folder.make()
    assert swept == [folder.path]
    assert sweep_folders([str(tmp_path)]) == []
    folder.remove()
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_swept_while_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, real_open, swept = ClaimedFolder(str(tmp_path), FILES), os.open, []

    def before_a_sweep(path: str, *arguments: int, **more: int) -> int:
        handle = real_open(path, *arguments, **more)
        if not swept:
            swept.append(path)
            os.rmdir(path)
        return handle

    monkeypatch.setattr(os, "open", before_a_sweep)
    folder.make()
    assert os.path.isdir(folder.path)
    folder.remove()
