"""A caller of a real daemon: frames over the unix socket, written and read here, with a limit on every wait."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from roost.sidecar.gen import frames
from roost.sidecar.gen.messages import (
    AcpCreateSessionRequest,
    AcpErrorResponse,
    AcpGetSessionStateRequest,
    AcpPermissionCallbackResponse,
    AcpRequest,
    AcpResponse,
    AcpRuntimeKind,
    AcpSessionCreatedResponse,
    AcpSessionEvent,
    AcpSessionRequest,
    AcpSessionRpcResponse,
    decode_acp_event,
    decode_acp_response,
    encode_acp_callback_response,
    encode_acp_request,
)

AGENT = Path(__file__).with_name("agent.py")
# Far more than anything takes, even on a machine that is busy with other things: only a hang reaches it.
PATIENCE = 45.0

_PLACE = re.compile(r'"p": ?"(\d+)", ?"n": ?(\d+)')


class ConnectionLost(Exception):
    """The daemon is gone, or has hung up."""


class Stream:
    """What was heard of one session: in order and without a hole, from each process that ran it."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}
        self.faults: list[str] = []
        self.heard = 0

    @property
    def pid(self) -> int | None:
        """The agent that was heard last."""
        return int(next(reversed(self.last))) if self.last else None

    def update(self, text: str) -> None:
        place = _PLACE.search(text)
        if place is None:
            return
        process, number = place[1], int(place[2])
        wanted = self.last.pop(process, 0) + 1
        if number != wanted:
            self.faults.append(f"event {number} of {process}, and {wanted} was due")
        self.last[process] = number
        self.heard += 1

    def answer(self, text: str) -> None:
        """Comes after all that was printed before it."""
        place = _PLACE.search(text)
        if place is not None and self.last.get(place[1]) != int(place[2]):
            self.faults.append(f"answer after event {place[2]} of {place[1]}, and {self.last} were heard")


class Caller:
    """One connection. Permissions are granted as they come."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._open: dict[int, asyncio.Future[AcpResponse]] = {}
        self._last = 0
        self._welcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.streams: dict[str, Stream] = {}
        self._task = asyncio.create_task(self._read())

    @staticmethod
    async def connect(path: Path, name: str | None = None) -> Caller:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_unix_connection(str(path), limit=1 << 25)
            caller = Caller(reader, writer)
            caller.send(frames.Hello(1, "chaos/1", None, name))
            await caller._welcome
        return caller

    def send(self, frame: frames.Frame) -> None:
        body = frames.encode_frame(frame)
        self.send_raw(len(body).to_bytes(4, "big") + body)

    def send_raw(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    def read_no_more(self) -> None:
        """What comes waits in the socket, and then in the daemon."""
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]

    async def close(self) -> None:
        self._writer.close()
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([self._task])

    async def until_lost(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([self._task])

    async def _read(self) -> None:
        try:
            while True:
                size = int.from_bytes(await self._reader.readexactly(4), "big")
                self._take(frames.decode_frame(await self._reader.readexactly(size)))
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self._writer.close()
            for waiting in (*self._open.values(), self._welcome):
                if not waiting.done():
                    waiting.set_exception(ConnectionLost())
            for waiting in (*self._open.values(), self._welcome):
                waiting.exception()  # whoever waits hears of it; nobody has to

    def _take(self, frame: frames.Frame) -> None:
        match frame:
            case frames.Welcome():
                self._welcome.set_result(None)
            case frames.Response(id=number, payload=payload):
                self._open.pop(number).set_result(decode_acp_response(payload))
            case frames.Event(payload=payload):
                event = decode_acp_event(payload)
                if isinstance(event, AcpSessionEvent):
                    self.streams.setdefault(event.session_id, Stream()).update(event.notification)
            case frames.Callback(id=number):
                reply = encode_acp_callback_response(AcpPermissionCallbackResponse("permission", "once"))
                self.send(frames.CallbackResponse(number, reply))

    # ---- requests

    async def request(self, payload: AcpRequest) -> AcpResponse:
        """Raises ConnectionLost, and TimeoutError when there is no answer: nothing may hang."""
        if self._task.done():
            raise ConnectionLost
        self._last += 1
        number = self._last
        waiting = self._open[number] = asyncio.get_running_loop().create_future()
        self.send(frames.Request(number, encode_acp_request(payload)))
        async with asyncio.timeout(PATIENCE):
            return await waiting

    async def create(self, env: Mapping[str, str], *, child: bool = False, agent: Path = AGENT) -> str:
        """The id of a new session. Raises AssertionError when there is none."""
        words = [sys.executable, "-S", "-E", str(agent), *(["--child"] if child else [])]
        response = await self.request(
            AcpCreateSessionRequest(
                agent_type=" ".join(words),
                runtime=AcpRuntimeKind.PYTHON,
                cwd="/",
                args=[],
                env=dict(env),
                protocol_version=1,
                client_capabilities="{}",
                mcp_servers="[]",
                skip_os_instructions=True,
            )
        )
        assert isinstance(response, AcpSessionCreatedResponse), response
        self.streams.setdefault(response.session_id, Stream())
        return response.session_id

    async def prompt(self, session_id: str, text: str) -> str | AcpErrorResponse:
        """The stop reason, or why there is none."""
        params = json.dumps({"prompt": [{"type": "text", "text": text}]})
        response = await self.request(AcpSessionRequest(session_id, "session/prompt", params))
        if isinstance(response, AcpErrorResponse):
            return response
        assert isinstance(response, AcpSessionRpcResponse), response
        self.streams.setdefault(session_id, Stream()).answer(response.response)
        return str(json.loads(response.response)["result"]["stopReason"])

    async def state(self, session_id: str) -> AcpResponse:
        return await self.request(AcpGetSessionStateRequest(session_id))
