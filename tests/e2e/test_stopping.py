"""Stopping a run: politely, at once, by a closed pipe, by a signal. Nothing is left in any case."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.rig import PATIENCE, ROOST, ended, patient, pids_told, program, scripted


def test_ctrl_c_cancels_the_turn() -> None:
    with program("run", scripted(), "wait") as run:
        run.until("waiting")
        run.interrupt()
        assert run.end() == 3
        assert b"Turn ended: cancelled" in run.stdout
        assert run.stderr.decode().splitlines() == [
            "roost: cancelling the turn; press Ctrl-C again to leave at once",
            "roost: the turn was cancelled",
        ]


def test_ctrl_c_cancels_a_turn_of_version_1() -> None:
    with program("run", "--protocol", "1", scripted("--v1"), "wait") as run:
        run.until("waiting")
        run.interrupt()
        assert run.end() == 3
        assert b"Turn ended: cancelled" in run.stdout


def test_ctrl_c_twice_leaves_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    with program("run", "--config", patient(tmp_path), scripted(), "wedge") as run:
        run.until("\n")
        pids = pids_told(run.stdout)
        run.interrupt()
        run.until("cancelling")
        run.interrupt()
        assert run.end() == 3
        assert ended(*pids)
        assert b"Traceback" not in run.stderr


def test_ctrl_c_before_there_is_a_turn_leaves() -> None:
    with program("run", "--log-level", "info", scripted("--silent"), "say hi") as run:
        run.until("started as process")
        run.interrupt()
        assert run.end() == 3
        assert b"roost: interrupted\n" in run.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_leaves_nothing(number: signal.Signals) -> None:
    with program("run", scripted(), "family") as run:
        run.until("\n")
        pids = pids_told(run.stdout)
        run.process.send_signal(number)
        assert run.end() == 3
        assert ended(*pids)
        assert run.stderr.decode() == f"roost: stopped by {number.name}\n"


def test_a_run_that_is_killed_leaves_nothing() -> None:
    with program("run", scripted(), "family") as run:
        run.until("\n")
        pids = pids_told(run.stdout)
        run.process.kill()
        assert ended(*pids)


@pytest.mark.parametrize("view", [(), ("--json",)])
def test_a_closed_pipe_ends_the_run_in_silence(view: tuple[str, ...]) -> None:
    with program("run", *view, scripted(), "flood 100000") as run:
        run.until("line 1")
        assert run.process.stdout is not None
        run.process.stdout.close()
        assert run.process.wait(PATIENCE) == 3
        assert run.process.stderr is not None
        assert run.process.stderr.read() == b""


def test_a_reader_that_does_not_read_does_not_keep_the_run_from_ending() -> None:
    """Stdout is full, and the run blocks in writing to it."""
    with program("run", scripted(), "flood 100000") as run:
        run.until("line 1")
        run.process.send_signal(signal.SIGTERM)
        assert run.process.wait(PATIENCE) == 3


def test_a_full_disk_is_told_and_is_no_success() -> None:
    with open("/dev/full", "w") as full, program("run", scripted(), "say hi", stdout=full) as run:
        assert run.end() == 3
        assert run.stderr == b"roost: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("closed", "args", "status"),
    [
        (">&-", "'say hi'", 0),
        ("2>&-", "'crash 3'", 2),
        ("<&-", "'say hi'", 0),
        ("<&-", "", 1),
        ("<&- >&- 2>&-", "'say hi'", 0),
    ],
)
def test_streams_that_are_closed_from_the_start_are_no_trouble(closed: str, args: str, status: int) -> None:
    command = f"{' '.join(ROOST)} run '{scripted()}' {args} {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == status
    assert b"mistake" not in done.stderr
