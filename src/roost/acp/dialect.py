"""Protocol versions: what each is called, which methods it has, and which of two sides' versions to speak.

The only place a version number is compared (INI-3, INI-4, INI-9). v2 is the version everything inside Roost speaks; v1
lives at the edges, so its table knows names and directions but no types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from roost.acp.calls import Kind, Method, Side
from roost.acp.v2.gen.methods import METHODS
from roost.errors import LocalProtocolError


class Dialect:
    """One protocol version: its number and its method table."""

    __slots__ = ("_notifications", "_requests", "version")

    def __init__(self, version: int, methods: Iterable[Method]) -> None:
        self.version = version
        self._requests: dict[str, Method] = {}
        self._notifications: dict[str, Method] = {}
        for method in methods:
            (self._requests if method.kind == "request" else self._notifications)[method.name] = method

    def __repr__(self) -> str:
        return f"Dialect({self.version})"

    @property
    def methods(self) -> tuple[Method, ...]:
        """The whole table; a method that is both a request and a notification is in it twice."""
        return (*self._requests.values(), *self._notifications.values())

    def request(self, name: str, receiver: Side = "both") -> Method | None:
        """The request of that name, if `receiver` implements it (ENV-9)."""
        return _received(self._requests.get(name), receiver)

    def notification(self, name: str, receiver: Side = "both") -> Method | None:
        """The notification of that name, if `receiver` implements it."""
        return _received(self._notifications.get(name), receiver)

    def is_request(self, name: str) -> bool:
        """Whether the method is a request, and maybe a notification too."""
        return name in self._requests

    def is_notification(self, name: str) -> bool:
        """Whether the method is a notification and nothing else."""
        return name in self._notifications and name not in self._requests


def _received(method: Method | None, receiver: Side) -> Method | None:
    if method is None or "both" in (method.side, receiver) or method.side == receiver:
        return method
    return None


def negotiate(requested: int, supported: Sequence[Dialect]) -> Dialect:
    """The agent's answer to `initialize`: the requested version if it is supported, else the latest that is (INI-3).

    That may be lower than what was asked for, or higher.
    """
    if not supported:
        raise LocalProtocolError("no protocol version is supported")
    for dialect in supported:
        if dialect.version == requested:
            return dialect
    return max(supported, key=lambda dialect: dialect.version)


def accepted(answered: int, supported: Sequence[Dialect]) -> Dialect | None:
    """The client's view of that answer: the dialect to speak, or None when it has to hang up (INI-4)."""
    return next((dialect for dialect in supported if dialect.version == answered), None)


def _v1(side: Side, kind: Kind, names: str, stable: bool = True) -> list[Method]:
    return [Method(name=name, side=side, kind=kind, stable=stable) for name in names.split()]


V1: Final = Dialect(
    1,
    [
        *_v1("agent", "request", "initialize authenticate logout session/new session/load session/list"),
        *_v1("agent", "request", "session/resume session/close session/delete session/set_mode"),
        *_v1("agent", "request", "session/set_config_option session/prompt"),
        *_v1("agent", "request", "session/fork session/set_model", stable=False),
        *_v1("agent", "request", "providers/list providers/set providers/disable", stable=False),
        *_v1("agent", "request", "nes/start nes/suggest nes/close", stable=False),
        *_v1("agent", "notification", "session/cancel"),
        *_v1("agent", "notification", "nes/accept nes/reject", stable=False),
        *_v1("agent", "notification", "document/didOpen document/didChange document/didClose", stable=False),
        *_v1("agent", "notification", "document/didSave document/didFocus", stable=False),
        *_v1("client", "request", "session/request_permission fs/read_text_file fs/write_text_file"),
        *_v1("client", "request", "terminal/create terminal/output terminal/wait_for_exit terminal/kill"),
        *_v1("client", "request", "terminal/release"),
        *_v1("client", "request", "elicitation/create mcp/connect mcp/disconnect", stable=False),
        *_v1("client", "notification", "session/update"),
        *_v1("client", "notification", "elicitation/complete", stable=False),
        *_v1("both", "request", "mcp/message", stable=False),
        *_v1("both", "notification", "mcp/message $/cancel_request", stable=False),
    ],
)
"""Spoken by most agents of today."""

V2: Final = Dialect(2, METHODS)
"""The version Roost speaks."""
