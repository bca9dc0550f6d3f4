"""An agent for tests that reads and writes plain JSON: it helps the client with nothing, and never by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from roost.sdk.client import Client
from roost.sdk.connect import connect
from roost.sdk.session import Session
from roost.transport.messages import MessageChannel, message_pair

WAIT = 10.0  # seconds; far more than anything here takes

Json = dict[str, Any]

ALL: Json = {
    "session": {
        "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
        "mcp": {"stdio": {}, "http": {}, "acp": {}},
        "delete": {},
        "additionalDirectories": {},
        "fork": {},
    },
    "providers": {},
    "nes": {
        "events": {
            "document": {
                "didOpen": {},
                "didChange": {"syncKind": "incremental"},
                "didClose": {},
                "didSave": {},
                "didFocus": {},
            }
        },
        "context": {"recentFiles": {"maxCount": 2}, "diagnostics": {}},
    },
}
"""Capabilities of an agent that can do everything."""

LOGIN = {"type": "agent", "methodId": "key", "name": "API key"}
OPTION = {"type": "boolean", "configId": "web", "name": "Web", "currentValue": True}


class RawAgent:
    """`messages`: all that came, in order. What the test has not asked for by `next` is still to come."""

    def __init__(self, channel: MessageChannel) -> None:
        self._channel = channel
        self._changed = asyncio.Event()
        self._taken = 0
        self._next_id = 1000
        self.messages: list[Any] = []
        self.is_over = False
        channel.open(self)

    # ---- listener

    def received(self, messages: list[bytes]) -> None:
        for message in messages:
            assert b"\n" not in message
            self.messages.append(json.loads(message))
        self._changed.set()

    def overflowed(self, count: int, limit: int) -> None: ...

    def congested(self) -> None: ...

    def eased(self) -> None: ...

    def ended(self) -> None:
        self.is_over = True
        self._changed.set()

    def closed(self, error: Exception | None) -> None:
        self.is_over = True
        self._changed.set()

    # ---- what came

    async def next(self, method: str | None = None) -> Json:
        """The next request or notification, which is of that method."""
        message = await self.until(lambda: self._calls[self._taken : self._taken + 1])
        self._taken += 1
        if method is not None:
            assert message[0]["method"] == method, message[0]
        result: Json = message[0]
        return result

    async def answer_to(self, request_id: Any) -> Json:
        """The response to a request of this agent, which may come out of turn."""
        found = await self.until(lambda: [m for m in self.messages if _answers(m, request_id)])
        result: Json = found[0]
        return result

    def answers_to(self, request_id: Any) -> list[Json]:
        return [m for m in self.messages if _answers(m, request_id)]

    @property
    def untaken(self) -> list[Json]:
        """The requests and notifications that came and were not asked for by `next`."""
        return self._calls[self._taken :]

    @property
    def _calls(self) -> list[Json]:
        return [m for m in self.messages if isinstance(m, dict) and "method" in m]

    async def until(self, condition: Callable[[], Any]) -> Any:
        async with asyncio.timeout(WAIT):
            while not (value := condition()):
                assert not self.is_over, "the client has closed the connection"
                self._changed.clear()
                await self._changed.wait()
        return value

    async def over(self) -> None:
        """Returns when the client has closed the connection."""
        async with asyncio.timeout(WAIT):
            while not self.is_over:
                self._changed.clear()
                await self._changed.wait()

    # ---- what is sent

    def send(self, *values: Any) -> None:
        """Each as a message of its own, all in one write; bytes as they are."""
        self._channel.send([value if isinstance(value, bytes) else json.dumps(value).encode() for value in values])

    def reply(self, request: Json, result: Any = None) -> None:
        self.send(response(request, result))

    def refuse(self, request: Json, code: int, message: str = "no", data: Any = None) -> None:
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def request(self, method: str, params: Any = None, request_id: Any = None) -> Any:
        """Sends a request; returns its id."""
        self._next_id += 1
        request_id = self._next_id if request_id is None else request_id
        self.send(message(method, params, request_id))
        return request_id

    def notify(self, method: str, params: Any = None) -> None:
        self.send(message(method, params))

    def update(self, session_id: str, *updates: Json) -> None:
        """Several updates in one write."""
        self.send(*(update_message(session_id, update) for update in updates))

    def close(self) -> None:
        self._channel.close()

    # ---- what agents do all the time

    async def initialize(self, capabilities: Json | None = None, **more: Any) -> Json:
        """Answers `initialize`; returns the request."""
        request = await self.next("initialize")
        info = {"name": "raw", "version": "0"}
        answer = {"protocolVersion": 2, "info": info, "capabilities": ALL if capabilities is None else capabilities}
        self.reply(request, answer | more)
        return request


def message(method: str, params: Any = None, request_id: Any = None) -> Json:
    value: Json = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        value["params"] = params
    if request_id is not None:
        value["id"] = request_id
    return value


def response(request: Json, result: Any = None) -> Json:
    return {"jsonrpc": "2.0", "id": request["id"], "result": {} if result is None else result}


def update_message(session_id: str, update: Json) -> Json:
    return message("session/update", {"sessionId": session_id, "update": update})


def state(name: str, **more: Any) -> Json:
    return {"sessionUpdate": "state_update", "state": name, **more}


def idle(reason: str | None = "end_turn", **more: Any) -> Json:
    return state("idle", **({} if reason is None else {"stopReason": reason}), **more)


RUNNING = state("running")


def said(words: str, message_id: str = "m1", kind: str = "agent_message_chunk") -> Json:
    return {"sessionUpdate": kind, "messageId": message_id, "content": {"type": "text", "text": words}}


def user_said(words: str, message_id: str = "u1") -> Json:
    content = [{"type": "text", "text": words}]
    return {"sessionUpdate": "user_message", "messageId": message_id, "content": content}


def tool_call(**fields: Any) -> Json:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "t1", **fields}


def permission(session_id: str = "s1", **more: Any) -> Json:
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    return {"sessionId": session_id, "title": "May I?", "options": options, **more}


def _answers(value: Any, request_id: Any) -> bool:
    return isinstance(value, dict) and "method" not in value and value.get("id") == request_id


@asynccontextmanager
async def connected(
    capabilities: Json | None = None, *, initialize: Json | None = None, **options: Any
) -> AsyncIterator[tuple[Client, RawAgent]]:
    """A client and its agent, the handshake done; both are closed in the end."""
    ours, theirs = message_pair()
    agent = RawAgent(theirs)
    client = connect(ours, **options)
    opening = asyncio.ensure_future(client.open())
    await agent.initialize(capabilities, **(initialize or {}))
    await opening
    try:
        yield client, agent
    finally:
        async with asyncio.timeout(WAIT):
            await client.close()


async def opened(client: Client, agent: RawAgent, session_id: str = "s1", **result: Any) -> Session:
    """A new session of theirs."""
    opening = asyncio.ensure_future(client.new_session("/work"))
    agent.reply(await agent.next("session/new"), {"sessionId": session_id, **result})
    return await opening


@asynccontextmanager
async def in_session(capabilities: Json | None = None, **options: Any) -> AsyncIterator[tuple[Session, RawAgent]]:
    """A session `s1` and its agent."""
    async with connected(capabilities, **options) as (client, agent):
        yield await opened(client, agent), agent


async def settled(client: Client, agent: RawAgent) -> None:
    """Returns when the client has handled everything the agent has sent so far, and what it said then has arrived."""
    request_id = agent.request("_settle/ping")
    await agent.answer_to(request_id)


async def eventually(condition: Callable[[], Any]) -> None:
    """Returns once it is true; for what happens in this loop without a message."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came true")


async def bounded(awaitable: Any) -> Any:
    """What comes of it, within bounds."""
    async with asyncio.timeout(WAIT):
        return await awaitable
