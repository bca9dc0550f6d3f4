"""One prompt and everything until its end: iterate it for the events, or await it for the outcome alone."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import msgspec

from roost.errors import ConnectionClosed, ProcessError, RpcError
from roost.host.events import AgentExited, HostEvent, Notification, Stderr
from roost.host.subscription import Subscription

if TYPE_CHECKING:
    from roost.host.session import Session

STDERR_TAIL_BYTES = 4000


class TurnOutcome(msgspec.Struct, frozen=True):
    """How a turn ended. `stop_reason` None: the agent did not say; `usage` as the agent reported it."""

    stop_reason: str | None
    usage: dict[str, Any] | None = None


class AgentCrashed(ProcessError):
    """The agent exited in mid-turn. `restart` says whether the session lives on with a new one."""

    def __init__(self, event: AgentExited, stderr: str) -> None:
        code = "" if event.exit_code is None else f" with code {event.exit_code}"
        super().__init__(f"the agent {event.agent_type} exited{code} in mid-turn", event.exit_code, stderr)
        self.restart = event.restart


class Turn:
    """Made by `Session.prompt`. The events of the session, in order, from the prompt to the end of its turn.

    Raises RpcError when the agent refuses the prompt or fails, AgentCrashed when it exits, SidecarError and
    ConnectionClosed as any request does.
    """

    def __init__(self, session: Session, subscription: Subscription, answer: asyncio.Future[dict[str, Any]]) -> None:
        self._session = session
        self._subscription = subscription
        self._answer = answer
        self._by_state = session.protocol_version >= 2
        self._ran = False
        self._stderr = b""
        self.outcome: TurnOutcome | None = None
        answer.add_done_callback(self._answered)

    @property
    def stop_reason(self) -> str | None:
        """Why it ended, as the agent says; None while it goes on, and when the agent did not say."""
        return None if self.outcome is None else self.outcome.stop_reason

    @property
    def stderr(self) -> str:
        """The last of what the agent wrote to its stderr in this turn."""
        return self._stderr.decode("utf-8", "replace")

    async def cancel(self) -> bool:
        """Cancels the turn; true when the agent says that it was cancelled. Its last events still come."""
        return await self._session.cancel()

    def _answered(self, answer: asyncio.Future[dict[str, Any]]) -> None:
        if answer.cancelled():
            self._subscription.end()
        elif (error := answer.exception()) is not None:
            # An agent that exits fails the prompt too; its event, queued before, says more.
            self._subscription.end(error if isinstance(error, Exception) else ConnectionClosed(str(error)))
        elif not self._by_state:
            result = answer.result()
            self.outcome = TurnOutcome(_text(result.get("stopReason")), _usage(result.get("usage")))
            self._subscription.end()

    def __aiter__(self) -> Turn:
        return self

    async def __anext__(self) -> HostEvent:
        if self.outcome is not None and self._by_state:
            raise StopAsyncIteration
        try:
            event = await self._subscription.__anext__()
        except (StopAsyncIteration, Exception):
            self._session.unsubscribe(self._subscription)
            raise
        match event:
            case Stderr(chunk=chunk):
                self._stderr = (self._stderr + chunk)[-STDERR_TAIL_BYTES:]
            case AgentExited():
                self._session.unsubscribe(self._subscription)
                raise AgentCrashed(event, self.stderr)
            case Notification() if self._by_state:
                self._look(event)
        return event

    def _look(self, event: Notification) -> None:
        """A v2 turn ends at the idle that follows its running, or that gives a stop reason (PRM-10).

        One that came before the prompt was accepted belongs to an earlier turn; the mark is where it was accepted.
        """
        if '"state_update"' not in event.text:
            return
        update = event.raw_update
        if update.get("sessionUpdate") != "state_update":
            return
        if update.get("state") != "idle":
            self._ran = True
        elif self._subscription.past_mark and (self._ran or update.get("stopReason") is not None):
            self.outcome = TurnOutcome(_text(update.get("stopReason")), _usage(update.get("usage")))
            self._session.unsubscribe(self._subscription)

    async def _run(self) -> TurnOutcome:
        async for _ in self:
            pass
        return self.outcome or TurnOutcome(None)

    def __await__(self) -> Generator[Any, None, TurnOutcome]:
        return self._run().__await__()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _usage(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def raise_rpc_error(error: object) -> None:
    """Raises RpcError for a JSON-RPC error object."""
    members = error if isinstance(error, dict) else {}
    code, message = members.get("code"), members.get("message")
    raise RpcError(
        code if isinstance(code, int) else -32603,
        message if isinstance(message, str) else "unknown ACP error",
        members.get("data"),
    )
