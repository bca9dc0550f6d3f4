"""A client's own MCP servers for an agent that knows none of the kind: stdio servers, relayed (MCP-10).

    session/new with an `acp` server ──► McpRelayWanted ──► offered ──► session/new with a stdio server
    the agent starts that program, and it connects back:
    connected, said, closed ──► mcp/connect, mcp/message, mcp/disconnect ──► the client
    mcp/message of the client ──► McpRelaySaid

The program carries lines and knows nothing; the driver knows sockets and secrets. What the lines mean is here, one
`McpConnection` for each time the program runs. An agent may run it as often as it likes (MCP-2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Raw, Struct, field

from roost.acp.bridge.events import BridgeEvent
from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.losses import Losses
from roost.acp.bridge.mcp_connection import McpConnection, decode_inner, object_or_none
from roost.acp.bridge.mcp_events import McpRelayCut, McpRelayEnded, McpRelayWanted
from roost.acp.bridge.payload import Json, as_text, invalid_params, parse_object
from roost.acp.bridge.wire import Wire
from roost.errors import LimitError, RpcError
from roost.rpc.events import Answered, Called, Failed, Notified
from roost.rpc.messages import INTERNAL_ERROR, LIMIT_EXCEEDED, REQUEST_CANCELLED, UNDECODABLE


class RelayingBridge(Protocol):
    """What relays need of their bridge."""

    limits: BridgeLimits
    losses: Losses
    client: Wire
    calls_of: dict[int, int]

    def handle(self, handler: Callable[[Called, Json], None], request: Called, params: Json) -> None: ...

    def is_open(self, session_id: str) -> bool: ...

    def emit(self, event: BridgeEvent) -> None: ...

    def note(self, level: Literal["info", "warning"], text: str) -> None: ...


class Relay(Struct):
    """One server of one session. `session_id` is None until the session is open."""

    name: str
    server_id: str
    session_id: str | None = None
    channels: set[int] = field(default_factory=set)


class Opening(Struct):
    """A request that opens a session, waiting for its programs and then for its outcome."""

    request: Called
    params: Json
    handler: Callable[[Called, Json], None]
    relays: dict[int, int]  # relay: its place in `mcpServers`
    missing: int


class McpRelays:
    """All relays of one bridge."""

    def __init__(self, bridge: RelayingBridge) -> None:
        self.bridge = bridge
        self.open: dict[str, McpConnection] = {}  # by connectionId
        self.served: dict[int, McpConnection] = {}  # by the token of a client's request the agent works on
        self._last = 0
        self._relays: dict[int, Relay] = {}
        self._preparing: dict[int, Opening] = {}  # by the token of the client's request
        self._awaited: dict[int, Opening] = {}  # ... while the agent works on it
        self._channels: dict[int, McpConnection] = {}
        self._relay_of: dict[int, Relay] = {}  # by channel
        self._asked: dict[int, Callable[[Answered | Failed], None]] = {}  # by our call to the client

    # ---- opening a session

    def hold(self, request: Called, params: Json, handler: Callable[[Called, Json], None]) -> bool:
        """Takes a request with servers of this kind; `handler` gets it, with stdio servers, when these are there.

        False: it has none. RpcError: one cannot be relayed.
        """
        servers = params.get("mcpServers")
        entries = servers if isinstance(servers, list) else []
        found = {place: entry for place, entry in enumerate(entries) if _is_acp(entry)}
        if not found:
            return False
        bound = self.bridge.limits.mcp_relays
        if len(self._relays) + len(found) > bound:
            raise RpcError(LIMIT_EXCEEDED, "Limit exceeded: mcp_relays", {"limit": "mcp_relays", "bound": bound})
        wanted: dict[int, Relay] = {}
        for place, entry in found.items():
            name, server_id = entry.get("name"), entry.get("serverId")
            if not isinstance(name, str) or not isinstance(server_id, str):  # MCP-1
                raise invalid_params("an MCP server without name or serverId", ("mcpServers", place))
            wanted[place] = Relay(name, server_id)
        opening = Opening(request, {**params, "mcpServers": list(entries)}, handler, {}, len(wanted))
        self._preparing[request.token] = opening
        for place, relay in wanted.items():
            self._last += 1
            self._relays[self._last] = relay
            opening.relays[self._last] = place
            self.bridge.losses.count("mcp_relay")
            self.bridge.emit(McpRelayWanted(self._last, relay.name))
        return True

    def offered(self, relay: int, command: str, args: Sequence[str], env: Mapping[str, str]) -> None:
        """What the agent is to start for a relay that was wanted. Ignored when it no longer is."""
        opening = self._opening_of(relay)
        if opening is None:
            return
        place = opening.relays[relay]
        entry = opening.params["mcpServers"][place]
        variables = [{"name": name, "value": value} for name, value in env.items()]
        stdio = {"type": "stdio", "name": entry["name"], "command": command, "args": list(args), "env": variables}
        opening.params["mcpServers"][place] = stdio
        opening.missing -= 1
        if opening.missing == 0:
            self._go_on(opening)

    def refused(self, relay: int, why: str) -> None:
        """There can be no program for it, and so there is no session with it."""
        opening = self._opening_of(relay)
        if opening is None:
            return
        name = self._relays[relay].name
        self._drop(opening)
        text = f"the MCP server {name} cannot be relayed to the agent: {why}"
        self.bridge.client.fail(opening.request.token, RpcError(INTERNAL_ERROR, text))

    def _opening_of(self, relay: int) -> Opening | None:
        return next((opening for opening in self._preparing.values() if relay in opening.relays), None)

    def _go_on(self, opening: Opening) -> None:
        token = opening.request.token
        del self._preparing[token]
        self._awaited[token] = opening
        self.bridge.handle(opening.handler, opening.request, opening.params)
        if token not in self.bridge.calls_of and self._awaited.pop(token, None) is not None:
            # Answered without the agent, who has the session and its programs still (B-02): they serve the new ids.
            session_id = opening.params.get("sessionId")
            ids = {relay.name: relay.server_id for relay in map(self._relays.__getitem__, opening.relays)}
            self._end_relays(opening.relays)
            for relay in self._relays.values():
                if relay.session_id == session_id:
                    relay.server_id = ids.get(relay.name, relay.server_id)

    def settled(self, token: int | None, result: Raw | None) -> None:
        """The agent has answered a request of the client, or failed it (None)."""
        opening = None if token is None else self._awaited.pop(token, None)
        if opening is None:
            return
        session_id = opening.params.get("sessionId")
        if opening.request.method != "session/resume":
            session_id = None if result is None else parse_object(result).get("sessionId")
        if result is None or not isinstance(session_id, str) or not self.bridge.is_open(session_id):
            self._end_relays(opening.relays)
            return
        # SES-14: the servers of a session are those of the latest request.
        self._end_relays([number for number, relay in self._relays.items() if relay.session_id == session_id])
        for number in opening.relays:
            self._relays[number].session_id = session_id

    def _drop(self, opening: Opening) -> None:
        self._preparing.pop(opening.request.token, None)
        self._end_relays(opening.relays)

    # ---- ends

    def session_ended(self, session_id: str) -> None:
        """A session is closed, and its connections with it; the client knows (MCP-7)."""
        numbers = [number for number, relay in self._relays.items() if relay.session_id == session_id]
        self._end_relays(numbers, known=True)

    def end(self) -> None:
        """One of the two sides is gone (MCP-7)."""
        for opening in list(self._preparing.values()):
            self._drop(opening)
            self.bridge.client.fail(opening.request.token, RpcError(INTERNAL_ERROR, "the agent is gone"))
        self._awaited.clear()
        self._end_relays(list(self._relays), known=True)

    def _end_relays(self, numbers: Iterable[int], *, known: bool = False) -> None:
        """`known`: the client knows already that the connections are over."""
        for number in numbers:
            relay = self._relays.pop(number, None)
            if relay is not None:
                for channel in list(relay.channels):
                    self._channels[channel].cut("the session has ended", known=known)
                self.bridge.emit(McpRelayEnded(number))

    # ---- the driver

    def connected(self, channel: int, relay: int) -> None:
        """A program has connected for that relay, and has shown that it may."""
        known = self._relays.get(relay)
        bound = self.bridge.limits.mcp_connections
        if known is None:
            self.bridge.emit(McpRelayCut(channel, "the session has ended"))
        elif len(self._channels) >= bound:
            self.bridge.emit(McpRelayCut(channel, str(LimitError("mcp_connections", bound))))
        else:
            self._channels[channel] = McpConnection(self, channel, known.server_id)
            self._relay_of[channel] = known
            known.channels.add(channel)

    def said(self, channel: int, line: bytes) -> None:
        """One line of a program."""
        connection = self._channels.get(channel)
        if connection is not None:
            connection.said(line)

    def closed(self, channel: int) -> None:
        """A program's connection has ended, for whatever reason."""
        connection = self._channels.get(channel)
        if connection is not None:
            connection.closed()

    # ---- the client

    def settle(self, outcome: Answered | Failed) -> bool:
        """Takes the outcome of one of our calls to the client; False: it was none of ours."""
        heard = self._asked.pop(outcome.call, None)
        if heard is None:
            return False
        heard(outcome)
        return True

    def asked(self, request: Called, params: Json) -> None:
        """`mcp/message` as a request (MCP-4)."""
        assert request.params is not None  # its form was checked
        inner = decode_inner(request.params)
        connection = self.open.get(inner.connection_id)
        if connection is None:  # MCP-6
            raise invalid_params("no such MCP connection", ("connectionId",))
        connection.asked(request.token, inner.method, object_or_none(inner.params))

    def told(self, notice: Notified) -> None:
        """`mcp/message` as a notification; of no connection, or malformed: of no interest (MCP-6)."""
        try:
            inner = decode_inner(b"{}" if notice.params is None else notice.params)
        except UNDECODABLE:
            return
        connection = self.open.get(inner.connection_id)
        if connection is not None:
            connection.told(inner.method, object_or_none(inner.params))

    def withdrew(self, token: int) -> bool:
        """Whether the request the client withdrew was one of these."""
        connection = self.served.get(token)
        opening = self._preparing.get(token)
        if connection is not None:
            connection.withdrew(token)
        elif opening is not None:
            self._drop(opening)
            self.bridge.client.fail(token, RpcError(REQUEST_CANCELLED, "Request cancelled"))
        return connection is not None or opening is not None

    # ---- for the connections

    def ask(self, method: str, params: bytes, heard: Callable[[Answered | Failed], None]) -> int:
        """Asks the client. RpcError: it cannot be asked."""
        call = self.bridge.client.call(method, params)
        self._asked[call] = heard
        return call

    def take_back(self, call: int) -> None:
        """The client need not answer; an answer that still comes is ignored."""
        self._asked.pop(call, None)
        self.bridge.client.withdraw(call)
        self.bridge.client.forget(call)

    def forget(self, channel: int, connection_id: str | None) -> None:
        """A connection is over."""
        self._channels.pop(channel, None)
        if connection_id is not None:
            self.open.pop(connection_id, None)
        relay = self._relay_of.pop(channel, None)
        if relay is not None:
            relay.channels.discard(channel)


def _is_acp(entry: Any) -> bool:
    return isinstance(entry, dict) and as_text(entry.get("type")) == "acp"
