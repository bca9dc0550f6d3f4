"""An agent's own `session/list`, without the sessions of other callers.

Agents keep their own files and know nothing of callers. What is known here, alive or in the journal, to be somebody
else's is not told: a stranger's session looks exactly like a missing one. Rows nobody here knows are the agent's own,
as they are for a resume. Pages may come out short, with the agent's cursor.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from roost.errors import SidecarError
from roost.sidecar.callers import Caller
from roost.sidecar.commands import HoldersQuery
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation
from roost.sidecar.gen.messages import AcpResponse, AcpSessionRpcResponse
from roost.sidecar.journal import Holder
from roost.sidecar.payloads import encoded, items, member, members
from roost.sidecar.sessions import Session


def without_strangers(context: Context, session: Session, response: AcpResponse) -> Conversation[AcpResponse]:
    """The answer for the owner of `session`. It is put together anew also when nothing is left out: nobody can tell.

    SidecarError `io`: whose the sessions are cannot be found out.
    """
    if not isinstance(response, AcpSessionRpcResponse):
        return response
    answer = members(response.response.encode()) or {}
    result = members(answer.get("result")) or {}
    rows = items(result.get("sessions"))
    if rows is None:
        return response
    ids = [member(row, "sessionId") for row in rows]
    names = {name for name in ids if isinstance(name, str)}
    strange = yield from strangers(context, session.owner, session.link.launch.agent_type, names)
    kept = [row for row, name in zip(rows, ids, strict=True) if not (isinstance(name, str) and name in strange)]
    answer["result"] = encoded({**result, "sessions": kept})
    return AcpSessionRpcResponse(response.session_id, msgspec.json.encode(answer).decode())


def strangers(
    context: Context, caller: Caller, agent_type: str, names: Collection[str]
) -> Conversation[frozenset[str]]:
    """Those of the ids an agent tells that are somebody else's sessions, and none of the caller's with that agent."""
    found = yield from stored_holders(context, names)
    others = {holder.name for holder in found if holder.owner != caller.name}
    own = {holder.name for holder in found if holder.owner == caller.name and holder.agent_type == agent_type}
    for live in context.sessions.all():
        if live.owner is not caller:
            others |= {live.id, live.live_id}
        elif live.link.launch.agent_type == agent_type:
            own |= {live.id, live.live_id}
    return frozenset(others - own).intersection(names)


def stored_holders(context: Context, names: Collection[str]) -> Conversation[list[Holder]]:
    """Whose stored sessions have these ids. SidecarError `io` when that cannot be found out."""
    found = yield from context.load(HoldersQuery(tuple(names)))
    if isinstance(found, list):
        return found
    if context.keeper.enabled:
        raise SidecarError("io", "the journal could not be read")
    return []
