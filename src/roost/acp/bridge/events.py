"""What a bridge wants its driver to do, or to know. Requests are answered once, by their token."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct


class ServiceRequest(Struct, frozen=True):
    """A v1 agent asks for a file or a terminal: answer through `service_answered` or `service_failed`."""

    token: int
    session_id: str
    method: str
    params: dict[str, Any]


class ServiceWithdrawn(Struct, frozen=True):
    """The agent no longer waits for that answer, and has been told so; one that still comes is ignored."""

    token: int


class SessionOpened(Struct, frozen=True):
    """A session can be used: `roots` bound its services, the first is its directory (SES-7)."""

    session_id: str
    roots: tuple[str, ...]


class SessionClosed(Struct, frozen=True):
    """A session is closed or deleted: what was started for it may end."""

    session_id: str


class LoggedOut(Struct, frozen=True):
    """A logout the agent itself cannot do: nothing is let through until the next login. Start the agent anew."""


class Note(Struct, frozen=True):
    """A line for the log; never holds what users or agents wrote."""

    level: Literal["info", "warning"]
    text: str


BridgeEvent = ServiceRequest | ServiceWithdrawn | SessionOpened | SessionClosed | LoggedOut | Note
