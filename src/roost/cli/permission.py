"""Answers to an agent's permission requests: from a policy, or as an option a person chose.

An answer is always one of the options that were offered, picked by its kind and never by its label (PER-4, PER-7); a
denial never falls back to something that allows, and what only `allow_always` would grant is not granted unasked
(PER-13).
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from roost.sidecar.permissions import CANCELLED, outcome

if TYPE_CHECKING:
    from roost.host.events import PermissionRequest


class Policy(enum.Enum):
    """Who decides. ABSENT is DENY for want of a terminal, which the user is told."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    ABSENT = "absent"


class Option(NamedTuple):
    """One of the answers an agent offers. `name` is its text, and not to be trusted; `kind` "" when there is none."""

    id: str
    name: str
    kind: str


class Decision(NamedTuple):
    """`reply` goes to the daemon, `option` is what it selects (None: nothing), `by` is policy, user or nobody."""

    reply: str
    option: Option | None
    by: str

    @property
    def allows(self) -> bool:
        return self.option is not None and self.option.kind in ("allow_once", "allow_always")


def options_of(request: PermissionRequest) -> list[Option]:
    """The options that can be chosen: those with an id."""
    found = []
    for option in request.options:
        ident, name, kind = (option.get(key) for key in ("optionId", "name", "kind"))
        if isinstance(ident, str) and ident:
            text = name if isinstance(name, str) and name else ident
            found.append(Option(ident, text, kind if isinstance(kind, str) else ""))
    return found


def first_of_kind(request: PermissionRequest, kind: str) -> Option | None:
    return next((option for option in options_of(request) if option.kind == kind), None)


def allow(request: PermissionRequest, by: str) -> Decision:
    """Allows this once, if that is on offer; else nothing is selected."""
    option = first_of_kind(request, "allow_once")
    return select(request, option, by) if option is not None else decline(request, by)


def deny(request: PermissionRequest, by: str) -> Decision:
    option = first_of_kind(request, "reject_once")
    return select(request, option, by) if option is not None else decline(request, by)


def decline(request: PermissionRequest, by: str) -> Decision:
    """Selects nothing: the agent is told `cancelled`."""
    params = msgspec.json.encode(request.params)
    reply = "none of them"
    while outcome(reply, params) != CANCELLED:  # an option of that very id
        reply += "!"
    return Decision(reply, None, by)


def select(request: PermissionRequest, option: Option, by: str) -> Decision:
    """Selects exactly this option.

    The daemon reads a reply as a word (`once`, `reject`, …) before it reads it as an id, and ids are the agent's to
    choose: so the reply is checked against the daemon's own rule, and what cannot be said without doubt is not said.
    """
    params = msgspec.json.encode(request.params)
    for reply in (option.id, "once", "always", "reject", "reject_always"):
        if _selected(outcome(reply, params)) == option.id:
            return Decision(reply, option, by)
    return decline(request, by)


class _Outcome(msgspec.Struct):
    option_id: str | None = msgspec.field(name="optionId", default=None)


class _Result(msgspec.Struct):
    outcome: _Outcome


def _selected(result: bytes) -> str | None:
    return msgspec.json.decode(result, type=_Result).outcome.option_id
