"""A session as a client holds it: prompts, the live view, the stream of updates, settings, the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from roost.acp import v2
from roost.acp.fold import fold
from roost.acp.v2.gen.config import ConfigOptionUpdate
from roost.acp.v2.gen.state import IdleStateUpdate, RequiresActionStateUpdate, RunningStateUpdate
from roost.acp.v2.gen.updates import SessionUpdate
from roost.acp.view import SessionView
from roost.acp.view_entries import Message
from roost.errors import LocalProtocolError
from roost.sdk.client_gates import check_prompt
from roost.sdk.client_turn import ClientTurn
from roost.sdk.client_turns import TrackedTurn, TurnTracker
from roost.sdk.client_updates import UpdateQueue, UpdateStream
from roost.wire.model import JsonObject, Unknown

if TYPE_CHECKING:
    from roost.sdk.client import Client
    from roost.sdk.client_link import ClientLink

log = logging.getLogger("roost.client")

_STATES: Final = frozenset({RunningStateUpdate, IdleStateUpdate, RequiresActionStateUpdate, Unknown})
_OF_V1: Final = frozenset({"plan", "tool_call", "current_mode_update"})  # PLN-6


class Session:
    """One session on one connection. Made by the client's `new_session`, `resume_session` and `fork_session`.

        end = await session.prompt("fix the tests")
        print(end.text, session.view.tool_calls)

    `view` is live: it shows everything the agent has told about the session so far, within bounds.
    """

    def __init__(self, client: Client, link: ClientLink, session_id: str, cwd: str) -> None:
        self.client = client
        self.link = link
        self.id = session_id
        self.cwd = cwd
        self.view = SessionView(client.limits.view)
        self.is_open = True
        """Whether it can still be used: not closed or deleted here, and the connection lives."""
        self._lost: Exception | None = None
        self._tracker = TurnTracker()
        self._turns: set[ClientTurn] = set()
        self.queues: list[UpdateQueue] = []
        """Of those who read its updates."""
        self._idle_waiters: list[asyncio.Future[None]] = []
        self._is_cancelling = False
        self._is_replaying = False
        self._last_user_position = -1
        self._warned_of_v1 = False

    def __repr__(self) -> str:
        return f"Session({self.id!r}, {'open' if self.is_open else 'closed'}, {self.view.state})"

    # ---- work

    def prompt(
        self, prompt: str | v2.ContentBlock | Sequence[v2.ContentBlock | str], *, meta: JsonObject | None = None
    ) -> ClientTurn:
        """Gives the agent work. Await what this returns, or iterate over it; see `ClientTurn`.

        CapabilityError: the agent does not take such content (PRM-1). LocalProtocolError: there is none.
        """
        self.require_open()
        given = [prompt] if isinstance(prompt, str) or not isinstance(prompt, Sequence) else prompt
        blocks = [v2.TextContent(text=block) if isinstance(block, str) else block for block in given]
        check_prompt(self.link.agent, blocks)
        return ClientTurn(self, blocks, meta)

    async def cancel(self) -> None:
        """Stops the session's work, and returns when it has ended. Does nothing in a session that does nothing.

        Pending permissions and elicitations are answered `cancelled`, unfinished tool calls shown so (PRM-15).
        """
        self.require_open()
        if not self._tracker.is_busy and not self._turns:
            return  # PRM-17
        concerned = self.send_cancel()
        pending = [turn for turn in self._turns if turn.tracked in concerned]
        with self.client.waiting(for_all=True):
            if self._tracker.is_busy:
                waiter = asyncio.get_running_loop().create_future()
                self._idle_waiters.append(waiter)
                await waiter
            for turn in pending:
                await turn.wait()

    def send_cancel(self) -> list[TrackedTurn]:
        """Sends session/cancel, and does what goes with it. Returns the turns it concerns."""
        self.link.notify(v2.CancelSessionNotification(session_id=self.id))
        self._is_cancelling = True
        self.view.mark_cancelled()
        self.client.cancel_questions(self.id)  # CAN-13, PER-10, ELI-17
        return self._tracker.cancel()

    @property
    def is_cancelling(self) -> bool:
        """Whether its work was cancelled and has not ended yet: questions that still come are answered so."""
        return self._is_cancelling

    def updates(self) -> UpdateStream:
        """The updates from now on, typed, in order, until the session ends; what is replayed goes to the view alone.

        Reading raises LimitError (`waiting_updates`, `waiting_update_bytes`) when the reader was far too slow, and
        ConnectionClosed or AgentExited when the agent is gone; what had come before is read first.
        """
        self.require_open()
        return UpdateStream(self.subscribe())

    # ---- settings

    async def set_config(self, config_id: str, value: str | bool, *, meta: JsonObject | None = None) -> None:
        """Changes a setting the agent has advertised; `view.config_options` has them all, and is up to date after.

        LocalProtocolError: no such setting, no such value, or a kind of setting that is not known (CFG-5, O-07).
        """
        self.require_open()
        option = next((o for o in self.view.config_options if _config_id(o) == config_id), None)
        request: Any
        match option:
            case v2.SessionConfigSelect() if isinstance(value, str):
                if value not in _values(option):
                    raise LocalProtocolError(f"the setting {config_id} has no value {value!r}")
                request = v2.SetSessionConfigIdRequest(session_id=self.id, config_id=config_id, value=value, meta=meta)
            case v2.SessionConfigBoolean() if isinstance(value, bool):
                request = v2.SetSessionConfigBooleanRequest(
                    session_id=self.id, config_id=config_id, value=value, meta=meta
                )
            case None:
                raise LocalProtocolError(f"the agent has no setting {config_id}")
            case Unknown():
                raise LocalProtocolError(f"the setting {config_id} is of a kind that is not known here")
            case _:
                raise LocalProtocolError(f"the setting {config_id} does not take {value!r}")
        response = await self.link.call(request)
        self.set_config_options(response.config_options)

    def set_config_options(self, options: list[v2.SessionConfigOption]) -> None:
        """All settings, as a response has them (CFG-1)."""
        fold(self.view, ConfigOptionUpdate(config_options=options))

    # ---- the end

    async def close(self, *, meta: JsonObject | None = None) -> None:
        """Ends the session's work and lets the agent free it; it can be resumed (SES-26, SES-27). Once is enough."""
        if self.is_open:
            self.client.cancel_questions(self.id)
            request = v2.CloseSessionRequest(session_id=self.id, meta=meta)
            try:
                await self.link.call(request, answered=lambda result: self.client.forget(self))
            finally:
                self.client.forget(self)

    async def delete(self, *, meta: JsonObject | None = None) -> None:
        """Removes the session from the agent's list. CapabilityError: the agent does not delete."""
        await self.client.delete_session(self.id, meta=meta)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.link.connection.is_over:
            await self.close()

    def require_open(self) -> None:
        """LocalProtocolError: it was closed. ConnectionClosed, AgentExited: the connection is gone."""
        if not self.is_open:
            raise self._lost or LocalProtocolError("the session is closed; resume it")

    # ---- what happens to it; called by the client and by turns

    def apply(self, update: SessionUpdate, size: int) -> None:
        """An update of `size` bytes has come."""
        entry = fold(self.view, update)
        if self.queues and not self._is_replaying:
            for queue in tuple(self.queues):
                queue.push(update, size)
        kind = type(update)
        if kind in _STATES:
            self._apply_state(update)
        elif isinstance(entry, Message) and entry.kind == "user_message" and entry.position > self._last_user_position:
            self._last_user_position = entry.position
            if not self._is_replaying:
                self._tracker.report(entry)

    def _apply_state(self, update: Any) -> None:
        if isinstance(update, Unknown) and update.tag_field != "state":
            if update.tag in _OF_V1 and not self._warned_of_v1:
                self._warned_of_v1 = True
                log.warning("%s sends %s, which is of version 1", self.link.peer, update.tag)
            return
        if not self._is_replaying:
            self._change(update)

    def _change(self, update: v2.StateUpdate) -> None:
        if isinstance(update, IdleStateUpdate):
            self._is_cancelling = False
        self._tracker.change(update)
        if not self._tracker.is_busy:
            for waiter in self._idle_waiters:
                if not waiter.done():
                    waiter.set_result(None)
            self._idle_waiters.clear()

    def begin_replay(self) -> None:
        """The agent will tell everything from the start (SES-24)."""
        self.view.clear()
        self._last_user_position = -1
        self._is_replaying = True

    def end_replay(self) -> None:
        """It has. What the session is doing now counts; what it did then does not."""
        self._is_replaying = False
        messages = [message for message in self.view.messages if message.kind == "user_message"]
        for turn in self._turns:
            if turn.tracked is not None:
                same = [message for message in messages if message.content == turn.tracked.prompt]
                turn.tracked.message = same[-1] if same else None
                turn.rebase(self.view.next_position)
        if self.view.state_update is not None:
            self._change(self.view.state_update)

    def subscribe(self) -> UpdateQueue:
        """The queue behind `updates`: it lets go of itself when it is finished."""
        queue = UpdateQueue(self.link.connection, self.client.limits, self.queues.remove)
        self.queues.append(queue)
        return queue

    def begin(self, turn: ClientTurn, tracked: TrackedTurn) -> None:
        """A prompt was sent."""
        self._tracker.send(tracked)
        self._turns.add(turn)

    def grant(self, tracked: TrackedTurn) -> None:
        """The agent has accepted that prompt."""
        self._tracker.accept(tracked)

    def drop(self, tracked: TrackedTurn) -> None:
        """That prompt was refused or taken back: no idle is its end."""
        self._tracker.drop(tracked)

    def leave(self, turn: ClientTurn) -> None:
        """The turn is over, whatever came of it."""
        self._turns.discard(turn)

    def end(self, error: Exception | None) -> None:
        """It was closed or deleted, or, with an error, the connection is over."""
        if not self.is_open:
            return
        self.is_open = False
        self._lost = error
        if error is None:
            self._tracker.end_all()  # SES-26
        for turn in list(self._turns):
            turn.fail(error or LocalProtocolError("the session was closed"))
        for queue in list(self.queues):
            queue.finish(error)
        for waiter in self._idle_waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._idle_waiters.clear()


def _config_id(option: v2.SessionConfigOption) -> Any:
    return option.value().get("configId") if isinstance(option, Unknown) else option.config_id


def _values(option: v2.SessionConfigSelect) -> set[str]:
    found: set[str] = set()
    for item in option.options:
        if isinstance(item, v2.SessionConfigSelectGroup):
            found.update(value.value for value in item.options)
        else:
            found.add(item.value)
    return found
