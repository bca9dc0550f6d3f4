"""Cancelling a turn, and what happens when the agent does not end it: a session never stays wedged."""

from __future__ import annotations

import msgspec

from roost.errors import SidecarError
from roost.sidecar.closing import cut_short, kill_agent, response_line
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut
from roost.sidecar.life import Life
from roost.sidecar.link import Link
from roost.sidecar.sessions import Session

CANCEL = "session/cancel"

# While output is held back for a caller, an agent is looked at again after this long at the least: a grace of 0 would
# be over at once, again and again, and time would stand still. Seconds.
PAUSED_GRACE = 1.0


def cancel(context: Context, session: Session, params: bytes) -> Conversation[bytes]:
    """Forwards the notification; the answer comes when no turn runs any more, and says whether one was cancelled.

    Prompts that wait for the outcome of an earlier cancel are dropped (PRM-18).
    """
    link = session.link
    session.call_up(False)
    problem = tell(session, link, params)
    cancelled = False
    if session.turns.busy:
        cancelled = (yield from wait_for_end(context, session, link)) == "cancelled"
    elif problem is not None:
        raise problem
    return response_line(None, {"result": {"cancelled": cancelled, "requested": True, "via": "notification"}})


def tell(session: Session, link: Link, params: bytes | None = None) -> SidecarError | None:
    """The notification, and the answers that free an agent which waits for a person (CAN-13).

    What it returns is why the agent could not be told: it does not read. The grace ends its turn all the same.
    """
    params = params or msgspec.json.encode({"sessionId": session.live_id})
    problem = None
    try:
        link.admit_input(len(params))
    except SidecarError as error:
        problem = error
    else:
        link.notify(CANCEL, params)
    session.asks.cancel_turn()
    return problem


def wait_for_end(context: Context, session: Session, link: Link) -> Conversation[str | None]:
    """The stop reason of the turn that ended; after the cancel grace the agent is ended instead.

    Until then the session's next prompt waits: a late cancel must not hit it.
    """
    first = not session.cancelling
    session.cancelling = True
    try:
        return (yield from _ended(context, session, link))
    finally:
        if first:
            session.cancelling = False
            session.call_up(True)


def _ended(context: Context, session: Session, link: Link) -> Conversation[str | None]:
    grace = context.limits.cancel_grace
    patience = context.stage.now + context.limits.stuck_caller_timeout
    while True:
        try:
            reason: str | None = yield context.stage.within(grace, session.turns.ended())
        except TimedOut:
            if link.brake.on and session.link is link and context.stage.now < patience:
                grace = max(grace, PAUSED_GRACE)  # its last words may be waiting behind a caller that does not read
                continue
            yield from end_wedged_turn(context, session, link)
            return "cancelled"
        return reason


def end_wedged_turn(context: Context, session: Session, link: Link) -> Conversation[None]:
    """The agent did not end its turn: it is answered for it, and killed; what follows is a restart like any other."""
    grace = context.limits.cancel_grace
    text = f"{link.process}: turn not ended within cancel_grace ({grace:g} s); restarting the agent"
    context.note("warning", text)
    if link.launch.by_state:
        idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "cancelled"}
        session.tell(idle, tracked="state_update")
    for call, wait in list(session.prompts.items()):
        wait.resolve(cut_short(link, call))
    session.turns.reset("cancelled")
    yield from kill_agent(context, link)  # the next prompt is for the next agent


def watch_turn(context: Context, session: Session, link: Link) -> Conversation[None]:
    """The inactivity deadline of a v2 turn, whose prompt was answered long before it ends."""
    if session.watched:
        return
    session.watched = True
    try:
        while session.turns.busy and session.link is link and session.life is Life.LIVE:
            remaining = session.last_sign_of_life(link) + context.limits.inactivity_timeout - context.stage.now
            if remaining <= 0:
                context.note("warning", f"{link.process}: no output within inactivity_timeout; cancelling the turn")
                tell(session, link)
                yield from wait_for_end(context, session, link)
            else:
                try:
                    yield context.stage.within(remaining, session.turns.ended())
                except TimedOut:
                    pass  # or a sign of life has come meanwhile
    finally:
        session.watched = False
