"""The intermediate form between the JSON schema and Python text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias


class Missing:
    """The schema gives no default."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


@dataclass(frozen=True)
class Named:
    """A scalar (`str`, `bool`, `float`, `Any`, `Uint32`, …) or another definition."""

    name: str


@dataclass(frozen=True)
class Listed:
    item: Type
    skip_invalid: bool = False


@dataclass(frozen=True)
class Mapped:
    value: Type


@dataclass(frozen=True)
class Nullable:
    of: Type


@dataclass(frozen=True)
class Either:
    """Scalars side by side."""

    of: tuple[Type, ...]


Type: TypeAlias = Named | Listed | Mapped | Nullable | Either


@dataclass(frozen=True)
class Field:
    wire: str
    type: Type
    required: bool
    lenient: bool = False
    """Falls to its default when malformed (`x-deserialize-default-on-error`)."""
    patch: bool = False
    """Omitted, null and a value mean three things."""
    optional_member: bool = False
    """Absent is UNSET because null, or nothing, is not a value here: a member of an alternative."""
    default: Any = MISSING
    constant: str | None = None
    """Always this value, written and never read."""
    unstable: bool = False


@dataclass(frozen=True)
class Tag:
    field: str
    value: str


@dataclass(frozen=True)
class Alias:
    name: str
    type: Type


@dataclass(frozen=True)
class Constants:
    """An open enumeration: any string (or integer) is legal, these have names."""

    name: str
    base: str
    values: tuple[str | int, ...]


@dataclass(frozen=True)
class Closed:
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Structure:
    name: str
    source: str
    """The definition it comes from; an arm may share it with others."""
    fields: tuple[Field, ...]
    base: str | None = None
    """A structure whose fields it inherits."""
    tag: Tag | None = None
    one_of: tuple[str, ...] = ()
    """Structures of which exactly one has to fit, with their fields copied into this one."""
    method: str | None = None
    private: bool = False


@dataclass(frozen=True)
class Union:
    """A union told apart by a tag, always with an open arm."""

    name: str
    tag_field: str
    arms: tuple[tuple[str, str], ...]
    """(tag, name of a structure or of a nested union)"""
    other: str | None = None
    """The private structure an unknown variant has to satisfy."""
    outer: Tag | None = None
    """Set on a union inside a union: the tag of the enclosing one, which its arms carry for msgspec."""


@dataclass(frozen=True)
class Untagged:
    name: str
    alternatives: tuple[Type, ...]
    native: bool
    """Whether msgspec can decode the alternatives side by side."""


Definition: TypeAlias = Alias | Constants | Closed | Structure | Union | Untagged


@dataclass
class Vocabulary:
    """Everything the schema defines, by Python name, in the schema's order."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    flattened: dict[str, str] = field(default_factory=dict)
    """Definitions whose fields live in other types: name to the reason."""
    documentation: dict[str, str] = field(default_factory=dict)
    """Definitions that only tell a reader which params and results exist: name to the reason."""
    unstable: set[str] = field(default_factory=set)

    def add(self, definition: Definition) -> None:
        if definition.name in self.definitions:
            raise ValueError(f"two definitions named {definition.name}")
        self.definitions[definition.name] = definition

    def is_unstable(self, *names: str) -> bool:
        return not self.unstable.isdisjoint(names)
