"""Anthropic's messages: `POST …/messages`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from roost.testing.llm.api import TOKENS_IN, TOKENS_OUT, Api, Event, Events, fresh
from roost.testing.llm.asks import Ask, Line, Tool, flat, objects, shape_of
from roost.testing.llm.steps import Reply, Text, Thought, ToolCall
from roost.testing.llm.tools import as_json

# A thought's signature is opaque to everybody but its maker.
SIGNATURE = "c2NyaXB0ZWQ="
CACHE = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def read(body: dict[str, Any], path: str) -> Ask:
    tools = [Tool(str(each["name"]), shape_of(each.get("input_schema")) or {}) for each in _named(body.get("tools"))]
    return Ask(
        "messages",
        str(body.get("model", "")),
        tuple(_lines(body)),
        tuple(tools),
        stream=bool(body.get("stream")),
        thinking=body.get("thinking") is not None,
    )


def _named(tools: object) -> list[dict[str, Any]]:
    return [each for each in objects(tools) if "name" in each]


def _lines(body: dict[str, Any]) -> Iterator[Line]:
    if system := flat(body.get("system")):
        yield Line("system", system)
    for message in objects(body.get("messages")):
        role, content = str(message.get("role", "user")), message.get("content")
        if isinstance(content, str):
            yield Line(role, content)
        for block in objects(content):
            if block.get("type") == "tool_result":
                yield Line("tool", flat(block.get("content")))
            elif block.get("type") == "text":
                yield Line(role, flat(block))


def whole(reply: Reply, ask: Ask) -> dict[str, Any]:
    blocks = [_block(part) for part in _told(reply, ask)]
    usage = {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT, **CACHE}
    return {**_head(ask), "content": blocks, "stop_reason": _reason(reply), "usage": usage}


def events(reply: Reply, ask: Ask) -> Events:
    yield Event({"type": "message_start", "message": _head(ask)}, "message_start")
    for index, part in enumerate(_told(reply, ask)):

        def delta(index: int = index, **members: Any) -> Event:
            return Event({"type": "content_block_delta", "index": index, "delta": members}, "content_block_delta")

        block = _block(part)
        empty: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
        begun = {name: empty.get(name, value) for name, value in block.items()}
        yield Event({"type": "content_block_start", "index": index, "content_block": begun}, "content_block_start")
        match part:
            case Thought(text):
                yield delta(type="thinking_delta", thinking=text)
                yield delta(type="signature_delta", signature=SIGNATURE)
            case Text(pieces):
                for piece in pieces:
                    yield delta(type="text_delta", text=piece) if isinstance(piece, str) else piece
            case ToolCall():
                yield delta(type="input_json_delta", partial_json=as_json(part.arguments))
        yield Event({"type": "content_block_stop", "index": index}, "content_block_stop")
    ending = {"stop_reason": _reason(reply), "stop_sequence": None}
    usage = {"output_tokens": TOKENS_OUT}
    yield Event({"type": "message_delta", "delta": ending, "usage": usage}, "message_delta")
    yield Event({"type": "message_stop"}, "message_stop")


def _told(reply: Reply, ask: Ask) -> list[Thought | Text | ToolCall]:
    """A thought is only sent where thinking was switched on; elsewhere it would be refused."""
    return [part for part in reply.parts if ask.thinking or not isinstance(part, Thought)]


def _head(ask: Ask) -> dict[str, Any]:
    return {
        "id": fresh("msg_"),
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": TOKENS_IN, "output_tokens": 1, **CACHE},
    }


def _block(part: Thought | Text | ToolCall) -> dict[str, Any]:
    match part:
        case Thought(text):
            return {"type": "thinking", "thinking": text, "signature": SIGNATURE}
        case Text():
            return {"type": "text", "text": part.whole}
    return {"type": "tool_use", "id": fresh("toolu_"), "name": part.name, "input": dict(part.arguments)}


def _reason(reply: Reply) -> str:
    return "tool_use" if reply.call is not None else "end_turn"


MESSAGES = Api("messages", read, whole, events)
