"""What a check works with: fresh agents, what is known of this agent, prompts to use, and a place for findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NoReturn

from msgspec import Struct

from roost.testing.conformance.findings import MUST, SHOULD, Findings, Level
from roost.testing.conformance.peer import Answer, Json, Patience, Peer, start
from roost.transport.child import Launch

CAPABILITIES: Final[Json] = {
    "elicitation": {"form": {}, "url": {}},
    "nes": {"jump": {}, "rename": {}, "searchAndReplace": {}},
    "positionEncodings": ["utf-16"],
}
"""What the client of a check offers unless it says otherwise."""

INITIALIZE_V1: Final[Json] = {
    "protocolVersion": 1,
    "clientInfo": {"name": "roost-check", "version": "1"},
    "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
}
"""How a client of version 1 begins."""

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32600, -32601, -32602
AUTH_REQUIRED, NOT_FOUND, CANCELLED = -32000, -32002, -32800


class Prompts(Struct, frozen=True, kw_only=True):
    """Texts that make this agent do something.

    `texts` are sent as they are, and what comes of them is judged. `slow` works for several seconds when it is not
    cancelled. `asks` makes it ask a permission; `done(folder)` tells whether what was asked for has been done.
    """

    texts: tuple[str, ...] = ("Hello.",)
    slow: str | None = None
    asks: str | None = None
    done: Callable[[Path], bool] | None = None


class Profile(Struct, frozen=True, kw_only=True):
    """What the agent says of itself, and what came of a first session."""

    version: Any
    result: Json
    session: Json | None = None
    refusal: Json | None = None

    @property
    def capabilities(self) -> Json:
        return _object(self.result.get("capabilities"))

    @property
    def auth_methods(self) -> list[Json]:
        listed = self.result.get("authMethods")
        return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []

    def has(self, path: str) -> bool:
        """Whether a capability is there: an object, as `session.prompt.image`."""
        value: Any = self.capabilities
        for step in path.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return isinstance(value, dict)


class Stop(Exception):
    """The check has seen enough."""


class Skip(Exception):
    """The check does not apply to this agent."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Bench:
    """Made anew for each check."""

    def __init__(
        self,
        launch: Launch,
        workspace: Path,
        patience: Patience,
        prompts: Prompts,
        profile: Profile,
        level: Level,
        login: str | None,
    ) -> None:
        self.workspace = workspace
        self.patience = patience
        self.prompts = prompts
        self.findings = Findings()
        self.peers: list[Peer] = []
        self._launch = launch
        self.profile = profile
        self._level = level
        self._login = login

    # ---- agents

    async def start(self) -> Peer:
        """An agent that nothing was said to yet. It answers nothing but permissions: with the first allowing option."""
        peer = await start(self._launch, self.patience)
        peer.answers["session/request_permission"] = allow
        peer.answers["elicitation/create"] = lambda request: {"result": {"action": "decline"}}
        self.peers.append(peer)
        return peer

    async def ready(self, capabilities: Json = CAPABILITIES) -> Peer:
        """An agent that is initialized."""
        peer = await self.start()
        answer = await peer.call("initialize", initialize_params(2, capabilities))
        if "result" not in answer:
            self.stop("INI-3", "initialize with version 2 to succeed", answer)
        return peer

    async def with_session(self, **params: Any) -> tuple[Peer, str]:
        """An agent with a session in the workspace."""
        self.need_sessions()
        peer = await self.ready()
        return peer, await self.new_session(peer, **params)

    async def new_session(self, peer: Peer, **params: Any) -> str:
        self.need_sessions()
        if self._login is not None:
            await peer.call("auth/login", {"methodId": self._login}, self.patience.turn_timeout)
        answer = await peer.call("session/new", {"cwd": str(self.workspace), **params})
        session = result_of(answer).get("sessionId")
        if not isinstance(session, str):
            self.stop("SES-11", "session/new to answer with a sessionId", answer)
        return session

    # ---- what applies

    def need(self, path: str) -> None:
        """Skips the check unless the agent has that capability."""
        if not self.profile.has(path):
            raise Skip(f"the agent does not advertise {path}")

    def need_sessions(self) -> None:
        self.need("session")
        refusal = self.profile.refusal
        if refusal is not None:
            code = error_of(refusal).get("code")
            if code == AUTH_REQUIRED:
                raise Skip("sessions need a login first (--login METHOD)")
            raise Skip(f"session/new fails with {code}: see session.new")

    # ---- findings

    def fail(self, rule: str, expected: str, came: Any, level: Level | None = None) -> None:
        self.findings.add(rule, expected, came, self._level if level is None else level)

    def advise(self, rule: str, expected: str, came: Any) -> None:
        self.fail(rule, expected, came, SHOULD)

    def stop(self, rule: str, expected: str, came: Any, level: Level | None = None) -> NoReturn:
        """A finding after which the rest makes no sense."""
        self.fail(rule, expected, came, level)
        raise Stop

    def expect_result(self, rule: str, what: str, answer: Json) -> Json:
        """The result, an object; else the end of the check."""
        if not isinstance(answer.get("result"), dict):
            self.stop(rule, f"{what} to succeed", answer)
        result: Json = answer["result"]
        return result

    def expect_error(
        self, rule: str, what: str, answer: Json, *codes: int, code_level: Level | None = None
    ) -> Json | None:
        """The error, of one of these codes; a wrong code is a finding of `code_level`."""
        error = answer.get("error")
        if not isinstance(error, dict):
            self.fail(rule, f"{what} to be answered with an error", answer)
            return None
        if codes and error.get("code") not in codes:
            wanted = " or ".join(map(str, codes))
            self.fail(rule, f"{what} to be answered with error {wanted}", answer, code_level)
        return error

    async def expect_silence(self, peer: Peer, rule: str, what: str, since: int, ours: Iterable[Any] = ()) -> None:
        """Nothing is answered to what was sent since; `ours` are ids of ours that may be answered."""
        await peer.barrier()
        known = [*ours]
        for part in peer.came(since):
            if (
                isinstance(part, dict)
                and "method" not in part
                and part.get("id") not in known
                and _is_stray(peer, part)
            ):
                self.fail(rule, f"{what} to be answered with nothing", part)

    async def expect_alive(self, peer: Peer, rule: str, after: str) -> None:
        """The agent still answers; Silence says it does not."""
        answer = await peer.answer(peer.request("_roost.conformance/alive"), f"a request after {after}")
        if "error" not in answer and "result" not in answer:
            self.fail(rule, f"the agent to work on after {after}", answer)


