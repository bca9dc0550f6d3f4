"""What agents of v1 may be able to do besides, and how they say so."""

from __future__ import annotations

from typing import Any

from tests.simulation.temper import LOGIN, Temper

Json = dict[str, Any]

# By method, in either version: the ability that is needed for it.
OPTIONAL = {
    "session/list": "lists",
    "session/close": "closes",
    "session/delete": "deletes",
    "authenticate": "logs-in",
    "auth/login": "logs-in",
    "logout": "logs-out",
    "auth/logout": "logs-out",
}
_OF_SESSIONS = {"list": "lists", "close": "closes", "delete": "deletes"}


def offered(temper: Temper) -> Json:
    """The part of its answer to `initialize`."""
    able: Json = {}
    sessions: Json = {name: {} for name, ability in _OF_SESSIONS.items() if temper.can(ability)}
    if temper.kind in ("v1-load", "v1-both"):
        able["loadSession"] = True
    if temper.kind in ("v1-resume", "v1-both"):
        sessions["resume"] = {}
    if sessions:
        able["sessionCapabilities"] = sessions
    if temper.can("logs-out"):
        able["auth"] = {"logout": {}}
    logins = [{"id": LOGIN, "name": LOGIN}] if temper.offers_login else []
    return {"agentCapabilities": able, "authMethods": logins}
