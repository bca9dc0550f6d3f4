"""The client of a check: sends what it likes, bytes if need be, and keeps everything in the order it happened.

It helps the agent with nothing and forgives nothing. It does answer what the agent asks, by `answers`, so that a turn
comes to its end; a check that wants it otherwise says so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import Struct

from roost.errors import LimitError
from roost.testing.conformance.findings import shown
from roost.transport.child import ChildChannel, ChildLimits, Launch, start_child

Json = dict[str, Any]
Answer = Callable[[Json], Json | None]

NOT_JSON: Final = object()
"""The value of a line that is not JSON."""

BARRIER: Final = "_roost.conformance/barrier"
"""A method no agent has: its refusal shows that everything before it was looked at."""


class Patience(Struct, frozen=True, kw_only=True):
    """How long is waited for what, in seconds, and how much is listened to. The defaults are ours."""

    start_timeout: float = 30.0  # for the answer to initialize, which waits for the program to be loaded
    answer_timeout: float = 10.0  # for the answer to a request that involves no model
    turn_timeout: float = 120.0  # for the end of a turn
    exit_timeout: float = 5.0  # from the end of stdin to the exit
    silence: float = 0.15  # after a barrier, for what should not come
    trace_bytes: int = 256 * 1024 * 1024  # of one agent's messages


class Entry(Struct, frozen=True):
    """One line of the conversation. `value` is its JSON; `ours` tells who said it."""

    ours: bool
    raw: bytes
    value: Any

    @property
    def parts(self) -> list[Any]:
        """The messages in it: itself, or those of a batch."""
        return self.value if isinstance(self.value, list) else [self.value]


class Silence(Exception):
    """Something did not come in time, or cannot come any more."""

    def __init__(self, expected: str, came: str) -> None:
        super().__init__(expected, came)
        self.expected = expected
        self.came = came


class Peer:
    """One running agent and our end of its stdio."""

    def __init__(self, channel: ChildChannel, patience: Patience) -> None:
        self.channel = channel
        self.patience = patience
        self.timeline: list[Entry] = []
        self.answers: dict[str, Answer] = {}
        self.asked: list[Json] = []
        """Requests of the agent that were left open."""
        self.over = False
        """Its stdout has ended."""
        self._bytes = 0
        self._too_much = False
        self._next_id = 0
        self._changed = asyncio.Event()
        channel.open(self)

    # ---- MessageListener

    def received(self, messages: list[bytes]) -> None:
        for raw in messages:
            if raw.strip():
                self._take(raw)
        self._changed.set()

    def _take(self, raw: bytes) -> None:
        self._bytes += len(raw)
        if self._bytes > self.patience.trace_bytes:
            self._too_much = True
            self.channel.abort()
            return
        try:
            value = json.loads(raw, parse_constant=_refuse)
        except (ValueError, RecursionError):
            value = NOT_JSON
        entry = Entry(False, raw, value)
        self.timeline.append(entry)
        for part in entry.parts:
            if isinstance(part, dict) and "method" in part and "id" in part:
                self._answer(part)

    def _answer(self, request: Json) -> None:
        answer = self.answers.get(request["method"]) if isinstance(request["method"], str) else None
        if answer is None:
            self.reply(request, {"error": {"code": -32601, "message": "Method not found"}})
            return
        reply = answer(request)
        if reply is None:
            self.asked.append(request)
        else:
            self.reply(request, reply)

    def overflowed(self, count: int, limit: int) -> None:
        self.timeline.append(Entry(False, b"(a message longer than %d bytes)" % limit, NOT_JSON))
        self._changed.set()

    def congested(self) -> None: ...

    def eased(self) -> None: ...

    def ended(self) -> None:
        self.over = True
        self._changed.set()

    def closed(self, error: Exception | None) -> None:
        self.over = True
        self._changed.set()

    # ---- sending

    def send(self, value: Any) -> None:
        """One line: JSON, or bytes as they are."""
        raw = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.timeline.append(Entry(True, raw, NOT_JSON if isinstance(value, bytes) else value))
        self.channel.send([raw])

    def new_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def request(self, method: str, params: Any = None) -> int:
        """Sends a request; its id."""
        id = self.new_id()
        self.send(call(method, params, id))
        return id

    def notify(self, method: str, params: Any = None) -> None:
        self.send(call(method, params))

    def reply(self, request: Json, body: Json) -> None:
        """`body` has `result` or `error`."""
        self.send({"jsonrpc": "2.0", "id": request["id"], **body})

    # ---- waiting

    async def until(self, condition: Callable[[], Any], expected: str, wait: float) -> Any:
        """The condition's value once it is true. Silence: not in time, or the agent has gone."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait
        while not (value := condition()):
            if self._too_much:
                raise LimitError("trace_bytes", self.patience.trace_bytes)
            if self.over:
                raise Silence(expected, await self._gone())
            self._changed.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._changed.wait()
            except TimeoutError:
                raise Silence(f"{expected} within {wait:g} s", self._last()) from None
        return value

    async def answer(self, id: Any, what: str, wait: float | None = None) -> Json:
        """The response with that id, be it in a batch."""
        wait = self.patience.answer_timeout if wait is None else wait
        found: Json = await self.until(lambda: self.response(id), f"an answer to {what}", wait)
        return found

    async def call(self, method: str, params: Any = None, wait: float | None = None) -> Json:
        """A request and its response, whichever it is."""
        if wait is None and method == "initialize":
            wait = self.patience.start_timeout
        return await self.answer(self.request(method, params), method, wait)

    async def barrier(self) -> None:
        """Everything sent so far has been looked at, and what it set off at once has come."""
        await self.call(BARRIER)
        await self.quiet()

    async def quiet(self) -> None:
        """A moment for what should not come."""
        await asyncio.sleep(self.patience.silence)

    async def exit(self) -> int:
        """Ends its input and waits for it to go by itself; its exit code. Silence: it had to be killed."""
        loop = asyncio.get_running_loop()
        began, grace = loop.time(), self.patience.exit_timeout
        self.channel.close()
        code = await self.channel.wait_exited()
        if loop.time() - began >= grace:
            raise Silence(f"the agent to exit within {grace:g} s of the end of its input", "it had to be killed")
        return code

    async def end(self) -> None:
        """Ends it, at once, with what it started."""
        self.channel.abort()
        await self.channel.wait_exited()

    # ---- looking

    @property
    def mark(self) -> int:
        """Here in the timeline."""
        return len(self.timeline)

    def came(self, since: int = 0, before: Any = None) -> Iterator[Any]:
        """Every message of the agent, those in batches one by one; those before one of them, if it is given."""
        for entry in self.timeline[since:]:
            if not entry.ours:
                for part in entry.parts:
                    if part is before and before is not None:
                        return
                    yield part

    def responses(self, id: Any, since: int = 0) -> list[Json]:
        return [
            part
            for part in self.came(since)
            if isinstance(part, dict) and "method" not in part and "id" in part and same_id(part["id"], id)
        ]

    def response(self, id: Any) -> Json | None:
        found = self.responses(id)
        return found[0] if found else None

    def updates(
        self, session: str | None = None, kind: str | None = None, since: int = 0, before: Any = None
    ) -> list[Json]:
        """The payloads of session/update."""
        out = []
        for part in self.came(since, before):
            if isinstance(part, dict) and part.get("method") == "session/update":
                params = part.get("params")
                params = params if isinstance(params, dict) else {}
                update = params.get("update")
                if (
                    isinstance(update, dict)
                    and (session is None or params.get("sessionId") == session)
                    and (kind is None or update.get("sessionUpdate") == kind)
                ):
                    out.append(update)
        return out

    def idles(self, session: str, since: int = 0, before: Any = None) -> list[Json]:
        """The idle updates that end work: those with a stop reason, and those after a running."""
        out, running = [], False
        for update in self.updates(session, "state_update", since, before):
            state = update.get("state")
            if state == "idle":
                if running or "stopReason" in update:
                    out.append(update)
                running = False
            else:
                running = True
        return out

    async def _gone(self) -> str:
        with_code = ""
        try:
            async with asyncio.timeout(1.0):
                with_code = f" with code {await self.channel.wait_exited()}"
        except TimeoutError:
            return "the agent closed its output"
        said = " ".join(self.channel.last_words.split())
        return f"the agent exited{with_code}" + (f"; its stderr ends: {shown(said[-200:])}" if said else "")

    def _last(self) -> str:
        last = next((entry.raw for entry in reversed(self.timeline) if not entry.ours), None)
        return "nothing at all" if last is None else f"nothing; the last message was {shown(last)}"


async def start(launch: Launch, patience: Patience) -> Peer:
    """A freshly started agent. ProcessError: it cannot be."""
    limits = ChildLimits(exit_grace=patience.exit_timeout, kill_grace=1.0, drain_grace=0.5)
    return Peer(await start_child(launch, limits=limits), patience)


def _refuse(token: str) -> None:
    raise ValueError(f"{token} is not JSON")


def call(method: str, params: Any = None, id: Any = None) -> Json:
    """A request, or without an id a notification."""
    message: Json = {"jsonrpc": "2.0"}
    if id is not None:
        message["id"] = id
    message["method"] = method
    if params is not None:
        message["params"] = params
    return message


def same_id(one: Any, other: Any) -> bool:
    """Ids are equal when value and type are: 1 is neither "1" nor true (ID-2)."""
    return type(one) is type(other) and bool(one == other)
