"""What a v1 agent asks of the client: permissions, forms, MCP servers and extensions.

Each is answered once: by the client, or here when the work is cancelled, closed or over. Files and terminals are asked
of the driver (`agent_services`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from roost.acp.bridge.agent_session import AgentSession, Question
from roost.acp.bridge.grants import grant_of
from roost.acp.bridge.payload import Json, as_object, as_text, invalid_params, objects, strict, with_meta
from roost.acp.bridge.wire import rpc_error
from roost.acp.v2 import (
    CreateElicitationRequest,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
)
from roost.acp.v2.gen.methods import NOTIFICATIONS, REQUESTS
from roost.errors import CodecError, RpcError
from roost.rpc.events import Answered, Called, Failed, Notified
from roost.rpc.messages import METHOD_NOT_FOUND, REQUEST_CANCELLED
from roost.wire.decode import decode, encode

if TYPE_CHECKING:
    from roost.acp.bridge.v1_agent import V1AgentBridge

CANCELLED: Final = b'{"outcome":{"outcome":"cancelled"}}'
UNTITLED: Final = "Permission required"
PERMISSION: Final = "session/request_permission"
_ALLOWS: Final = ("allow_once", "allow_always")

_PASSED: Final = frozenset({"mcp/connect", "mcp/message", "mcp/disconnect"})
_PASSED_NOTICES: Final = frozenset({"mcp/message", "elicitation/complete"})


class Questions:
    """The open questions of one agent."""

    def __init__(self, bridge: V1AgentBridge) -> None:
        self._bridge = bridge
        self._asked: dict[int, Question] = {}  # by our call to the client

    # ---- from the agent

    def take(self, request: Called, params: Json) -> None:
        method = request.method
        try:
            if method == PERMISSION:
                self._permission(request, params)
            elif method == "elicitation/create":
                self._elicitation(request, params)
            elif method.startswith(("fs/", "terminal/")):
                self._bridge.service_requests.take(request, params)
            elif method in _PASSED:
                payload = strict(REQUESTS[method].params, params, self._bridge.losses)
                if payload is None:
                    raise invalid_params(f"not what {method} takes")
                self._ask(Question(request.token, method), method, payload)
            elif method.startswith("_"):  # BR-6
                self._ask(Question(request.token, method), method, _raw(request))
            else:
                self._bridge.losses.count("vendor_traffic")
                raise RpcError(METHOD_NOT_FOUND, "Method not found", {"method": method})
        except RpcError as error:
            self._bridge.agent.fail(request.token, error)

    def take_notification(self, notice: Notified, params: Json) -> None:
        method = notice.method
        if method.startswith("_") or method in _PASSED_NOTICES:
            payload = _raw(notice)
            if method in _PASSED_NOTICES:
                payload = strict(NOTIFICATIONS[method].params, params, self._bridge.losses)
                if payload is None:
                    self._bridge.losses.count("malformed_update")
                    return
            self._bridge.client.notify(method, payload)
        else:
            self._bridge.losses.count("vendor_traffic")

    def withdrawn(self, token: int) -> None:
        """The agent no longer waits: the client need not answer, and the agent gets its answer here (CAN-4)."""
        if token in self._bridge.service_requests:
            self._bridge.service_requests.withdrawn(token)
        elif self.drop(token):
            self._bridge.agent.fail(token, RpcError(REQUEST_CANCELLED, "Request cancelled"))

    def drop(self, token: int) -> bool:
        """Takes the question of a request back from the client; whether there was one."""
        for call, question in self._asked.items():
            if question.token == token:
                self._close(call)
                return True
        return False

    # ---- permissions and forms

    def _permission(self, request: Called, params: Json) -> None:
        session = self._session(params)
        if session is None:
            self._bridge.agent.answer(request.token, CANCELLED)
            return
        bridge = self._bridge
        options = [option for option in map(_option, objects(params.get("options"))) if option is not None]
        if len(options) < len(objects(params.get("options"))):
            bridge.losses.count("unknown_option_kind")
        if not options:  # PER-2
            raise invalid_params("no options", ("options",))
        call = as_object(params.get("toolCall"))
        identifier = call.get("toolCallId")
        v2: Json = {"sessionId": session.id, "title": UNTITLED, "options": options}
        title = as_text(call.get("title"))
        question = Question(request.token, "permission", session.id, options=_kinds(options))
        if isinstance(identifier, str):
            known = session.knows_tool_call(identifier)
            patch = session.shaper.tool_call(call, not known)
            if not known:  # some announce a tool nowhere else
                self._bridge.turns.accept(session)  # the user's message comes before what its turn does
                for update in session.shaped({**call, "sessionUpdate": "tool_call"}):
                    bridge.tell(session, update)
            session.note_title(identifier, call.get("title"))
            title = title or session.tool_title(identifier)
            question.grant = grant_of(call, session.note_facts(identifier, call).kind, session.roots[0])
            v2["subject"] = {"type": "tool_call", "toolCall": patch}
        v2["title"] = title or UNTITLED
        payload = strict(RequestPermissionRequest, with_meta(v2, params), bridge.losses)
        if payload is None:
            raise invalid_params("a permission that cannot be asked for")
        self._put(session, question, PERMISSION, payload)

    def consent(self, session: AgentSession, token: int, v2: Json) -> None:
        """Asks for what the agent wants of the driver. RpcError: it cannot be asked."""
        payload = strict(RequestPermissionRequest, v2, self._bridge.losses)
        if payload is None:
            raise invalid_params("a permission that cannot be asked for")
        question = Question(token, "consent", session.id, options=_kinds(v2["options"]))
        self._put(session, question, PERMISSION, payload)

    def _elicitation(self, request: Called, params: Json) -> None:
        v2 = dict(params)
        session: AgentSession | None = None
        if isinstance(params.get("sessionId"), str):
            v2.pop("requestId", None)  # ELI-3
        elif "requestId" in params:
            scope = self._bridge.scope_of(params["requestId"])
            if scope is None:
                raise invalid_params("no such request is open", ("requestId",))
            del v2["requestId"]
            v2.update(scope)
        if isinstance(v2.get("sessionId"), str):
            session = self._session(v2)
            if session is None:
                self._bridge.agent.answer(request.token, b'{"action":"cancel"}')
                return
        payload = strict(CreateElicitationRequest, v2, self._bridge.losses)
        if payload is None:
            raise invalid_params("an elicitation that cannot be shown")
        self._put(session, Question(request.token, "elicitation"), request.method, payload)

    def _session(self, params: Json) -> AgentSession | None:
        """The session a question is about; None when its work is cancelled or it is closed (PER-10)."""
        identifier = params.get("sessionId")
        session = self._bridge.sessions.get(identifier) if isinstance(identifier, str) else None
        if session is None:
            raise invalid_params("no such session", ("sessionId",))
        turn = session.turn
        return None if session.closed or (turn is not None and turn.cancelled) else session

    def _put(self, session: AgentSession | None, question: Question, method: str, payload: bytes) -> None:
        if session is not None:
            question.session_id = session.id
            question.in_turn = self._bridge.turns.asking(session)
        try:
            self._ask(question, method, payload)
        except RpcError:
            if session is not None and question.in_turn:
                self._bridge.turns.asked(session)
            raise

    def _ask(self, question: Question, method: str, payload: bytes | None) -> None:
        self._asked[self._bridge.client.call(method, payload)] = question

    # ---- from the client

    def settle(self, outcome: Answered | Failed) -> None:
        question = self._asked.pop(outcome.call, None)
        if question is None:
            return
        agent = self._bridge.agent
        if question.kind == "consent":
            chosen = "" if isinstance(outcome, Failed) else _chosen(outcome.result, question.options)[0]
            self._bridge.service_requests.decided(question.token, chosen)
        elif isinstance(outcome, Failed):
            error = rpc_error(outcome.error)
            if question.kind == "permission" and error.code == REQUEST_CANCELLED:  # CAN-13
                agent.answer(question.token, CANCELLED)
            else:
                agent.fail(question.token, error)
        elif question.kind == "permission":
            chosen, answer = _chosen(outcome.result, question.options)
            self._granted(question, chosen)
            agent.answer(question.token, answer)
        else:
            agent.answer(question.token, bytes(outcome.result))
        self._resumed(question)

    def _granted(self, question: Question, chosen: str) -> None:
        """A yes in a turn is remembered until it is used, or the turn is over."""
        session = self._bridge.sessions.get(question.session_id or "")
        turn = None if session is None or not question.in_turn else session.turn
        if turn is None or question.grant is None or question.options.get(chosen) not in _ALLOWS:
            return
        turn.grants.append(question.grant)
        del turn.grants[: -self._bridge.limits.grants]

    def cancel(self, session_id: str | None) -> None:
        """All open questions of a session are answered as cancelled; None: those of every session, and of none."""
        for call, question in list(self._asked.items()):
            if session_id is None or question.session_id == session_id:
                self._close(call)
                if question.kind == "permission":
                    self._bridge.agent.answer(question.token, CANCELLED)
                elif question.kind == "consent":
                    self._bridge.service_requests.decided(question.token, "")
                elif question.kind == "elicitation":  # ELI-17
                    self._bridge.agent.answer(question.token, b'{"action":"cancel"}')
                else:
                    self._bridge.agent.fail(question.token, RpcError(REQUEST_CANCELLED, "Request cancelled"))

    def _close(self, call: int) -> None:
        """Takes a question back from the client; an answer that still comes is ignored."""
        question = self._asked.pop(call)
        self._bridge.client.withdraw(call)
        self._bridge.client.forget(call)
        self._resumed(question)

    def _resumed(self, question: Question) -> None:
        session = self._bridge.sessions.get(question.session_id or "")
        if question.in_turn and session is not None:
            self._bridge.turns.asked(session)


def _option(option: Json) -> Json | None:
    """An option that says what it means; a kind that is missing is none that allows (B-29)."""
    identifier = option.get("optionId")
    if not isinstance(identifier, str):
        return None
    v2: Json = {"optionId": identifier, "name": as_text(option.get("name"), identifier)}
    v2["kind"] = as_text(option.get("kind"), "_unknown")
    return with_meta(v2, option)


def _kinds(options: list[Json]) -> dict[str, str]:
    """What choosing each id means; nothing where options of one id disagree."""
    kinds: dict[str, str] = {}
    for option in options:
        identifier, kind = option["optionId"], option["kind"]
        kinds[identifier] = kind if kinds.get(identifier, kind) == kind else ""
    return kinds


def _chosen(result: Any, offered: dict[str, str]) -> tuple[str, bytes]:
    """The option that was chosen and what a v1 agent gets; "" and cancelled for anything not offered (PER-4, PER-5)."""
    try:
        answer = decode(RequestPermissionResponse, result)
    except CodecError:
        return "", CANCELLED
    chosen = answer.outcome
    if not isinstance(chosen, SelectedPermissionOutcome) or chosen.option_id not in offered:
        return "", CANCELLED
    outcome = with_meta({"outcome": "selected", "optionId": chosen.option_id}, {"_meta": chosen.meta})
    return chosen.option_id, encode(with_meta({"outcome": outcome}, {"_meta": answer.meta}))


def _raw(event: Called | Notified) -> bytes | None:
    return None if event.params is None else bytes(event.params)
