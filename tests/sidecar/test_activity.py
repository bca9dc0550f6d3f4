"""What an agent said lately."""

from __future__ import annotations

import json

import pytest

from roost.sidecar.activity import Activity


def activity(entries: int = 16, stderr_tail: int = 10, noise_tail: int = 20) -> Activity:
    return Activity(entries=entries, stderr_tail=stderr_tail, noise_tail=noise_tail)


def test_nothing_said_is_said_so() -> None:
    assert activity().sentence() == "no recent ACP activity"
    assert activity().diagnosis() == 'recent_activity=[]; adapter_stderr=""'


def test_entries_read_like_this_and_the_oldest_go_first() -> None:
    here = activity(entries=4)
    here.sent("old", 0)
    here.sent("session/new", 2)
    here.received_request("fs/read", '"x"')
    here.received_notification("_n")
    here.received_garbage(b"?")
    assert here.recent == [
        "sent request session/new id=2",
        'received request fs/read id="x"',
        "received notification _n",
        "invalid_json_rpc code=-32700 Parse error",
    ]
    assert here.sentence() == "Recent ACP activity: " + " | ".join(here.recent)


def test_updates_counted_together_are_entries_one_by_one() -> None:
    here = activity(entries=3)
    here.received_updates(0)
    assert here.recent == []
    here.received_updates(2)
    here.sent("x", 1)
    assert here.recent == ["received notification session/update"] * 2 + ["sent request x id=1"]
    here.received_updates(10**9)
    assert here.recent == ["received notification session/update"] * 3


@pytest.mark.parametrize(
    ("chunks", "kept"),
    [
        ([b"abc"], "abc"),
        ([b"0123456789ab"], "23456789ab"),
        ([b"01234", b"56789ab"], "23456789ab"),
        (["ü".encode() * 20], "ü" * 10),
        (["🐦".encode()[:2], "🐦".encode()[2:]], "🐦"),
        ([b"\xff\xfe"], "\ufffd\ufffd"),
    ],
)
def test_of_stderr_the_last_characters_are_kept(chunks: list[bytes], kept: str) -> None:
    here = activity()
    for chunk in chunks:
        here.wrote_stderr(chunk)
    assert here.stderr == kept


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        ([b"hello"], "hello\n"),
        ([b"one", b"two", b"three"], "one\ntwo\nthree\n"),
        ([b"first line", *[b"%d" % n for n in range(100)]], "first line…\n97\n98\n99\n"),
        ([b"x" * 100], "x" * 10 + "…" + "x" * 9 + "\n"),
    ],
)
def test_of_noise_the_beginning_and_the_end_are_kept(lines: list[bytes], kept: str) -> None:
    here = activity()
    for line in lines:
        here.received_garbage(line)
    assert here.noise == kept
    assert here.noise_count == len(lines)


def test_the_diagnosis_quotes_so_that_it_stays_one_line() -> None:
    here = activity(stderr_tail=100, noise_tail=100)
    here.wrote_stderr(b'a "b"\n\x1b')
    here.received_garbage(b"log")
    text = here.diagnosis()
    assert "\n" not in text
    assert json.loads(text.split("adapter_stderr=")[1].split("; adapter_stdout=")[0]) == 'a "b"\n\x1b'
    assert text.endswith('; adapter_stdout="log\\n"')
