"""From the steps of a script to one reply: everything up to and with the first call."""

from __future__ import annotations

import re
from collections.abc import Iterable

from roost.testing.llm.asks import Ask
from roost.testing.llm.steps import (
    Call,
    Fail,
    Gate,
    Hang,
    Hold,
    Pause,
    Read,
    Reply,
    Run,
    Say,
    Step,
    Stream,
    Text,
    Think,
    Thought,
    ToolCall,
    Write,
)
from roost.testing.llm.tools import as_json, call_for, filled


def reply_to(ask: Ask, steps: Iterable[Step]) -> Reply:
    """Says so when no tool on offer does what a step wants; what cannot be said beside a failure is not said."""
    parts: list[Thought | Text | ToolCall] = []
    pieces: list[str | Pause | Gate] = []
    for step in steps:
        match step:
            case Think(text):
                parts.append(Thought(text))
            case Say(text):
                pieces += words(text)
            case Stream(count, period):
                for number in range(count):
                    pieces += [f"word {number} ", Pause(period)]
            case Hold(name):
                pieces += ["holding ", Gate(name), "released "]
            case Fail():
                return Reply(fault=step)
            case Hang():
                return Reply()
            case Call(name, arguments):
                tool = next((tool for tool in ask.tools if tool.name == name), None)
                if tool is not None:
                    return _reply(parts, pieces, ToolCall(name, arguments, tool.kind, tool.namespace))
                pieces += words(_lacking(ask, name))
            case Write() | Read() | Run():
                call = call_for(step, ask.tools)
                if call is not None:
                    return _reply(parts, pieces, call)
                pieces += words(_lacking(ask, type(step).__name__.lower()))
    if ask.shape is not None and not ask.tools:
        pieces = [as_json(filled({**ask.shape, "required": list(ask.shape.get("properties") or ())}))]
    return _reply(parts, pieces, None)


def _reply(parts: list[Thought | Text | ToolCall], pieces: list[str | Pause | Gate], call: ToolCall | None) -> Reply:
    told = [Text(tuple(pieces))] if pieces or call is None else []
    return Reply((*parts, *told, *([call] if call is not None else [])))


def _lacking(ask: Ask, what: str) -> str:
    offered = ", ".join(tool.name for tool in ask.tools) or "none"
    return f"There is no tool to {what} with; on offer: {offered}."


def words(text: str) -> list[str]:
    """The pieces a text is streamed in."""
    return re.findall(r"\S+\s*|\s+", text) or [""]
