"""A client for tests that sends plain JSON and remembers everything: it helps the agent with nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from roost.sdk.agent import Agent
from roost.sdk.agent_link import AgentLink
from roost.transport.messages import MessageChannel, message_pair

WAIT = 10.0  # seconds; far more than anything here takes

Json = dict[str, Any]


async def eventually(condition: Callable[[], Any]) -> Any:
    """The condition's value, once it is true; for what happens in this loop without a message to the client."""
    for _ in range(10_000):
        if value := condition():
            return value
        await asyncio.sleep(0)
    raise AssertionError("it never came true")


class RawClient:
    """`messages`: all that came, in order. Requests of the agent are answered by `answers`, or kept in `asked`."""

    def __init__(self, channel: MessageChannel) -> None:
        self._channel = channel
        self._changed = asyncio.Event()
        self._next_id = 0
        self.messages: list[Json] = []
        self.asked: list[Json] = []
        self.answers: dict[str, Callable[[Json], Any]] = {}
        self.over = False
        channel.open(self)

    # ---- listener

    def received(self, messages: list[bytes]) -> None:
        for message in messages:
            assert b"\n" not in message
            value = json.loads(message)
            self.messages.append(value)
            if isinstance(value, dict) and "method" in value and "id" in value:
                answer = self.answers.get(value["method"])
                if answer is None:
                    self.asked.append(value)
                else:
                    self.reply(value, answer(value.get("params")))
        self._changed.set()

    def overflowed(self, count: int, limit: int) -> None: ...

    def congested(self) -> None: ...

    def eased(self) -> None: ...

    def ended(self) -> None:
        self.over = True
        self._changed.set()

    def closed(self, error: Exception | None) -> None:
        self.over = True
        self._changed.set()

    # ---- sending

    def send(self, *values: Any) -> None:
        """Each as a message of its own, all in one write; bytes as they are."""
        self._channel.send([value if isinstance(value, bytes) else json.dumps(value).encode() for value in values])

    def message(self, method: str, params: Any = None, id: Any = None) -> Json:
        value: Json = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            value["params"] = params
        if id is not None:
            value["id"] = id
        return value

    def request(self, method: str, params: Any = None) -> int:
        """Sends a request; returns its id."""
        self._next_id += 1
        self.send(self.message(method, params, self._next_id))
        return self._next_id

    def notify(self, method: str, params: Any = None) -> None:
        self.send(self.message(method, params))

    def reply(self, request: Json, result: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def refuse(self, request: Json, code: int, message: str = "no") -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})

    def withdraw(self, id: Any) -> None:
        self.notify("$/cancel_request", {"requestId": id})

    def pause(self) -> None:
        self._channel.pause_reading()

    def resume(self) -> None:
        self._channel.resume_reading()

    def close(self) -> None:
        self._channel.close()

    # ---- waiting

    async def until(self, condition: Callable[[], Any]) -> Any:
        """The condition's value, once it is true."""
        async with asyncio.timeout(WAIT):
            while not (value := condition()):
                self._changed.clear()
                await self._changed.wait()
        return value

    def responses(self, id: Any) -> list[Json]:
        single = [m for m in self.messages if isinstance(m, dict) and "method" not in m]
        return [m for m in single if m.get("id") == id and type(m["id"]) is type(id)]

    async def response(self, id: Any) -> Json:
        found: list[Json] = await self.until(lambda: self.responses(id))
        return found[0]

    async def call(self, method: str, params: Any = None) -> Any:
        """The result; AssertionError when it is an error."""
        response = await self.response(self.request(method, params))
        assert "result" in response, response
        return response["result"]

    async def error(self, method: str, params: Any = None) -> Json:
        """The error; AssertionError when it is a result."""
        response = await self.response(self.request(method, params))
        assert "error" in response, response
        error: Json = response["error"]
        return error

    async def asked_for(self, method: str, count: int = 1) -> Json:
        """The latest open request of the agent, once there have been `count`."""
        found = await self.until(
            lambda: len(them := [m for m in self.asked if m["method"] == method]) >= count and them
        )
        return found[-1]  # type: ignore[no-any-return]

    # ---- looking

    def updates(self, kind: str | None = None, session: str | None = None) -> list[Json]:
        """Payloads of session/update, of one kind and session if given."""
        return [
            m["params"]["update"]
            for m in self.messages
            if m.get("method") == "session/update"
            and (kind is None or m["params"]["update"]["sessionUpdate"] == kind)
            and (session is None or m["params"]["sessionId"] == session)
        ]

    def states(self, session: str | None = None) -> list[str]:
        """`running`, `requires_action`, `idle:end_turn` and so on, in order."""
        found = self.updates("state_update", session)
        return [u["state"] + (f":{u['stopReason']}" if "stopReason" in u else "") for u in found]

    def said(self) -> str:
        return "".join(u["content"]["text"] for u in self.updates("agent_message_chunk"))

    async def idle(self, count: int = 1, session: str | None = None) -> Json:
        """The `count`th idle."""
        idles = await self.until(
            lambda: (
                len(them := [u for u in self.updates("state_update", session) if u["state"] == "idle"]) >= count
                and them
            )
        )
        return idles[count - 1]  # type: ignore[no-any-return]

    async def settle(self) -> None:
        """Everything sent so far has been looked at: the agent has answered a request sent behind it."""
        self._next_id += 1
        await self.response(self.request("_settle/ping"))

    # ---- usual steps

    async def initialize(self, **more: Any) -> Any:
        return await self.call("initialize", initialize_params(**more))

    async def new_session(self, **more: Any) -> str:
        result = await self.call("session/new", {"cwd": "/w", **more})
        return result["sessionId"]  # type: ignore[no-any-return]

    def prompt(self, session: str, text: str = "hello", **more: Any) -> int:
        return self.request("session/prompt", {"sessionId": session, "prompt": [text_block(text)], **more})

    def cancel(self, session: str) -> None:
        self.notify("session/cancel", {"sessionId": session})


def initialize_params(version: Any = 2, capabilities: Any = None) -> Json:
    params: Json = {"protocolVersion": version, "info": {"name": "raw", "version": "0"}}
    if capabilities is not None:
        params["capabilities"] = capabilities
    return params


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def connect(agent: Agent, *, principal: str | None = None, high_water: int = 256 * 1024) -> tuple[RawClient, AgentLink]:
    """A client connected to the agent, not initialized."""
    here, there = message_pair(high_water=high_water)
    link = agent.connect(there, principal=principal)
    return RawClient(here), link


async def started(agent: Agent, **more: Any) -> RawClient:
    """A client connected and initialized."""
    client, _ = connect(agent)
    await client.initialize(**more)
    return client


def shape(client: RawClient) -> list[str]:
    """The stream in short: responses by id, updates by kind."""
    out = []
    for message in client.messages:
        if message.get("method") == "session/update":
            update = message["params"]["update"]
            kind = update["sessionUpdate"]
            out.append(update["state"] if kind == "state_update" else kind)
        elif "method" in message:
            out.append(message["method"])
        else:
            out.append(f"response {message['id']}" if "result" in message else f"error {message['id']}")
    return out
