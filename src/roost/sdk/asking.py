"""How an agent asks the user through the client: permissions and elicitations of a session, elicitations of a request.

A cancelled wait withdraws the question; every way an answer can fail comes back as an outcome that is a no.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from roost.acp import v2
from roost.errors import ConnectionClosed, RemoteProtocolError, RpcError
from roost.rpc.messages import REQUEST_CANCELLED
from roost.sdk import elicitation, permissions
from roost.sdk.elicitation import UNAVAILABLE, Action, Elicited
from roost.sdk.forms import Form, check_no_secrets
from roost.sdk.permissions import Answer, Permission
from roost.wire.model import JsonObject

if TYPE_CHECKING:
    from roost.sdk.agent_link import AgentLink
    from roost.sdk.agent_session import AgentSession

Ask: TypeAlias = Callable[[Any], Awaitable[Any]]

_FAILURES = (RpcError, RemoteProtocolError, ConnectionClosed, TimeoutError)


async def ask_permission(
    session: AgentSession,
    title: str,
    subject: v2.RequestPermissionSubject | None,
    description: str | None,
    options: Sequence[v2.PermissionOption] | None,
    remember: str | None,
    answer_timeout: float | None,
    meta: JsonObject | None,
) -> Permission:
    """Asks for a permission, unless the user has settled the matter for this session before."""
    if remember is not None and (known := session.remembered.get(remember)) is not None:
        return Permission(Answer.REMEMBERED, known.option)
    options = list(permissions.usual_options() if options is None else options)
    permissions.check_options(options)
    request = v2.RequestPermissionRequest(
        session_id=session.id, title=title, description=description, subject=subject, options=options, meta=meta
    )
    try:
        async with asyncio.timeout(answer_timeout):
            response = await session.ask(request)
    except _FAILURES as error:
        return Permission(Answer(_ending_of(error)))
    permission = permissions.judge(options, response)
    if remember is not None and permission.always:
        session.remembered[remember] = permission
    return permission


async def ask_form(
    session: AgentSession,
    message: str,
    form: Form | v2.ElicitationSchema,
    tool_call_id: str | None,
    answer_timeout: float | None,
    meta: JsonObject | None,
) -> Elicited:
    """Asks for a form on behalf of a session (ELI-2)."""
    scope = {"session_id": session.id, "tool_call_id": tool_call_id}
    return await form_outcome(session.link, session.ask, scope, message, form, answer_timeout, meta)


async def ask_url(
    session: AgentSession,
    message: str,
    url: str,
    tool_call_id: str | None,
    answer_timeout: float | None,
    meta: JsonObject | None,
) -> Elicited:
    """Asks to visit a URL on behalf of a session."""
    scope = {"session_id": session.id, "tool_call_id": tool_call_id}
    return await url_outcome(session.link, session.ask, scope, message, url, answer_timeout, meta)


async def form_outcome(
    link: AgentLink,
    ask: Ask,
    scope: dict[str, Any],
    message: str,
    form: Form | v2.ElicitationSchema,
    answer_timeout: float | None = None,
    meta: JsonObject | None = None,
) -> Elicited:
    """Asks for a form. `scope`: the fields that say what it belongs to."""
    if not elicitation.can_ask(link.capabilities, "form"):
        return UNAVAILABLE
    schema = form.schema() if isinstance(form, Form) else form
    check_no_secrets(schema)
    request = v2.CreateFormElicitationRequest(message=message, requested_schema=schema, meta=meta, **scope)
    try:
        async with asyncio.timeout(answer_timeout):
            response = await ask(request)
    except _FAILURES as error:
        return Elicited(Action(_ending_of(error)))
    return elicitation.judge_form(schema, response)


async def url_outcome(
    link: AgentLink,
    ask: Ask,
    scope: dict[str, Any],
    message: str,
    url: str,
    answer_timeout: float | None = None,
    meta: JsonObject | None = None,
) -> Elicited:
    """Asks to visit a URL. `scope` as in `form_outcome`."""
    elicitation.check_url(url)
    if not elicitation.can_ask(link.capabilities, "url"):
        return UNAVAILABLE
    elicitation_id = link.new_elicitation_id()
    request = v2.CreateUrlElicitationRequest(
        message=message, url=url, elicitation_id=elicitation_id, meta=meta, **scope
    )
    try:
        async with asyncio.timeout(answer_timeout):
            response = await ask(request)
    except _FAILURES as error:
        return Elicited(Action(_ending_of(error)))
    return elicitation.judge_url(elicitation_id, response)


def _ending_of(error: Exception) -> str:
    """How a question ended that failed: a value of `Answer` and of `Action`."""
    match error:
        case RpcError(code=code):
            return "cancelled" if code == REQUEST_CANCELLED else "refused"
        case RemoteProtocolError():
            return "invalid"
        case ConnectionClosed():
            return "disconnected"
    return "timed_out"