def _is_stray(peer: Peer, response: Json) -> bool:
    """Whether it answers none of our requests."""
    asked = [
        part["id"]
        for entry in peer.timeline
        if entry.ours
        for part in entry.parts
        if isinstance(part, dict) and "method" in part and "id" in part
    ]
    return not any(type(id) is type(response.get("id")) and id == response.get("id") for id in asked)


def initialize_params(version: Any = 2, capabilities: Any = None) -> Json:
    params: Json = {"protocolVersion": version, "info": {"name": "roost-check", "version": "1", "title": "Roost check"}}
    if capabilities is not None:
        params["capabilities"] = capabilities
    return params


def text_prompt(session: str, text: str) -> Json:
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


def result_of(answer: Json) -> Json:
    return _object(answer.get("result"))


def error_of(answer: Json) -> Json:
    return _object(answer.get("error"))


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def option_of(request: Json, prefix: str) -> str | None:
    """The first option whose kind begins so."""
    options = _object(request.get("params")).get("options")
    for option in options if isinstance(options, list) else ():
        if isinstance(option, dict) and str(option.get("kind", "")).startswith(prefix):
            return str(option.get("optionId"))
    return None


def selected(option: str) -> Json:
    return {"result": {"outcome": {"outcome": "selected", "optionId": option}}}


def allow(request: Json) -> Json:
    """Consent, if an option says so."""
    option = option_of(request, "allow_once") or option_of(request, "allow")
    return {"result": {"outcome": {"outcome": "cancelled"}}} if option is None else selected(option)


def reject(request: Json) -> Json:
    option = option_of(request, "reject_once") or option_of(request, "reject")
    return {"result": {"outcome": {"outcome": "cancelled"}}} if option is None else selected(option)


def leave_open(request: Json) -> Json | None:
    return None


__all__ = [
    "AUTH_REQUIRED",
    "CANCELLED",
    "CAPABILITIES",
    "INITIALIZE_V1",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "MUST",
    "NOT_FOUND",
    "SHOULD",
    "Answer",
    "Bench",
    "Profile",
    "Prompts",
    "Skip",
    "Stop",
    "allow",
    "error_of",
    "initialize_params",
    "leave_open",
    "option_of",
    "reject",
    "result_of",
    "selected",
    "text_prompt",
]
