"""A v1 agent behind a link that speaks v2."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from roost.acp.bridge.events import BridgeEvent, LoggedOut
from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.sidecar.bridge_side import BridgeSide
from roost.sidecar.context import Context
from roost.sidecar.services import Services

if TYPE_CHECKING:
    from roost.sidecar.events import ServiceEvent
    from roost.sidecar.link import Link


class V1Side(BridgeSide):
    """`take` gets each message in v2; `flush` is called when there may be something to send."""

    def __init__(self, context: Context, link: Link, take: Callable[[bytes], None], flush: Callable[[], None]) -> None:
        process = link.process
        # Unlike those of earlier runs, as far as that can be had without a source of chance.
        nonce = f"{process.rpartition('-')[2]}.{int(context.stage.now * 1000):x}."
        patience = context.limits.cancel_grace + context.limits.stuck_caller_timeout
        bridge = V1AgentBridge(
            limits=BridgeLimits(cancel_timeout=patience),  # the sidecar's own comes first: it starts the agent again
            services=context.services,
            name=link.launch.agent_type,
            nonce=nonce,
            relays_mcp=context.relays_mcp,
        )
        super().__init__(context, process, bridge, take, flush)
        self._v1 = bridge
        self.services = Services(context, process, bridge, nonce, lambda: link.quirks.missing_file)

    def served(self, event: ServiceEvent) -> None:
        """Something about a file or a terminal of the agent."""
        self._bridge.now = self._context.stage.now
        self.services.told(event)
        self._deliver()

    @property
    def version(self) -> Any:
        """What the agent names as its version, or None; the shape of its answer is that of v1."""
        return self._v1.requests.answered.get("protocolVersion")

    def attaches(self, kind: str) -> bool:
        """Whether the agent can `load` or `resume` a session by itself."""
        return self._v1.requests.of_session(kind)

    @property
    def logs_out(self) -> bool:
        """Whether the agent can log out by itself."""
        return self._v1.requests.logs_out

    @property
    def logged_out(self) -> bool:
        """Whether the bridge lets nothing through for want of a login."""
        return self._v1.requests.logged_out

    def log_out(self) -> None:
        """From here on that is so."""
        self._v1.requests.logged_out = True

    def keep_apart(self) -> None:
        """The session that is opened next has a past which the agent does not know; no message id of it comes again."""
        self._v1.keeps_apart = True

    def _happened(self, event: BridgeEvent) -> None:
        if isinstance(event, LoggedOut):
            self._context.note("info", f"{self._process}: logged out by the bridge; it lets nothing through")
        else:
            self.services.take(event)
