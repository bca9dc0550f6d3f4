"""What is kept of a program's stderr, and what is told."""

from __future__ import annotations

import logging

import pytest

from roost.transport.stderr import StderrTail


def test_the_end_is_kept() -> None:
    tail = StderrTail(10, 100)
    for piece in (b"abcdefgh", b"ijk", b"l" * 20, b"end"):
        tail.feed(piece, 0.0)
    assert tail.text == "l" * 7 + "end"
    assert tail.received == 34


def test_what_is_no_utf_8_shows_as_such() -> None:
    tail = StderrTail(100, 100)
    tail.feed(b"caf\xe9\n", 0.0)
    assert tail.text == "caf�\n"


def test_the_last_lines_are_for_an_error_message() -> None:
    tail = StderrTail(100, 100)
    tail.feed(b"one\ntwo\nthree\n\n", 0.0)
    assert tail.last_lines(2) == "two\nthree"


def test_lines_are_told_whole_however_they_are_cut() -> None:
    lines: list[str] = []
    tail = StderrTail(100, 100, lines.append)
    for piece in (b"on", b"e\ntw", b"o\r\n", b"rest"):
        tail.feed(piece, 0.0)
    assert lines == ["one", "two"]
    tail.finish()
    assert lines == ["one", "two", "rest"]


def test_too_many_lines_are_counted_instead_of_told_until_time_has_passed() -> None:
    lines: list[str] = []
    tail = StderrTail(100, 10, lines.append)
    tail.feed(b"x\n" * 50, 100.0)
    assert (len(lines), tail.suppressed) == (10, 40)
    tail.feed(b"x\n" * 50, 100.5)
    assert (len(lines), tail.suppressed) == (15, 85)


def test_a_line_without_an_end_is_told_in_pieces() -> None:
    lines: list[str] = []
    tail = StderrTail(100, 100, lines.append)
    for _ in range(3):
        tail.feed(b"x" * 10_000, 0.0)
    assert [len(line) for line in lines] == [20_000]


def test_a_callback_that_raises_is_logged_and_the_next_line_is_told(caplog: pytest.LogCaptureFixture) -> None:
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line)
        raise RuntimeError("no")

    tail = StderrTail(100, 100, on_line)
    with caplog.at_level(logging.ERROR):
        tail.feed(b"one\ntwo\n", 0.0)
    assert lines == ["one", "two"]
    assert "on_stderr failed" in caplog.text
