"""One `roost run` or `roost resume`: from finding a sidecar to the exit status, with all that may come between."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from roost.cli.agent_argument import agent_type_of
from roost.cli.attach import Sidecar, find_sidecar
from roost.cli.catalogue import agents_of
from roost.cli.configuration import Wanted
from roost.cli.failure import failure_of, wants_login
from roost.cli.interrupts import interrupts
from roost.cli.inventory import Row, list_sessions, put_to_sleep
from roost.cli.keyboard import Keyboard
from roost.cli.naming import find_session, short_ids
from roost.cli.permission import Decision, Policy, allow, deny
from roost.cli.question import ask, no_answer
from roost.cli.status import ExitStatus, Failure, say
from roost.cli.view import View
from roost.errors import ConnectionClosed, RoostError, SidecarError
from roost.host.events import AgentExited, HostEvent, Notification, PermissionRequest
from roost.host.host import Host
from roost.host.session import Session
from roost.host.subscription import Subscription
from roost.host.turn import Turn, TurnOutcome
from roost.process.packages import is_command_line
from roost.sidecar.limits import Limits

# What the daemon takes at most to end a turn that was cancelled and does not end; then we leave without it.
_CANCEL_PATIENCE = Limits().cancel_grace + Limits().reap_timeout

# An answer has to be at the daemon before it gives up waiting for it.
_ANSWER_MARGIN = 1.0

# How a turn ends whose agent of v1 asked for a login after it had begun (docs/bridge.md).
_WANTS_LOGIN = "_auth_required"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done. `policy` ASK comes with a keyboard. `timeout` in seconds, from the start.

    `session`: an id, or the beginning of one, to go on with; then `agent`, `cwd` and `protocol_version` are its own.
    """

    wanted: Wanted
    prompt: str
    env: Mapping[str, str]
    policy: Policy
    agent: str = ""
    cwd: str = ""
    session: str | None = None
    timeout: float | None = None
    protocol_version: int = 2
    advice: str | None = None  # the command that resumes, but for the id; None: it is not told


class _Asked(msgspec.Struct, frozen=True):
    """A permission request, put among the session's events so that it is shown after what came before it."""

    number: int
    request: PermissionRequest
    decided: asyncio.Future[Decision]
    later: Subscription


