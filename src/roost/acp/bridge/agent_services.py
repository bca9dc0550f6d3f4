"""Files and terminals of a v1 agent: passed to the driver, asked about where they change something, shown in v2.

    request ──► ServiceRequest ──► driver ──wish──► granted already, or the user is asked ──► ServiceDecided
                                     └──► service_answered ──► the agent; a written file also as a diff

A wish that the user has allowed in this turn with the agent's own question, or for the whole session, is granted at
once; any other becomes a permission request like those of a v2 agent, and every way of not answering it is a no.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from roost.acp.bridge.agent_session import AgentSession
from roost.acp.bridge.diffs import diff_from_texts
from roost.acp.bridge.events import FileWrite, ServiceDecided, ServiceRequest, ServiceWithdrawn, Wish
from roost.acp.bridge.payload import Json, as_object, as_text, invalid_params
from roost.errors import RpcError
from roost.rpc.events import Called
from roost.rpc.messages import METHOD_NOT_FOUND, REQUEST_CANCELLED

if TYPE_CHECKING:
    from roost.acp.bridge.v1_agent import V1AgentBridge

ALLOW_ONCE: Final = "allow_once"
ALLOW_ALWAYS: Final = "allow_always"
_REJECT: Final = "reject_once"
_WRITES: Final = "writes"
_COMMANDS: Final = "commands"


class _Served(Struct):
    """One request under way."""

    session_id: str
    params: Json
    wish: Wish | None = None
    asked: bool = False  # the user is
    card: str = ""  # the tool call of ours that shows it
    diff: Json | None = None


class Services:
    """The service requests of one agent that are not answered yet."""

    def __init__(self, bridge: V1AgentBridge) -> None:
        self._bridge = bridge
        self._open: dict[int, _Served] = {}
        self._always: set[tuple[str, str]] = set()  # session and what the user allowed for all of it
        self._made = 0  # tool calls made up for writes

    def __contains__(self, token: int) -> bool:
        return token in self._open

    def take(self, request: Called, params: Json) -> None:
        """RpcError: it is not offered, or there is no such session."""
        offered = self._bridge.services
        kind = request.method.partition("/")[0]
        files = as_object(offered.get("fs"))
        if not (offered.get("terminal") is True if kind == "terminal" else True in files.values()):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", {"method": request.method})
        session = self._bridge.sessions.get(as_text(params.get("sessionId")))
        if session is None or session.closed:
            raise invalid_params("no such session", ("sessionId",))
        self._open[request.token] = _Served(session.id, params)
        self._bridge.emit(ServiceRequest(request.token, session.id, request.method, params))

    def withdrawn(self, token: int) -> None:
        """The agent no longer waits; it gets its answer here (CAN-4)."""
        served = self._open.pop(token)
        if served.asked:
            self._bridge.questions.drop(token)
        self._bridge.emit(ServiceWithdrawn(token))
        self._bridge.agent.fail(token, RpcError(REQUEST_CANCELLED, "Request cancelled"))
        self._show(served, done=False)

    def ended(self, token: int, *, done: bool) -> bool:
        """The driver has its answer; whether the agent still waits for it."""
        served = self._open.pop(token, None)
        if served is None:
            return False
        if served.asked:  # the driver gave up while the user thought
            self._bridge.questions.drop(token)
        self._show(served, done=done)
        return True

    def forget(self, session_id: str) -> None:
        """A session is over, and what was allowed for all of it."""
        self._always = {entry for entry in self._always if entry[0] != session_id}

    # ---- wishes

    def wishes(self, token: int, wish: Wish) -> None:
        """The driver may do it only when ServiceDecided says so."""
        served = self._open.get(token)
        if served is None:
            return
        session = self._bridge.sessions.get(served.session_id)
        if session is None or session.closed or served.asked:
            self._decide(token, False)
            return
        served.wish = wish
        served.diff = self._diff(served, wish) if isinstance(wish, FileWrite) else None
        kind = _WRITES if isinstance(wish, FileWrite) else _COMMANDS
        if (session.id, kind) in self._always or _use_grant(session, wish):
            self._decide(token, True)
        elif session.turn is not None and session.turn.cancelled:  # PER-10
            self._decide(token, False)
        else:
            self._ask(session, token, served, wish, kind)

    def writes(self, token: int, write: FileWrite) -> None:
        """Nobody is asked: it is allowed already."""
        served = self._open.get(token)
        if served is not None and served.wish is None:
            served.wish, served.diff = write, self._diff(served, write)

    def _ask(self, session: AgentSession, token: int, served: _Served, wish: Wish, kind: str) -> None:
        v2: Json = {
            "sessionId": session.id,
            "options": [
                {"optionId": ALLOW_ONCE, "name": "Allow", "kind": ALLOW_ONCE},
                {"optionId": ALLOW_ALWAYS, "name": f"Allow all {kind} of this session", "kind": ALLOW_ALWAYS},
                {"optionId": _REJECT, "name": "Reject", "kind": _REJECT},
            ],
        }
        if isinstance(wish, FileWrite):
            v2["title"] = f"Write {wish.path}"
            v2["subject"] = {"type": "tool_call", "toolCall": self._card(session, served, wish)}
        else:
            v2["title"] = "Run a command"
            v2["subject"] = {"type": "command", "command": wish.line, "cwd": wish.cwd}
            if wish.env:
                pairs = "\n".join(f"{name}={value}" for name, value in wish.env.items())
                v2["description"] = f"with these variables in its environment:\n{pairs}"
        served.asked = True
        try:
            self._bridge.questions.consent(session, token, v2)
        except RpcError:  # too many are open
            served.asked = False
            self._decide(token, False)

    def decided(self, token: int, option: str) -> None:
        """What the user chose; "" for every way of not choosing."""
        served = self._open.get(token)
        if served is None:
            return
        served.asked = False
        if option == ALLOW_ALWAYS:
            self._always.add((served.session_id, _WRITES if isinstance(served.wish, FileWrite) else _COMMANDS))
        self._decide(token, option in (ALLOW_ONCE, ALLOW_ALWAYS))

    def _decide(self, token: int, allowed: bool) -> None:
        self._bridge.emit(ServiceDecided(token, allowed))

    # ---- what a write looks like

    def _diff(self, served: _Served, write: FileWrite) -> Json:
        after = None if served.params.get("encoding") == "base64" else served.params.get("content")
        limits, losses = self._bridge.limits, self._bridge.losses
        if isinstance(after, str) and (write.is_new or write.before is not None):
            texts = {"oldText": write.before, "newText": after}
            return diff_from_texts(texts, write.path, limits.diff_bytes, losses)
        operation = "add" if write.is_new else "modify"
        return {"type": "diff", "changes": [{"operation": operation, "path": write.path}]}

    def _card(self, session: AgentSession, served: _Served, write: FileWrite) -> Json:
        """The tool call that a question is about: the agent's own, or one of ours, which is told first."""
        found = _tool_call(session, write)
        if found is not None:
            patch: Json = {"toolCallId": found[0], "locations": [{"path": write.path}]}
            return patch if found[1] else {**patch, "content": [served.diff]}
        card = self._new_card(served, write, "pending")
        self._bridge.tell(session, {"sessionUpdate": "tool_call_update", **card})
        return card

    def _new_card(self, served: _Served, write: FileWrite, status: str) -> Json:
        self._made += 1
        served.card = f"_bridge_{self._bridge.nonce}{self._made}"
        return {
            "toolCallId": served.card,
            "title": f"Write {write.path}",
            "kind": "edit",
            "status": status,
            "locations": [{"path": write.path}],
            "content": [served.diff],
        }

    def _show(self, served: _Served, *, done: bool) -> None:
        session, write = self._bridge.sessions.get(served.session_id), served.wish
        if session is None or session.closed or not isinstance(write, FileWrite):
            return
        if served.card:
            update = {"toolCallId": served.card, "status": "completed" if done else "failed"}
            self._bridge.tell(session, {"sessionUpdate": "tool_call_update", **update})
            return
        if not done:
            return
        found = _tool_call(session, write)
        if found is None:
            card = self._new_card(served, write, "completed")
            self._bridge.tell(session, {"sessionUpdate": "tool_call_update", **card})
        elif not found[1]:
            chunk = {"toolCallId": found[0], "content": served.diff}
            self._bridge.tell(session, {"sessionUpdate": "tool_call_content_chunk", **chunk})


def _tool_call(session: AgentSession, write: FileWrite) -> tuple[str, bool] | None:
    """The agent's own tool call about the file, and whether it shows a diff of it already."""
    for path in (write.path, write.asked) if write.plain else (write.path,):
        found = session.tool_call_about(path)
        if found is not None:
            return found[0], path in found[1].shown
    return None


def _use_grant(session: AgentSession, wish: Wish) -> bool:
    turn = session.turn
    if turn is None or turn.cancelled:
        return False
    for index, grant in enumerate(turn.grants):
        if grant.covers(wish):
            del turn.grants[index]
            return True
    return False
