"""The daemon's own folders for files: claimed while it lives, and taken away by the next when it was killed."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from roost.daemon.catalogue import LocalCatalogue
from roost.daemon.daemon import Daemon
from roost.process.packages import Packages
from roost.process.runtimes.registry import Runtimes
from roost.sidecar.gen.messages import AcpRuntimeKind
from roost.sidecar.launch import Launch
from roost.transport.claimed_folder import FILES, RELAY, ClaimedFolder, sweep_folders


async def test_a_start_takes_away_what_a_killed_daemon_has_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places = {"XDG_RUNTIME_DIR": tmp_path / "run", "TMPDIR": tmp_path / "tmp"}
    for folder in places.values():
        folder.mkdir()
    left = places["TMPDIR"] / f"{FILES}{'0' * 24}"
    left.mkdir(0o700)
    (left / "agentos-system-prompt-1.md").write_text("Be brief.")
    empty = places["XDG_RUNTIME_DIR"] / f"{RELAY}{'0' * 16}"
    empty.mkdir(0o700)
    with caplog.at_level(logging.INFO, "roost.daemon"):
        daemon = Daemon(environment={name: str(folder) for name, folder in places.items()})
    assert not left.exists()
    assert not empty.exists()
    assert {str(left), str(empty)} <= {word.rstrip(",") for record in caplog.records for word in record.message.split()}
    await daemon.close()


def test_the_folder_of_an_agents_files_is_claimed_with_the_first_of_them(tmp_path: Path) -> None:
    runtimes = Runtimes()
    folder = ClaimedFolder(str(tmp_path), FILES)
    found = LocalCatalogue(Packages([tmp_path], runtimes), runtimes, own_env={"PATH": "/bin"}, folder=folder)
    path = f"{folder.path}/agentos-system-prompt-1.md"
    program = found.find("/bin/true --x")
    assert program is not None
    launch = Launch(
        program=program,
        runtime=AcpRuntimeKind.JAVA_SCRIPT,
        cwd=str(tmp_path),
        args=(),
        env={},
        protocol_version=2,
        client_capabilities="{}",
        mcp_servers="[]",
        files=((path, "Be brief."),),
    )
    assert not os.path.exists(folder.path)
    found.plan(launch)
    assert Path(path).read_text() == "Be brief."
    assert sweep_folders([str(tmp_path)]) == []
    folder.remove()
    assert os.listdir(tmp_path) == []
