"""Ending agents and sessions: the ladder, and what becomes of those who wait."""

from __future__ import annotations

from typing import Any

import msgspec

from roost.errors import RpcError
from roost.rpc.messages import REQUEST_CANCELLED
from roost.sidecar.answers import Answer
from roost.sidecar.commands import SIGKILL, SIGTERM, CloseAgentInput, ForgetAgent, SignalAgent
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut, Wait
from roost.sidecar.life import Life
from roost.sidecar.link import Link
from roost.sidecar.sessions import Session


def end_agent(context: Context, link: Link, *, failed: bool = False) -> Conversation[None]:
    """The ladder: input closed, SIGTERM to the whole tree, SIGKILL after the grace; at once when it is gone already.

    An agent whose start failed gets no time to finish anything. Whoever comes second waits for the first.
    """
    if link.ending is not None:
        yield link.ending
        return
    link.ending = context.stage.wait()
    link.brake.doom()
    limits, services_over = context.limits, link.end_services()
    if not link.gone and not failed and link.quirks.save_grace:
        yield from _gone(context, link, link.quirks.save_grace)
    if not link.gone:
        context.emit(CloseAgentInput(link.process))
        if not failed:
            own_grace = link.quirks.input_close_grace
            yield from _gone(context, link, limits.input_close_grace if own_grace is None else own_grace)
        for signal, grace in (
            (SIGTERM, limits.abort_grace if failed else limits.kill_grace),
            (SIGKILL, limits.reap_timeout),
        ):
            if not link.gone:
                context.emit(SignalAgent(link.process, signal))
                yield from _gone(context, link, grace)
        give_up_process(context, link)
    if services_over is not None:
        yield from _services_gone(context, link, services_over)
    context.links.pop(link.process, None)
    context.emit(ForgetAgent(link.process))
    context.processes.watch(len(context.links))
    link.ending.resolve()


def kill_agent(context: Context, link: Link) -> Conversation[None]:
    """SIGKILL, and the wait for the exit, which then counts as a crash."""
    link.brake.doom()
    if not link.gone:
        context.emit(SignalAgent(link.process, SIGKILL))
        yield from _gone(context, link, context.limits.reap_timeout)
    give_up_process(context, link)


def give_up_process(context: Context, link: Link) -> None:
    """A process that even SIGKILL does not end is no longer waited for."""
    if not link.gone:
        timeout = context.limits.reap_timeout
        context.note("error", f"{link.process}: still there {timeout:g} s after SIGKILL (reap_timeout); given up")
        link.exited(None)


def _services_gone(context: Context, link: Link, over: Wait) -> Conversation[None]:
    """Waits for the end of the agent's terminals, as long as their own ladder takes."""
    patience = context.limits.terminal_kill_grace + context.limits.reap_timeout
    try:
        yield context.stage.within(patience, over)
    except TimedOut:
        context.note("error", f"{link.process}: its terminals have not ended within {patience:g} s; given up")


def _gone(context: Context, link: Link, grace: float) -> Conversation[None]:
    """Waits for the exit, as long as that."""
    try:
        yield context.stage.within(grace, link.exit)
    except TimedOut:
        pass


def end_session(context: Context, session: Session) -> Conversation[None]:
    """Closes a session for good. No AcpAgentExitedEvent; open prompts are answered `cancelled`."""
    context.sessions.remove(session)
    over = session.owner.ending[session.id] = context.stage.wait()
    session.move(Life.CLOSING)
    session.asks.close("the session is closed")
    for call, wait in list(session.prompts.items()):
        wait.resolve(cut_short(session.link, call))
    session.turns.reset("cancelled")
    session.link.aftermath.resolve(None)
    yield context.stage.later  # those who wait hear of it first
    if session.starting is not None:
        yield from end_agent(context, session.starting)
    yield from end_agent(context, session.link)
    yield from session.caught_up()
    session.move(Life.ENDED)
    if session.owner.ending.get(session.id) is over:
        del session.owner.ending[session.id]
    context.sessions.dismiss(session)
    over.resolve()


def cut_short(link: Link, call: int | None) -> Answer:
    """The answer to a prompt that the sidecar ends; `call` None: it was never sent.

    In v2 an answer without an error would say that the prompt was accepted, and an idle would be waited for.
    """
    if link.launch.by_state:
        error = RpcError(REQUEST_CANCELLED, "the prompt was cancelled before it was accepted")
        members = {"error": {"code": error.code, "message": error.message}}
        return Answer(response_line(call, members), None, error)
    result = {"stopReason": "cancelled"}
    return Answer(response_line(call, {"result": result}), msgspec.json.encode(result), None)


def response_line(call: int | None, members: dict[str, Any]) -> bytes:
    """A JSON-RPC response of the sidecar's own."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": call, **members})
