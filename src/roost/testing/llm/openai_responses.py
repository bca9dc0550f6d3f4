"""OpenAI's responses: `POST …/responses`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from roost.testing.llm.api import TOKENS_IN, TOKENS_OUT, Api, Event, Events, fresh
from roost.testing.llm.asks import Ask, Line, Tool, flat, member, objects, shape_of
from roost.testing.llm.steps import Reply, Text, Thought, ToolCall
from roost.testing.llm.tools import as_json

USAGE = {
    "input_tokens": TOKENS_IN,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": TOKENS_OUT,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": TOKENS_IN + TOKENS_OUT,
}


def read(body: dict[str, Any], path: str) -> Ask:
    asked = body.get("input")
    items = [{"role": "user", "content": asked}] if isinstance(asked, str) else objects(asked)
    return Ask(
        "responses",
        str(body.get("model", "")),
        tuple(_lines(items)),
        tuple(_tools(body.get("tools"))),
        stream=bool(body.get("stream")),
        thinking=body.get("reasoning") is not None,
        shape=shape_of(member(body, "text", "format", "schema")),
    )


def _lines(items: list[dict[str, Any]]) -> Iterator[Line]:
    for item in items:
        kind = str(item.get("type", "message"))
        if kind.endswith("_output"):
            yield Line("tool", flat(item.get("output")))
        elif kind == "message":
            role = str(item.get("role", "user"))
            yield Line("system" if role == "developer" else role, flat(item.get("content")))


def _tools(offered: object, namespace: str | None = None) -> Iterator[Tool]:
    for each in objects(offered):
        kind, name = str(each.get("type", "function")), str(each.get("name", ""))
        if kind == "namespace":
            yield from _tools(each.get("tools"), name)
        elif kind == "local_shell":
            yield Tool(kind, {}, kind)
        elif kind in ("function", "custom"):
            yield Tool(name, shape_of(each.get("parameters")) or {}, kind, namespace)


def whole(reply: Reply, ask: Ask) -> dict[str, Any]:
    return _response(ask, fresh("resp_"), [_item(part) for part in reply.parts])


def events(reply: Reply, ask: Ask) -> Events:
    number = count()

    def event(kind: str, **members: Any) -> Event:
        return Event({"type": kind, "sequence_number": next(number), **members}, kind)

    answer = fresh("resp_")
    begun = {**_response(ask, answer, []), "status": "in_progress", "usage": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    items = [_item(part) for part in reply.parts]
    for place, (part, item) in enumerate(zip(reply.parts, items, strict=True)):
        at: dict[str, Any] = {"item_id": item["id"], "output_index": place}
        yield event("response.output_item.added", output_index=place, item=_begun(item))
        match part:
            case Thought(text):
                at["summary_index"] = 0
                yield event("response.reasoning_summary_part.added", **at, part={"type": "summary_text", "text": ""})
                yield event("response.reasoning_summary_text.delta", **at, delta=text)
                yield event("response.reasoning_summary_text.done", **at, text=text)
                yield event("response.reasoning_summary_part.done", **at, part=item["summary"][0])
            case Text(pieces):
                at["content_index"] = 0
                yield event("response.content_part.added", **at, part={**item["content"][0], "text": ""})
                for piece in pieces:
                    if isinstance(piece, str):
                        yield event("response.output_text.delta", **at, delta=piece, logprobs=[])
                    else:
                        yield piece
                yield event("response.output_text.done", **at, text=part.whole, logprobs=[])
                yield event("response.content_part.done", **at, part=item["content"][0])
            case ToolCall() if part.kind == "function":
                yield event("response.function_call_arguments.delta", **at, delta=item["arguments"])
                yield event("response.function_call_arguments.done", **at, arguments=item["arguments"], name=part.name)
        yield event("response.output_item.done", output_index=place, item=item)
    yield event("response.completed", response=_response(ask, answer, items))


def _response(ask: Ask, answer: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": answer,
        "object": "response",
        "created_at": 0,
        "model": ask.model,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "output": items,
        "parallel_tool_calls": False,
        "tools": [],
        "usage": USAGE,
    }


def _item(part: Thought | Text | ToolCall) -> dict[str, Any]:
    match part:
        case Thought(text):
            return {"id": fresh("rs_"), "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
        case Text():
            content = [{"type": "output_text", "text": part.whole, "annotations": []}]
            about = {"type": "message", "role": "assistant", "status": "completed"}
            return {"id": fresh("msg_"), **about, "content": content}
        case ToolCall(kind="local_shell"):
            action = {"type": "exec", "command": ["bash", "-lc", part.arguments.get("command", "")], "env": {}}
            about = {"type": "local_shell_call", "call_id": fresh("call_"), "status": "completed"}
            return {"id": fresh("lsh_"), **about, "action": action}
        case ToolCall(kind="custom"):
            given = part.arguments.get("input")
            about = {"type": "custom_tool_call", "call_id": fresh("call_"), "status": "completed", "name": part.name}
            return {"id": fresh("ctc_"), **about, "input": given if isinstance(given, str) else as_json(part.arguments)}
    where = {} if part.namespace is None else {"namespace": part.namespace}
    about = {"type": "function_call", "call_id": fresh("call_"), "status": "completed", "name": part.name}
    return {"id": fresh("fc_"), **about, "arguments": as_json(part.arguments), **where}


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"content": [], "summary": [], "arguments": "", "input": ""}
    begun = {name: empty.get(name, value) for name, value in item.items()}
    return {**begun, "status": "in_progress"} if "status" in item else begun


RESPONSES = Api("responses", read, whole, events)
