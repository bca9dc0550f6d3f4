"""Ending agents and sessions: the ladder, and what becomes of those who wait."""

from __future__ import annotations

import msgspec

from roost.sidecar.callers import Connection
from roost.sidecar.commands import CloseAgentInput, ForgetAgent, ResumeAgent, SignalAgent
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut
from roost.sidecar.gen.messages import AcpCloseSessionRequest, AcpSessionClosedResponse
from roost.sidecar.link import Answer, Link
from roost.sidecar.sessions import Life, Session

SIGKILL = 9
SIGTERM = 15


def end_agent(context: Context, link: Link, *, failed: bool = False) -> Conversation[None]:
    """The ladder: input closed, SIGTERM to the whole tree, SIGKILL after the grace; at once when it is gone already.

    An agent whose start failed gets no time to finish anything.
    """
    limits = context.limits
    link.closing = True
    if not link.gone:
        if link.paused:
            context.emit(ResumeAgent(link.process))  # its end comes after its output
        context.emit(CloseAgentInput(link.process))
        steps = (
            (0.0 if failed else limits.input_close_grace, SIGTERM),
            (limits.abort_grace if failed else limits.kill_grace, SIGKILL),
        )
        for grace, signal in steps:
            if not link.gone and (grace == 0.0 or (yield from _still_there(context, link, grace))):
                context.emit(SignalAgent(link.process, signal))
        if (yield from _still_there(context, link, limits.reap_timeout)):
            context.note("error", f"{link.process}: still there {limits.reap_timeout:g} s after SIGKILL; given up")
    if context.links.pop(link.process, None) is not None:
        context.emit(ForgetAgent(link.process))
        context.processes.watch(len(context.links))


def _still_there(context: Context, link: Link, grace: float) -> Conversation[bool]:
    try:
        yield context.stage.within(grace, link.exit)
    except TimedOut:
        return True
    return False


def close_session(
    context: Context, connection: Connection, request: AcpCloseSessionRequest
) -> Conversation[AcpSessionClosedResponse]:
    """AcpCloseSessionRequest (2.4): the record goes first, then the agent."""
    session = context.sessions.owned(request.session_id, connection.caller)
    yield from end_session(context, session)
    return AcpSessionClosedResponse(session_id=request.session_id)


def end_session(context: Context, session: Session) -> Conversation[None]:
    """Closes a session for good. No AcpAgentExitedEvent; open prompts are answered `cancelled`."""
    context.sessions.remove(session)
    session.move(Life.CLOSING)
    session.closed = context.stage.wait()
    session.asks.close()
    for call, wait in list(session.prompts.items()):
        wait.resolve(Answer(cancelled_result(call), b'{"stopReason":"cancelled"}', None))
    if session.starting is not None:
        yield from end_agent(context, session.starting)
    yield from end_agent(context, session.link)
    session.move(Life.ENDED)
    context.sessions.dismiss(session)
    session.closed.resolve()


def cancelled_result(call: int) -> bytes:
    """The JSON-RPC response of a prompt that was cut short by the sidecar."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": call, "result": {"stopReason": "cancelled"}})
