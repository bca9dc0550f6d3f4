"""OpenAI's chat completions: `POST …/chat/completions`."""

from __future__ import annotations

from typing import Any

from roost.testing.llm.api import TOKENS_IN, TOKENS_OUT, Api, Event, Events, fresh
from roost.testing.llm.asks import Ask, Line, Tool, flat, member, objects, shape_of
from roost.testing.llm.steps import Reply, Text, Thought, ToolCall
from roost.testing.llm.tools import as_json

ROLES = {"developer": "system", "function": "tool"}
USAGE = {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT}


def read(body: dict[str, Any], path: str) -> Ask:
    lines = []
    for message in objects(body.get("messages")):
        role = str(message.get("role", "user"))
        lines.append(Line(ROLES.get(role, role), flat(message.get("content"))))
    tools = []
    for each in [*objects(body.get("tools")), *objects(body.get("functions"))]:
        about = each.get("function", each)
        tools.append(Tool(str(member(about, "name")), shape_of(member(about, "parameters")) or {}))
    return Ask(
        "chat",
        str(body.get("model", "")),
        tuple(lines),
        tuple(tools),
        stream=bool(body.get("stream")),
        thinking=True,
        shape=shape_of(member(body, "response_format", "json_schema", "schema")),
    )


def whole(reply: Reply, ask: Ask) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for part in reply.parts:
        match part:
            case Thought(text):
                message["reasoning_content"] = text
            case Text():
                message["content"] = part.whole
            case ToolCall():
                message["tool_calls"] = [_call(part)]
    choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
    return {**_head(ask, "chat.completion"), "choices": [choice], "usage": USAGE}


def events(reply: Reply, ask: Ask) -> Events:
    head = _head(ask, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], reason: str | None = None) -> Event:
        return Event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield chunk({"role": "assistant", "content": ""})
    for part in reply.parts:
        match part:
            case Thought(text):
                yield chunk({"reasoning_content": text})
            case Text(pieces):
                for piece in pieces:
                    yield chunk({"content": piece}) if isinstance(piece, str) else piece
            case ToolCall():
                yield chunk({"tool_calls": [{"index": 0, **_call(part)}]})
    yield chunk({}, _reason(reply))
    yield Event({**head, "choices": [], "usage": USAGE})
    yield Event("[DONE]")


def _head(ask: Ask, kind: str) -> dict[str, Any]:
    return {"id": fresh("chatcmpl-"), "object": kind, "created": 0, "model": ask.model}


def _call(part: ToolCall) -> dict[str, Any]:
    about = {"name": part.name, "arguments": as_json(part.arguments)}
    return {"id": fresh("call_"), "type": "function", "function": about}


def _reason(reply: Reply) -> str:
    return "tool_calls" if reply.call is not None else "stop"


CHAT = Api("chat", read, whole, events)
