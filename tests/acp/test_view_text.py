"""Untrusted text: what is taken out of terminal output, and what is spelt out for a user who decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.acp.view_text import TerminalText, plain_terminal_text, reveal

CASES = {
    "a title": ("a\x1b]0;owned\x07b", "ab"),
    "a title ended by ST": ("a\x1b]2;owned\x1b\\b", "ab"),
    "the clipboard, OSC 52": ("a\x1b]52;c;cm0gLXJmIC8=\x07b", "ab"),
    "a hyperlink, OSC 8": ("\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "click"),
    "a device control string": ('a\x1bP$q"p\x1b\\b', "ab"),
    "an application command": ("a\x1b_Gf=100;AAAA\x1b\\b", "ab"),
    "a privacy message": ("a\x1b^secret\x1b\\b", "ab"),
    "a start of string": ("a\x1bXanything\x1b\\b", "ab"),
    "a device query": ("a\x1b[cb\x1b[6nc\x1b[>qd", "abcd"),
    "a private mode": ("a\x1b[?1049hb", "ab"),
    "moving the cursor over what was said": ("rm -rf /\x1b[8Decho ok \x1b[2K", "rm -rf /echo ok "),
    "a reset": ("a\x1bcb", "ab"),
    "a character set": ("a\x1b(0b", "ab"),
    "eight-bit introducers": ("a\x9d0;owned\x9cb\x9b31mc\x90q\x9cd\x9eq\x9ce\x9fq\x9cf\x98q\x9cg", "abcdefg"),
    "other C1 controls": ("a\x84\x85\x8db", "ab"),
    "bell, backspace, delete, null": ("a\x07\x08\x7f\x00\x0e\x0fb", "ab"),
    "line breaks and tabs": ("a\tb\nc\r\nd", "a\tb\nc\nd"),
    "overwriting by a carriage return": ("rm -rf /\recho ok", "rm -rf /\necho ok"),
    "an escape that is cancelled": ("a\x1b\x18b\x1b[3\x1ac", "abc"),
    "an escape in a sequence": ("a\x1b[3\x1b[31mb", "ab"),
    "a line break in a sequence": ("a\x1b[3\nb", "a\nb"),
    "a string that is cancelled": ("a\x1bPq\x18b", "ab"),
    "an unfinished command ends with its line": ("a\x1b]0;rest of line\nb", "a\nb"),
    "any escape ends a string": ("a\x1bPq\x1b[31mb", "ab"),
    "an unfinished sequence": ("a\x1b[31", "a"),
    "a lone escape": ("a\x1b", "a"),
    "an escape before what is no final": ("a\x1b\u00e4b", "aäb"),
    "text of every script": ("жар \u4e2d\u6587 \U0001f600", "жар \u4e2d\u6587 \U0001f600"),
}


@pytest.mark.parametrize("name", CASES)
def test_t_19_what_would_act_on_a_terminal_is_taken_out(name: str) -> None:
    """TRM-9, SEC-4."""
    given_text, expected = CASES[name]
    assert plain_terminal_text(given_text) == expected


COLOURS = {
    "a colour": ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
    "a true colour": ("\x1b[38:2::1:2:3mx\x1b[m", "\x1b[38:2::1:2:3mx\x1b[m"),
    "an eight-bit introducer is written out": ("\x9b31mx", "\x1b[31mx"),
    "a private form is no colour": ("\x1b[>4;2mx\x1b[?1mx", "xx"),
    "an intermediate makes it something else": ("\x1b[1 mx", "x"),
    "another final is no colour": ("\x1b[31Kx", "x"),
    "too long to be one": ("\x1b[" + "1;" * 40 + "mx", "x"),
}


@pytest.mark.parametrize("name", COLOURS)
def test_colours_stay_when_asked_for_and_nothing_else_does(name: str) -> None:
    given_text, expected = COLOURS[name]
    assert plain_terminal_text(given_text, colours=True) == expected
    assert "\x1b" not in plain_terminal_text(given_text)


snippets = st.sampled_from(
    [
        "a",
        "b",
        "\n",
        "\r",
        "\t",
        "\x1b",
        "[",
        "]",
        "P",
        "\\",
        "3",
        ";",
        "m",
        "\x07",
        "\x9c",
        "\x9b",
        "\x18",
        "ä",
        " ",
        "?",
    ]
)


@given(st.lists(snippets, max_size=30).map("".join), st.data(), st.booleans())
def test_any_cutting_gives_the_same_text(whole: str, data: st.DataObject, colours: bool) -> None:
    reader = TerminalText(colours=colours)
    out, rest = "", whole
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        out += reader.feed(rest[:size])
        rest = rest[size:]
    assert out == plain_terminal_text(whole, colours=colours)


@given(st.text(alphabet=st.characters(max_codepoint=0x2FF), max_size=60))
def test_nothing_but_printable_text_line_breaks_and_tabs_comes_out(text: str) -> None:
    assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F for c in plain_terminal_text(text))


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert plain_terminal_text(b"a\xffb\x9b31m") == "a�b�31m"


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("rm -rf /tmp/x", "rm -rf /tmp/x"),
        ("echo hi\nrm -rf /", "echo hi<U+000A>rm -rf /"),
        ("a\tb\rc", "a<U+0009>b<U+000D>c"),
        ("user\u202etxt.exe", "user<U+202E>txt.exe"),
        ("a\u2066b\u2069", "a<U+2066>b<U+2069>"),
        ("a\u200bb\u2060c\ufeff", "a<U+200B>b<U+2060>c<U+FEFF>"),
        ("a\u00a0b\u3000c", "a<U+00A0>b<U+3000>c"),
        ("a\u2028b", "a<U+2028>b"),
        ("\x1b[31m", "<U+001B>[31m"),
        ("a\u3164b\ufe0fc", "a<U+3164>b<U+FE0F>c"),
        ("a\U000e0041b", "a<U+E0041>b"),
        ("a\ud800b", "a<U+D800>b"),
        ("жар \u4e2d\u6587 é \U0001f600", "жар \u4e2d\u6587 é \U0001f600"),
    ],
)
def test_r_12_nothing_a_user_decides_upon_is_hidden(given_text: str, expected: str) -> None:
    """PER-12, MSG-7, SEC-4."""
    assert reveal(given_text) == expected


def test_r_12_a_long_command_is_shown_to_its_end() -> None:
    command = "true " + "#" * 10_000 + "\u202e; rm -rf /"
    assert reveal(command) == "true " + "#" * 10_000 + "<U+202E>; rm -rf /"


def test_lines_may_stay_lines() -> None:
    assert reveal("a\n\tb\u202e", lines=True) == "a\n\tb<U+202E>"


@given(st.text(max_size=40))
def test_what_is_revealed_shows_entirely(text: str) -> None:
    assert reveal(text).isprintable()
