"""What a v1 client asks of a v2 agent: each request as the v2 request it is (4.1, 4.2, 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec import Raw

from roost.acp.bridge.capabilities import agent_to_v1, client_to_v2
from roost.acp.bridge.client_session import ClientSession, HeldPrompt
from roost.acp.bridge.config import mode_option
from roost.acp.bridge.content import servers_to_v2
from roost.acp.bridge.negotiation import answered_version, wrong_shape
from roost.acp.bridge.payload import (
    Json,
    as_object,
    as_text,
    invalid_params,
    is_offered,
    objects,
    parse_object,
    picked,
    strict,
    with_meta,
)
from roost.acp.dialect import V1
from roost.acp.v2.gen.methods import REQUESTS
from roost.errors import CodecError, RpcError
from roost.rpc.events import Called, Notified
from roost.rpc.messages import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from roost.wire.decode import encode

if TYPE_CHECKING:
    from roost.acp.bridge.v1_client import V1ClientBridge

_SAME: Final = frozenset(
    {"session/list", "session/delete", "providers/list", "providers/set", "providers/disable", "nes/start", "nes/close"}
)


class ClientRequests:
    """The v1 client's requests and notifications."""

    def __init__(self, bridge: V1ClientBridge) -> None:
        self._bridge = bridge
        self._client: Json = {}  # its `initialize`
        self._agent: Json | None = None  # the v2 answer to it
        self._is_initializing = False
        self._handlers: dict[str, Callable[[Called, Json], None]] = {
            "authenticate": self._authenticate,
            "logout": self._logout,
            "session/new": self._new,
            "session/fork": self._new,
            "session/load": self._attach,
            "session/resume": self._attach,
            "session/close": self._close,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_model": self._set_mode,
            "session/set_config_option": self._set_option,
            "nes/suggest": self._suggest,
            "mcp/message": self._pass,
            **dict.fromkeys(_SAME, self._same),
        }

    def take(self, request: Called) -> None:
        method, params = request.method, parse_object(request.params)
        try:
            if method == "initialize":
                self._initialize(request, params)
            elif method.startswith("_"):
                self._pass(request, params)
            elif not V1.is_request(method) or method not in self._handlers:
                raise RpcError(METHOD_NOT_FOUND, "Method not found", {"method": method})
            elif self._agent is None:
                raise RpcError(INVALID_REQUEST, "Invalid request: initialize comes first")
            else:
                self._handlers[method](request, params)
        except RpcError as error:
            self._bridge.client.fail(request.token, error)
        except CodecError as error:
            self._bridge.client.fail(request.token, invalid_params(str(error)))

    def take_notification(self, notice: Notified) -> None:
        method, params = notice.method, parse_object(notice.params)
        if method == "session/cancel":
            session = self._bridge.sessions.get(as_text(params.get("sessionId")))
            if session is not None:
                self._bridge.turns.cancel(session)
        elif method in ("nes/accept", "nes/reject"):
            v2 = {name: value for name, value in params.items() if name != "id"}
            self._bridge.agent.notify(method, encode({**v2, "suggestionId": params.get("id")}))
        elif method.startswith("_") or V1.notification(method, "agent") is not None:
            self._bridge.agent.notify(method, None if notice.params is None else bytes(notice.params))

    # ---- asking the agent

    def _ask(
        self,
        request: Called,
        method: str,
        params: Json,
        shaped: Callable[[Json], Json],
        failed: Callable[[], None] = lambda: None,
    ) -> int:
        """`shaped` makes of the v2 result the v1 one. RpcError -32602: no v2 agent could read the parameters."""
        bridge = self._bridge

        def on_answer(result: Raw) -> None:
            try:
                answer = encode(shaped(parse_object(result)))
            except RpcError as error:
                on_error(error)
                return
            bridge.client.answer(request.token, answer)

        def on_error(error: RpcError) -> None:
            failed()
            bridge.client.fail(request.token, error)

        payload = strict(REQUESTS[method].params, params, bridge.losses)
        if payload is None:
            failed()
            raise invalid_params(f"not what {method} takes")
        try:
            return bridge.call(method, payload, on_answer, on_error, request)
        except RpcError:
            failed()
            raise

    def _same(self, request: Called, params: Json) -> None:
        self._ask(request, request.method, params, lambda result: result)

    def _pass(self, request: Called, params: Json) -> None:
        """As it is, its result too: it may be any JSON."""
        bridge = self._bridge
        bridge.call(
            request.method,
            None if request.params is None else bytes(request.params),
            lambda result: bridge.client.answer(request.token, bytes(result)),
            lambda error: bridge.client.fail(request.token, error),
            request,
        )

    # ---- initialize and logins

    def _initialize(self, request: Called, params: Json) -> None:
        if self._agent is not None or self._is_initializing:
            raise RpcError(INVALID_REQUEST, "Invalid request: initialize was sent already")
        self._client = params
        self._is_initializing = True

        def shaped(result: Json) -> Json:
            if answered_version(result) != 2:
                raise wrong_shape(1)
            self._is_initializing = False
            self._agent = result
            return agent_to_v1(result, self._bridge.losses)

        def failed() -> None:
            self._is_initializing = False

        self._ask(request, "initialize", client_to_v2(params), shaped, failed)

    def _authenticate(self, request: Called, params: Json) -> None:
        self._ask(request, "auth/login", with_meta(picked(params, "methodId"), params), lambda result: result)

    def _logout(self, request: Called, params: Json) -> None:
        self._ask(request, "auth/logout", with_meta({}, params), lambda result: result)

    # ---- sessions

    def _setup(self, params: Json, *names: str) -> Json:
        session = as_object(as_object(as_object(self._agent).get("capabilities")).get("session"))
        v2 = picked(params, *names, "cwd", "additionalDirectories")
        mcp = {kind for kind, offered in as_object(session.get("mcp")).items() if offered is not None}
        servers = servers_to_v2(params.get("mcpServers"), mcp, self._bridge.which)  # B-30
        if servers:
            v2["mcpServers"] = servers
        return with_meta(v2, params)

    def _session(self, session_id: str) -> ClientSession:
        client = as_object(self._client.get("clientCapabilities"))
        options = as_object(as_object(client.get("session")).get("configOptions"))
        return self._bridge.open_session(
            session_id, switches=is_offered(options.get("boolean")), plans=is_offered(client.get("plan"))
        )

    def _new(self, request: Called, params: Json) -> None:
        bridge = self._bridge
        v2 = self._setup(params, *(("sessionId",) if request.method == "session/fork" else ()))
        done: list[str] = []

        def shaped(result: Json) -> Json:
            session_id = result.get("sessionId")
            if not isinstance(session_id, str):
                raise RpcError(INTERNAL_ERROR, "the agent's answer was malformed: it names no session")
            session = self._session(session_id)
            done.append(session_id)
            return {"sessionId": session_id, **session.opened(result)}

        def on_answer(result: Raw) -> None:
            try:
                bridge.client.answer(request.token, encode(shaped(parse_object(result))))
            except RpcError as error:
                bridge.client.fail(request.token, error)
            for session_id in done:
                bridge.release(session_id)  # SES-4
            bridge.opened_one()

        def on_error(error: RpcError) -> None:
            bridge.client.fail(request.token, error)
            bridge.opened_one()

        payload = strict(REQUESTS[request.method].params, v2, bridge.losses)
        if payload is None:
            raise invalid_params(f"not what {request.method} takes")
        bridge.call(request.method, payload, on_answer, on_error, request)
        bridge.opening += 1

    def _attach(self, request: Called, params: Json) -> None:
        """A load is a resume with replay; the replay comes before the answer on both sides."""
        is_load = request.method == "session/load"
        v2 = self._setup(params, "sessionId")
        if is_load:
            v2["replayFrom"] = {"type": "start"}
        session_id = params.get("sessionId")
        if not isinstance(session_id, str):
            raise invalid_params("no session", ("sessionId",))
        known = self._bridge.sessions.get(session_id)
        if known is not None and known.turn is not None:
            raise RpcError(INVALID_REQUEST, "Invalid request: the session is at work")
        if is_load and known is not None:
            self._bridge.drop_session(session_id)  # the client forgets what it knew, and so do we (SES-24)
        session = self._session(session_id)
        session.is_replaying = is_load

        def shaped(result: Json) -> Json:
            session.is_replaying = False
            self._bridge.resend(session)
            return session.opened(result)

        def failed() -> None:
            session.is_replaying = False
            if known is None:
                self._bridge.drop_session(session_id)

        self._ask(request, "session/resume", v2, shaped, failed)

    def _close(self, request: Called, params: Json) -> None:
        session = self._known(params)

        def shaped(result: Json) -> Json:
            session.is_closed = True
            self._bridge.turns.give_up(session)
            self._bridge.questions.cancel(session.id)
            return result

        self._ask(request, "session/close", picked(params, "sessionId", "_meta"), shaped)

    # ---- work

    def _prompt(self, request: Called, params: Json) -> None:
        session = self._known(params)
        v2 = with_meta(picked(params, "sessionId", "prompt"), params)
        self._bridge.turns.prompt(session, HeldPrompt(request.token, request.raw_id, v2))

    def _set_mode(self, request: Called, params: Json) -> None:
        """v1's mode, or its model: the option that stands for it (4.3)."""
        session = self._known(params)
        category, member = ("mode", "modeId") if request.method == "session/set_mode" else ("model", "modelId")
        option = mode_option(session.options, category)
        if option is None:
            raise invalid_params(f"the agent has no {category}s", (member,))
        v2: Json = {"sessionId": session.id, "configId": option["configId"], "type": "id", "value": params.get(member)}

        def shaped(result: Json) -> Json:
            session.options = objects(result.get("configOptions"))
            return with_meta({}, result)

        self._ask(request, "session/set_config_option", with_meta(v2, params), shaped)

    def _set_option(self, request: Called, params: Json) -> None:
        """Untyped in v1: the option says what its value is (B-31)."""
        session = self._known(params)
        value, option = params.get("value"), as_object(session.option(params.get("configId")))
        kind = "boolean" if isinstance(value, bool) else "id"
        if option.get("type") == "boolean" and value in ("true", "false"):  # shown as a choice of two
            kind, value = "boolean", value == "true"
        v2 = {**picked(params, "sessionId", "configId"), "type": kind, "value": value}

        def shaped(result: Json) -> Json:
            session.options = objects(result.get("configOptions"))
            return with_meta({"configOptions": session.v1_options()}, result)

        self._ask(request, "session/set_config_option", with_meta(v2, params), shaped)

    def _suggest(self, request: Called, params: Json) -> None:
        def shaped(result: Json) -> Json:
            renamed = []
            for suggestion in objects(result.get("suggestions")):
                v1 = {name: value for name, value in suggestion.items() if name != "suggestionId"}
                renamed.append({**v1, "id": suggestion.get("suggestionId")})
            return {**result, "suggestions": renamed}

        self._ask(request, "nes/suggest", params, shaped)

    def _known(self, params: Json) -> ClientSession:
        session_id = params.get("sessionId")
        if not isinstance(session_id, str):
            raise invalid_params("no session", ("sessionId",))
        session = self._bridge.sessions.get(session_id)
        if session is None or session.is_closed:
            raise RpcError(RESOURCE_NOT_FOUND, "Resource not found: session", {"sessionId": session_id})
        return session
