"""A v2 agent as it is, but that it can use the client's own MCP servers: between a v2 client and an agent without them.

Every message passes with its contents; only ids are the bridge's own, as everywhere. What is changed is the agent's
answer to `initialize`, if it takes stdio servers and no `acp` ones, and the servers of a session (see `mcp_relays`).
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw

from roost.acp.bridge.core import BridgeCore
from roost.acp.bridge.limits import DEFAULT_LIMITS, BridgeLimits
from roost.acp.bridge.mcp_need import needs_relays
from roost.acp.bridge.mcp_relays import McpRelays
from roost.acp.bridge.payload import Json, invalid_params, noted, parse_object
from roost.acp.bridge.wire import rpc_error
from roost.acp.v2 import MessageMcpRequest
from roost.errors import CodecError, RpcError
from roost.rpc.events import Answered, Called, Failed, Notified
from roost.wire.decode import decode, encode

_OPENERS: Final = frozenset({"session/new", "session/resume", "session/fork"})
_CLOSERS: Final = frozenset({"session/close", "session/delete"})
_MESSAGE: Final = "mcp/message"


class V2AgentBridge(BridgeCore[Any]):
    """One connection to one v2 agent. The driver is that of any bridge, and has programs for relays."""

    def __init__(self, *, limits: BridgeLimits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self.mcp = McpRelays(self)
        self.relays_mcp = False
        """Whether the agent knows none of the client's own servers; so from its answer to `initialize` on."""
        self._asked: dict[int, int] = {}  # by our call to the client: the agent's request behind it

    # ---- what the driver calls

    def from_south(self, message: bytes, now: float) -> None:
        """One message of the agent, or a line that is none."""
        self.now = now
        for event in self.agent.receive(message):
            if isinstance(event, Notified):
                self.client.push(event.message)
            else:
                self.take_from_agent(event)

    def end_south(self, cause: str, now: float) -> None:
        """The agent is gone: every request of the client is answered."""
        self.now = now
        for event in self.agent.end(cause):
            self.take_from_agent(event)
        for call in list(self._asked):
            self.client.withdraw(call)
            self.client.forget(call)
        self._asked.clear()
        self.mcp.end()

    def end_north(self, cause: str, now: float) -> None:
        """The client is gone: every request of the agent is answered."""
        self.now = now
        self.mcp.end()
        for event in self.client.end(cause):
            if isinstance(event, Answered | Failed):
                self.client_settled(event)

    # ---- for the relays

    def is_open(self, session_id: str) -> bool:
        return True  # the agent has said so, and closing is heard

    # ---- from the core

    def client_asked(self, request: Called) -> None:
        self.handle(self._take, request, {})

    def _take(self, request: Called, _: Json) -> None:
        method = request.method
        if method == _MESSAGE and self.relays_mcp:
            try:
                decode(MessageMcpRequest, b"{}" if request.params is None else request.params)
            except CodecError as error:
                raise invalid_params(error.message, error.path) from None
            self.mcp.asked(request, {})
        elif (
            self.relays_mcp and method in _OPENERS and self.mcp.hold(request, parse_object(request.params), self._send)
        ):
            return  # it goes on when the programs are there
        else:
            self._forward(request, None if request.params is None else bytes(request.params))

    def _send(self, request: Called, params: Json) -> None:
        self._forward(request, encode(params))

    def _forward(self, request: Called, params: bytes | None) -> None:
        def on_answer(result: Raw) -> None:
            answer = self._initialized(result) if request.method == "initialize" else bytes(result)
            self.client.answer(request.token, answer)
            if request.method in _CLOSERS:
                session_id = parse_object(request.params).get("sessionId")
                if isinstance(session_id, str):
                    self.mcp.session_ended(session_id)

        self.call(request.method, params, on_answer, lambda error: self.client.fail(request.token, error), request)

    def _initialized(self, result: Raw) -> bytes:
        value = parse_object(result)
        if not needs_relays(value):
            return bytes(result)
        self.relays_mcp = True
        value["capabilities"]["session"]["mcp"]["acp"] = {}
        return encode(noted(value, emulated=["mcp"]))

    def client_told(self, notice: Notified) -> None:
        if notice.method == _MESSAGE and self.relays_mcp:
            self.mcp.told(notice)
        else:
            self.agent.push(notice.message)

    def client_settled(self, outcome: Answered | Failed) -> None:
        token = self._asked.pop(outcome.call, None)
        if token is None:
            self.mcp.settle(outcome)
        elif isinstance(outcome, Answered):
            self.agent.answer(token, bytes(outcome.result))
        else:
            self.agent.fail(token, rpc_error(outcome.error))

    def client_withdrew(self, token: int) -> None:
        self.mcp.withdrew(token)

    def agent_asked(self, request: Called, params: Json) -> None:
        data = None if request.params is None else bytes(request.params)
        try:
            if "requestId" in params and "sessionId" not in params:  # a request of the client, by the id we gave it
                scope = self.request_scope(params.pop("requestId"))
                if scope is None:
                    raise invalid_params("no such request is open", ("requestId",))
                data = encode({**params, **scope})
            self._asked[self.client.call(request.method, data)] = request.token
        except RpcError as error:
            self.agent.fail(request.token, error)

    def agent_told(self, notice: Notified, params: Json) -> None:
        self.client.push(notice.message)

    def agent_withdrew(self, token: int) -> None:
        for call, asked in self._asked.items():
            if asked == token:
                self.client.withdraw(call)

    def agent_settled(self, token: int | None, result: Raw | None) -> None:
        self.mcp.settled(token, result)
