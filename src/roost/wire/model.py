"""What a generated JSON type is made of: the struct base, the markers its fields carry, and the unknown variant.

A field says in its annotation how it forgives a peer's mistakes, and `decode` reads it from there:

    Lenient[T]   malformed: the field falls to its default, the object survives (x-deserialize-default-on-error)
    Items[T]     a list whose malformed items are dropped                       (x-deserialize-skip-invalid-items)
    UNSET        the third state of a patch field: "not mentioned", as opposed to None, "clear it"

Everything without a marker is strict. msgspec's C decoder ignores the markers, so a strict decode costs nothing extra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from roost.errors import CodecError

__all__ = [
    "CONSTANT",
    "UNSET",
    "FirstOf",
    "Int32",
    "Int64",
    "Items",
    "JsonObject",
    "Lenient",
    "Model",
    "NeverType",
    "OpenUnion",
    "Uint16",
    "Uint32",
    "Uint64",
    "Unknown",
    "UnsetType",
    "Untagged",
    "WiderThan",
    "check_one_of",
]

T = TypeVar("T")


class Marker:
    """A note inside an annotation, for the lenient walk alone."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


DEFAULT_ON_ERROR: Final = Marker("DEFAULT_ON_ERROR")
SKIP_INVALID: Final = Marker("SKIP_INVALID")
CONSTANT: Final = Marker("CONSTANT")
"""The field is written, always the same, and never read: a second tag that the arm's class already says."""

Lenient: TypeAlias = Annotated[T, DEFAULT_ON_ERROR]
Items: TypeAlias = Annotated[list[T], SKIP_INVALID]

JsonObject: TypeAlias = dict[str, Any]


class WiderThan:
    """An integer whose top lies above what msgspec can check in C; only the walk admits the rest."""

    __slots__ = ("top",)

    def __init__(self, top: int) -> None:
        self.top = top


# The schema's integer formats. They are machine types, so their range is checked (L15).
Uint16: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**16 - 1)]
Uint32: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
Uint64: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1), WiderThan(2**64 - 1)]
Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


def _wire_name(attribute: str) -> str:
    if attribute == "meta":
        return "_meta"
    head, *rest = attribute.split("_")
    return head + "".join(word[0].upper() + word[1:] for word in rest)


class Model(Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True, rename=_wire_name):
    """Base of every generated type: immutable, keyword-only, snake_case here and camelCase on the wire.

    What equals its default is not written (W1); UNSET never is.
    """


class Unknown:
    """A variant this side does not know, kept whole: `raw` is its JSON text, all members, in their order (FWD-2).

    `tag_field` and `tag` say which member named the variant and what it said. Encoding writes `raw` back verbatim (W4).
    Never read permission, success or any other decision out of one (FWD-9).
    """

    __slots__ = ("raw", "tag", "tag_field")
    __match_args__ = ("tag",)

    raw: bytes
    tag: str
    tag_field: str

    def __init__(self, raw: bytes, tag: str, tag_field: str = "type") -> None:
        self.raw = raw
        self.tag = tag
        self.tag_field = tag_field

    @classmethod
    def of(cls, value: JsonObject, tag_field: str = "type") -> Unknown:
        """Your own variant, from plain JSON data. The protocol wants its tag to start with `_` (EXT-5)."""
        from roost.wire.decode import encode

        tag = value.get(tag_field)
        if not isinstance(tag, str):
            raise CodecError("a variant needs its tag, a string", (tag_field,))
        return cls(encode(value), tag, tag_field)

    @property
    def is_custom(self) -> bool:
        """Whether the variant is somebody's extension (`_…`) rather than a later version of the protocol."""
        return self.tag.startswith("_")

    def value(self) -> JsonObject:
        """The payload as plain JSON data, decoded anew each time. CodecError: it holds a number Python cannot."""
        try:
            value = msgspec.json.decode(self.raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise CodecError(str(error)) from None
        if not isinstance(value, dict):
            raise CodecError("expected an object")
        return value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Unknown):
            return NotImplemented
        return self.raw == other.raw and self.tag == other.tag and self.tag_field == other.tag_field

    def __hash__(self) -> int:
        return hash((self.raw, self.tag))

    def __repr__(self) -> str:
        # No payload: it may carry secrets, and reprs end up in logs.
        return f"Unknown({self.tag_field}={self.tag!r}, {len(self.raw)} bytes)"


class OpenUnion:
    """How the walk reads a tagged union: known tags to their types, every other tag to `Unknown`.

    `other` is a struct an unknown variant has to satisfy too (FWD-5); what it decodes to is thrown away.
    """

    __slots__ = ("arms", "other", "tag_field")

    def __init__(self, tag_field: str, arms: dict[str, Any], other: type[Model] | None = None) -> None:
        self.tag_field = tag_field
        self.arms = arms
        self.other = other


class FirstOf:
    """How the walk reads an untagged union: the first alternative that decodes wins, in the schema's order (FWD-6)."""

    __slots__ = ("alternatives",)

    def __init__(self, *alternatives: Any) -> None:
        self.alternatives = alternatives


class Untagged:
    """Stands where msgspec has no way to say what is meant: no JSON value decodes to it, so the walk takes over."""


if TYPE_CHECKING:
    NeverType = Any
else:

    class _Never(Struct, tag_field="type", tag=""):
        """A second arm for a union that knows only one: without it msgspec would not insist on the tag (FWD-4)."""

        never: Annotated[int, msgspec.Meta(gt=0, lt=0)]

    NeverType = _Never


def check_one_of(value: Struct) -> None:
    """Refuses a value whose members do not fit exactly one of its class's ONE_OF alternatives, or mix two."""
    alternatives: tuple[type[Model], ...] = type(value).ONE_OF  # type: ignore[attr-defined]
    given = [
        {name for name in cls.__struct_fields__ if getattr(value, name) not in (UNSET, None)} for cls in alternatives
    ]
    fitting = [
        cls
        for cls in alternatives
        if all(getattr(value, info.name) is not UNSET for info in msgspec.structs.fields(cls) if info.required)
    ]
    if len(fitting) != 1 or any(names and cls not in fitting for cls, names in zip(alternatives, given, strict=True)):
        wanted = [info.name for cls in alternatives for info in msgspec.structs.fields(cls) if info.required]
        raise ValueError(f"expected exactly one of: {', '.join(wanted)}")
