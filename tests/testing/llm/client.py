"""An agent's side of the APIs: one request, and what comes back, whole or event by event."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from roost.testing.llm import ModelServer

TOOLS = {
    "write_file": {"path": "string", "content": "string"},
    "read_file": {"path": "string"},
    "bash": {"command": "string"},
}


def schema(properties: dict[str, str]) -> dict[str, Any]:
    members = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": members, "required": list(members)}


async def post(model: ModelServer, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    """The status, and the JSON that was answered."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    status, chunks = await exchange(model, "POST", path, text, **headers)
    return status, json.loads(b"".join(chunks))


async def events(model: ModelServer, path: str, body: Any) -> AsyncIterator[tuple[str, Any]]:
    """Name and data of each event of a stream; "[DONE]" is a string."""
    reader, writer = await asyncio.open_connection("127.0.0.1", model.port)
    try:
        writer.write(request("POST", path, json.dumps(body).encode()))
        assert b" 200 " in await reader.readline()
        while (await reader.readline()).strip():
            pass
        async for chunk in chunks_of(reader):
            name = ""
            for line in chunk.decode().splitlines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    data = line.removeprefix("data: ")
                    yield name, data if data == "[DONE]" else json.loads(data)
    finally:
        writer.close()


async def chunks_of(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readline(), 16):
        yield await reader.readexactly(size)
        await reader.readline()


def request(method: str, path: str, body: bytes, **headers: str) -> bytes:
    named = {"content-length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{head}\r\n".encode() + body


async def exchange(
    model: ModelServer, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, list[bytes]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", model.port)
    try:
        writer.write(request(method, path, body, **headers))
        whole = await reader.read()
    finally:
        writer.close()
    head, _, content = whole.partition(b"\r\n\r\n")
    return int(head.split()[1]), [content]
