"""An agent that exits without being asked to: seen at once, started again, its session re-attached (section 6)."""

from __future__ import annotations

from typing import Any

import msgspec

from roost.errors import RoostError
from roost.sidecar.closing import end_agent
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation
from roost.sidecar.facts import Facts, Json
from roost.sidecar.launch import Launch
from roost.sidecar.open import Bootstrap, give_up, initialize, spawn
from roost.sidecar.sessions import Life, Session

LOAD = "session/load"
RESUME = "session/resume"


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
    settlement = session.recovery = dead.aftermath
    dead.closing = True
    context.stage.start(end_agent(context, dead))
    recovery = yield from attempt(context, session)
    if session.life is not Life.RECOVERING:  # closed meanwhile: no event
        session.recovery = None
        settlement.resolve(recovery)
        return
    session.publish_exit(dead, exit_code, recovery.restart, recovery.count)
    session.recovery = None
    if recovery.live:
        session.move(Life.LIVE)
        session.exit_code = None
        settlement.resolve(recovery)
        if session.link.gone:  # it died again before anybody could look
            context.sessions.crashed(session, session.link.exit.value)
        return
    context.note("warning", f"session {session.id}: given up after a crash{recovery.sentence}")
    context.sessions.remove(session)
    session.move(Life.ENDED)
    settlement.resolve(recovery)
    context.sessions.dismiss(session)


def attempt(context: Context, session: Session) -> Conversation[Recovery]:
    limits, now = context.limits, context.stage.now
    maximum = limits.restarts
    if session.last_crash is not None and now - session.last_crash >= limits.restart_refill_after:
        session.restarts = 0
    session.last_crash = now
    if session.restarts >= maximum:
        return Recovery("exhausted", maximum, maximum)
    session.restarts += 1
    count = session.restarts
    if count > 1:
        yield context.stage.pause(limits.restart_backoff * 2 ** (count - 2))
        if session.life is not Life.RECOVERING:
            return Recovery("failed", count, maximum, "the session was closed")
    try:
        restart = yield from reattach(context, session)
    except RoostError as error:
        return Recovery("failed", count, maximum, str(error))
    return Recovery(restart, count, maximum)


def reattach(context: Context, session: Session) -> Conversation[str]:
    """Starts the agent again and attaches the session natively; never a new session in silence."""
    launch = session.link.launch
    bootstrap = spawn(context, launch, session.id, session.audience)
    session.starting = bootstrap.link
    try:
        yield from initialize(context, bootstrap)
        method = native_method(bootstrap.initialized, launch.protocol_version)
        if method is None:
            yield from give_up(context, bootstrap)
            return "unsupported"
        params = attach_params(session.id, launch)
        attached: Json = yield from bootstrap.request(method, params, context.limits.session_open_timeout)
        if session.life is not Life.RECOVERING:
            raise RoostError("the session was closed")
    except Exception:
        yield from give_up(context, bootstrap)
        raise
    finally:
        session.starting = None
    take_over(session, bootstrap, attached)
    return "restarted"


def take_over(session: Session, bootstrap: Bootstrap, attached: Json) -> None:
    """The session goes on with the new agent. What the agent replayed was heard before: it is not passed on."""
    launch = bootstrap.link.launch
    session.facts = Facts(launch.agent_type, attached, bootstrap.initialized, version=launch.protocol_version)
    session.link = bootstrap.link
    session.asks = bootstrap.asks
    bootstrap.link.sink = session
    for connection in session.audience:
        if connection.blocked:
            session.link.pause_for(connection.number)


def attach_params(session_id: str, launch: Launch) -> dict[str, Any]:
    servers = msgspec.Raw(launch.mcp_servers.encode())
    return {"sessionId": session_id, "cwd": launch.cwd, "mcpServers": servers}


def native_method(initialized: Json, version: int) -> str | None:
    """How this agent re-attaches a session, or None when it cannot. Only literal capabilities count."""
    if version >= 2:
        return RESUME if isinstance(_member(initialized.get("capabilities"), "session"), dict) else None
    capabilities = initialized.get("agentCapabilities")
    if _member(capabilities, "loadSession") is True:
        return LOAD
    sessions = _member(capabilities, "sessionCapabilities")
    stable = isinstance(sessions, dict) and isinstance(sessions.get("resume"), dict)
    return RESUME if stable or _member(capabilities, "resume") is True else None


def _member(raw: msgspec.Raw | None, name: str) -> Any:
    value = None if raw is None else msgspec.json.decode(raw)
    return value.get(name) if isinstance(value, dict) else None
