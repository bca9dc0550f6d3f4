"""An agent that exits without being asked to: seen at once, started again, its session re-attached (section 6)."""

from __future__ import annotations

from typing import Any

import msgspec

from roost.errors import RoostError
from roost.sidecar.bootstrap import Bootstrap, give_up, spawn
from roost.sidecar.closing import end_agent
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut
from roost.sidecar.facts import Facts
from roost.sidecar.launch import Launch
from roost.sidecar.life import Life
from roost.sidecar.login import logged_in
from roost.sidecar.payloads import Json, member
from roost.sidecar.sessions import Session

LOAD = "session/load"
RESUME = "session/resume"
MOST_DOUBLINGS = 10  # a few minutes, with the defaults
CLOSED = "the session was closed"


class Recovery(msgspec.Struct, frozen=True):
    """What came of a crash: one of the schema's four words, the attempt it was, and what went wrong."""

    restart: str
    count: int
    maximum: int
    detail: str = ""

    @property
    def live(self) -> bool:
        return self.restart == "restarted"

    @property
    def sentence(self) -> str:
        """The end of the error text of every request that was in flight."""
        match self.restart:
            case "restarted":
                return (
                    f"; ACP adapter was auto-restarted (attempt {self.count}/{self.maximum}) and the session is live "
                    "again — retry the request"
                )
            case "exhausted":
                return f"; ACP adapter restart budget exhausted ({self.maximum} restarts) — session evicted"
            case "unsupported":
                return (
                    "; ACP adapter auto-restart unsupported (adapter does not advertise loadSession/resume) — session "
                    "evicted"
                )
        return f"; ACP adapter auto-restart failed ({self.detail}) — session evicted"


def recover(context: Context, session: Session, exit_code: int | None) -> Conversation[None]:
    """One crash: at most one new agent, exactly one AcpAgentExitedEvent, then the requests in flight fail."""
    dead = session.link
    session.move(Life.RECOVERING)
    session.recovery = dead.aftermath
    context.stage.start(end_agent(context, dead))
    yield from session.caught_up()  # what was told before the crash, and waits for the journal, comes before its end
    recovery = None if session.life is not Life.RECOVERING else (yield from attempt(context, session))
    session.recovery = None
    if recovery is None or session.life is not Life.RECOVERING:  # closed meanwhile: no event
        dead.aftermath.resolve(None)
        return
    session.publish_exit(dead, exit_code, recovery.restart, recovery.count)
    if recovery.live:
        session.move(Life.LIVE)
        session.exit_code = None
        dead.aftermath.resolve(recovery)
        return
    context.note("warning", f"session {session.id}: given up after a crash{recovery.sentence}")
    context.sessions.remove(session)
    session.move(Life.ENDED)
    dead.aftermath.resolve(recovery)
    context.sessions.dismiss(session)


def attempt(context: Context, session: Session) -> Conversation[Recovery]:
    limits, now = context.limits, context.stage.now
    maximum = limits.restarts
    if session.last_crash is not None and now - session.last_crash >= limits.restart_refill_after:
        session.restarts = 0
        session.restart_count.watch(0)
    session.last_crash = now
    if session.restarts >= maximum:
        return Recovery("exhausted", maximum, maximum)
    session.restarts += 1
    session.restart_count.watch(session.restarts)
    count = session.restarts
    try:
        if count > 1:
            yield from back_off(context, session, limits.restart_backoff * 2 ** min(count - 2, MOST_DOUBLINGS))
        restart = yield from reattach(context, session)
    except RoostError as error:
        return Recovery("failed", count, maximum, str(error))
    except Exception as error:  # a mistake of ours must not leave a session that recovers for ever
        context.broken(error)
        return Recovery("failed", count, maximum, "internal error; the daemon's log has the details")
    return Recovery(restart, count, maximum)


def back_off(context: Context, session: Session, seconds: float) -> Conversation[None]:
    """Waits before trying again; not for a session that is closed meanwhile."""
    try:
        yield context.stage.within(seconds, session.ending)
    except TimedOut:
        return
    raise RoostError(CLOSED)


def reattach(context: Context, session: Session) -> Conversation[str]:
    """Starts the agent again and attaches the session natively; never a new session in silence."""
    launch = session.link.launch
    met: list[Bootstrap] = []

    def meet() -> Bootstrap:
        if session.life is not Life.RECOVERING:
            raise RoostError(CLOSED)
        bootstrap = spawn(context, launch, session.id, session.audience, replays=True)
        bootstrap.link.alias = session.link.alias
        bootstrap.asks.live_id = session.live_id
        session.starting = bootstrap.link
        met.append(bootstrap)
        return bootstrap

    try:
        bootstrap = yield from logged_in(context, meet, proven=2 if session.link.v1 is None else 1)
        method = native_method(bootstrap)
        if method is None:
            yield from give_up(context, bootstrap)
            return "unsupported"
        attached = yield from bootstrap.request(method, attach_params(session.live_id, launch), "session_open_timeout")
        if session.life is not Life.RECOVERING:
            raise RoostError(CLOSED)
    except Exception:
        if met:
            yield from give_up(context, met[-1])
        raise
    finally:
        session.starting = None
    take_over(session, bootstrap, attached)
    return "restarted"


def take_over(session: Session, bootstrap: Bootstrap, attached: Json) -> None:
    """The session goes on with the new agent. What the agent replayed was heard before: it is not passed on."""
    link = bootstrap.link
    if session.link.v1 is not None and session.link.v1.logged_out and link.v1 is not None:
        link.v1.log_out()
    session.facts = Facts(link.launch.agent_type, attached, bootstrap.initialized, by_state=link.launch.by_state)
    session.link = link
    session.asks = bootstrap.asks
    session.asks.journal = session.journal
    session.keep_facts()
    link.sink = session
    for connection in session.audience:
        if connection.blocked:
            link.brake.wait_for(connection.number)
    if session.journal is not None:
        session.journal.slow_down(link)


def attach_params(session_id: str, launch: Launch) -> dict[str, Any]:
    servers = msgspec.Raw(launch.mcp_servers.encode())
    return {"sessionId": session_id, "cwd": launch.cwd, "mcpServers": servers}


def native_method(bootstrap: Bootstrap) -> str | None:
    """How this agent re-attaches a session, or None when it cannot. Only literal capabilities count."""
    link, initialized = bootstrap.link, bootstrap.initialized
    if link.quirks.resume == "transcript":
        return None
    if link.v1 is not None:  # what the bridge makes up for lasts no longer than the agent
        return RESUME if link.v1.attaches("load") or link.v1.attaches("resume") else None
    if link.launch.by_state:
        return RESUME if isinstance(member(initialized.get("capabilities"), "session"), dict) else None
    capabilities = initialized.get("agentCapabilities")
    if member(capabilities, "loadSession") is True:
        return LOAD
    sessions = member(capabilities, "sessionCapabilities")
    stable = isinstance(sessions, dict) and isinstance(sessions.get("resume"), dict)
    return RESUME if stable or member(capabilities, "resume") is True else None
