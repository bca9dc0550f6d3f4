"""Waking: a session at rest made live by the first request to it.

A sleeping session is a record in the journal and no process. Waking tries the native tier, else starts a new agent
that is told where to read what happened; the id its owner knows stays the same either way.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from roost.sidecar.bootstrap import Bootstrap, result_members
from roost.sidecar.callers import Connection
from roost.sidecar.commands import AgentQuery, TranscriptQuery
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation
from roost.sidecar.decoy import disguise
from roost.sidecar.instructions import instruct
from roost.sidecar.journal import Kind, StoredLaunch, StoredSession
from roost.sidecar.launch import AgentProgram, Launch, merge_env, unknown_agent
from roost.sidecar.open import adopt, deliver, kept, open_session
from roost.sidecar.payloads import string
from roost.sidecar.rest import quiet, record_of
from roost.sidecar.restart import attach_params, native_method
from roost.sidecar.sessions import Session
from roost.sidecar.tiers import FALLBACK, NATIVE, is_unknown_session, preamble

RESUMED = "_roost/resumed"


def session_of(context: Context, connection: Connection, session_id: str) -> Conversation[Session]:
    """The caller's session, woken when it sleeps. Missing and foreign ones raise the same error."""
    caller = connection.caller
    while True:
        session = caller.sessions.get(session_id)
        if session is not None:
            return session
        if not (yield from quiet(context, connection, session_id)):
            break
    settlement = caller.waking[session_id] = context.stage.wait()  # before the look-up, or two would wake it
    try:
        record = yield from record_of(context, connection, session_id)
        return (yield from wake(context, connection, record))
    finally:
        del caller.waking[session_id]
        settlement.resolve()
        context.callers.tidy(caller)


def wake(
    context: Context,
    connection: Connection,
    record: StoredSession,
    *,
    first: Callable[[Bootstrap], Conversation[None]] | None = None,
) -> Conversation[Session]:
    """A sleeping session made live. The tier is told to whoever hears the session, and kept.

    `first` is what the new agent is asked before it is asked for the session.
    """

    def launched() -> Conversation[Launch]:
        program = yield from context.load(AgentQuery(record.launch.agent_type))
        if program is None:
            raise unknown_agent(record.launch.agent_type)
        return context.secrets.get(record.session_id) or launch_again(program, record.launch, {}, context.folder)

    def opened(bootstrap: Bootstrap) -> Conversation[Session]:
        if first is not None:
            yield from first(bootstrap)
        session, tier = yield from attach_record(context, bootstrap, connection, record)
        yield from kept(context, session, bootstrap)
        tell_tier(session, tier)
        deliver(session, bootstrap)
        return session

    session: Session = yield from open_session(context, connection, record.name, launched(), opened)
    return session


def attach_record(
    context: Context, bootstrap: Bootstrap, connection: Connection, record: StoredSession
) -> Conversation[tuple[Session, str]]:
    """Native when the agent can and knows the session, else a fresh session with the history at hand."""
    launch = bootstrap.link.launch
    method = native_method(bootstrap)
    if method is not None:
        bootstrap.asks.live_id = record.live_id
        if record.launch.decoy:
            bootstrap.link.alias = disguise(record.live_id, record.name)
        answer = yield from bootstrap.ask(method, attach_params(record.live_id, launch), "session_open_timeout")
        bootstrap.forget()  # a replay was heard before, and is in the journal
        if answer.error is None:
            attached = result_members(method, answer.result)
            session = adopt(context, bootstrap, connection, record.name, attached, record=record)
            session.goes_by(record.live_id)
            return session, NATIVE
        if not is_unknown_session(answer.error, record.name if record.launch.decoy else record.live_id):
            context.note("warning", f"session {record.name}: {method} failed, starting over: {answer.error}")
    transcript = yield from context.load(TranscriptQuery(record.session_id, launch.cwd))
    params = {"cwd": launch.cwd, "mcpServers": msgspec.Raw(launch.mcp_servers.encode())}
    if bootstrap.link.v1 is not None:
        bootstrap.link.v1.keep_apart()
    fresh = yield from bootstrap.request("session/new", params, "session_open_timeout")
    session = adopt(context, bootstrap, connection, record.name, fresh, record=record)
    session.goes_by(string(fresh.get("sessionId")) or bootstrap.process)
    if record.launch.decoy:
        session.untold["launch"] = msgspec.structs.replace(record.launch, decoy=False)
    if isinstance(transcript, str):
        session.preamble = preamble(transcript)
    return session, FALLBACK


def tell_tier(session: Session, tier: str, *, quiet: bool = False) -> None:
    """Keeps which tier it was, and tells who hears the session; `quiet`: they are told by an answer."""
    if not quiet:
        params = {"sessionId": session.id, "tier": tier}
        session.publish(msgspec.json.encode({"jsonrpc": "2.0", "method": RESUMED, "params": params}))
    if session.journal is not None:
        session.journal.add(Kind.RESUMED, {"tier": tier, "liveId": session.live_id})
        session.untold["live_id"] = session.live_id
        if session.preamble is None:
            session.past_told()


def launch_again(program: AgentProgram, stored: StoredLaunch, env: dict[str, str], folder: str) -> Launch:
    """A launch out of the journal. What was secret comes from the agent's package and from `env`, or is gone; `folder`
    is where files may be written."""
    launch = Launch(
        program=program,
        runtime=stored.runtime,
        cwd=stored.cwd,
        args=stored.args,
        env=merge_env(program.env, env),
        protocol_version=stored.protocol_version,
        client_capabilities=stored.client_capabilities,
        mcp_servers=stored.mcp_servers,
    )
    return instruct(launch, stored.instructions, folder)
