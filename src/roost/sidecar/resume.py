"""AcpResumeSessionRequest: natively when the agent can, else a fresh session that is told of its past (section 7)."""

from __future__ import annotations

from typing import Any

import msgspec

from roost.errors import RpcError
from roost.sidecar.callers import Connection
from roost.sidecar.commands import AgentQuery, SessionQuery
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation
from roost.sidecar.gen.messages import AcpResumeSessionRequest, AcpRuntimeKind, AcpSessionResumedResponse
from roost.sidecar.launch import Launch, merge_env, unknown_agent
from roost.sidecar.open import (
    Bootstrap,
    Outcome,
    adopt,
    deliver,
    handshake_failed,
    open_new,
    open_session,
    result_members,
)
from roost.sidecar.payloads import Json
from roost.sidecar.prompt import settled
from roost.sidecar.records import FOREIGN, SessionRecord
from roost.sidecar.restart import attach_params, native_method
from roost.sidecar.sessions import Session

NATIVE = "native"
FALLBACK = "fallback"
RESUME_CAPABILITIES = '{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}'

INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002


def resume_session(context: Context, connection: Connection, request: AcpResumeSessionRequest) -> Conversation[Outcome]:
    """A session id that is live and the caller's own is attached to; a foreign one is treated like a missing one."""
    caller = connection.caller
    live = context.sessions.find(request.session_id)
    if live is not None and live.owner is caller:
        live.join(connection)
        yield from settled(live)
        return Outcome(AcpSessionResumedResponse(session_id=live.id, mode=NATIVE))
    foreign = live is not None

    def launched() -> Conversation[Launch]:
        nonlocal foreign
        record = yield from context.load(SessionQuery(request.session_id, caller.name))
        foreign = foreign or record is FOREIGN
        program = yield from context.load(AgentQuery(request.agent_type))
        if program is None:
            raise unknown_agent(request.agent_type)
        return resume_launch(program, request, record if isinstance(record, SessionRecord) else None)

    def opened(bootstrap: Bootstrap) -> Conversation[Outcome]:
        attached = None if foreign else (yield from attach(context, bootstrap, request.session_id))
        if attached is not None:
            mode, session = NATIVE, adopt(context, bootstrap, connection, request.session_id, attached)
        else:
            mode, session = FALLBACK, (yield from start_over(context, bootstrap, connection, request))
        response = AcpSessionResumedResponse(session_id=session.id, mode=mode)
        return Outcome(response, lambda: deliver(session, bootstrap))

    return (yield from open_session(context, connection, request.session_id, launched(), opened))


def resume_launch(program: Any, request: AcpResumeSessionRequest, known: SessionRecord | None) -> Launch:
    """What the session was created with; the fields of the request win. Unknown sessions get the defaults of old."""
    if known is not None:
        launch = known.launch
        env = merge_env(launch.env, request.env)
        cwd = request.cwd or launch.cwd
        return msgspec.structs.replace(launch, program=program, cwd=cwd, env=env)
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


def attach(context: Context, bootstrap: Bootstrap, session_id: str) -> Conversation[Json | None]:
    """The native tier. None when the agent cannot, or does not know the session; any other error is the caller's."""
    launch = bootstrap.link.launch
    method = native_method(bootstrap.initialized, launch)
    if method is None:
        return None
    params = attach_params(session_id, launch)
    if launch.by_state:
        params["replayFrom"] = {"type": "start"}
    answer = yield from bootstrap.ask(method, params, "session_open_timeout")
    if answer.error is not None:
        if is_unknown_session(answer.error, session_id):
            bootstrap.forget()  # a partial replay of a session that is not there
            return None
        raise handshake_failed(method, answer)
    return result_members(method, answer.result)


def is_unknown_session(error: RpcError, session_id: str) -> bool:
    """Whether the agent says that it has no such session, and nothing worse."""
    data = error.data if isinstance(error.data, dict) else {}
    if data.get("kind") == "unknown_session":
        return True
    if error.code == INTERNAL_ERROR and data.get("details") == "NotFoundError":
        return True
    return error.code == RESOURCE_NOT_FOUND and data.get("sessionId") == session_id  # ERR-3


def start_over(
    context: Context, bootstrap: Bootstrap, connection: Connection, request: AcpResumeSessionRequest
) -> Conversation[Session]:
    """The fallback tier: a new session on the same agent, told at its first prompt where its past can be read."""
    bootstrap.asks.session_id = ""
    session = yield from open_new(context, bootstrap, connection)
    if request.transcript_path:
        session.preamble = (
            "You are continuing an earlier session. The full prior transcript is at "
            f"`{request.transcript_path}`. Read it with your file tools if you need context before answering."
        )
    return session
