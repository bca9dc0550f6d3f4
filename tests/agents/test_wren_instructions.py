"""Wren's language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.agents.wren.instructions import Instruction, Misunderstood, instructions_in


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("todo", Instruction("todo")),
        ("  TODO  ", Instruction("todo")),
        ("/todo", Instruction("todo")),
        ("find a b", Instruction("find", "a b")),
        ("read a b.txt", Instruction("read", "a b.txt")),
        ('read "a\\tb"', Instruction("read", "a\tb")),
        ("run ls -l | wc", Instruction("run", "ls -l | wc")),
        ("say hello", Instruction("say", "hello")),
        ("think hm", Instruction("think", "hm")),
        ("ask why?", Instruction("ask", "why?")),
        ("write a.txt\n```\nx\n```", Instruction("write", "a.txt", ("x\n",))),
        ("write a.txt\n\n```python\nx\n\ny\n```", Instruction("write", "a.txt", ("x\n\ny\n",))),
        ("write a.md\n~~~~\n```\n~~~\n~~~~", Instruction("write", "a.md", ("```\n~~~\n",))),
        ("write a.txt\n```\n```", Instruction("write", "a.txt", ("",))),
        ('replace a.txt "old" "new"', Instruction("replace", "a.txt", ("old", "new"))),
        ('replace "a b" "x\\ny" ""', Instruction("replace", "a b", ("x\ny", ""))),
        ('replace a "say \\"hi\\"" "b"', Instruction("replace", "a", ('say "hi"', "b"))),
    ],
)
def test_each_instruction_is_understood(text: str, expected: Instruction) -> None:
    assert instructions_in(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "find",
        "read ",
        "write",
        "write a.txt",
        "write a.txt\n```\nnever closed",
        "write\n```\nx\n```",
        "replace a.txt",
        'replace a.txt "old"',
        'replace a.txt "a" "b" "c"',
        'replace a.txt "" "b"',
        'replace a.txt "a" x "b"',
        'replace "a',
        "run",
        "say",
        "ask",
    ],
)
def test_what_lacks_something_is_told_what(text: str) -> None:
    (found,) = instructions_in(text)
    assert isinstance(found, Misunderstood)
    assert found.needs is not None


@pytest.mark.parametrize("text", ["hello", "todo now", "help", "findings", "please read a.txt", "```"])
def test_anything_else_is_not_understood(text: str) -> None:
    assert instructions_in(text) == [Misunderstood(text)]


def test_several_are_done_in_order_and_a_fenced_text_is_no_instruction() -> None:
    text = "say a\n\nwrite x\n```\nsay no\n```\nsay b\r\n"
    assert instructions_in(text) == [
        Instruction("say", "a"),
        Instruction("write", "x", ("say no\n",)),
        Instruction("say", "b"),
    ]


@given(st.text(alphabet='todfinrewaplcsyk /"`~\n\\ux', max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    for found in instructions_in(text):
        assert isinstance(found, Instruction | Misunderstood)
