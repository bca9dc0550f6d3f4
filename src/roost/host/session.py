"""A session as its owner sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from roost.errors import RemoteProtocolError
from roost.host.events import HostEvent, HostRequest, PermissionRequest
from roost.host.subscription import QUEUE_BYTES, Subscription, weight
from roost.host.turn import Turn, raise_rpc_error
from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpGetSessionStateRequest,
    AcpSessionRequest,
    AcpSessionRpcResponse,
    AcpSessionStateResponse,
)

if TYPE_CHECKING:
    from roost.host.host import Host

PermissionHandler = Callable[[PermissionRequest], Awaitable[str]]
RequestHandler = Callable[[HostRequest], Awaitable[dict[str, Any] | None]]


class Session:
    """One session of a Host. `resume_mode` is `native` or `fallback` for a resumed one."""

    def __init__(
        self,
        host: Host,
        session_id: str,
        protocol_version: int,
        on_permission: PermissionHandler | None,
        on_request: RequestHandler | None,
    ) -> None:
        self._host = host
        self._subscriptions: list[Subscription] = []
        self._backlog: list[HostEvent] | None = []  # until somebody listens, which is a moment after the start
        self._backlog_bytes = 0
        self.id = session_id
        self.protocol_version = protocol_version
        self.on_permission = on_permission
        self.on_request = on_request
        self.pid: int | None = None
        self.info: dict[str, Any] = {}
        self.capabilities: dict[str, Any] = {}
        self.config_options: list[dict[str, Any]] = []
        self.modes: dict[str, Any] | None = None
        self.resume_mode: str | None = None

    def __repr__(self) -> str:
        return f"<Session {self.id}>"

    # ---- using it

    def prompt(self, content: str | Sequence[dict[str, Any]], **extra: Any) -> Turn:
        """Sends a prompt: text, or content blocks as JSON objects. Iterate or await the turn.

        `extra` goes into the request's params as it is.
        """
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        subscription = self.subscribe()
        request = self._request("session/prompt", {"prompt": blocks, **extra}, subscription.mark)
        answer = asyncio.get_running_loop().create_task(request)
        return Turn(self, subscription, answer)

    async def cancel(self) -> bool:
        """Cancels what runs. True: a turn was cancelled; False: none ran, or it ended in another way first."""
        result = await self.request("session/cancel")
        return bool(result.get("cancelled"))

    async def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Any ACP method, as it is; `sessionId` is filled in. RpcError: the agent's error."""
        return await self._request(method, params)

    async def _request(
        self, method: str, params: dict[str, Any] | None, arrived: Callable[[], None] | None = None
    ) -> Any:
        text = None if params is None else msgspec.json.encode(params).decode()
        response = await self._host.request(AcpSessionRequest(self.id, method, text), arrived)
        if not isinstance(response, AcpSessionRpcResponse):
            raise RemoteProtocolError(f"the daemon answered {method} with {type(response).__name__}")
        message = msgspec.json.decode(response.response)
        if "error" in message:
            raise_rpc_error(message["error"])
        return message.get("result")

    async def set_mode(self, mode: str) -> None:
        """ACP v1: switches the session's mode; `modes` is up to date after. RpcError: the agent refuses."""
        await self.request("session/set_mode", {"modeId": mode})
        await self.refresh()

    async def set_config_option(self, option: str, value: str | bool) -> None:
        """Changes a setting of the agent; `config_options` is up to date after. RpcError: the agent refuses."""
        params: dict[str, Any] = {"configId": option, "value": value}
        if self.protocol_version >= 2:
            params["type"] = "boolean" if isinstance(value, bool) else "id"
        await self.request("session/set_config_option", params)
        await self.refresh()

    async def state(self) -> AcpSessionStateResponse:
        """What the daemon knows of it now."""
        response = await self._host.request(AcpGetSessionStateRequest(self.id))
        if not isinstance(response, AcpSessionStateResponse):
            raise RemoteProtocolError(f"the daemon answered with {type(response).__name__}")
        return response

    async def refresh(self) -> None:
        """Brings `modes`, `config_options`, `capabilities` and `info` up to date."""
        self.take(await self.state())

    async def close(self) -> None:
        """Ends the session and its agent. SidecarError: the daemon does not know it, and then it is not ended here."""
        await self._host.request(AcpCloseSessionRequest(self.id))
        self.ended()

    # ---- events

    def events(self) -> Subscription:
        """Everything of this session from now on, until it is closed or the connection ends.

        The first to listen, `prompt` included, also gets what was told since the session was opened.
        """
        return self.subscribe()

    def subscribe(self) -> Subscription:
        """The queue behind `events`."""
        subscription = Subscription(self._host.slow, self._host.fast)
        self._subscriptions.append(subscription)
        backlog, self._backlog = self._backlog, None
        for event in backlog or ():
            subscription.put(event)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Ends a reader."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
        subscription.close()

    def put(self, event: HostEvent) -> None:
        """Gives an event to every reader, and keeps it for the first while there is none."""
        if self._backlog is not None:
            self._backlog_bytes += weight(event)
            if self._backlog_bytes <= QUEUE_BYTES:
                self._backlog.append(event)
        for subscription in self._subscriptions:
            subscription.put(event)

    def ended(self, error: Exception | None = None) -> None:
        """The session is closed, or, with an error, the connection is over: readers get what is queued, then that."""
        for subscription in self._subscriptions:
            subscription.end(error)
        self._host.forget(self)

    def take(self, facts: Any) -> None:
        """Fills in what a Created or a State response tells."""
        self.pid = facts.pid
        self.modes = None if facts.modes is None else msgspec.json.decode(facts.modes)
        self.config_options = [msgspec.json.decode(option) for option in facts.config_options]
        self.capabilities = _object(facts.agent_capabilities)
        self.info = _object(facts.agent_info)


def _object(text: str | None) -> dict[str, Any]:
    value = None if text is None else msgspec.json.decode(text)
    return value if isinstance(value, dict) else {}
