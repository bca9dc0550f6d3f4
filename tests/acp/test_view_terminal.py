"""Terminals as bytes, and as text read piece by piece."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.acp.v2.gen.terminals import TerminalExitStatus
from roost.acp.view_terminal import Terminal, decode_base64


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def terminal(*chunks: bytes, bound: int = 1_000) -> Terminal:
    made = Terminal("t", bound)
    for chunk in chunks:
        made.append(b64(chunk))
    return made


def test_t_13_a_character_and_a_sequence_cut_by_chunks_are_read_whole() -> None:
    data = "a\U0001f600b\x1b[31mred\x1b[0m".encode()
    source = terminal()
    reader = source.reader(colours=True)
    pieces = []
    for byte in data:
        source.append(b64(bytes([byte])))
        pieces.append(reader.read())
    assert "".join(pieces) == data.decode()
    assert source.data == data
    assert all("�" not in piece for piece in pieces)


def test_t_14_each_chunk_is_decoded_by_itself() -> None:
    source = Terminal("t", 100)
    source.append("QQ==")
    source.append("Qg==")
    assert source.data == b"AB"


def test_t_15_a_snapshot_replaces_what_was_chunked() -> None:
    source = terminal(b"old")
    source.replace(b64(b"new"))
    assert (source.data, source.received) == (b"new", 3)


def test_t_16_a_snapshot_starts_the_decoder_over() -> None:
    source = terminal(b"caf\xc3")
    reader = source.reader()
    assert reader.read() == "caf"
    source.replace(b64("\N{GREEK SMALL LETTER ALPHA}".encode()))
    assert reader.read() == "\N{GREEK SMALL LETTER ALPHA}"
    assert reader.restarted
    assert reader.read() == ""
    assert not reader.restarted


def test_a_snapshot_starts_the_sequences_over() -> None:
    source = terminal(b"a\x1b]0;tit")
    reader = source.reader()
    assert reader.read() == "a"
    source.replace(b64(b"le"))
    assert reader.read() == "le"


def test_t_18_null_clears() -> None:
    source = terminal(b"old")
    reader = source.reader()
    reader.read()
    source.replace(None)
    assert (source.data, reader.read(), reader.restarted) == (b"", "", True)


@pytest.mark.parametrize("text", ["Q", "QQ", "QQ=", "QQ==QQ==", "QQ==\n", "Q Q=", "====", "é", "\ud800", "QQ-_"])
def test_trm_6_what_is_no_base64_with_padding_is_refused(text: str) -> None:
    """C-34."""
    source = terminal(b"kept")
    assert decode_base64(text) is None
    assert (source.append(text), source.replace(text)) == (-1, -1)
    assert (source.data, source.rejected, source.epoch) == (b"kept", 2, 0)


def test_trm_8_output_after_the_exit_is_taken() -> None:
    source = terminal(b"a\xc3")
    reader = source.reader()
    source.exit_status = TerminalExitStatus(exit_code=0)
    assert reader.read() == "a�"
    source.append(b64(b"late"))
    assert reader.read() == "late"


def test_trm_10_the_front_is_cut_between_characters() -> None:
    source = terminal("ä".encode() * 10, bound=9)
    assert source.text == "ä" * 4
    assert source.dropped == 12


def test_a_reader_that_was_too_slow_is_told_what_it_lost() -> None:
    source = terminal(b"x" * 10, bound=16)
    reader = source.reader()
    assert reader.read() == "x" * 10
    source.append(b64(b"y" * 30))
    text = reader.read()
    assert set(text) == {"y"}
    assert reader.lost == 30 - len(text)


def test_two_readers_read_apart() -> None:
    source = terminal(b"ab")
    first = source.reader()
    assert first.read() == "ab"
    second = source.reader()
    source.append(b64(b"c"))
    assert (first.read(), second.read()) == ("c", "abc")


def test_a_raw_reader_keeps_the_sequences() -> None:
    assert terminal(b"\x1b[31mred").reader(raw=True).read() == "\x1b[31mred"


def test_the_whole_output_as_plain_text() -> None:
    source = terminal(b"\x1b[31mred\x1b[0m\xff\x1b]52;c;eA==\x07")
    assert source.plain() == "red�"
    assert source.plain(colours=True) == "\x1b[31mred\x1b[0m�"


@given(st.lists(st.binary(max_size=8), max_size=12), st.integers(1, 20))
def test_any_cutting_reads_the_same_and_keeps_within_the_bound(chunks: list[bytes], bound: int) -> None:
    source = Terminal("t", 1_000)
    bounded = Terminal("t", bound)
    reader = source.reader(raw=True)
    text = ""
    for chunk in chunks:
        source.append(b64(chunk))
        bounded.append(b64(chunk))
        text += reader.read()
        assert bounded.retained <= bound
    source.exit_status = TerminalExitStatus()
    text += reader.read()
    whole = b"".join(chunks)
    assert text == whole.decode("utf-8", "replace")
    assert whole.endswith(bounded.data)
    assert bounded.received == len(whole)
