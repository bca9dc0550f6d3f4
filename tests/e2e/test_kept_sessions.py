"""Sessions and daemons that die: what was said stays, nothing is said twice, and secrets are nowhere."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.rig import Program, daemon, ended, objects, pids_told, program, roost, scripted

NAME = "abc-123456789"
AGENT = f"--session={NAME}"


@pytest.fixture
def socket(journal: Path, tmp_path: Path) -> str:
    return str(tmp_path / "s")


@pytest.fixture
def served(socket: str) -> Iterator[Program]:
    with daemon(Path(socket)) as made:
        yield made


def only(socket: str) -> dict[str, Any]:
    [row] = objects(roost("ps", "--json", "--socket", socket))
    return dict(row)


def said(socket: str, words: str) -> list[str]:
    """Which of the words the log has, in order."""
    result = roost("log", NAME, "--socket", socket)
    assert result.exit_code == 0, result.stderr
    return re.findall(words, result.stdout)


def kill(served: Program) -> None:
    served.process.kill()
    served.end()


def test_a_session_survives_a_killed_daemon_and_its_agent_goes_on(served: Program, socket: str, tmp_path: Path) -> None:
    agent = scripted(AGENT, f"--memory={tmp_path / 'memory'}")
    assert roost("run", "--socket", socket, agent, "say first").exit_code == 0
    assert only(socket)["state"] == "asleep"
    kill(served)
    with daemon(Path(socket)):
        assert only(socket)["state"] == "asleep"
        result = roost("resume", "--socket", socket, "abc", "recall")
        assert result.exit_code == 0, result.stderr
        assert "(resumed: the agent remembers)" in result.stdout
        assert "remembered: say first; recall" in result.stdout
        assert said(socket, "> say first|> recall|remembered|Turn ended") == [
            "> say first",
            "Turn ended",
            "> recall",
            "remembered",
            "Turn ended",
        ]


def test_wren_goes_on_from_a_transcript_for_its_sessions_die_with_it(served: Program, socket: str) -> None:
    assert roost("run", "--socket", socket, "wren", "say first").exit_code == 0
    kill(served)
    with daemon(Path(socket)):
        session = only(socket)["sessionId"]
        result = roost("resume", "--socket", socket, session, "say second")
        assert result.exit_code == 0, result.stderr
        assert "a new agent, which is told where to read" in result.stdout
        log = roost("log", session, "--socket", socket).stdout
        assert re.findall(r"(?m)^(?:> say )?(first|second)$", log) == ["first", "first", "second", "second"]
        assert only(socket)["sessionId"] == session


def test_a_turn_under_way_when_the_daemon_dies_is_marked_and_not_sent_again(
    served: Program, socket: str, tmp_path: Path
) -> None:
    memory = tmp_path / "memory"
    run = ("run", "--socket", socket, scripted(AGENT, f"--memory={memory}"), "family")
    with program(*run) as running:
        running.until("\n")
        pids = pids_told(running.stdout)
        row = only(socket)
        assert (row["state"], row["pid"]) == ("running", pids[0])
        assert row["memoryBytes"] > 1_000_000
        kill(served)
        assert running.end() == 2
        assert ended(*pids)
    with daemon(Path(socket)):
        assert only(socket)["state"] == "interrupted"
        assert roost("resume", "--socket", socket, "abc", "recall").exit_code == 0
        assert only(socket)["state"] == "asleep"
        assert said(socket, "> family|interrupted|> recall") == ["> family", "interrupted", "> recall"]
    assert memory.read_text() == "family\nrecall\n"


def test_a_run_that_is_killed_leaves_its_turn_to_the_daemon(served: Program, socket: str) -> None:
    with program("run", "--socket", socket, scripted(AGENT), "family") as running:
        running.until("\n")
        pids = pids_told(running.stdout)
    assert only(socket)["state"] == "running"
    refused = roost("rm", "--socket", socket, "abc")
    assert (refused.exit_code, "--force" in refused.stderr) == (1, True)
    asleep = roost("sleep", "--socket", socket, "abc")
    assert asleep.exit_code == 2
    assert "cancel its turn first" in asleep.stderr
    assert roost("close", "--socket", socket, "abc").exit_code == 0
    assert ended(*pids)
    assert roost("rm", "--socket", socket, "abc").exit_code == 0


def test_a_run_that_is_told_to_end_cancels_its_turn(served: Program, socket: str) -> None:
    with program("run", "--socket", socket, scripted(AGENT), "wait") as running:
        running.until("waiting")
        with program("log", "--follow", "--socket", socket, "abc") as log:
            log.until("waiting")
            running.process.send_signal(signal.SIGTERM)
            assert running.end() == 3
            log.until("Turn ended: cancelled")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_log_can_be_followed_through_sleep_and_waking(served: Program, socket: str, form: tuple[str, ...]) -> None:
    run = roost("run", "--socket", socket, scripted(AGENT), "say first")
    assert run.exit_code == 0
    with program("log", "--follow", *form, "--socket", socket, "abc") as log:
        log.until("first")
        assert roost("resume", "--socket", socket, "abc", "say second").exit_code == 0
        end = b'"kind":"turn"' if form else b"Turn ended"
        log.read_until(lambda program: program.stdout.count(end) == 2)
        log.interrupt()
        assert log.end() == 0
        assert log.stderr == b""
        assert log.stdout.count(b"> say second" if not form else b'"kind":"prompt"') == (1 if not form else 2)


def test_a_second_daemon_does_not_start_and_says_who_has_the_journal(
    served: Program, tmp_path: Path, journal: Path
) -> None:
    other = str(tmp_path / "other")
    second = roost("daemon", "--socket", other)
    assert second.exit_code == 1
    assert f"{journal} is in use by process {served.pid}" in second.stderr
    with daemon(Path(other), "--no-journal"):
        result = roost("run", "--socket", other, scripted(AGENT), "say hi")
        assert (result.exit_code, result.stderr) == (0, "")
        asked = roost("ps", "--socket", other)
        assert asked.exit_code == 2
        assert "keeps no journal" in asked.stderr


def test_a_daemon_does_not_start_with_a_journal_it_cannot_use(tmp_path: Path, journal: Path) -> None:
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"no database, certainly" * 100)
    refused = roost("daemon", "--socket", str(tmp_path / "s"))
    assert refused.exit_code == 1
    assert str(journal) in refused.stderr
    assert "--no-journal" in refused.stderr
    file = tmp_path / "c.toml"
    file.write_text('[store]\ndurability = "optional"\n')
    with daemon(tmp_path / "s", "--config", str(file)) as served:
        assert b"nothing is kept" in served.stderr + served.stdout


def test_a_daemon_is_where_the_configuration_says_and_so_are_its_limits(tmp_path: Path, journal: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('[daemon]\nsocket = "mine.sock"\nlog_level = "debug"\n[limits]\nsessions_per_caller = 1\n')
    settings = ("--config", str(file))
    with program("daemon", *settings) as served:
        served.until(f"listens at {tmp_path / 'mine.sock'}")
        with program("run", *settings, scripted(AGENT), "wait") as running:
            running.until("waiting")
            refused = roost("run", *settings, scripted("--session=x"), "say hi")
            assert refused.exit_code == 2
            assert "sessions_per_caller" in refused.stderr


def test_an_export_can_be_made_while_the_daemon_runs_and_no_secret_is_on_the_disk(
    served: Program, socket: str, journal: Path, tmp_path: Path
) -> None:
    secret = "Sw0rdfish-7731"
    agent = scripted(AGENT, f"--memory={tmp_path / 'memory'}")
    assert roost("run", "--socket", socket, "--env", f"MY_KEY={secret}", agent, "say first").exit_code == 0
    assert roost("resume", "--socket", socket, "--env", f"MY_KEY={secret}x", "abc", "say more").exit_code == 0
    file = tmp_path / "abc.session"
    assert roost("export", "--socket", socket, "abc", str(file)).exit_code == 0
    assert roost("import", str(file)).exit_code == 2  # the daemon has the journal
    before = roost("log", "--json", "--socket", socket, NAME).stdout
    kill(served)
    kept = [found for found in journal.parent.iterdir() if found.name.startswith("journal.db")]
    assert len(kept) >= 2
    for found in [file, *kept]:
        data = found.read_bytes()
        assert secret.encode() not in data, found
    assert b"MY_KEY" in file.read_bytes()
    assert roost("import", "--force", str(file)).exit_code == 0
    assert roost("log", "--json", NAME).stdout == before
