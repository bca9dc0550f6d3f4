"""As much of HTTP/1.1 as agents' clients use: one request on each connection."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from dataclasses import dataclass
from typing import Any

from roost.errors import CodecError, LimitError

HEADER_LINES = 200
BODY_BYTES = 64 * 1024 * 1024  # a conversation with its pictures; agents send all of it each time

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True)
class HttpRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Raises ValueError for what is no JSON, and for a compression that cannot be undone."""
        encoding = self.headers.get("content-encoding", "identity")
        match encoding:
            case "gzip":
                body = gzip.decompress(self.body)
            case "deflate":
                body = zlib.decompress(self.body)
            case "identity":
                body = self.body
            case _:
                raise ValueError(f"the body's encoding {encoding} is not known here")
        return json.loads(body or b"{}")


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """None at the end. Raises CodecError and LimitError for what is no request, or too much of one."""
    try:
        first = (await reader.readline()).decode("latin-1").split()
        if not first:
            return None
        if len(first) != 3:
            raise CodecError("the first line is not that of an HTTP request")
        headers = {}
        for _ in range(HEADER_LINES):
            line = (await reader.readline()).decode("latin-1").strip()
            if not line:
                break
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        else:
            raise LimitError("header_lines", HEADER_LINES)
        return HttpRequest(first[0], first[1], headers, await _body(reader, headers))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except ValueError as error:  # a line too long, a length that is no number
        raise CodecError(f"not HTTP: {error}") from error


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "chunked" not in headers.get("transfer-encoding", ""):
        length = int(headers.get("content-length") or 0)
        if length > BODY_BYTES:
            raise LimitError("body_bytes", BODY_BYTES)
        return await reader.readexactly(length)
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        if len(body) + size > BODY_BYTES:
            raise LimitError("body_bytes", BODY_BYTES)
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


def answer(status: int, value: Any, *, body: bool = True) -> bytes:
    """A whole JSON answer."""
    text = json.dumps(value).encode()
    head = f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(text)}\r\nconnection: close\r\n\r\n".encode() + (text if body else b"")


EVENT_STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
)
END_OF_CHUNKS = b"0\r\n\r\n"


def event_chunk(data: dict[str, Any] | str, name: str) -> bytes:
    """One server-sent event as one chunk."""
    text = data if isinstance(data, str) else json.dumps(data)
    event = f"event: {name}\ndata: {text}\n\n" if name else f"data: {text}\n\n"
    encoded = event.encode()
    return f"{len(encoded):x}\r\n".encode() + encoded + b"\r\n"