class Errand:
    """Runs once. Without a `keyboard` nobody is asked."""

    def __init__(self, order: Order, view: View, keyboard: Keyboard | None) -> None:
        self._order = order
        self._agent_name = order.agent or f"of session {order.session}"
        self._view = view
        self._keyboard = keyboard
        self._loop = asyncio.get_running_loop()
        self._sidecar: Sidecar | None = None
        self._session: Session | None = None
        self._turn: Turn | None = None
        self._work: asyncio.Task[None] | None = None
        self._cancelling: asyncio.Task[None] | None = None
        self._cancelled = asyncio.Event()
        self._cut = ""  # why the turn was cut short, by us
        self._unread = False  # nobody reads what is shown
        self._outcome: TurnOutcome | None = None
        self._questions = 0
        self._told_absence = False
        self._short_id = ""  # what the session can be resumed by

    async def run(self) -> ExitStatus:
        """The exit status of a turn that ended, one way or another. Raises Failure when there was none."""
        self._work = self._loop.create_task(self._do())
        timer: asyncio.TimerHandle | None = None
        if self._order.timeout is not None:
            timer = self._loop.call_later(self._order.timeout, self._timed_out, self._order.timeout)
        try:
            with interrupts(self._interrupted):
                await asyncio.wait([self._work])
        finally:
            if timer is not None:
                timer.cancel()
        error = None if self._work.cancelled() else self._work.exception()
        if error is not None and not isinstance(error, Failure):
            raise error
        if self._outcome is not None:  # what becomes of the session and its agent changes nothing about it
            return self._end(self._outcome)
        if self._unread:
            return ExitStatus.CUT_SHORT
        raise self._fail(error or Failure(ExitStatus.CUT_SHORT, self._cut))

    def _end(self, outcome: TurnOutcome) -> ExitStatus:
        """What we cut short was cut short, whatever the agent calls it."""
        status = ExitStatus.CUT_SHORT if self._cut else status_of(outcome)
        self._view.settle()
        if status is ExitStatus.CUT_SHORT:
            advice = f"; {self._login_advice()}" if outcome.stop_reason == _WANTS_LOGIN else ""
            say(self._cut or f"the turn was cut short: {outcome.stop_reason}{advice}")
        self._view.ended(outcome, status)
        self._advise()
        return status

    def _fail(self, failure: Failure) -> Failure:
        if self._cut and failure.exit_code == ExitStatus.AGENT_FAILED:
            failure = Failure(ExitStatus.CUT_SHORT, self._cut, failure.detail)
        self._view.failed(failure)
        self._advise()
        return failure

    def _advise(self) -> None:
        if self._short_id and self._order.advice is not None:
            say(f"resume with: {self._order.advice} {self._short_id}")

    async def _do(self) -> None:
        order = self._order
        try:
            async with find_sidecar(order.wanted, needs_journal=order.session is not None) as sidecar:
                self._sidecar = sidecar
                if order.wanted.socket is not None and sidecar.daemon is not None:
                    say(f"no daemon listens at {order.wanted.socket}; the agent runs inside this program")
                sidecar.host.on_permission = self._decide  # an agent may ask before its session is there
                session = await (self._open(sidecar.host) if order.session is None else self._go_on(sidecar))
                self._session = session
                try:
                    await self._follow(session.prompt(order.prompt))
                except RoostError:
                    if sidecar.journal:  # any other ends with the connection
                        await self._leave_behind(sidecar, session)
                    raise
                await self._leave_behind(sidecar, session)
        except RoostError as error:
            stderr = "" if self._turn is None else self._turn.stderr
            raise failure_of(self._agent_name, error, stderr, self._advice(error)) from error

    def _advice(self, error: RoostError) -> str:
        """What helps against an error that is for want of a login."""
        return self._login_advice() if wants_login(error) else ""

    def _login_advice(self) -> str:
        from roost.cli.login_advice import login_advice

        return login_advice(self._agent_name, self._order.wanted.config, self._order.env, os.environ)

    async def _open(self, host: Host) -> Session:
        order = self._order
        session = await host.create_session(
            await self._agent(host), cwd=order.cwd, env=order.env, protocol_version=order.protocol_version
        )
        self._view.began(session, order.agent, order.cwd)
        return session

    async def _go_on(self, sidecar: Sidecar) -> Session:
        """A kept session. The prompt wakes it; one that was closed, or gets variables, has to be opened for that."""
        host, row = sidecar.host, find_session(await list_sessions(sidecar.host), self._order.session or "")
        self._agent_name = row.agent
        if row.state == "closed" or (self._order.env and not row.is_live):
            session = await host.resume_session(row.session_id, row.agent, cwd=row.cwd, env=self._order.env)
        else:
            if self._order.env:
                say("the session is awake, so its agent does not get the variables; `roost sleep` first")
            session = host.known_session(row.session_id, row.protocol_version)
            session.take(await session.state())
        self._tell_missing(sidecar, row)
        self._view.began(session, row.agent, row.cwd)
        return session

    def _tell_missing(self, sidecar: Sidecar, row: Row) -> None:
        """Values of variables are never kept; a daemon that has been there all the time still knows them."""
        missing = [name for name in row.env_names if name not in self._order.env]
        if missing and sidecar.daemon is not None:
            say(f"the agent had variables that are not kept: {', '.join(missing)}; --env gives them again")

    async def _agent(self, host: Host) -> str:
        argument = self._order.agent
        listed = () if is_command_line(argument) else agents_of(await host.list_agents(), os.environ)
        return agent_type_of(argument, listed)

    async def _follow(self, turn: Turn) -> None:
        self._turn = turn
        async for event in turn:
            if isinstance(event, _Asked):
                await self._answer(event)
            else:
                self._view.show(event)
        self._turn, self._outcome = None, turn.outcome or TurnOutcome(None)

    async def _leave_behind(self, sidecar: Sidecar, session: Session) -> None:
        """A session that is kept falls asleep, any other is closed. The turn has ended, whatever becomes of this."""
        try:
            if not sidecar.journal:
                await session.close()
                return
            try:
                await put_to_sleep(sidecar.host, session.id)
            except SidecarError as error:
                if error.code == "conflict":  # its turn ends without us; the daemon sees to the rest
                    say(f"the session goes on: {error}")
            self._short_id = short_ids(await list_sessions(sidecar.host)).get(session.id, session.id)
        except ConnectionClosed:
            return  # told where the turn is followed
        except RoostError as error:
            say(f"the session could not be put to rest: {error}")

    # ---- being stopped

    def _interrupted(self, number: int, count: int) -> None:
        if number != signal.SIGINT:
            self._leave(f"stopped by {signal.Signals(number).name}")
        elif count == 1 and self._turn is not None:
            self._cancel("the turn was cancelled", "cancelling the turn; press Ctrl-C again to leave at once")
        else:
            self._leave("left before the turn had ended" if self._session is not None else "interrupted")

    def _timed_out(self, timeout: float) -> None:
        why = f"the time was up (--timeout {timeout:g})"
        if self._turn is not None:
            self._cancel(why, f"{why}; cancelling the turn")
        else:
            self._leave(why)

    def output_closed(self) -> None:
        """Nobody reads what we show: there is nothing to go on for."""
        self._unread = True
        self._leave("")

    def _cancel(self, why: str, notice: str) -> None:
        if self._cancelling is None:
            self._cut = self._cut or why
            self._view.settle()
            say(notice)
            self._cancelling = self._loop.create_task(self._cancel_turn())

    async def _cancel_turn(self) -> None:
        if self._session is None:
            return
        request = self._loop.create_task(self._session.cancel())
        await asyncio.sleep(0)  # the request is under way: only now may an open question be taken back
        self._cancelled.set()
        ended = [request] if self._work is None else [request, self._work]
        await asyncio.wait(ended, timeout=_CANCEL_PATIENCE, return_when=asyncio.ALL_COMPLETED)
        if self._work is not None and not self._work.done():
            self._leave(self._cut)
        if request.done() and not request.cancelled():
            request.exception()  # why it could not be cancelled does not matter any more

    def _leave(self, why: str) -> None:
        if self._outcome is None:
            self._cut = self._cut or why
        if self._sidecar is not None:
            self._sidecar.kill()
        if self._work is not None and not self._work.done():
            if self._turn is not None and self._session is not None and self._cancelling is None:
                # A daemon of others would go on with the turn. The request is on its way when the work is cancelled.
                self._cancelling = self._loop.create_task(self._abandon(self._session))
            self._loop.call_soon(self._work.cancel)

    async def _abandon(self, session: Session) -> None:
        with contextlib.suppress(RoostError):
            await session.cancel()

    # ---- permissions

    async def _decide(self, request: PermissionRequest) -> str:
        """A question from the daemon; its answer, once everything that came before it has been shown."""
        self._questions += 1
        number = self._questions
        if self._outcome is not None:
            return deny(request, "nobody").reply
        if self._session is None or self._turn is None:
            return (await self._decision(number, request, None)).reply
        asked = _Asked(number, request, self._loop.create_future(), self._session.events())
        try:
            self._session.put(cast("HostEvent", asked))
            return (await asked.decided).reply
        finally:
            self._session.unsubscribe(asked.later)

    async def _answer(self, asked: _Asked) -> None:
        if asked.decided.done():
            return
        decision = await self._decision(asked.number, asked.request, asked.later)
        if not asked.decided.done():
            asked.decided.set_result(decision)

    async def _decision(self, number: int, request: PermissionRequest, later: Subscription | None) -> Decision:
        self._view.asked(number, request)
        match self._order.policy:
            case Policy.ALLOW:
                decision = allow(request, "policy")
            case Policy.ASK if self._keyboard is not None:
                self._view.settle()
                decision = await self._ask(request, self._keyboard, later)
            case policy:
                if policy is Policy.ABSENT and not self._told_absence:
                    self._told_absence = True
                    self._view.settle()
                    say(
                        "the agent asks for permission and there is no terminal to ask you at, so it is denied; "
                        "--allow allows, --deny says that this is meant"
                    )
                decision = deny(request, "policy")
        self._view.answered(number, request, decision)
        return decision

    async def _ask(self, request: PermissionRequest, keyboard: Keyboard, later: Subscription | None) -> Decision:
        """The person's answer; nobody's when it comes to nothing or the daemon's patience ends."""
        patience = 0.0 if self._sidecar is None else self._sidecar.callback_timeout - _ANSWER_MARGIN
        question = self._loop.create_task(_ask_in_turn(request, keyboard))
        others: list[asyncio.Task[Any]] = [self._loop.create_task(self._cancelled.wait())]
        if later is not None:
            others.append(self._loop.create_task(_moot(later)))
        try:
            await asyncio.wait([question, *others], timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if question.done():
                return question.result()
            keyboard.write("\n")
            if not any(other.done() for other in others):
                say(f"no answer within {patience:g} s; that is a no")
                return deny(request, "nobody")
            return no_answer(request)
        finally:
            for task in (question, *others):
                task.cancel()


async def _ask_in_turn(request: PermissionRequest, keyboard: Keyboard) -> Decision:
    async with keyboard.turn:
        return await ask(request, keyboard)


async def _moot(events: Subscription) -> None:
    """Returns when a question need not be answered any more: the agent has gone, or its turn has ended."""
    try:
        async for event in events:
            match event:
                case AgentExited():
                    break
                case Notification() if '"state_update"' in event.text and event.raw_update.get("state") == "idle":
                    break
    except RoostError:
        return  # told where the turn is followed


def status_of(outcome: TurnOutcome) -> ExitStatus:
    """Only a turn that ended of itself counts as ended; an agent that gives no reason is believed."""
    return ExitStatus.ENDED if outcome.stop_reason in ("end_turn", None) else ExitStatus.CUT_SHORT
