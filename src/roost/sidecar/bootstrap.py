"""An agent that has no session yet: its program is started, what it tells is kept, what it is asked is answered."""

from __future__ import annotations

from typing import Any

import msgspec

from roost.errors import RemoteProtocolError, SidecarError
from roost.sidecar.answers import Answer
from roost.sidecar.callbacks import Asks
from roost.sidecar.callers import Connection
from roost.sidecar.closing import end_agent
from roost.sidecar.commands import SpawnAgent
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut
from roost.sidecar.launch import Launch
from roost.sidecar.limits import Gauge
from roost.sidecar.link import AgentGone, Inbound, LineTooLong, Link
from roost.sidecar.mcp_relay import MESSAGE as MCP_MESSAGE
from roost.sidecar.payloads import Json, compacted, members
from roost.sidecar.sessions import publish_notice, publish_stderr


class Bootstrap:
    """The Sink of an agent that has no session yet: keeps what it tells, serves what it asks, passes stderr on.

    `replays` is for a restart, where what the agent tells meanwhile was heard before and is not kept.
    """

    def __init__(
        self, context: Context, launch: Launch, session_id: str, audience: list[Connection], *, replays: bool = False
    ) -> None:
        limits = context.limits
        self._context = context
        self._replays = replays
        self._count = Gauge("bootstrap_notifications", limits.bootstrap_notifications, context.warn)
        self._size = Gauge("bootstrap_bytes", limits.bootstrap_bytes, context.warn)
        self._bytes = 0
        self.full: SidecarError | None = None  # it has told more than is kept, and that is gone
        self.process = context.next_process()
        self.link = Link(context, self.process, launch, self)
        self.asks = Asks(context, self.link, session_id, audience)
        self.notifications: list[tuple[bytes, str, str | None]] = []
        self.initialized: Json = {}

    # ---- Sink

    def noticed(self, line: bytes, method: str, update: str | None) -> None:
        if method == MCP_MESSAGE:  # told at once, as its connection was asked for at once: they must not change places
            publish_notice(self._context, self.asks.audience, self.asks.session_id, line)
            return
        if self._replays or self.full is not None or self.link.ending is not None:
            return
        self._bytes += len(line)
        try:
            subject = f"{self.process} tells too much before its session is open"
            self._count.admit(len(self.notifications) + 1, subject)
            self._size.admit(self._bytes, subject)
        except SidecarError as error:
            self.forget()
            self.full = error
            self.link.fail_calls(error)
        else:
            self.notifications.append((line, method, update))

    def forget(self) -> None:
        """What was told so far is not passed on."""
        self.notifications.clear()
        self._bytes = 0

    def asked(self, inbound: Inbound) -> None:
        self.asks.put(inbound)

    def withdrawn(self, token: int) -> None:
        self.asks.withdrawn(token)

    def wrote_stderr(self, chunk: bytes) -> None:
        publish_stderr(self._context, self.asks.audience, self.asks.session_id, self.link, chunk)

    def exited(self, exit_code: int | None) -> None:
        self.asks.close("the agent is gone")

    # ---- steps

    def request(self, method: str, params: dict[str, Any], setting: str) -> Conversation[Json]:
        """One handshake request: the members of its result. Raises SidecarError with the text that says what failed."""
        answer = yield from self.ask(method, params, setting)
        if answer.error is not None:
            raise handshake_failed(method, answer)
        return result_members(method, answer.result)

    def ask(self, method: str, params: dict[str, Any], setting: str) -> Conversation[Answer]:
        """The same, with the agent's error left to the caller. `setting` names the time-out."""
        timeout: float = max(getattr(self._context.limits, setting), getattr(self.link.quirks, setting, None) or 0.0)
        if self.full is not None:
            raise self.full
        call, wait = self.link.call(method, msgspec.json.encode(params))
        try:
            answer: Answer = yield self._context.stage.within(timeout, wait)
        except TimedOut:
            text = (
                f"timed out waiting for ACP response id={call}; no session/cancel notification for bootstrap request; "
                f"{method} unanswered after {timeout:g} s ({setting}); {self.link.activity.diagnosis()}"
            )
            raise SidecarError("timeout", text) from None
        except AgentGone as gone:
            raise gone.failure or SidecarError("execution", exit_text(self.link, gone.exit_code, call)) from None
        except LineTooLong as fault:
            raise SidecarError("limit_exceeded", str(fault)) from None
        except RemoteProtocolError as fault:
            raise SidecarError("invalid_state", f"ACP {method} failed: {fault}") from None
        return answer


def spawn(
    context: Context, launch: Launch, session_id: str, audience: list[Connection], *, replays: bool = False
) -> Bootstrap:
    """Starts an agent's program. Every Bootstrap ends in `adopt`, in a restart's take-over, or in `give_up`."""
    context.processes.admit(len(context.links) + 1, "no further agent can be started")
    bootstrap = Bootstrap(context, launch, session_id, audience, replays=replays)
    context.links[bootstrap.process] = bootstrap.link
    context.emit(SpawnAgent(bootstrap.process, launch))
    return bootstrap


def give_up(context: Context, bootstrap: Bootstrap) -> Conversation[None]:
    """Ends an agent whose session could not be opened; its process is gone before the error is told."""
    bootstrap.asks.close("the session could not be opened")
    yield from end_agent(context, bootstrap.link, failed=True)


def result_members(method: str, result: bytes | None) -> Json:
    """The members of a result that has to be an object."""
    found = members(result)
    if found is None:
        raise SidecarError("invalid_state", f"ACP {method} response missing result")
    return found


def handshake_failed(method: str, answer: Answer) -> SidecarError:
    """The agent's own words, and its `data` as it wrote it."""
    message = "" if answer.error is None else answer.error.message
    text = f"ACP {method} failed: {message or 'unknown ACP error'}"
    data = (members((members(answer.text) or {}).get("error")) or {}).get("data")
    if data is not None and bytes(data) != b"null":
        text += f" (data: {compacted(data)})"
    return SidecarError("invalid_state", text)


def exit_text(link: Link, exit_code: int | None, call: int) -> str:
    """`ACP adapter process <p> exited with code <c> before response id=<n>; …`, with what it said last."""
    how = "exited" if exit_code is None else f"exited with code {exit_code}"
    return f"ACP adapter process {link.process} {how} before response id={call}; {link.activity.diagnosis()}"
