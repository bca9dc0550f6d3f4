"""What a method is, and how a request type knows its own: NewSessionRequest is answered by NewSessionResponse."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

from roost.wire.model import Model

R = TypeVar("R", covariant=True)

Side: TypeAlias = Literal["agent", "client", "both"]
Kind: TypeAlias = Literal["request", "notification"]


class Request(Model, Generic[R], frozen=True, kw_only=True):
    """Params of a request; `R` is what a successful answer decodes to."""

    METHOD: ClassVar[str]


class Notification(Model, frozen=True, kw_only=True):
    """Params of a notification."""

    METHOD: ClassVar[str]


class Gate(Struct, frozen=True):
    """Where the right to call a method is advertised: which side does, and where in its initialize message."""

    side: Literal["agent", "client"]
    path: str

    def is_open(self, advertised: Any) -> bool:
        """Whether that side's initialize request or response advertises it. Omitted and null mean no (INI-11)."""
        for step in self.path.split("."):
            advertised = getattr(advertised, _attribute(step))
            if advertised is None:
                return False
        return not isinstance(advertised, list) or bool(advertised)  # AUTH-1: an empty list of methods is no login


class Method(Struct, frozen=True, kw_only=True):
    """One row of a dialect's method table."""

    name: str
    side: Side
    """The side that implements it, that is: receives it."""
    kind: Kind
    params_name: str = ""
    result_name: str = ""
    stable: bool = True
    gate: Gate | None = None

    @property
    def params(self) -> Any:
        """The type of its params; None in a dialect without types."""
        return _type_named(self.params_name)

    @property
    def result(self) -> Any:
        """The type of its result; None for a notification."""
        return _type_named(self.result_name)


def _type_named(name: str) -> Any:
    if not name:
        return None
    from roost.acp.v2 import gen

    return getattr(gen, name)


def _attribute(wire: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in wire)
