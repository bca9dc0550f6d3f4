"""A server written with the official `mcp` package, offered over ACP (extra `roost[mcp]`).

    from mcp.server.mcpserver import MCPServer       # mcp 2; in mcp 1: FastMCP
    server = MCPServer("clock")
    session = await client.new_session("/work", mcp_servers=[client.mcp.offer("clock", packaged(server))])

ACP carries inner messages without ids (MCP-3), the package wants them: they are given here, per connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from typing import Any, Final

from roost.errors import ConfigError, ConnectionClosed, RpcError
from roost.rpc.messages import INTERNAL_ERROR
from roost.sdk.mcp import McpConnection, McpEndpoint
from roost.wire.model import JsonObject

log = logging.getLogger("roost.client")

_BUFFER: Final = 64  # messages on their way into or out of the server
_CANCELLED: Final = "notifications/cancelled"


def packaged(server: Any) -> Callable[[McpConnection], Awaitable[McpEndpoint]]:
    """What `McpHost.offer` takes, for an `MCPServer` or `FastMCP`, or the low-level `Server` inside one.

    Raises ConfigError: it is none of those, or the package is not installed.
    """
    lowlevel = next(
        (inner for name in ("_lowlevel_server", "_mcp_server") if (inner := getattr(server, name, None)) is not None),
        server,
    )
    if not hasattr(lowlevel, "run") or not hasattr(lowlevel, "create_initialization_options"):
        raise ConfigError(f"{type(server).__name__} is no server of the mcp package")
    messages = _Messages()

    async def connect(connection: McpConnection) -> McpEndpoint:
        endpoint = _Endpoint(lowlevel, connection, messages)
        endpoint.start()
        return endpoint

    return connect


class _Messages:
    """The package's message types, which moved between its versions."""

    def __init__(self) -> None:
        try:
            self._wrap: Any = import_module("mcp.shared.message").SessionMessage
        except ImportError as error:
            raise ConfigError("the mcp package is not installed: pip install 'roost[mcp]'") from error
        try:
            self._validate: Any = import_module("mcp_types").jsonrpc_message_adapter.validate_python
        except ImportError:
            self._validate = import_module("mcp.types").JSONRPCMessage.model_validate

    def wrap(self, message: JsonObject) -> Any:
        return self._wrap(message=self._validate({"jsonrpc": "2.0", **message}))

    def unwrap(self, wrapped: Any) -> JsonObject:
        plain: JsonObject = wrapped.message.model_dump(by_alias=True, mode="json", exclude_none=True)
        return plain


class _Endpoint:
    """One run of the server, for one connection."""

    def __init__(self, server: Any, connection: McpConnection, messages: _Messages) -> None:
        import anyio

        self._server = server
        self._connection = connection
        self._messages = messages
        self._to_server, self._server_in = anyio.create_memory_object_stream[Any](_BUFFER)
        self._server_out, self._from_server = anyio.create_memory_object_stream[Any](_BUFFER)
        self._next_id = 1
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._asked: dict[str | int, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.ensure_future(self._run()), asyncio.ensure_future(self._read())]

    async def request(self, method: str, params: JsonObject | None) -> Any:
        call, self._next_id = self._next_id, self._next_id + 1
        future = self._calls[call] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"id": call, "method": method} | _params(params))
            return await future
        except asyncio.CancelledError:  # MCP-9
            if not self._tasks[0].done():
                await asyncio.shield(self._send({"method": _CANCELLED, "params": {"requestId": call}}))
            raise
        finally:
            self._calls.pop(call, None)

    async def notify(self, method: str, params: JsonObject | None) -> None:
        if method != _CANCELLED:  # it would name an id, and over ACP there are none
            await self._send({"method": method} | _params(params))

    async def close(self) -> None:
        self._to_server.close()
        for task in (*self._tasks, *self._asked.values()):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._asked.values(), return_exceptions=True)
        for stream in (self._server_in, self._server_out, self._from_server):
            stream.close()

    async def _send(self, message: JsonObject) -> None:
        import anyio

        try:
            await self._to_server.send(self._messages.wrap(message))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise RpcError(INTERNAL_ERROR, "The MCP server has ended") from None

    async def _run(self) -> None:
        try:
            await self._server.run(self._server_in, self._server_out, self._server.create_initialization_options())
        except Exception:
            log.exception("an MCP server failed")
        finally:
            for future in self._calls.values():
                if not future.done():
                    future.set_exception(RpcError(INTERNAL_ERROR, "The MCP server has ended"))
            self._server_in.close()

    async def _read(self) -> None:
        async for wrapped in self._from_server:
            message = self._messages.unwrap(wrapped)
            if "method" not in message:
                self._answered(message)
            elif "id" in message:
                task = self._asked[message["id"]] = asyncio.ensure_future(self._ask(message))
                task.add_done_callback(partial(self._forget, message["id"]))
            elif message["method"] == _CANCELLED:
                params = message.get("params") or {}
                asked = self._asked.get(params.get("requestId", ""))
                if asked is not None:
                    asked.cancel()
            else:
                try:
                    await self._connection.notify(message["method"], message.get("params"))
                except ConnectionClosed:
                    return

    def _forget(self, asked: str | int, task: asyncio.Task[None]) -> None:
        self._asked.pop(asked, None)

    def _answered(self, message: JsonObject) -> None:
        future = self._calls.get(message["id"])
        if future is None or future.done():
            return
        error = message.get("error")
        if error is None:
            future.set_result(message.get("result"))
        else:
            future.set_exception(RpcError(error["code"], error["message"], error.get("data")))

    async def _ask(self, message: JsonObject) -> None:
        try:
            answer = {"result": await self._connection.request(message["method"], message.get("params"))}
        except RpcError as error:
            data = {} if error.data is None else {"data": error.data}
            answer = {"error": {"code": error.code, "message": error.message, **data}}
        except Exception as error:
            answer = {"error": {"code": INTERNAL_ERROR, "message": type(error).__name__}}
        await self._send({"id": message["id"], **answer})


def _params(params: JsonObject | None) -> JsonObject:
    return {} if params is None else {"params": params}
