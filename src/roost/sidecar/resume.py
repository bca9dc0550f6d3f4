"""AcpResumeSessionRequest: natively when the agent can, else a fresh session that is told of its past (section 7)."""

from __future__ import annotations

import msgspec

from roost.sidecar.bootstrap import Bootstrap, handshake_failed, result_members
from roost.sidecar.callers import Caller, Connection
from roost.sidecar.commands import AgentQuery, SessionQuery, TranscriptQuery
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation
from roost.sidecar.decoy import decoy_for, disguise
from roost.sidecar.gen.messages import AcpResumeSessionRequest, AcpRuntimeKind, AcpSessionResumedResponse
from roost.sidecar.instructions import own_variable
from roost.sidecar.journal import StoredLaunch, StoredSession
from roost.sidecar.launch import AgentProgram, Launch, merge_env, unknown_agent
from roost.sidecar.listing import stored_holders
from roost.sidecar.naming import key_of
from roost.sidecar.open import (
    Outcome,
    adopt,
    deliver,
    kept,
    open_new,
    open_session,
)
from roost.sidecar.payloads import Json
from roost.sidecar.redaction import stored_launch
from roost.sidecar.rest import alone, quiet
from roost.sidecar.restart import attach_params, native_method
from roost.sidecar.sessions import Session, settled
from roost.sidecar.tiers import FALLBACK, NATIVE, is_unknown_session, preamble
from roost.sidecar.wake import launch_again, tell_tier

RESUME_CAPABILITIES = '{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}'


def resume_session(context: Context, connection: Connection, request: AcpResumeSessionRequest) -> Conversation[Outcome]:
    """A session of the caller's that is live is joined; a foreign one is treated like a missing one."""
    caller = connection.caller
    yield from quiet(context, connection, request.session_id)
    # Else two agents would have one session.
    while (over := caller.ending.get(request.session_id) or caller.resuming.get(request.session_id)) is not None:
        yield over
        yield from quiet(context, connection, request.session_id)
    live = caller.sessions.get(request.session_id)
    if live is not None:
        live.join(connection)
        yield from settled(live)
        return Outcome(AcpSessionResumedResponse(session_id=live.id, mode=NATIVE))
    known: StoredSession | None = None

    def launched() -> Conversation[Launch]:
        nonlocal known
        record = yield from context.load(SessionQuery(key_of(caller.name, request.session_id)))
        if isinstance(record, StoredSession) and record.owner == caller.name and caller.named:
            known = record
        agent_type = request.agent_type or ("" if known is None else known.launch.agent_type)
        program = yield from context.load(AgentQuery(agent_type))
        if program is None:
            raise unknown_agent(agent_type)
        return resume_launch(context, program, request, known)

    def opened(bootstrap: Bootstrap) -> Conversation[Outcome]:
        session_id = request.session_id if known is None else known.live_id
        is_decoy = known is not None and known.launch.decoy
        if (yield from is_foreign(context, caller, session_id, bootstrap.link.launch, known)):
            is_decoy, session_id = True, decoy_for(request.session_id, f"{bootstrap.process} {context.stage.now}")
        attached = yield from attach(context, bootstrap, session_id, told_as=request.session_id if is_decoy else None)
        replayed = 0 if known is None or attached is None else len(bootstrap.notifications)
        if attached is not None:
            mode, session = NATIVE, adopt(context, bootstrap, connection, request.session_id, attached, record=known)
            session.goes_by(session_id)
            if session.journal is not None:
                session.journal.change(closed=False, launch=launch_to_keep(session, known, decoy=is_decoy))
        else:
            mode, session = FALLBACK, (yield from start_over(context, bootstrap, connection, request, known))
        yield from kept(context, session, bootstrap)
        response = AcpSessionResumedResponse(session_id=session.id, mode=mode)

        def then() -> None:
            tell_tier(session, mode, quiet=True)
            deliver(session, bootstrap, heard_before=replayed)

        return Outcome(response, then)

    opening = open_session(context, connection, request.session_id, launched(), opened)
    over = caller.resuming[request.session_id] = context.stage.wait()
    try:
        return (yield from alone(context, connection, request.session_id, opening))
    finally:
        del caller.resuming[request.session_id]
        over.resolve()


