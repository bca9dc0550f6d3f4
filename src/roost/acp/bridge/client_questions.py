"""What a v2 agent asks of a v1 client: permissions, forms, its MCP servers, extensions (4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from roost.acp.bridge.agent_questions import CANCELLED
from roost.acp.bridge.client_session import ClientSession
from roost.acp.bridge.losses import Losses
from roost.acp.bridge.payload import Json, as_object, as_text, invalid_params, objects, parse_object, with_meta
from roost.acp.bridge.wire import rpc_error
from roost.errors import RpcError
from roost.rpc.events import Answered, Called, Failed, Notified
from roost.rpc.messages import METHOD_NOT_FOUND, REQUEST_CANCELLED
from roost.wire.decode import encode

if TYPE_CHECKING:
    from roost.acp.bridge.v1_client import V1ClientBridge

_KINDS: Final = frozenset({"allow_once", "allow_always", "reject_once", "reject_always"})
_PASSED: Final = frozenset({"mcp/connect", "mcp/message", "mcp/disconnect"})
_PASSED_NOTICES: Final = frozenset({"mcp/message", "elicitation/complete"})


class _Question(Struct):
    token: int
    method: str
    session_id: str | None = None
    options: frozenset[str] = field(default_factory=frozenset)


class ClientQuestions:
    """The open questions of one v2 agent."""

    def __init__(self, bridge: V1ClientBridge) -> None:
        self._bridge = bridge
        self._asked: dict[int, _Question] = {}  # by our call to the client
        self._made = 0  # tool calls made up for permissions

    def take(self, request: Called, params: Json) -> None:
        method = request.method
        try:
            if method == "session/request_permission":
                self._permission(request, params)
            elif method == "elicitation/create":
                self._elicitation(request, params)
            elif method in _PASSED or method.startswith("_"):  # BR-6
                self._ask(_Question(request.token, method), None if request.params is None else bytes(request.params))
            else:
                raise RpcError(METHOD_NOT_FOUND, "Method not found", {"method": method})
        except RpcError as error:
            self._bridge.agent.fail(request.token, error)

    def take_notification(self, notice: Notified) -> None:
        if notice.method.startswith("_") or notice.method in _PASSED_NOTICES:
            self._bridge.client.notify(notice.method, None if notice.params is None else bytes(notice.params))

    def withdrawn(self, token: int) -> None:
        """The agent no longer waits."""
        for call, question in self._asked.items():
            if question.token == token:
                self._close(call)
                self._bridge.agent.fail(token, RpcError(REQUEST_CANCELLED, "Request cancelled"))
                return

    def cancel(self, session_id: str | None) -> None:
        """The agent gets its answers now; the client has to give its own, and they are ignored (B-19)."""
        for call, question in list(self._asked.items()):
            if session_id is None or question.session_id == session_id:
                self._asked.pop(call)
                self._bridge.client.forget(call)
                self._cancelled(question)

    def _cancelled(self, question: _Question) -> None:
        if question.method == "session/request_permission":
            self._bridge.agent.answer(question.token, CANCELLED)
        elif question.method == "elicitation/create":
            self._bridge.agent.answer(question.token, b'{"action":"cancel"}')
        else:
            self._bridge.agent.fail(question.token, RpcError(REQUEST_CANCELLED, "Request cancelled"))

    def settle(self, outcome: Answered | Failed) -> None:
        question = self._asked.pop(outcome.call, None)
        if question is None:
            return
        agent = self._bridge.agent
        if isinstance(outcome, Failed):
            agent.fail(question.token, rpc_error(outcome.error))
        elif question.method == "session/request_permission":
            agent.answer(question.token, _outcome(parse_object(outcome.result), question.options))
        else:
            agent.answer(question.token, bytes(outcome.result))

    def _ask(self, question: _Question, params: bytes | None) -> None:
        self._asked[self._bridge.client.call(question.method, params)] = question

    def _close(self, call: int) -> None:
        self._asked.pop(call)
        self._bridge.client.withdraw(call)
        self._bridge.client.forget(call)

    # ---- permissions

    def _permission(self, request: Called, params: Json) -> None:
        session = self._session(params)
        if session is None:
            self._bridge.agent.answer(request.token, CANCELLED)
            return
        options = [_option(option, self._bridge.losses) for option in objects(params.get("options"))]
        if not options:
            raise invalid_params("no options", ("options",))
        self._bridge.resend(session)
        call = self._tool_call(session, params, as_object(params.get("subject")))
        v1 = with_meta({"sessionId": session.id, "toolCall": call, "options": options}, params)
        question = _Question(request.token, request.method, session.id)
        question.options = frozenset(as_text(option.get("optionId")) for option in options)
        self._ask(question, encode(v1))

    def _tool_call(self, session: ClientSession, params: Json, subject: Json) -> Json:
        """The tool call a permission is about, which v1 requires (B-28)."""
        losses, title = self._bridge.losses, as_text(params.get("title"))
        kind = subject.get("type")
        if kind == "tool_call" and isinstance(as_object(subject.get("toolCall")).get("toolCallId"), str):
            patch = as_object(subject["toolCall"])
        else:
            identifier = subject.get("toolCallId")
            if not isinstance(identifier, str):
                self._made += 1
                identifier = f"_bridge_{self._made}"
            patch = {"toolCallId": identifier, "kind": "other"}
            if kind == "command":
                losses.count("command_subject")
                raw = {"command": subject.get("command"), "cwd": subject.get("cwd")}
                patch.update(kind="execute", rawInput=raw)
        identifier = as_text(patch["toolCallId"])
        if not session.tools.knows(identifier):
            patch.setdefault("title", title)
            self._bridge.tell(session, session.tools.patched(patch))
        v1 = session.tools.shape(patch)
        if title and title != (v1.get("title") or session.tools.title(identifier)):
            losses.count("permission_text")
        v1["title"] = title or session.tools.title(identifier)
        description = params.get("description")
        if isinstance(description, str) and description:
            losses.count("permission_text")
            text: Json = {"type": "content", "content": {"type": "text", "text": description}}
            v1["content"] = [*v1.get("content", []), text]
        return v1

    # ---- forms

    def _elicitation(self, request: Called, params: Json) -> None:
        v1 = dict(params)
        session: ClientSession | None = None
        if isinstance(params.get("sessionId"), str):
            v1.pop("requestId", None)
            session = self._session(params)
            if session is None:
                self._bridge.agent.answer(request.token, b'{"action":"cancel"}')
                return
        elif "requestId" in params:
            scope = self._bridge.scope_of(params["requestId"])
            if scope is None:
                raise invalid_params("no such request is open", ("requestId",))
            v1.update(scope)
        question = _Question(request.token, request.method, None if session is None else session.id)
        self._ask(question, encode(v1))

    def _session(self, params: Json) -> ClientSession | None:
        """None when its work is cancelled, or it is closed."""
        session = self._bridge.sessions.get(as_text(params.get("sessionId")))
        if session is None:
            raise invalid_params("no such session", ("sessionId",))
        return None if session.is_closed or (session.turn is not None and session.turn.cancelled) else session


def _option(option: Json, losses: Losses) -> Json:
    if option.get("kind") in _KINDS:
        return option
    losses.count("option_kind")  # B-29
    return {**option, "kind": "reject_once"}


def _outcome(result: Json, offered: frozenset[str]) -> bytes:
    outcome: Any = as_object(result.get("outcome"))
    if outcome.get("outcome") != "selected" or outcome.get("optionId") not in offered:
        return CANCELLED
    chosen = with_meta({"outcome": "selected", "optionId": outcome["optionId"]}, outcome)
    return encode(with_meta({"outcome": chosen}, result))
