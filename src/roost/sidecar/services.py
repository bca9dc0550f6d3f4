"""Files and terminals of one bridged agent: what its bridge asks becomes commands, what the driver tells goes back.

A session is served in a place of its own from its opening to its closing, bounded by its roots. With the agent every
place ends, and whatever was started there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from roost.acp.bridge.events import (
    BridgeEvent,
    ServiceDecided,
    ServiceRequest,
    ServiceWithdrawn,
    SessionClosed,
    SessionOpened,
)
from roost.errors import RpcError
from roost.rpc.messages import INTERNAL_ERROR
from roost.sidecar import events
from roost.sidecar.commands import DecideService, EndServices, ServeAgent, ServicePlace, WithdrawService
from roost.sidecar.context import Context
from roost.sidecar.conversation import Wait

if TYPE_CHECKING:
    from roost.acp.bridge.v1_agent import V1AgentBridge

TERMINAL_IDS = "acp-terminal-"  # sidecar 5.3


class Services:
    """`nonce` is like that of no other agent; `missing_file` is looked at when a session is opened."""

    def __init__(
        self,
        context: Context,
        process: str,
        bridge: V1AgentBridge,
        nonce: str,
        missing_file: Callable[[], Literal["error", "empty"]],
    ) -> None:
        self._context = context
        self._process = process
        self._bridge = bridge
        self._nonce = nonce
        self._missing_file = missing_file
        self._places: dict[str, ServicePlace] = {}  # by session
        self._used: set[str] = set()  # sessions whose place the driver knows of
        self._was_used = False
        self._openings = 0
        self._over: Wait | None = None

    def take(self, event: BridgeEvent) -> None:
        """One event of the bridge."""
        match event:
            case SessionOpened(session_id=session_id, roots=roots):
                self._opened(session_id, roots)
            case SessionClosed(session_id=session_id):
                self._end_place(session_id)
            case ServiceRequest(token=token, session_id=session_id):
                place = self._places.get(session_id)
                if self._over is not None or place is None:
                    self._bridge.service_failed(token, RpcError(INTERNAL_ERROR, "the session's services are closed"))
                    return
                self._used.add(session_id)
                self._was_used = True
                self._context.emit(ServeAgent(self._process, token, place, event.method, event.params))
            case ServiceWithdrawn(token=token):
                self._context.emit(WithdrawService(self._process, token))
            case ServiceDecided(token=token, allowed=allowed):
                # A yes may have waited for the journal until everything was over.
                self._context.emit(DecideService(self._process, token, allowed and self._over is None))

    def _opened(self, session_id: str, roots: tuple[str, ...]) -> None:
        place = self._places.get(session_id)
        if place is not None and place.roots == roots:
            return
        self._end_place(session_id)  # what runs in other directories does not go on in these
        self._openings += 1
        terminals = f"{TERMINAL_IDS}{self._nonce}{self._openings}."
        self._places[session_id] = ServicePlace(session_id, roots, terminals, self._missing_file())

    def _end_place(self, session_id: str) -> None:
        place = self._places.pop(session_id, None)
        if place is not None and session_id in self._used:
            self._used.discard(session_id)
            self._context.emit(EndServices(self._process, place))

    def end(self) -> Wait | None:
        """Nothing is served from now on; settles when nothing of it runs any more. None: nothing ever did."""
        if self._over is None:
            self._over = self._context.stage.wait()
            if self._was_used:
                self._context.emit(EndServices(self._process, None))
        return self._over if self._was_used else None

    def told(self, event: events.ServiceEvent) -> None:
        """One event of the driver."""
        bridge = self._bridge
        match event:
            case events.ServiceWished(token=token, wish=wish):
                bridge.service_wishes(token, wish)
            case events.ServiceAnswered(token=token, result=result, error=None):
                bridge.service_answered(token, result)
            case events.ServiceAnswered(token=token, error=RpcError() as error):
                bridge.service_failed(token, error)
            case events.TerminalStarted():
                bridge.terminal_created(event.session_id, event.terminal_id, event.command, event.cwd)
            case events.TerminalPrinted() if self._over is not None:
                pass  # the last words of an agent are bounded, and these are not even its own
            case events.TerminalPrinted():
                bridge.terminal_wrote(event.session_id, event.terminal_id, event.data)
            case events.TerminalEnded():
                bridge.terminal_exited(event.session_id, event.terminal_id, event.exit_code, event.signal)
            case events.ServicesEnded():
                if self._over is not None:
                    self._over.resolve()
