"""One running stdio server that stands for a client's own: MCP lines on one side, MCP over ACP on the other.

Inner messages have ids on the line and none over ACP (MCP-3). Each request is answered where it was asked, so the ids
of the three conversations, the agent's, the client's and ours, never meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from roost.acp.bridge.mcp_events import McpRelayCut, McpRelaySaid
from roost.acp.bridge.payload import parse_object
from roost.acp.bridge.wire import Wire, encode_text, rpc_error
from roost.errors import LimitError, RpcError
from roost.rpc.events import Answered, Called, Failed, Notified, Withdrawn
from roost.rpc.limits import PeerLimits
from roost.rpc.messages import INTERNAL_ERROR, REQUEST_CANCELLED, id_key
from roost.wire.decode import encode

if TYPE_CHECKING:
    from roost.acp.bridge.mcp_relays import McpRelays

CANCELLED: Final = "notifications/cancelled"
MESSAGE: Final = "mcp/message"


class McpConnection:
    """From the moment the agent's program has connected until either side ends it."""

    def __init__(self, relays: McpRelays, channel: int, server_id: str) -> None:
        limits = relays.bridge.limits
        requests = PeerLimits(open_requests=limits.mcp_requests, open_calls=limits.mcp_requests)
        self._relays = relays
        self._wire = Wire(answer_malformed=False, limits=requests)
        self._early: list[Called | Notified] | None = []  # what came before the client had answered mcp/connect
        self._early_bytes = 0
        self._passed: dict[int, int] = {}  # the agent's requests, by token: our call to the client
        self._tokens: dict[bytes, int] = {}  # ... and by the id they have on the line
        self._asked: dict[int, int] = {}  # the client's requests, by our call to the agent: their token
        self._connection_id: str | None = None
        self._refusal: RpcError | None = None  # the client's, of mcp/connect
        self.channel = channel
        self.is_over = False
        try:
            relays.ask("mcp/connect", encode({"serverId": server_id}), self._connected)
        except RpcError as error:
            self._refused(error)

    # ---- from the agent's program

    def said(self, line: bytes) -> None:
        """One line, which should be one MCP message."""
        for event in self._wire.receive(line):
            if isinstance(event, Called | Notified):
                if isinstance(event, Called):
                    self._tokens[id_key(event.raw_id)] = event.token
                if isinstance(event, Notified) and event.method == CANCELLED:
                    self._cancelled(parse_object(event.params).get("requestId"))
                elif self._early is None:
                    self._pass_on(event)
                else:
                    self._keep(event)
            elif isinstance(event, Answered | Failed):
                self._settled(event)
            elif isinstance(event, Withdrawn):
                self._withdrawn(event.token)
            if self.is_over:
                return
        self._flush()

    def closed(self) -> None:
        """The program is gone, and the channel with it: the client is told (MCP-7)."""
        self._end("the MCP client has disconnected", known=False)

    # ---- from the client

    def asked(self, token: int, method: str, params: bytes | None) -> None:
        """A request of the server itself (MCP-4)."""
        try:
            call = self._wire.call(method, params)
        except RpcError as error:
            self._relays.bridge.client.fail(token, error)
            return
        self._asked[call] = token
        self._relays.served[token] = self
        self._flush()

    def told(self, method: str, params: bytes | None) -> None:
        self._wire.notify(method, params)
        self._flush()

    def withdrew(self, token: int) -> None:
        """The server no longer wants an answer: the agent is told in MCP's own way (MCP-9)."""
        self._relays.served.pop(token, None)
        for call, served in list(self._asked.items()):
            if served == token:
                del self._asked[call]
                self._wire.forget(call)
                self._wire.notify(CANCELLED, encode({"requestId": call}))
        self._relays.bridge.client.fail(token, RpcError(REQUEST_CANCELLED, "Request cancelled"))  # CAN-4
        self._flush()

    def cut(self, why: str, *, known: bool = False) -> None:
        """Ends it from here; what is open fails on both sides. `known`: the client need not be told."""
        if not self.is_over:
            self._flush()
            self._end(why, known=known)
            self._relays.bridge.emit(McpRelayCut(self.channel, why))

    # ---- opening

    def _connected(self, outcome: Answered | Failed) -> None:
        if isinstance(outcome, Failed):
            if not self.is_over:
                self._refused(rpc_error(outcome.error))
            return
        identifier = parse_object(outcome.result).get("connectionId")
        if not isinstance(identifier, str) or identifier in self._relays.open:  # MCP-2: each is fresh
            if not self.is_over:
                self._refused(RpcError(INTERNAL_ERROR, "the client opened no MCP connection of its own"))
            return
        if self.is_over:  # nobody is there any more
            self._disconnect(identifier)
            return
        self._connection_id = identifier
        self._relays.open[identifier] = self
        early, self._early = self._early or [], None
        for event in early:
            self._pass_on(event)
        self._flush()

    def _refused(self, error: RpcError) -> None:
        """There is no channel: whatever the agent asks is answered with why, until it gives up."""
        self._relays.bridge.note("warning", f"the client refused mcp/connect: {error.code}")
        self._refusal = error
        early, self._early = self._early or [], None
        for event in early:
            self._pass_on(event)
        self._flush()

    def _keep(self, event: Called | Notified) -> None:
        assert self._early is not None
        bound = self._relays.bridge.limits.mcp_early_bytes
        self._early_bytes += len(event.message)
        if self._early_bytes > bound:
            self.cut(str(LimitError("mcp_early_bytes", bound)))
        else:
            self._early.append(event)

    def _disconnect(self, identifier: str) -> None:
        try:
            self._relays.ask("mcp/disconnect", encode({"connectionId": identifier}), _ignored)
        except RpcError:  # the client is gone as well, and the channel with it
            return

    # ---- to the client

    def _pass_on(self, event: Called | Notified) -> None:
        if self._connection_id is None:
            if self._refusal is not None and isinstance(event, Called):
                self._answered(event, self._refusal)
            return
        inner = event.params  # an object if anything: the line's own peer sees to that
        head = b'{"connectionId":%b,"method":%b' % (encode_text(self._connection_id), encode_text(event.method))
        payload = head + (b"}" if inner is None else b',"params":%b}' % bytes(inner))
        if isinstance(event, Notified):
            self._relays.bridge.client.notify(MESSAGE, payload)
            return
        try:
            call = self._relays.ask(MESSAGE, payload, lambda outcome: self._answered(event, outcome))
        except RpcError as error:
            self._answered(event, error)
        else:
            self._passed[event.token] = call

    def _answered(self, event: Called, outcome: Answered | Failed | RpcError) -> None:
        token = event.token
        self._passed.pop(token, None)
        if self._tokens.get(id_key(event.raw_id)) == token:
            del self._tokens[id_key(event.raw_id)]
        if self.is_over:
            return
        if isinstance(outcome, Answered):
            self._wire.answer(token, bytes(outcome.result))
        else:
            self._wire.fail(token, outcome if isinstance(outcome, RpcError) else rpc_error(outcome.error))
        self._flush()

    def _cancelled(self, request_id: Any) -> None:
        """MCP's own withdrawal names an id; over ACP there is none to name (MCP-9)."""
        token = self._tokens.get(id_key(encode(request_id))) if isinstance(request_id, str | int) else None
        if token is not None:
            self._withdrawn(token)

    def _withdrawn(self, token: int) -> None:
        """Who cancels an MCP request hears nothing more of it."""
        self._tokens = {key: open_token for key, open_token in self._tokens.items() if open_token != token}
        if self._early:
            self._early = [event for event in self._early if isinstance(event, Notified) or event.token != token]
        call = self._passed.pop(token, None)
        if call is not None:
            self._relays.take_back(call)
        self._flush()
        self._wire.fail(token, RpcError(REQUEST_CANCELLED, "Request cancelled"))
        for message in self._wire.drain():
            if message.startswith(b"["):  # it was the last of a batch, whose other answers are wanted
                self._relays.bridge.emit(McpRelaySaid(self.channel, message))

    def _settled(self, event: Answered | Failed) -> None:
        token = self._asked.pop(event.call, None)
        if token is None:
            return
        self._relays.served.pop(token, None)
        client = self._relays.bridge.client
        if isinstance(event, Answered):
            client.answer(token, bytes(event.result))
        else:
            client.fail(token, rpc_error(event.error))

    # ---- the end

    def _end(self, why: str, *, known: bool) -> None:
        self.is_over = True
        self._early = None
        for call in self._passed.values():
            self._relays.take_back(call)
        self._passed.clear()
        for token in self._asked.values():
            self._relays.served.pop(token, None)
            self._relays.bridge.client.fail(token, RpcError(INTERNAL_ERROR, why))
        self._asked.clear()
        self._wire.end(why)
        self._relays.forget(self.channel, self._connection_id)
        identifier, self._connection_id = self._connection_id, None
        if identifier is not None and not known:
            self._disconnect(identifier)

    def _flush(self) -> None:
        for message in self._wire.drain():
            self._relays.bridge.emit(McpRelaySaid(self.channel, message))


class Inner(msgspec.Struct, rename="camel", gc=False):
    """An `mcp/message` of the client: what is inside, and where it belongs."""

    connection_id: str
    method: str
    params: Raw | UnsetType = UNSET


decode_inner: Final[Callable[[bytes | Raw], Inner]] = msgspec.json.Decoder(Inner).decode


def object_or_none(params: Raw | UnsetType | None) -> bytes | None:
    """The parameters of an inner message; None also for what is no object (MCP-8)."""
    if params is None or params is UNSET or not bytes(params).lstrip().startswith(b"{"):
        return None
    return bytes(params)


def _ignored(outcome: Answered | Failed) -> None:
    """Whatever the client says to a channel's end, it has ended."""
