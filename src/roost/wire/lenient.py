"""The lenient walk: what a malformed message still means (see the decision table of the protocol, L1 to L21).

Only called when the strict C decode has failed. It goes down the message one object at a time, keeping every value as
raw bytes, tries the C decoder again on each part, and opens only the parts that fail. A malformed field falls to its
default and a malformed list item is dropped where the field's annotation allows it (`Lenient`, `Items`); everywhere
else the error moves outward to the nearest place that does.

The plan of a type comes from its struct fields and annotations alone; nothing here knows a protocol.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import NODEFAULT, Raw, Struct, UnsetType
from msgspec.json import Decoder

from roost.errors import CodecError, format_path
from roost.wire.model import (
    CONSTANT,
    DEFAULT_ON_ERROR,
    SKIP_INVALID,
    FirstOf,
    OpenUnion,
    Unknown,
    Untagged,
    WiderThan,
)

Path: TypeAlias = tuple[str | int, ...]

MAX_LOSSES: Final = 10_000
"""Malformed fields and items forgiven in one message, our choice: a peer beyond it is not mistaken but hostile."""

# What msgspec raises for input it cannot decode; anything else is a bug of ours.
FAILURES: Final = (msgspec.DecodeError, RecursionError)

_members = Decoder(dict[str, Raw]).decode
_items = Decoder(list[Raw]).decode
_string = Decoder(str).decode
_natural = Decoder(Annotated[int, msgspec.Meta(ge=0)]).decode


class Loss(NamedTuple):
    """One field or item that was forgiven: where, what became of it, and what was wrong, where."""

    path: Path
    outcome: str
    message: str
    fault: Path

    def __str__(self) -> str:
        inner = self.fault[len(self.path) :]
        return f"{self.outcome}: {self.message}{f' (at {format_path(inner)})' if inner else ''}"


class Losses:
    """What was forgiven so far. `entries` shrinks when what holds them is dropped itself; `forgiven` does not."""

    __slots__ = ("entries", "forgiven")

    def __init__(self) -> None:
        self.entries: list[Loss] = []
        self.forgiven = 0

    def add(self, path: Path, outcome: str, error: CodecError) -> None:
        self.forgiven += 1
        if self.forgiven > MAX_LOSSES:
            raise TooManyLosses
        # Not the error itself: its traceback would keep every frame and value on the way alive.
        self.entries.append(Loss(path, outcome, error.message, error.path))


class TooManyLosses(Exception):
    """MAX_LOSSES was reached. Not a CodecError, so that no lenient field swallows it."""


class Node:
    """One type of the plan: `read` decodes a raw value or raises CodecError with the path."""

    __slots__ = ("expects", "fault", "strict")

    def __init__(self, strict: Callable[[Any], Any] | None, expects: str) -> None:
        self.strict = strict
        self.expects = expects
        self.fault = f"expected {expects}"

    def read(self, raw: Any, path: Path, losses: Losses) -> Any:
        if self.strict is not None:
            try:
                return self.strict(raw)
            except FAILURES:
                pass
        return self.walk(raw, path, losses)

    def walk(self, raw: Any, path: Path, losses: Losses) -> Any:
        """`read`, once the strict decoder is known to fail."""
        raise CodecError(self.fault, path)


class WideInteger(Node):
    """An unsigned integer whose upper half msgspec cannot bound."""

    __slots__ = ("top",)

    def __init__(self, top: int) -> None:
        super().__init__(None, f"an integer from 0 to {top}")
        self.top = top

    def walk(self, raw: Any, path: Path, losses: Losses) -> Any:
        try:
            value = _natural(raw)
        except FAILURES:
            value = -1
        if 0 <= value <= self.top:
            return value
        raise CodecError(self.fault, path)


class Nullable(Node):
    """`null`, or what `inner` reads."""

    __slots__ = ("inner",)

    def __init__(self, strict: Callable[[Any], Any] | None, inner: Node) -> None:
        super().__init__(strict, f"{inner.expects} or null")
        self.inner = inner

    def walk(self, raw: Any, path: Path, losses: Losses) -> Any:
        return self.inner.walk(raw, path, losses)  # the strict decoder knows null


class ArrayNode(Node):
    """A list; malformed items are dropped (SKIP) or fatal to the list."""

    __slots__ = ("item", "skip")

    def __init__(self, strict: Callable[[Any], Any] | None, item: Node, skip: bool) -> None:
        super().__init__(strict, "an array")
        self.item = item
        self.skip = skip

    def walk(self, raw: Any, path: Path, losses: Losses) -> Any:
        try:
            items = _items(raw)
        except FAILURES:
            raise CodecError("expected an array", path) from None
        read = self.item.read
        if not self.skip:
            return [read(item, (*path, index), losses) for index, item in enumerate(items)]
        kept = []
        for index, item in enumerate(items):
            mark = len(losses.entries)
            try:
                kept.append(read(item, (*path, index), losses))
            except CodecError as error:
                del losses.entries[mark:]
                losses.add((*path, index), "item dropped", error)
        return kept


class MapNode(Node):
    """An object used as a dictionary."""

    __slots__ = ("value",)

    def __init__(self, strict: Callable[[Any], Any] | None, value: Node) -> None:
        super().__init__(strict, "an object")
        self.value = value

    def walk(self, raw: Any, path: Path, losses: Losses) -> Any:
        members = _open(raw, path)
        read = self.value.read
        return {key: read(value, (*path, key), losses) for key, value in members.items()}


class FieldPlan:
    """How one field of a struct is read."""

    __slots__ = ("attribute", "lenient", "node", "required", "wire")

    def __init__(self, attribute: str, wire: str, node: Node, lenient: bool, required: bool) -> None:
        self.attribute = attribute
        self.wire = wire
        self.node = node
        self.lenient = lenient
        self.required = required


class StructNode(Node):
    """An object with known fields; other members are ignored (ENV-6)."""

    __slots__ = ("_alternatives", "_fields", "cls")

    def __init__(self, cls: type[Struct]) -> None:
        super().__init__(Decoder(cls).decode, "an object")
        self.cls = cls
        self._fields: list[FieldPlan] | None = None
        self._alternatives: list[StructNode] = []

    @property
    def fields(self) -> list[FieldPlan]:
        if self._fields is None:
            # Members that only make sense together live in structs of their own; exactly one of those has to fit.
            alternatives: tuple[type[Struct], ...] = getattr(self.cls, "ONE_OF", ())
            self._alternatives = [struct_node(alternative) for alternative in alternatives]
            apart = {field.attribute for node in self._alternatives for field in node.fields}
            self._fields = [
                plan
                for info in msgspec.structs.fields(self.cls)
                if info.name not in apart and (plan := _field_plan(info)) is not None
            ]
        return self._fields

    def walk(self, raw: Any, path: Path, losses: Losses) -> Any:
        return self.build(_open(raw, path), path, losses)

    def build(self, members: dict[str, Raw], path: Path, losses: Losses) -> Any:
        values = self.values(members, path, losses)
        try:
            return self.cls(**values)
        except ValueError as error:  # what a struct checks about its fields together
            raise CodecError(str(error), path) from None

    def values(self, members: dict[str, Raw], path: Path, losses: Losses) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for field in self.fields:
            raw = members.get(field.wire)
            if raw is None:
                if field.required:
                    raise CodecError("missing", (*path, field.wire))
                continue
            if not field.lenient:
                values[field.attribute] = field.node.read(raw, (*path, field.wire), losses)
                continue
            mark = len(losses.entries)
            try:
                values[field.attribute] = field.node.read(raw, (*path, field.wire), losses)
            except CodecError as error:
                del losses.entries[mark:]
                losses.add((*path, field.wire), "default used", error)
                if field.required:  # L3: only arrays are both
                    values[field.attribute] = []
        if self._alternatives:
            values.update(self._first_alternative(members, path, losses))
        return values

    def _first_alternative(self, members: dict[str, Raw], path: Path, losses: Losses) -> dict[str, Any]:
        for node in self._alternatives:
            mark = len(losses.entries)
            try:
                return node.values(members, path, losses)
            except CodecError:
                del losses.entries[mark:]
        wanted = " or ".join(field.wire for node in self._alternatives for field in node.fields if field.required)
        raise CodecError(f"expected {wanted}", path)


class UnionNode(Node):
    """An object told apart by its tag; an unknown tag keeps the payload whole."""

    __slots__ = ("arms", "other", "tag_field")

    def __init__(self, strict: Callable[[Any], Any] | None, union: OpenUnion) -> None:
        super().__init__(strict, f"an object with a known or new {union.tag_field}")
        self.tag_field = union.tag_field
        self.arms = {tag: node_of(arm) for tag, arm in union.arms.items()}
        self.other = None if union.other is None else struct_node(union.other)

    def walk(self, raw: Any, path: Path, losses: Losses) -> Any:
        members = _open(raw, path)
        tagged = members.get(self.tag_field)
        if tagged is None:
            raise CodecError("missing", (*path, self.tag_field))  # FWD-4
        try:
            tag = _string(tagged)
        except FAILURES:
            raise CodecError("expected a string", (*path, self.tag_field)) from None
        arm = self.arms.get(tag)
        if arm is None:
            if self.other is not None:
                self.other.read(raw, path, Losses())  # FWD-5; the payload is kept, so nothing is lost
            return Unknown(bytes(raw), tag, self.tag_field)
        # FWD-3: from here on an error is an error, never `Unknown`.
        if isinstance(arm, StructNode) and self.strict is not None:
            return arm.build(members, path, losses)
        return arm.read(raw, path, losses)


class FirstOfNode(Node):
    """An untagged union: the first alternative that decodes, leniently, wins."""

    __slots__ = ("alternatives",)

    def __init__(self, strict: Callable[[Any], Any] | None, first_of: FirstOf) -> None:
        self.alternatives = [node_of(alternative) for alternative in first_of.alternatives]
        super().__init__(strict, "one of: " + ", ".join(node.expects for node in self.alternatives))

    def walk(self, raw: Any, path: Path, losses: Losses) -> Any:
        for node in self.alternatives:
            mark = len(losses.entries)
            try:
                return node.read(raw, path, losses)
            except CodecError:
                del losses.entries[mark:]
        raise CodecError(self.fault, path)


_struct_nodes: dict[type[Struct], StructNode] = {}
_SCALARS: Final = {str: "a string", int: "an integer", float: "a number", bool: "a boolean", type(None): "null"}


def struct_node(cls: type[Struct]) -> StructNode:
    """The plan of one struct, made once."""
    node = _struct_nodes.get(cls)
    if node is None:
        node = _struct_nodes[cls] = StructNode(cls)
    return node


def node_of(annotation: Any) -> Node:
    """The plan of any annotation the generated types use."""
    bare, notes = _unwrap(annotation)
    strict = None if bare is Untagged else Decoder(annotation).decode
    for note in notes:
        if isinstance(note, OpenUnion):
            return UnionNode(strict, note)
        if isinstance(note, FirstOf):
            return FirstOfNode(strict, note)
        if isinstance(note, WiderThan):
            return WideInteger(note.top)
    origin = typing.get_origin(bare)
    arguments = typing.get_args(bare)
    if origin in (typing.Union, types.UnionType):
        inner = [argument for argument in arguments if argument is not type(None)]
        if len(inner) == 1:
            node = node_of(inner[0])
            # A scalar needs no second look at what is inside.
            return Node(strict, f"{node.expects} or null") if type(node) is Node else Nullable(strict, node)
        return Node(strict, " or ".join(node_of(argument).expects for argument in arguments))
    if origin is list:
        return ArrayNode(strict, node_of(arguments[0]), SKIP_INVALID in notes)
    if origin is dict:
        return MapNode(strict, node_of(arguments[1]))
    if origin is Literal:
        return Node(strict, " or ".join(repr(argument) for argument in arguments))
    if isinstance(bare, type) and issubclass(bare, Struct):
        return struct_node(bare)
    for note in notes:
        if isinstance(note, msgspec.Meta):
            return Node(strict, f"an integer from {note.ge} to {note.le}")
    return Node(strict, _SCALARS.get(bare, "a JSON value"))


def _field_plan(info: msgspec.structs.FieldInfo) -> FieldPlan | None:
    bare, notes = _unwrap(info.type)
    if CONSTANT in notes:
        return None
    annotation = info.type
    if typing.get_origin(bare) in (typing.Union, types.UnionType):
        # A field that is present is never UNSET, and a decoder outside a struct cannot say so.
        arguments = tuple(argument for argument in typing.get_args(bare) if argument is not UnsetType)
        annotation = typing.Union[arguments]  # noqa: UP007 - built from values
        if kept := [note for note in notes if isinstance(note, FirstOf | OpenUnion)]:
            annotation = Annotated[annotation, kept[0]]
    required = info.default is NODEFAULT and info.default_factory is NODEFAULT
    return FieldPlan(info.name, info.encode_name, node_of(annotation), DEFAULT_ON_ERROR in notes, required)


def _unwrap(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """The annotation without `Annotated`, and what was noted there."""
    if typing.get_origin(annotation) is Annotated:
        return annotation.__origin__, annotation.__metadata__
    return annotation, ()


def _open(raw: Any, path: Path) -> dict[str, Raw]:
    try:
        return _members(raw)
    except FAILURES:
        raise CodecError("expected an object", path) from None
