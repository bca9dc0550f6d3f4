"""What a v2 client asks of a v1 agent: each request as the v1 request it is, or answered here (4.1, 4.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from msgspec import Raw

from roost.acp.bridge.agent_session import AgentSession, Prompt
from roost.acp.bridge.agent_sessions import Sessions, unknown_session
from roost.acp.bridge.capabilities import agent_to_v2, client_to_v1
from roost.acp.bridge.config import choices
from roost.acp.bridge.content import check_prompt
from roost.acp.bridge.events import LoggedOut
from roost.acp.bridge.negotiation import answered_version, wrong_shape
from roost.acp.bridge.payload import (
    Json,
    as_object,
    invalid_params,
    is_offered,
    note_of,
    objects,
    parse_object,
    picked,
    strict,
    with_meta,
)
from roost.acp.v2.gen.methods import NOTIFICATIONS, REQUESTS
from roost.errors import CodecError, RpcError
from roost.rpc.events import Called, Notified
from roost.rpc.messages import (
    AUTH_REQUIRED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
)
from roost.wire.decode import decode, encode

if TYPE_CHECKING:
    from roost.acp.bridge.v1_agent import V1AgentBridge

_GATED: Final = frozenset({"session/new", "session/resume", "session/fork", "session/prompt", "nes/start"})  # AUTH-8
_OPENERS: Final = frozenset({"session/new", "session/resume", "session/fork"})
_RENAMED: Final = frozenset({"nes/accept", "nes/reject"})


class Requests:
    """The client's requests and notifications."""

    def __init__(self, bridge: V1AgentBridge) -> None:
        self._bridge = bridge
        self._client: Json = {}
        self._is_initializing = False
        self._advertised: Json | None = None  # the v2 answer to initialize
        self._v1: Json = {}  # the v1 one
        self.logged_out = False  # by the bridge, which lets nothing through until a login
        self._sessions = Sessions(bridge, self)
        self._handlers: dict[str, Callable[[Called, Json], None]] = {
            "auth/login": self._login,
            "auth/logout": self._logout,
            "session/new": self._sessions.new,
            "session/fork": self._sessions.fork,
            "session/list": self._sessions.list,
            "session/resume": self._sessions.resume,
            "session/close": self._sessions.close,
            "session/delete": self._sessions.delete,
            "session/prompt": self._prompt,
            "session/set_config_option": self._set_option,
            "nes/suggest": self._suggest,
        }

    # ---- dispatch

    def take(self, request: Called) -> None:
        self._bridge.handle(lambda request, _: self._take(request), request, {})

    def _take(self, request: Called) -> None:
        method = request.method
        row = REQUESTS.get(method)
        params = parse_object(request.params)
        if method.startswith("_"):
            self.forward(request)  # BR-6
            return
        if row is None or row.side == "client":
            raise RpcError(METHOD_NOT_FOUND, "Method not found", {"method": method})
        if method == "initialize":
            self._initialize(request, params)
            return
        if self._advertised is None:
            raise RpcError(INVALID_REQUEST, "Invalid request: initialize comes first")  # INI-1
        if self.logged_out and method in _GATED:
            raise RpcError(AUTH_REQUIRED, "Authentication required")
        if not self._offers(method):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", {"method": method})  # ERR-4
        _check(row.params, request.params)
        handler = self._handlers.get(method)
        mcp = self._bridge.mcp if self.relays_mcp else None
        if mcp is not None and method == "mcp/message":
            mcp.asked(request, params)
        elif handler is None:
            self.forward(request, row.result)
        elif mcp is not None and method in _OPENERS and mcp.hold(request, params, handler):
            return  # it goes on when the programs are there
        else:
            handler(request, params)

    def take_notification(self, notice: Notified) -> None:
        method, bridge = notice.method, self._bridge
        params = parse_object(notice.params)
        if method == "session/cancel":
            session = self.find(params)
            if session is not None:
                bridge.turns.cancel(session)
        elif method == "mcp/message" and self.relays_mcp and bridge.mcp is not None:
            bridge.mcp.told(notice)
        elif method in _RENAMED:
            v1 = {name: value for name, value in params.items() if name != "suggestionId"}
            bridge.agent.notify(method, encode({**v1, "id": params.get("suggestionId")}))
        elif method.startswith("_") or (method in NOTIFICATIONS and NOTIFICATIONS[method].side != "client"):
            bridge.agent.notify(method, None if notice.params is None else bytes(notice.params))
        else:
            bridge.losses.count("vendor_traffic")

    def _offers(self, method: str) -> bool:
        offered = as_object(as_object(self._advertised).get("capabilities"))
        area, _, name = method.partition("/")
        if area == "auth":
            return bool(as_object(self._advertised).get("authMethods"))
        if method in ("session/delete", "session/fork"):
            return name in as_object(offered.get("session"))
        if area in ("providers", "nes"):
            return area in offered
        if area == "mcp":
            return "acp" in as_object(as_object(offered.get("session")).get("mcp"))
        return True

    @property
    def answered(self) -> Json:
        """The agent's own answer to `initialize`, which the bridge takes whatever version it names."""
        return self._v1

    @property
    def relays_mcp(self) -> bool:
        """Whether the client's own MCP servers are relayed, since the agent does not know the kind."""
        return "mcp" in note_of(self._advertised).get("emulated", ())

    @property
    def offered_session(self) -> Json:
        """What the client was told that sessions can do."""
        return as_object(as_object(as_object(self._advertised).get("capabilities")).get("session"))

    def of_session(self, kind: str) -> bool:
        """Whether the v1 agent has an optional session method of its own."""
        v1 = as_object(self._v1.get("agentCapabilities"))
        if kind == "load":
            return v1.get("loadSession") is True or isinstance(v1.get("loadSession"), dict)
        return is_offered(as_object(v1.get("sessionCapabilities")).get(kind))

    @property
    def logs_out(self) -> bool:
        """Whether the v1 agent has a logout of its own."""
        auth = as_object(as_object(self._v1.get("agentCapabilities")).get("auth"))
        return is_offered(auth.get("logout"))

    def forward(self, request: Called, result_type: Any = None) -> None:
        """The same request to the agent; its result as it is, but strict when its type is known."""
        bridge = self._bridge

        def on_answer(result: Raw) -> None:
            if result_type in (None, Any):
                bridge.client.answer(request.token, bytes(result))
            else:
                self.answer(request, parse_object(result), result_type)

        params = None if request.params is None else bytes(request.params)
        bridge.call(request.method, params, on_answer, lambda error: bridge.client.fail(request.token, error), request)

    def ask(
        self,
        request: Called,
        method: str,
        params: Json,
        shaped: Callable[[Json], Any],
        result_type: Any = None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        """`shaped` makes of the v1 result the v2 one; RpcError from it, or from the agent, is the answer."""
        bridge = self._bridge

        def on_answer(result: Raw) -> None:
            try:
                answer = shaped(parse_object(result))
            except RpcError as error:
                failed()
                bridge.client.fail(request.token, error)
                return
            self.answer(request, answer, result_type)

        def on_error(error: RpcError) -> None:
            failed()
            bridge.client.fail(request.token, error)

        bridge.call(method, encode(params), on_answer, on_error, request)

    def answer(self, request: Called, result: Any, result_type: Any = None) -> None:
        losses = self._bridge.losses
        payload = encode(result) if result_type is None else strict(result_type, result, losses)
        if payload is None:
            self._bridge.client.fail(request.token, RpcError(INTERNAL_ERROR, "the agent's answer was malformed"))
        else:
            self._bridge.client.answer(request.token, payload)

    # ---- initialize and logins

    def _initialize(self, request: Called, params: Json) -> None:
        if self._advertised is not None or self._is_initializing:  # INI-10
            raise RpcError(INVALID_REQUEST, "Invalid request: initialize was sent already")
        _check(REQUESTS["initialize"].params, request.params)
        self._client = params
        self._is_initializing = True

        def shaped(result: Json) -> Json:
            self._is_initializing = False
            if answered_version(result) == 2:
                raise wrong_shape(2)
            self._v1 = result
            self._bridge.losses.count("client_files")
            v2 = agent_to_v2(
                result, self._bridge.name, params, self._bridge.losses, relays_mcp=self._bridge.mcp is not None
            )
            self._advertised = v2
            return v2

        def failed() -> None:
            self._is_initializing = False

        v1 = client_to_v1(params, self._bridge.services)
        try:
            self.ask(request, "initialize", v1, shaped, REQUESTS["initialize"].result, failed)
        except RpcError:
            failed()
            raise

    def _login(self, request: Called, params: Json) -> None:
        methods = objects(as_object(self._advertised).get("authMethods"))
        if not any(
            method.get("methodId") == params["methodId"] and method.get("type") not in ("terminal", "env_var")
            for method in methods
        ):  # AUTH-4
            raise invalid_params("no such login method", ("methodId",))

        def shaped(result: Json) -> Json:
            self.logged_out = False
            return with_meta({}, result)

        self.ask(request, "authenticate", with_meta(picked(params, "methodId"), params), shaped)

    def _logout(self, request: Called, params: Json) -> None:
        def shaped(result: Json) -> Json:
            return with_meta({}, result)

        if self.logs_out:
            self.ask(request, "logout", with_meta({}, params), shaped)
            return
        self._bridge.losses.count("emulated_logout")  # B-35
        self.logged_out = True
        self._bridge.emit(LoggedOut())
        self.answer(request, {})

    # ---- work

    def _prompt(self, request: Called, params: Json) -> None:
        session = self.known(params)
        check_prompt(params["prompt"], self.offered_session.get("prompt") or {})
        v1 = with_meta(picked(params, "sessionId", "prompt"), params)
        self._bridge.turns.prompt(session, Prompt(request.token, v1))

    def _set_option(self, request: Called, params: Json) -> None:
        session = self.known(params)
        config, value = session.config, params["value"]
        config_id: str = params["configId"]
        option = config.find(config_id)
        if option is None:
            raise invalid_params("no such option", ("configId",))
        wanted = {"select": "id", "boolean": "boolean"}.get(option["type"], params["type"])
        if params["type"] != wanted:
            raise invalid_params(f"the option takes a value of type {wanted}", ("type",))
        # Agents that take any value silently are known (CFG-5).
        if option["type"] == "select" and not any(choice.get("value") == value for choice in choices(option)):
            raise invalid_params("the option has no such value", ("value",))
        change = config.change(config_id)

        def shaped(result: Json) -> Json:
            if change is not None:
                config.chosen(config_id, value)
            else:
                config.set_current(config_id, value)
            config.take(result)
            config.told = config.full()
            return with_meta({"configOptions": config.told}, result)

        result_type = REQUESTS["session/set_config_option"].result
        if change is not None:  # B-12
            method, parameter = change
            v1: Json = {"sessionId": session.id, parameter: value}
            self.ask(request, method, with_meta(v1, params), shaped, result_type)
            return
        names = ("sessionId", "configId", "value") if wanted == "id" else ("sessionId", "configId", "type", "value")
        v1 = {name: params[name] for name in names}
        self.ask(request, "session/set_config_option", with_meta(v1, params), shaped, result_type)

    def _suggest(self, request: Called, params: Json) -> None:
        def shaped(result: Json) -> Json:
            renamed = []
            for suggestion in objects(result.get("suggestions")):
                v2 = {name: value for name, value in suggestion.items() if name != "id"}
                renamed.append({**v2, "suggestionId": suggestion.get("id", suggestion.get("suggestionId"))})
            return {**result, "suggestions": renamed}

        self.ask(request, "nes/suggest", params, shaped, REQUESTS["nes/suggest"].result)

    # ---- sessions by id

    def find(self, params: Json) -> AgentSession | None:
        identifier = params.get("sessionId")
        return self._bridge.sessions.get(identifier) if isinstance(identifier, str) else None

    def known(self, params: Json) -> AgentSession:
        session = self.find(params)
        if session is None or session.closed:
            raise unknown_session(params["sessionId"])
        return session


def _check(type: Any, params: Any) -> None:
    """RpcError -32602: the parameters are not what the method takes."""
    try:
        decode(type, b"{}" if params is None else params)
    except CodecError as error:
        raise invalid_params(error.message, error.path) from None
