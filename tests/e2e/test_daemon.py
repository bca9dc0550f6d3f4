"""`roost daemon` as a process: one at a time, and nothing left when it is gone."""

from __future__ import annotations

import signal
import socketserver
import stat
import threading
from pathlib import Path

import pytest

from tests.cli.rig import PATIENCE, daemon, ended, objects, patient, pids_told, program, roost, scripted


class Nonsense(socketserver.BaseRequestHandler):
    """Answers whoever connects with a frame that is none."""

    def handle(self) -> None:
        self.request.recv(1024)
        self.request.sendall(b"\x00\x00\x00\x01\xff")
        self.request.recv(1024)


def test_a_run_uses_the_daemon_that_listens(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    with daemon(socket) as served:
        assert stat.S_IMODE(socket.stat().st_mode) == 0o600
        result = roost("run", "--socket", str(socket), "--allow", scripted(), "story")
        assert result.exit_code == 0
        assert "You chose yes-1." in result.stdout
        assert result.stderr == ""
        served.until("started as process")
        served.process.send_signal(signal.SIGTERM)
        assert served.end() == 0
    assert not socket.exists()


def test_without_a_daemon_at_the_socket_named_this_is_said(tmp_path: Path) -> None:
    result = roost("run", "--socket", str(tmp_path / "s"), scripted(), "say hi")
    assert result.exit_code == 0
    assert "no daemon listens at" in result.stderr


def test_two_runs_share_a_daemon_and_nothing_else(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    run = ("run", "--socket", str(socket), scripted())
    with daemon(socket), program(*run, "wait") as waiting:
        waiting.until("waiting")
        # The scripted agent gives its sessions one name, and each caller has names of its own.
        assert roost(*run, "say hi").exit_code == 0
        waiting.interrupt()
        assert waiting.end() == 3


def test_a_second_daemon_says_who_holds_the_socket(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    with daemon(socket) as first:
        second = roost("daemon", "--socket", str(socket))
        assert second.exit_code == 1
        assert f"{socket} is held by a roost daemon (process {first.pid})" in second.stderr


def test_a_folder_that_does_not_exist_is_a_misuse(tmp_path: Path) -> None:
    result = roost("daemon", "--packages", str(tmp_path / "nowhere"))
    assert result.exit_code == 1
    assert "does not exist" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_daemon_that_is_told_to_end_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    socket = tmp_path / "s"
    with daemon(socket) as served, program("run", "--socket", str(socket), scripted(), "family") as run:
        run.until("\n")
        pids = pids_told(run.stdout)
        assert len(pids) == 3
        served.process.send_signal(number)
        assert served.end() == 0
        assert ended(*pids)
        assert run.end() in (2, 3)
        assert b"Traceback" not in run.stderr + served.stderr


def test_a_second_signal_does_not_wait_for_an_agent_that_will_not_end(tmp_path: Path) -> None:
    socket, file = tmp_path / "s", patient(tmp_path)
    with (
        daemon(socket, "--config", file) as served,
        program("run", "--socket", str(socket), scripted(), "wedge") as run,
    ):
        run.until("\n")
        served.process.send_signal(signal.SIGTERM)
        served.until("the daemon ends")
        served.process.send_signal(signal.SIGTERM)
        assert served.end() == 0
        assert ended(*pids_told(run.stdout))


def test_who_listens_and_is_no_daemon_is_told_so(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socketserver.UnixStreamServer(path, Nonsense) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        result = roost("run", "--socket", path, scripted(), "say hi")
        thread.join(PATIENCE)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"roost: the daemon at {path} cannot be used: ")


def test_a_daemon_that_is_killed_leaves_no_agent(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    with daemon(socket) as served, program("run", "--socket", str(socket), scripted(), "family") as run:
        run.until("\n")
        pids = pids_told(run.stdout)
        served.process.kill()
        assert ended(*pids)
        assert run.end() == 2
        assert run.stderr == b"roost: the daemon is gone: the connection to the daemon ended\n"


def test_a_stale_socket_is_no_daemon(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    with daemon(socket) as served:
        served.process.kill()
        served.end()
    assert socket.exists()
    assert roost("run", "--socket", str(socket), scripted(), "say hi").exit_code == 0
    with daemon(socket) as again:
        assert roost("agents", "--socket", str(socket)).exit_code == 0
        assert again.process.poll() is None


def test_agents_of_a_daemon_come_from_its_packages(tmp_path: Path) -> None:
    root = tmp_path / "packages"
    folder = root / "pkgs" / "mine" / "current"
    folder.mkdir(parents=True)
    (folder / "agentos-package.json").write_text(
        '{"name": "mine", "version": "7", "agent": {"acpEntrypoint": "mine-acp"}}'
    )
    (root / "bin").mkdir()
    (root / "bin" / "mine-acp").write_text(f"#!/bin/sh\nexec {scripted()}\n")
    (root / "bin" / "mine-acp").chmod(0o755)
    socket = tmp_path / "s"
    with daemon(socket, "--packages", str(root)):
        listed = objects(roost("agents", "--json", "--socket", str(socket)))
        mine = next(agent for agent in listed if agent["name"] == "mine")
        assert (mine["version"], mine["source"], mine["installed"]) == ("7", str(root), True)
        result = roost("run", "--socket", str(socket), "mine", "say hi")
        assert result.stdout.startswith("hi\n")


def test_the_log_has_one_line_for_each_thing_and_no_secret(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    with daemon(socket, "--log-level", "debug") as served:
        run = ("run", "--socket", str(socket), "--env", "MY_KEY=s3cret-1")
        roost(*run, scripted("--key=s3cret-2"), "env MY_KEY")
        roost(*run, scripted("--key=s3cret-2", "--exit-at-start"), "say hi")
        served.process.send_signal(signal.SIGTERM)
        served.end()
    text = served.stderr.decode()
    assert "s3cret" not in text
    assert "started as process" in text
    lines = text.splitlines()
    assert lines[0] == f"roost: the daemon listens at {socket}"
    for line in lines:
        assert line.startswith(("roost: ", "20")), line
