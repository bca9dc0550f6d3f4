"""What is said about an agent that failed."""

from __future__ import annotations

import pytest

from roost.cli.failure import exit_words, failure_of, read_diagnosis, wants_login
from roost.errors import ConnectionClosed, LimitError, RoostError, RpcError, SidecarError, TransportError
from roost.host.events import AgentExited
from roost.host.turn import AgentCrashed
from roost.sidecar.activity import Activity


@pytest.mark.parametrize(
    ("code", "words"),
    [(None, "exited"), (0, "exited with code 0"), (-9, "was ended by SIGKILL"), (-99, "was ended by signal 99")],
)
def test_how_a_process_ended(code: int | None, words: str) -> None:
    assert exit_words(code) == words


def test_the_sidecars_diagnosis_is_read_apart() -> None:
    activity = Activity(entries=4, stderr_tail=4000, noise_tail=2000)
    activity.sent("initialize", 1)
    activity.wrote_stderr(b'it said "no"; adapter_stdout="no" \\ \n and more\n')
    activity.received_garbage(b"Welcome!")
    headline, said = read_diagnosis(f"agent exited with code 3; {activity.diagnosis()}; given up")
    assert headline == "agent exited with code 3"
    assert said == 'it said "no"; adapter_stdout="no" \\ \n and more\nWelcome!'


def test_any_other_message_is_taken_as_it_is() -> None:
    assert read_diagnosis("unknown ACP session s") == ("unknown ACP session s", "")


def test_only_the_last_lines_are_shown() -> None:
    event = AgentExited("s", "a", "p", 1, "exhausted", 3, 3)
    failure = failure_of("a", AgentCrashed(event, "\n".join(map(str, range(100)))))
    assert failure.message == "agent a failed: it exited with code 1 in mid-turn; it had crashed too often to be" + (
        " started again"
    )
    assert failure.detail.split("\n") == [str(number) for number in range(80, 100)]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (RpcError(-32000, "log in first"), "agent a failed: log in first (error -32000)"),
        (SidecarError("timeout", "too slow"), "agent a failed: too slow"),
        (ConnectionClosed("it ended"), "the daemon is gone: it ended"),
        (TransportError("cannot connect to s: no"), "cannot connect to s: no"),
        (LimitError("line_bytes", 5), "agent a failed: limit line_bytes of 5 reached"),
    ],
)
def test_each_kind_of_error_names_what_failed(error: RoostError, sentence: str) -> None:
    failure = failure_of("a", error)
    assert (failure.message, failure.exit_code) == (sentence, 2)


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("ACP session/new failed: Authentication required", True),
        ('ACP session/load failed: no (data: {"hint":"set an API key"})', True),
        ("ACP session/new failed: please log in first", True),
        ("session s1 is logged out; it waits for an auth/login", True),
        ("ACP session/new failed: the author of this folder is unknown", False),
        ("ACP session/new failed: out of disk", False),
    ],
)
def test_that_a_login_is_wanted_is_told_by_the_words_of_the_agent(message: str, wanted: bool) -> None:
    assert wants_login(SidecarError("invalid_state", message)) is wanted
