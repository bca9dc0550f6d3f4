"""Directives are found in the last prompt that has any, and their place is counted from the results."""

from __future__ import annotations

import pytest

from roost.testing.llm import (
    Ask,
    Call,
    Directives,
    Fail,
    Hang,
    Hold,
    Line,
    Read,
    Run,
    Say,
    Stream,
    Think,
    Tool,
    Write,
    steps_in,
)
from roost.testing.llm.replies import reply_to
from roost.testing.llm.steps import Gate, Text, ToolCall

BASH = Tool("bash", {"properties": {"command": {"type": "string"}}})


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("[[say hello you]]", Say("hello you")),
        ("[[ think ]]", Think("Let me see.")),
        ("[[write a/b.txt: two: words]]", Write("a/b.txt", "two: words\n")),
        ("[[read a.txt]]", Read("a.txt")),
        ("[[run echo a > b && cat b]]", Run("echo a > b && cat b")),
        ('[[call edit {"a": [1]}]]', Call("edit", {"a": [1]})),
        ("[[call list]]", Call("list", {})),
        ("[[stream 3]]", Stream(3)),
        ("[[hold gate]]", Hold("gate")),
        ("[[fail 418]]", Fail(418)),
        ("[[hang]]", Hang()),
    ],
)
def test_a_directive_is_a_step(text: str, step: object) -> None:
    assert steps_in(f"Please do this: {text} Thank you.") == [step]


def test_other_brackets_are_no_directives() -> None:
    assert steps_in("[[wiki link]] [say x] [[ -f file ]]") == []


def test_a_directive_that_cannot_be_understood_is_an_error() -> None:
    with pytest.raises(ValueError, match="colon"):
        steps_in("[[write a.txt]]")


def ask(*lines: tuple[str, str], tools: tuple[Tool, ...] = (BASH,)) -> Ask:
    return Ask("chat", "m", tuple(Line(role, text) for role, text in lines), tools)


def test_the_last_prompt_with_directives_is_the_script() -> None:
    asked = ask(("user", "[[run a]]"), ("tool", "r"), ("user", "[[say b]]"), ("user", "a reminder of the agent's own"))
    assert Directives()(asked) == [Say("b")]


def test_results_before_the_prompt_do_not_count() -> None:
    asked = ask(("user", "[[run a]]"), ("tool", "r"), ("user", "[[run b]] [[say c]]"))
    assert Directives()(asked) == [Run("b"), Say("c")]


def test_without_directives_it_greets() -> None:
    [step] = Directives()(ask(("user", "hi")))
    assert isinstance(step, Say)
    assert step.text.startswith("Hello")


def test_what_is_asked_aside_does_not_follow_the_script() -> None:
    aside = ask(("user", "Make a title of: [[run a]]"), tools=())
    assert Directives(aside="Title")(aside) == [Say("Title")]
    assert Directives()(aside) == [Run("a")]


def test_a_reply_ends_with_its_first_call() -> None:
    reply = reply_to(ask(), [Say("first"), Run("a"), Say("second")])
    assert reply.parts == (Text(("first",)), ToolCall("bash", {"command": "a"}))


def test_a_tool_that_is_not_there_is_said() -> None:
    reply = reply_to(ask(tools=()), [Run("a")])
    [part] = reply.parts
    assert isinstance(part, Text)
    assert part.whole == "There is no tool to run with; on offer: none."


def test_a_held_reply_says_that_it_is_held() -> None:
    [part] = reply_to(ask(), [Hold("x")]).parts
    assert part == Text(("holding ", Gate("x"), "released "))
