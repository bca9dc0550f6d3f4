"""Permissions as an agent asks for them: what is offered, and what came of it.

Only a chosen option that was offered and whose kind is one of the two allow kinds permits anything. Every other way a
request can end, known or not, is a no (PER-5, FWD-9).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from roost.acp import v2
from roost.errors import LocalProtocolError


class Answer(Enum):
    """How a permission request ended."""

    CHOSEN = "chosen"
    """The user chose an offered option."""
    CANCELLED = "cancelled"
    """The work was cancelled, or the client took the question away (CAN-13)."""
    REMEMBERED = "remembered"
    """The user chose always, or never, before: nobody was asked (PER-6)."""
    INVALID = "invalid"
    """The client chose what was not offered, or answered what is no answer."""
    REFUSED = "refused"
    """The client answered with an error."""
    TIMED_OUT = "timed_out"
    DISCONNECTED = "disconnected"


_ALLOWING: Final = (v2.PermissionOptionKind.ALLOW_ONCE, v2.PermissionOptionKind.ALLOW_ALWAYS)


class Permission(Struct, frozen=True):
    """What came of asking; true when it is a yes. `option` is what the user chose, if anything."""

    answer: Answer
    option: v2.PermissionOption | None = None
    response: v2.RequestPermissionResponse | None = None

    @property
    def allowed(self) -> bool:
        """Whether it is a yes: an offered option was chosen, and it is of an allow kind (PER-5)."""
        return self.option is not None and self.option.kind in _ALLOWING

    @property
    def always(self) -> bool:
        """Whether the user wants not to be asked again, in either direction."""
        kinds = (v2.PermissionOptionKind.ALLOW_ALWAYS, v2.PermissionOptionKind.REJECT_ALWAYS)
        return self.option is not None and self.option.kind in kinds

    def __bool__(self) -> bool:
        return self.allowed


def usual_options() -> list[v2.PermissionOption]:
    """Once and always, yes and no: what most questions need."""
    kinds = v2.PermissionOptionKind
    return [
        v2.PermissionOption(option_id=kinds.ALLOW_ONCE, name="Allow once", kind=kinds.ALLOW_ONCE),
        v2.PermissionOption(option_id=kinds.ALLOW_ALWAYS, name="Always allow", kind=kinds.ALLOW_ALWAYS),
        v2.PermissionOption(option_id=kinds.REJECT_ONCE, name="Reject once", kind=kinds.REJECT_ONCE),
        v2.PermissionOption(option_id=kinds.REJECT_ALWAYS, name="Always reject", kind=kinds.REJECT_ALWAYS),
    ]


def check_options(options: Sequence[v2.PermissionOption]) -> None:
    """LocalProtocolError: there is nothing to choose from, or two options cannot be told apart (PER-1, PER-2)."""
    if not options:
        raise LocalProtocolError("a permission request offers at least one option (PER-2)")
    if len({option.option_id for option in options}) < len(options):
        raise LocalProtocolError("two options of a permission request have one id")


def judge(options: Sequence[v2.PermissionOption], response: v2.RequestPermissionResponse) -> Permission:
    """What an answer means."""
    outcome = response.outcome
    if isinstance(outcome, v2.CancelledPermissionOutcome):
        return Permission(Answer.CANCELLED, None, response)
    if isinstance(outcome, v2.SelectedPermissionOutcome):
        for option in options:
            if option.option_id == outcome.option_id:
                return Permission(Answer.CHOSEN, option, response)
    return Permission(Answer.INVALID, None, response)