def resume_launch(
    context: Context, program: AgentProgram, request: AcpResumeSessionRequest, known: StoredSession | None
) -> Launch:
    """What the session was created with; the fields of the request win. Unknown sessions get the defaults of old."""
    if known is not None:
        launch = context.secrets.get(known.session_id)
        if launch is None:
            launch = launch_again(program, known.launch, request.env, context.folder)
        told = None if own_variable(launch) in request.env else launch.instructions
        env, cwd = merge_env(launch.env, request.env), request.cwd or launch.cwd
        return msgspec.structs.replace(launch, program=program, cwd=cwd, env=env, instructions=told)
    runtime = AcpRuntimeKind.JAVA_SCRIPT if program.runtime is None else program.runtime
    return Launch(
        program=program,
        runtime=runtime,
        cwd=request.cwd,
        args=program.launch_args,
        env=merge_env(program.env, request.env),
        protocol_version=1,
        client_capabilities=RESUME_CAPABILITIES,
        mcp_servers="[]",
    )


def launch_to_keep(session: Session, known: StoredSession | None, *, decoy: bool) -> StoredLaunch:
    """What the next wake starts: the fields of the request that won go on winning."""
    launch = stored_launch(session.link.launch)
    names = set(launch.env_names).union(() if known is None else known.launch.env_names)
    return msgspec.structs.replace(launch, env_names=tuple(sorted(names)), decoy=decoy)


def attach(
    context: Context, bootstrap: Bootstrap, session_id: str, *, told_as: str | None = None
) -> Conversation[Json | None]:
    """The native tier. None when the agent cannot, or does not know the session; any other error is the caller's.

    `told_as`: `session_id` is a decoy, and what the agent says of it is told as if of this one.
    """
    link, launch = bootstrap.link, bootstrap.link.launch
    if told_as is not None:
        link.alias = disguise(session_id, told_as)
    method = native_method(bootstrap)
    if method is None:
        return None
    bootstrap.asks.live_id = session_id
    params = attach_params(session_id, launch)
    if launch.by_state and (link.v1 is None or link.v1.attaches("load")):
        params["replayFrom"] = {"type": "start"}
    answer = yield from bootstrap.ask(method, params, "session_open_timeout")
    if answer.error is not None:
        if is_unknown_session(answer.error, told_as or session_id):
            bootstrap.forget()  # a partial replay of a session that is not there
            return None
        raise handshake_failed(method, answer)
    return result_members(method, answer.result)


def is_foreign(
    context: Context, caller: Caller, session_id: str, launch: Launch, known: StoredSession | None
) -> Conversation[bool]:
    """Whether the agent may know that id as a session of somebody else, and would show it."""
    if known is not None and known.launch.agent_type == launch.agent_type:
        return False  # the id is from this very agent, and was the caller's then
    stored = yield from stored_holders(context, (session_id,))  # always: it takes its time
    return any(holder.owner != caller.name for holder in stored) or context.sessions.is_strangers(session_id, caller)


def start_over(
    context: Context,
    bootstrap: Bootstrap,
    connection: Connection,
    request: AcpResumeSessionRequest,
    known: StoredSession | None,
) -> Conversation[Session]:
    """The fallback tier: a new session on the same agent, told at its first prompt where its past can be read."""
    bootstrap.asks.session_id = ""
    path = request.transcript_path
    if not path and known is not None:
        found = yield from context.load(TranscriptQuery(known.session_id, bootstrap.link.launch.cwd))
        path = found if isinstance(found, str) else None
    session = yield from open_new(context, bootstrap, connection, alone_with=request.session_id)
    if path:
        session.preamble = preamble(path)
    return session
