"""A channel whose other end speaks v1, as one whose other end speaks v2: a bridge, its clock and its two queues.

agent_in_v2(channel)     to a v1 agent, for a client of ours
client_in_v2(channel)    to a v1 client, for an agent of ours
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import stat
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from roost.acp.bridge.events import Note, ServiceRequest, ServiceWithdrawn, SessionClosed
from roost.acp.bridge.mcp_events import McpRelayEvent
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.acp.bridge.v1_client import V1ClientBridge
from roost.errors import RpcError
from roost.rpc.messages import LIMIT_EXCEEDED, NULL_ID, error_bytes
from roost.sdk.agent_services import ServedAgent, Services
from roost.sdk.channel_around import ChannelAround, ChildAround
from roost.transport.messages import MessageChannel, MessageListener

if TYPE_CHECKING:
    from roost.acp.bridge.v2_agent import V2AgentBridge
    from roost.sdk.mcp_relays import ConnectedRelays

log = logging.getLogger("roost.bridge")

_LEVELS: Final = {"info": logging.INFO, "warning": logging.WARNING}
_SHOWN_FILE_BYTES: Final = 1 << 20  # of a file that a patch is shown with: more is no diff anybody reads


def agent_in_v2(channel: MessageChannel, services: Services | None = None) -> MessageChannel:
    """Without `services` the agent is offered neither files nor terminals: it uses those of the machine it runs on.

    One that is a process of ours reaches MCP servers of this program through programs that it starts.
    """
    is_child = hasattr(channel, "exit_code")
    offered = None if services is None else services.capabilities
    bridge = V1AgentBridge(services=offered, nonce=os.urandom(4).hex(), relays_mcp=is_child)
    bridged = BridgedChild(channel, bridge) if is_child else BridgedChannel(channel, bridge)
    if services is not None:
        bridged.serve(bridge, services)
    return bridged


def client_in_v2(channel: MessageChannel) -> MessageChannel:
    """MCP servers are looked up on this machine, and files that a patch is about are read from it."""
    return BridgedChannel(channel, V1ClientBridge(which=shutil.which, read_file=_text_of), agent_is_here=True)


class BridgedChannel(ChannelAround):
    """Holds nothing back: what one side sends has gone to the other when the call returns, or is in a queue of it.

    `agent_is_here`: who listens here is the agent, and the client is at the other end; else the other way round.
    """

    def __init__(
        self,
        channel: MessageChannel,
        bridge: V1AgentBridge | V1ClientBridge | V2AgentBridge,
        *,
        agent_is_here: bool = False,
    ) -> None:
        self._channel = channel
        self._bridge = bridge
        self._answers_overflow = agent_is_here
        here, there = (
            (bridge.from_south, bridge.from_north) if agent_is_here else (bridge.from_north, bridge.from_south)
        )
        self._from_here, self._from_there = here, there
        self._for_here, self._for_there = (
            (bridge.south, bridge.north) if agent_is_here else (bridge.north, bridge.south)
        )
        self._loop = asyncio.get_running_loop()
        self._listener: MessageListener | None = None
        self._inbox: deque[bytes] = deque()
        self._reading = True
        self._scheduled = False
        self._has_ended = False  # the other end says no more; told once what came before has been delivered
        self._told_end = False
        self._timer: asyncio.TimerHandle | None = None
        self._served: ServedAgent | None = None
        self._relays: ConnectedRelays | None = None

    @property
    def named_version(self) -> Any:
        """The number in a v1 agent's answer to `initialize`, once it has come; its shape is that of v1."""
        assert isinstance(self._bridge, V1AgentBridge)
        return self._bridge.requests.answered.get("protocolVersion")

    def serve(self, bridge: V1AgentBridge, services: Services) -> None:
        """Has the agent's requests for files and terminals answered, and shown."""
        self._served = ServedAgent(bridge, services, self._prompted)

    # ---- as a channel

    def open(self, listener: MessageListener) -> None:
        self._listener = listener
        self._channel.open(self)

    def take_over(self, listener: MessageListener) -> None:
        """The same for a channel that is open already: who listens to it calls `received` and so on from here on."""
        self._listener = listener

    def send(self, messages: list[bytes]) -> None:
        now = self._loop.time()
        for message in messages:
            self._from_here(message, now)
        self._pass_on()
        if self._inbox:
            self._wake()  # never from within a call of the listener's own

    def pause_reading(self) -> None:
        self._reading = False
        self._channel.pause_reading()
        if self._relays is not None:
            self._relays.pause_reading()
        if self._served is not None:
            self._served.pause()

    def resume_reading(self) -> None:
        self._reading = True
        self._channel.resume_reading()
        if self._relays is not None:
            self._relays.resume_reading()
        if self._served is not None:
            self._served.resume()
        self._wake()

    def close(self) -> None:
        self._reading = True
        self._wake()
        self._channel.close()

    def abort(self) -> None:
        self._stop()
        self._channel.abort()

    # ---- as the listener of what it wraps

    def received(self, messages: list[bytes]) -> None:
        now = self._loop.time()
        for message in messages:
            self._from_there(message, now)
        self._pass_on()
        self._deliver()

    def overflowed(self, count: int, limit: int) -> None:
        if self._answers_overflow:  # in v1, and about no message the bridge knows
            log.warning("%s sent %d message(s) over max_line_bytes, which is %d", self.peer, count, limit)
            data = {"limit": "max_line_bytes", "bound": limit}
            error = error_bytes(NULL_ID, RpcError(LIMIT_EXCEEDED, "Limit exceeded: max_line_bytes", data))
            self._channel.send([error] * count)
        elif self._listener is not None:
            self._listener.overflowed(count, limit)

    def congested(self) -> None:
        if self._listener is not None:
            self._listener.congested()

    def eased(self) -> None:
        if self._listener is not None:
            self._listener.eased()

    def ended(self) -> None:
        # An agent that has answered its prompt and gone has ended its turn: nothing more comes that it waits for.
        self._expire(self._loop.time() + self._bridge.limits.settle_grace)
        self._has_ended = True
        self._deliver()

    def closed(self, error: Exception | None) -> None:
        self._reading = True
        self._has_ended = True
        self._deliver()
        self._stop()
        if self._listener is not None:
            self._listener.closed(error)

    # ---- the bridge

    def _pass_on(self) -> None:
        """Everything a call to the bridge has brought about."""
        self._gather()
        while events := self._bridge.events():
            for event in events:
                if isinstance(event, Note):
                    log.log(_LEVELS[event.level], "%s: %s", self.peer, event.text)
                elif isinstance(event, McpRelayEvent):
                    self._relay(event)
                elif self._served is not None and isinstance(event, ServiceRequest | ServiceWithdrawn):
                    self._served.take(event)
                elif self._served is not None and isinstance(event, SessionClosed):
                    self._served.session_closed(event.session_id)
            self._gather()  # what that has brought about
        self._set_timer()

    def _gather(self) -> None:
        outward = self._for_there()
        if outward:
            self._channel.send(outward)
        self._inbox += self._for_here()

    def _relay(self, event: McpRelayEvent) -> None:
        if self._relays is None:
            from roost.sdk.mcp_relays import ConnectedRelays  # few clients have servers of their own

            assert not isinstance(self._bridge, V1ClientBridge)
            assert self._bridge.mcp is not None
            self._relays = ConnectedRelays(self._bridge.mcp, self._prompted)
        self._relays.take(event)

    def _prompted(self) -> None:
        """The bridge may have something to say that neither side has brought about."""
        if not self._told_end:
            self._pass_on()
            self._deliver()

    def _set_timer(self) -> None:
        due, timer = self._bridge.next_deadline(), self._timer
        if timer is not None:
            if due is not None and timer.when() == due:
                return
            timer.cancel()
        self._timer = None if due is None or self._told_end else self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        timer, self._timer = self._timer, None
        self._expire(self._loop.time() if timer is None else max(self._loop.time(), timer.when()))
        self._deliver()

    def _expire(self, now: float) -> None:
        self._bridge.expire(now)
        self._pass_on()

    def _wake(self) -> None:
        if not self._scheduled and self._listener is not None:
            self._scheduled = True
            self._loop.call_soon(self._woken)

    def _woken(self) -> None:
        self._scheduled = False
        self._deliver()

    def _deliver(self) -> None:
        listener = self._listener
        if listener is None or not self._reading or self._told_end:
            return
        while self._inbox and self._reading:
            messages = list(self._inbox)
            self._inbox.clear()
            listener.received(messages)
        if self._has_ended and not self._inbox and not self._told_end:
            self._told_end = True
            listener.ended()

    def _stop(self) -> None:
        self._told_end = True
        self._inbox.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._relays is not None:
            self._relays.close()
        if self._served is not None:
            self._served.close()
            self._served = None


class BridgedChild(BridgedChannel, ChildAround):
    """One to a process, which can tell how that ended."""

    def __init__(self, child: Any, bridge: V1AgentBridge | V2AgentBridge) -> None:
        super().__init__(child, bridge)
        self._child = child


def _text_of(path: str) -> str | None:
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(_SHOWN_FILE_BYTES + 1)
        return None if len(data) > _SHOWN_FILE_BYTES else data.decode()
    except (OSError, ValueError):
        return None


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe would make everything wait
