"""Cancelling a turn, and what happens when the agent does not end it: a session never stays wedged."""

from __future__ import annotations

import msgspec

from roost.sidecar.closing import SIGKILL, cancelled_result
from roost.sidecar.commands import SignalAgent
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut
from roost.sidecar.link import Answer, Link
from roost.sidecar.sessions import Session

CANCEL = "session/cancel"


def cancel(context: Context, session: Session, params: bytes) -> Conversation[bytes]:
    """Forwards the notification; the answer comes when no turn runs any more, and says whether one was cancelled."""
    link = session.link
    link.notify(CANCEL, params)
    session.asks.cancel_turn()
    cancelled = False
    if session.turns.busy:
        cancelled = (yield from wait_for_end(context, session, link)) == "cancelled"
    result = {"cancelled": cancelled, "requested": True, "via": "notification"}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": None, "result": result})


def watch_cancel(context: Context, session: Session, link: Link) -> Conversation[None]:
    """The same wait for a cancel that nobody asked for: after a prompt's time-out."""
    if session.turns.busy:
        yield from wait_for_end(context, session, link)


def wait_for_end(context: Context, session: Session, link: Link) -> Conversation[str | None]:
    """The stop reason of the turn that ended; after the cancel grace the agent is ended instead."""
    fence = session.cancelling
    if fence is None:
        fence = session.cancelling = context.stage.wait()
    try:
        reason: str | None = yield context.stage.within(context.limits.cancel_grace, session.turns.ended())
        return reason
    except TimedOut:
        if session.link is link and not link.gone:
            end_wedged_turn(context, session, link)
            yield from _gone(context, link)  # the next prompt is for the next agent
        return "cancelled"
    finally:
        if session.cancelling is fence:
            session.cancelling = None
            fence.resolve()


def watch_turn(context: Context, session: Session, link: Link) -> Conversation[None]:
    """The inactivity deadline of a v2 turn, whose prompt was answered long before it ends."""
    if session.watched:
        return
    session.watched = True
    try:
        while session.turns.busy and not link.gone:
            remaining = session.last_sign_of_life(link) + context.limits.inactivity_timeout - context.stage.now
            if remaining <= 0:
                context.note("warning", f"{link.process}: no output within inactivity_timeout; cancelling the turn")
                link.notify(CANCEL, msgspec.json.encode({"sessionId": session.id}))
                session.asks.cancel_turn()
                yield from wait_for_end(context, session, link)
                return
            try:
                yield context.stage.within(remaining, session.turns.ended())
            except TimedOut:
                continue
    finally:
        session.watched = False


def _gone(context: Context, link: Link) -> Conversation[None]:
    try:
        yield context.stage.within(context.limits.reap_timeout, link.exit)
    except TimedOut:
        context.note("error", f"{link.process}: still there after SIGKILL")


def end_wedged_turn(context: Context, session: Session, link: Link) -> None:
    """The agent did not end its turn: it is answered for it, and killed; what follows is a restart like any other."""
    grace = context.limits.cancel_grace
    context.note("warning", f"{link.process}: turn not ended within cancel_grace ({grace:g} s); restarting the agent")
    for call, wait in list(session.prompts.items()):
        wait.resolve(Answer(cancelled_result(call), msgspec.json.encode({"stopReason": "cancelled"}), None))
        link.forget(call)
    if link.launch.protocol_version >= 2 and session.turns.busy:
        session.publish_update({"sessionUpdate": "state_update", "state": "idle", "stopReason": "cancelled"})
        session.turns.state_told("idle", "cancelled")
    context.emit(SignalAgent(link.process, SIGKILL))
