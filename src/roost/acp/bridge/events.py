"""What a bridge wants its driver to do, or to know. Requests are answered once, by their token."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from roost.acp.bridge.mcp_events import McpRelayEvent


class ServiceRequest(Struct, frozen=True):
    """A v1 agent asks for a file or a terminal: answer through `service_answered` or `service_failed`."""

    token: int
    session_id: str
    method: str
    params: dict[str, Any]


class ServiceWithdrawn(Struct, frozen=True):
    """The agent no longer waits for that answer, and has been told so; one that still comes is ignored."""

    token: int


class FileWrite(Struct, frozen=True):
    """A file the agent wants to write: `path`, free of symbolic links, as of now.

    `plain`: what the agent asked for names it as well, without links. `before` is the text it has; None: none, or none
    that can be shown.
    """

    path: str
    asked: str
    plain: bool
    is_new: bool
    before: str | None = None


class CommandRun(Struct, frozen=True):
    """A command the agent wants to run, as it would be: `line` as a person types it, `env` what the agent adds.

    `cwd` is free of symbolic links; `asked_cwd` is what the agent calls it, when that names it without links as well.
    """

    line: str
    cwd: str
    env: dict[str, str]
    asked_cwd: str = ""


Wish = FileWrite | CommandRun


class ServiceDecided(Struct, frozen=True):
    """Whether the Wish of a request is granted; told once for each `service_wishes` while the request is open."""

    token: int
    allowed: bool


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


BridgeEvent = (
    ServiceRequest
    | ServiceWithdrawn
    | ServiceDecided
    | SessionOpened
    | SessionClosed
    | LoggedOut
    | McpRelayEvent
    | Note
)
