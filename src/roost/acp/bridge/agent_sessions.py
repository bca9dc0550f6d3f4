"""The sessions of a v1 agent as a v2 client uses them: by its own methods, and what stands in for those it lacks.

Emulated state lives as long as the bridge: a list knows the sessions of this connection, a resume finds those the agent
still has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Raw

from roost.acp.bridge.agent_session import AgentSession
from roost.acp.bridge.content import servers_to_v1
from roost.acp.bridge.payload import Json, as_object, invalid_params, parse_object, picked, with_meta
from roost.acp.v2.gen.methods import REQUESTS
from roost.errors import RpcError
from roost.rpc.events import Called
from roost.rpc.messages import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from roost.wire.decode import encode

if TYPE_CHECKING:
    from roost.acp.bridge.agent_requests import Requests
    from roost.acp.bridge.v1_agent import V1AgentBridge


class Sessions:
    """What becomes of a client's `session/new`, `fork`, `list`, `resume`, `close` and `delete`."""

    def __init__(self, bridge: V1AgentBridge, requests: Requests) -> None:
        self._bridge = bridge
        self._requests = requests
        self._lacks_resume = False  # whatever it says of itself

    def _setup(self, params: Json, *names: str) -> Json:
        """The parameters every way into a session has."""
        session = self._requests.offered_session
        v1 = picked(params, *names, "cwd")
        v1["mcpServers"] = servers_to_v1(params.get("mcpServers"), session.get("mcp") or {})
        directories = params.get("additionalDirectories")
        if isinstance(directories, list) and directories:
            if "additionalDirectories" not in session:
                raise invalid_params("more directories were not offered", ("additionalDirectories",))  # SES-8
            v1["additionalDirectories"] = directories
        return with_meta(v1, params)

    def new(self, request: Called, params: Json) -> None:
        self._open(request, params, "session/new", self._setup(params))

    def fork(self, request: Called, params: Json) -> None:
        self._open(request, params, "session/fork", self._setup(params, "sessionId"))

    def _open(self, request: Called, params: Json, method: str, v1: Json) -> None:
        """A session whose id comes with the answer: what is said of it before is told behind (SES-4)."""
        bridge = self._bridge

        def on_answer(raw: Raw) -> None:
            result = parse_object(raw)
            session_id = result.get("sessionId")
            try:
                if not isinstance(session_id, str):
                    raise RpcError(INTERNAL_ERROR, "the agent's answer was malformed: it names no session")
                session = bridge.open_session(session_id, _roots(params), whole=True)
            except RpcError as error:
                bridge.opened_one()
                bridge.client.fail(request.token, error)
                return
            self._requests.answer(request, self._opened(session, result, sessionId=session_id), REQUESTS[method].result)
            bridge.release(session_id)
            bridge.opened_one()

        def on_error(error: RpcError) -> None:
            bridge.client.fail(request.token, error)
            bridge.opened_one()

        bridge.call(method, encode(v1), on_answer, on_error, request)
        bridge.opening += 1

    def _opened(self, session: AgentSession, result: Json, **members: Any) -> Json:
        session.config.take(result)
        options = session.config.full()
        session.config.told = options
        return with_meta({**members, **({"configOptions": options} if options else {})}, result)

    def list(self, request: Called, params: Json) -> None:
        if self._requests.of_session("list"):
            self._requests.forward(request, REQUESTS["session/list"].result)
            return
        self._bridge.losses.count("emulated_list")  # B-04
        if params.get("cursor") is not None:
            raise invalid_params("no such cursor", ("cursor",))
        cwd = params.get("cwd")
        sessions = [session.info() for session in self._bridge.sessions.values() if cwd in (None, session.roots[0])]
        self._requests.answer(request, {"sessions": sessions}, REQUESTS["session/list"].result)

    def resume(self, request: Called, params: Json) -> None:
        replay = as_object(params.get("replayFrom")).get("type")
        if not isinstance(replay, str):  # malformed is as good as absent (SES-20)
            replay = None
        if replay not in (None, "start"):
            raise invalid_params("replay from there is not possible", ("replayFrom",))
        setup = self._setup(params, "sessionId")
        live = self._bridge.sessions.get(params["sessionId"])
        if replay is not None:
            if not self._requests.of_session("load"):
                raise invalid_params("the agent cannot replay a session", ("replayFrom",))
            self._attach(request, params, "session/load", setup, "replay")
        elif self._requests.of_session("resume") and not self._lacks_resume:
            # Some replay here too, though nobody asked (SES-17); of one that is open only what is new is told.
            self._attach(request, params, "session/resume", setup, "" if live and not live.closed else "swallow")
        elif live is not None:  # the agent has it still
            self._bridge.losses.count("emulated_resume")
            self._bridge.open_session(live.id, _roots(params), whole=True)
            self._requests.answer(request, self._opened(live, {}), REQUESTS["session/resume"].result)
        elif self._requests.of_session("load"):
            self._bridge.losses.count("emulated_resume")  # B-02
            self._attach(request, params, "session/load", setup, "swallow")
        else:
            raise unknown_session(params["sessionId"])

    def _attach(self, request: Called, params: Json, method: str, v1: Json, loading: str) -> None:
        bridge = self._bridge
        was_known = params["sessionId"] in bridge.sessions
        if was_known and (bridge.sessions[params["sessionId"]].loading or bridge.sessions[params["sessionId"]].turn):
            raise RpcError(INVALID_REQUEST, "Invalid request: the session is at work")
        is_load = method == "session/load"
        session = bridge.open_session(params["sessionId"], _roots(params), whole=is_load)
        session.loading = loading
        if is_load:
            session.restart_messages()

        def shaped(result: Json) -> Json:
            session.loading = ""
            session.break_message()
            return self._opened(session, result)

        def on_answer(result: Raw) -> None:
            self._requests.answer(request, shaped(parse_object(result)), REQUESTS["session/resume"].result)
            kept, session.kept = session.kept, {}
            for update in kept.values():
                bridge.tell(session, update)

        def on_error(error: RpcError) -> None:
            session.loading = ""
            session.kept.clear()
            if not was_known:
                bridge.close_session(session)
                del bridge.sessions[session.id]
            if method == "session/resume" and error.code == METHOD_NOT_FOUND:
                self._lacks_resume = True  # some say that they can, and cannot: it is done in another way
                bridge.handle(self.resume, request, params)
                return
            bridge.client.fail(request.token, error)

        try:
            bridge.call(method, encode(v1), on_answer, on_error, request)
        except RpcError as error:
            on_error(error)

    def close(self, request: Called, params: Json) -> None:
        session = self._requests.known(params)

        def shaped(result: Json) -> Json:
            self._bridge.close_session(session)
            return with_meta({}, result)

        if self._requests.of_session("close"):
            self._bridge.turns.cancel(session)
            self._requests.ask(request, "session/close", picked(params, "sessionId", "_meta"), shaped)
            return
        self._bridge.losses.count("emulated_close")  # B-04
        self._requests.answer(request, shaped({}))

    def delete(self, request: Called, params: Json) -> None:
        session = self._requests.find(params)
        if session is not None:
            self._bridge.turns.cancel(session)

        def shaped(result: Json) -> Json:
            if session is not None and not session.closed:
                self._bridge.close_session(session)
            self._bridge.sessions.pop(params["sessionId"], None)
            return with_meta({}, result)

        self._requests.ask(request, "session/delete", picked(params, "sessionId", "_meta"), shaped)


def unknown_session(session_id: str) -> RpcError:
    return RpcError(RESOURCE_NOT_FOUND, "Resource not found: session", {"sessionId": session_id})  # ERR-3


def _roots(params: Json) -> tuple[str, ...]:
    directories = params.get("additionalDirectories")
    more = directories if isinstance(directories, list) else []
    return (params["cwd"], *(directory for directory in more if isinstance(directory, str)))
