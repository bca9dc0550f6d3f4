"""The server: from HTTP requests to asks, from steps to answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from roost.errors import CodecError, LimitError
from roost.testing.llm.anthropic import MESSAGES
from roost.testing.llm.api import TOKENS_IN, Api, Event
from roost.testing.llm.asks import Ask
from roost.testing.llm.directives import Directives
from roost.testing.llm.gemini import GEMINI
from roost.testing.llm.http import END_OF_CHUNKS, EVENT_STREAM, HttpRequest, answer, event_chunk, read_request
from roost.testing.llm.openai_chat import CHAT
from roost.testing.llm.openai_responses import RESPONSES
from roost.testing.llm.replies import reply_to
from roost.testing.llm.steps import Gate, Pause, Reply, Step

log = logging.getLogger("roost.testing.llm")

MODEL = "scripted"
CONTEXT_TOKENS = 131_072  # said of the one model there is
HOLD_TIMEOUT = 120.0  # a held answer goes on after this, so that a forgotten one ends

Script = Callable[[Ask], Sequence[Step]]


class ModelServer:
    """An async context manager. Listens on loopback only; API keys are not looked at.

    `asks` is everything that was asked, oldest first.
    """

    def __init__(self, script: Script | None = None, *, port: int = 0, hold_timeout: float = HOLD_TIMEOUT) -> None:
        self._script = script or Directives()
        self._wanted_port = port
        self._hold_timeout = hold_timeout
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._gates: dict[str, asyncio.Event] = {}
        self._changed = asyncio.Condition()
        self.asks: list[Ask] = []
        self.strange: list[str] = []  # requests that none of the APIs know

    async def __aenter__(self) -> ModelServer:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._wanted_port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._serving):
            task.cancel()
        if self._serving:
            await asyncio.wait(list(self._serving))

    @property
    def port(self) -> int:
        """The port it listens at."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """Where a client finds it, `http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.port}"

    def release(self, name: str) -> None:
        """Lets every answer that is or will be held by this name go on."""
        self._gate(name).set()

    async def asked(self, matching: Callable[[Ask], bool]) -> Ask:
        """The first ask that matches, now or when it comes. Bound it with `asyncio.timeout`."""
        async with self._changed:
            while True:
                if (found := next(filter(matching, self.asks), None)) is not None:
                    return found
                await self._changed.wait()

    # ---- serving

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            request = await read_request(reader)
            if request is not None:
                await self._serve(request, reader, writer)
        except (CodecError, LimitError) as error:
            log.warning("a request cannot be read: %s", error)
        except (ConnectionError, asyncio.CancelledError):
            pass  # agents hang up when a turn is cancelled; the server when it is closed
        finally:
            self._serving.discard(task)
            writer.close()

    async def _serve(self, request: HttpRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = request.path.partition("?")[0]
        api = _api(path) if request.method == "POST" else None
        if api is None:
            status, value = self._aside(request.method, path)
            writer.write(answer(status, value, body=request.method != "HEAD"))
            await writer.drain()
            return
        try:
            body = request.json()
            if not isinstance(body, dict):
                raise ValueError("the body is not an object")
            ask = api.read(body, path)
            reply = reply_to(ask, self._script(ask))
        except ValueError as error:
            writer.write(answer(400, _error(400, str(error))))
            await writer.drain()
            return
        async with self._changed:
            self.asks.append(ask)
            self._changed.notify_all()
        hung_up = asyncio.ensure_future(reader.read())
        telling = asyncio.ensure_future(self._tell(api, ask, reply, writer))
        try:
            await asyncio.wait((hung_up, telling), return_when=asyncio.FIRST_COMPLETED)
            if telling.done():
                telling.result()
        finally:
            for each in (telling, hung_up):
                each.cancel()
            await asyncio.wait((telling, hung_up))

    async def _tell(self, api: Api, ask: Ask, reply: Reply, writer: asyncio.StreamWriter) -> None:
        if reply.fault is not None:
            writer.write(answer(reply.fault.status, _error(reply.fault.status, reply.fault.message)))
        elif not reply.parts:
            await asyncio.get_running_loop().create_future()  # until the agent hangs up
        elif not ask.stream:
            for part in api.events(reply, ask):
                await self._wait_at(part)
            writer.write(answer(200, api.whole(reply, ask)))
        else:
            writer.write(EVENT_STREAM)
            for part in api.events(reply, ask):
                if isinstance(part, Event):
                    writer.write(event_chunk(part.data, part.name))
                else:
                    await writer.drain()
                    await self._wait_at(part)
            writer.write(END_OF_CHUNKS)
        await writer.drain()

    async def _wait_at(self, part: Event | Pause | Gate) -> None:
        if isinstance(part, Pause):
            await asyncio.sleep(part.seconds)
        elif isinstance(part, Gate):
            try:
                await asyncio.wait_for(self._gate(part.name).wait(), self._hold_timeout)
            except TimeoutError:
                log.warning("an answer was held at %s for %g s and goes on", part.name, self._hold_timeout)

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    def _aside(self, method: str, path: str) -> tuple[int, dict[str, Any]]:
        """What is asked besides the APIs: which models there are, how many tokens a text has."""
        if method == "POST" and path.endswith("/count_tokens"):
            return 200, {"input_tokens": TOKENS_IN}
        if method == "POST" and path.endswith(":countTokens"):
            return 200, {"totalTokens": TOKENS_IN}
        if method in ("GET", "HEAD") and path.endswith("/models"):
            about = {"id": MODEL, "object": "model", "type": "model", "display_name": MODEL, "created": 0}
            return 200, {"object": "list", "data": [{**about, "owned_by": "roost", "context_length": CONTEXT_TOKENS}]}
        if method in ("GET", "HEAD") and path == "/":
            return 200, {}
        self.strange.append(f"{method} {path}")
        return 404, _error(404, f"there is nothing at {path}")


def _api(path: str) -> Api | None:
    if path.endswith("/chat/completions"):
        return CHAT
    if path.endswith("/responses"):
        return RESPONSES
    if path.endswith("/messages"):
        return MESSAGES
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return GEMINI
    return None


def _error(status: int, message: str) -> dict[str, Any]:
    """In a shape that each API's clients can read."""
    kind = "invalid_request_error" if status < 500 else "api_error"
    return {"type": "error", "error": {"type": kind, "code": status, "message": message, "status": "SCRIPTED"}}
