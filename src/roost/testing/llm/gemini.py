"""Gemini: `POST …/models/MODEL:generateContent` and `…:streamGenerateContent`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from roost.testing.llm.api import TOKENS_IN, TOKENS_OUT, Api, Event, Events
from roost.testing.llm.asks import Ask, Line, Tool, flat, member, objects, shape_of
from roost.testing.llm.steps import Reply, Text, Thought, ToolCall

SIGNATURE = "c2NyaXB0ZWQ="
USAGE = {"promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT, "totalTokenCount": TOKENS_IN + TOKENS_OUT}


def read(body: dict[str, Any], path: str) -> Ask:
    model, _, action = path.rpartition("/")[2].partition(":")
    tools = []
    for group in objects(body.get("tools")):
        for each in objects(group.get("functionDeclarations")):
            schema = shape_of(each.get("parametersJsonSchema")) or shape_of(each.get("parameters")) or {}
            tools.append(Tool(str(each.get("name", "")), schema))
    wanted = body.get("generationConfig")
    return Ask(
        "gemini",
        model,
        tuple(_lines(body)),
        tuple(tools),
        stream=action == "streamGenerateContent",
        thinking=True,
        shape=shape_of(member(wanted, "responseJsonSchema")) or shape_of(member(wanted, "responseSchema")),
    )


def _lines(body: dict[str, Any]) -> Iterator[Line]:
    if system := flat(body.get("systemInstruction")):
        yield Line("system", system)
    for content in objects(body.get("contents")):
        role = "assistant" if content.get("role") == "model" else "user"
        for part in objects(content.get("parts")):
            if "functionResponse" in part:
                yield Line("tool", flat(member(part, "functionResponse", "response")))
            elif "text" in part and not part.get("thought"):
                yield Line(role, flat(part))


def whole(reply: Reply, ask: Ask) -> dict[str, Any]:
    return _told(ask, [told for part in reply.parts for told in _parts(part)], "STOP")


def events(reply: Reply, ask: Ask) -> Events:
    for part in reply.parts:
        if isinstance(part, Text):
            for piece in part.pieces:
                yield Event(_told(ask, [{"text": piece}])) if isinstance(piece, str) else piece
        else:
            yield Event(_told(ask, _parts(part)))
    yield Event(_told(ask, [{"text": ""}], "STOP"))


def _parts(part: Thought | Text | ToolCall) -> list[dict[str, Any]]:
    match part:
        case Thought(text):
            return [{"text": f"**Thinking** {text}", "thought": True}]
        case Text():
            return [{"text": part.whole}]
    return [{"functionCall": {"name": part.name, "args": dict(part.arguments)}, "thoughtSignature": SIGNATURE}]


def _told(ask: Ask, parts: list[dict[str, Any]], ending: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if ending is not None:
        candidate["finishReason"] = ending
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": ask.model}


GEMINI = Api("gemini", read, whole, events)
