"""Asking the user for data, as an agent does it: by form or by URL, and what came of it.

Nothing but a clear yes with values that pass the form's own check counts as accepted (ELI-10, FWD-9).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from roost.acp import v2
from roost.errors import LocalProtocolError
from roost.sdk.forms import faults_of


class Action(Enum):
    """How an elicitation ended."""

    ACCEPTED = "accepted"
    """For a form: with good values. For a URL: the user agreed to open it, which is not that it is done (ELI-13)."""
    DECLINED = "declined"
    CANCELLED = "cancelled"
    """Closed without an answer, or the work was cancelled."""
    INVALID = "invalid"
    """The values do not pass the form's check, or the answer is none; see `faults`."""
    UNAVAILABLE = "unavailable"
    """The client cannot ask in this way: nobody was asked (ELI-1)."""
    REFUSED = "refused"
    """The client answered with an error."""
    TIMED_OUT = "timed_out"
    DISCONNECTED = "disconnected"


class Elicited(Struct, frozen=True):
    """What came of asking; true when the user accepted. `values` are there only then (ELI-10)."""

    action: Action
    values: dict[str, Any] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    response: Any = None
    elicitation_id: str | None = None
    """Of a URL: what `complete_elicitation` is told."""

    @property
    def accepted(self) -> bool:
        """Whether the user said yes, for a form with values that pass its check (ELI-10)."""
        return self.action is Action.ACCEPTED

    def __bool__(self) -> bool:
        return self.accepted


UNAVAILABLE: Final = Elicited(Action.UNAVAILABLE)


def can_ask(capabilities: v2.ClientCapabilities, mode: str) -> bool:
    """Whether the client of this connection advertised that mode, `form` or `url` (ELI-1, INI-19)."""
    offered = capabilities.elicitation
    return offered is not None and getattr(offered, mode) is not None


def check_url(url: str) -> None:
    """LocalProtocolError: no web address with a host (ELI-15)."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise LocalProtocolError("an elicitation URL is http or https, with a host (ELI-15)")


def judge_form(schema: v2.ElicitationSchema, response: v2.CreateElicitationResponse) -> Elicited:
    """What the answer to a form means."""
    action = _action(response)
    if action is not Action.ACCEPTED or not isinstance(response, v2.AcceptElicitationResponse):
        return Elicited(action, response=response)  # content beside another action is ignored (ELI-10)
    values: Mapping[str, Any] = response.content or {}
    faults = faults_of(schema, values)
    if faults:
        return Elicited(Action.INVALID, faults=faults, response=response)
    return Elicited(Action.ACCEPTED, values=dict(values), response=response)


def judge_url(elicitation_id: str, response: v2.CreateElicitationResponse) -> Elicited:
    """What the answer to a URL means."""
    return Elicited(_action(response), response=response, elicitation_id=elicitation_id)


def _action(response: v2.CreateElicitationResponse) -> Action:
    match response:
        case v2.AcceptElicitationResponse():
            return Action.ACCEPTED
        case v2.DeclineElicitationResponse():
            return Action.DECLINED
        case v2.CancelElicitationResponse():
            return Action.CANCELLED
        case _:
            return Action.INVALID
