"""The same conversation in the shape of each API, and how each tells what the model said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.testing.llm.client import TOOLS, schema

Json = dict[str, Any]


@dataclass
class Told:
    """What an API told: text, reasoning, a call, and why it ended."""

    text: str = ""
    thought: str = ""
    call: tuple[str, Json] | None = None
    ending: str | None = None


class Chat:
    path = "/v1/chat/completions"

    @staticmethod
    def body(prompt: str, results: Iterable[str] = (), *, stream: bool = False, tools: bool = True) -> Json:
        messages: list[Json] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}]
        for number, result in enumerate(results):
            call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
        functions = [{"type": "function", "function": {"name": n, "parameters": schema(p)}} for n, p in TOOLS.items()]
        return {"model": "m", "messages": messages, "stream": stream, **({"tools": functions} if tools else {})}

    @staticmethod
    def whole(answer: Json) -> Told:
        [choice] = answer["choices"]
        return Chat._fold(Told(), choice["message"], choice["finish_reason"])

    @staticmethod
    def streamed(events: Iterable[tuple[str, Any]]) -> Told:
        told, heard = Told(), list(events)
        assert heard[-1] == ("", "[DONE]")
        for _, chunk in heard[:-1]:
            for choice in chunk["choices"]:
                Chat._fold(told, choice["delta"], choice["finish_reason"])
        return told

    @staticmethod
    def _fold(told: Told, message: Json, ending: str | None) -> Told:
        told.text += message.get("content") or ""
        told.thought += message.get("reasoning_content") or ""
        for call in message.get("tool_calls", ()):
            told.call = call["function"]["name"], _decoded(call["function"]["arguments"])
        told.ending = ending
        return told


class Responses:
    path = "/v1/responses"

    @staticmethod
    def body(prompt: str, results: Iterable[str] = (), *, stream: bool = False, tools: bool = True) -> Json:
        items: list[Json] = [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]},
        ]
        for number, result in enumerate(results):
            items.append({"type": "function_call", "call_id": f"c{number}", "name": "bash", "arguments": "{}"})
            items.append({"type": "function_call_output", "call_id": f"c{number}", "output": result})
        functions = [{"type": "function", "name": n, "parameters": schema(p)} for n, p in TOOLS.items()]
        return {"model": "m", "input": items, "stream": stream, "tools": functions if tools else []}

    @staticmethod
    def whole(answer: Json) -> Told:
        told = Told(ending=answer["status"])
        for item in answer["output"]:
            match item["type"]:
                case "message":
                    told.text += item["content"][0]["text"]
                case "reasoning":
                    told.thought += item["summary"][0]["text"]
                case "function_call":
                    told.call = item["name"], _decoded(item["arguments"])
        return told

    @staticmethod
    def streamed(events: Iterable[tuple[str, Any]]) -> Told:
        heard = list(events)
        assert [data["sequence_number"] for _, data in heard] == list(range(len(heard)))
        assert all(name == data["type"] for name, data in heard)
        pieces = "".join(data["delta"] for name, data in heard if name == "response.output_text.delta")
        told = Responses.whole(heard[-1][1]["response"])
        assert told.text == pieces
        done = [data["item"] for name, data in heard if name == "response.output_item.done"]
        assert done == heard[-1][1]["response"]["output"]
        return told


class Messages:
    path = "/v1/messages"

    @staticmethod
    def body(prompt: str, results: Iterable[str] = (), *, stream: bool = False, tools: bool = True) -> Json:
        messages: list[Json] = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
        for number, result in enumerate(results):
            call = {"type": "tool_use", "id": f"c{number}", "name": "bash", "input": {}}
            messages.append({"role": "assistant", "content": [call]})
            block = {"type": "tool_result", "tool_use_id": f"c{number}", "content": [{"type": "text", "text": result}]}
            messages.append({"role": "user", "content": [block]})
        functions = [{"name": n, "input_schema": schema(p)} for n, p in TOOLS.items()]
        about = {"model": "m", "system": "Be brief.", "messages": messages, "stream": stream}
        return {**about, "thinking": {"type": "enabled"}, "tools": functions if tools else []}

    @staticmethod
    def whole(answer: Json) -> Told:
        told = Told(ending=answer["stop_reason"])
        for block in answer["content"]:
            told.text += block.get("text", "")
            told.thought += block.get("thinking", "")
            if block["type"] == "tool_use":
                told.call = block["name"], block["input"]
        return told

    @staticmethod
    def streamed(events: Iterable[tuple[str, Any]]) -> Told:
        told, name, arguments = Told(), "", ""
        heard = list(events)
        assert heard[0][0] == "message_start"
        assert heard[-1][0] == "message_stop"
        for _, data in heard:
            match data["type"]:
                case "content_block_start":
                    name = data["content_block"].get("name", "")
                case "content_block_delta":
                    told.text += data["delta"].get("text", "")
                    told.thought += data["delta"].get("thinking", "")
                    arguments += data["delta"].get("partial_json", "")
                case "message_delta":
                    told.ending = data["delta"]["stop_reason"]
        if name:
            told.call = name, _decoded(arguments)
        return told


class Gemini:
    path = "/v1beta/models/m:generateContent"

    @staticmethod
    def body(prompt: str, results: Iterable[str] = (), *, stream: bool = False, tools: bool = True) -> Json:
        contents: list[Json] = [{"role": "user", "parts": [{"text": prompt}]}]
        for result in results:
            contents.append({"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}}}]})
            response = {"functionResponse": {"name": "bash", "response": {"output": result}}}
            contents.append({"role": "user", "parts": [response]})
        functions = [{"name": n, "parametersJsonSchema": schema(p)} for n, p in TOOLS.items()]
        about = {"contents": contents, "systemInstruction": {"parts": [{"text": "Be brief."}]}}
        return {**about, "tools": [{"functionDeclarations": functions}] if tools else []}

    @staticmethod
    def whole(answer: Json) -> Told:
        return Gemini.streamed([("", answer)])

    @staticmethod
    def streamed(events: Iterable[tuple[str, Any]]) -> Told:
        told = Told()
        for _, data in events:
            [candidate] = data["candidates"]
            told.ending = candidate.get("finishReason")
            for part in candidate["content"]["parts"]:
                if part.get("thought"):
                    told.thought += part["text"]
                else:
                    told.text += part.get("text", "")
                if "functionCall" in part:
                    told.call = part["functionCall"]["name"], part["functionCall"]["args"]
        return told


Shape = type[Chat] | type[Responses] | type[Messages] | type[Gemini]
SHAPES: tuple[Shape, ...] = (Chat, Responses, Messages, Gemini)


def _decoded(text: str) -> Json:
    import json

    value: Json = json.loads(text)
    return value
