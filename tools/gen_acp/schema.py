"""Reads the JSON schema into the intermediate form. Every shape it does not expect is an error, never a guess."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tools.gen_acp.model import (
    MISSING,
    Alias,
    Closed,
    Constants,
    Either,
    Field,
    Listed,
    Mapped,
    Named,
    Nullable,
    Structure,
    Tag,
    Type,
    Union,
    Untagged,
    Vocabulary,
)
from tools.gen_acp.topics import ARM_NAMES, PATCHES

Schema = dict[str, Any]

INTEGERS = {"uint16": "Uint16", "uint32": "Uint32", "uint64": "Uint64", "int32": "Int32", "int64": "Int64"}
DEFAULT_ON_ERROR = "x-deserialize-default-on-error"
SKIP_INVALID = "x-deserialize-skip-invalid-items"
UNSTABLE_METHODS = ("nes/", "document/")  # only the capability that opens them is marked


class Reader:
    """One pass over `$defs`."""

    def __init__(self, document: Schema) -> None:
        self.defs: dict[str, Schema] = document["$defs"]
        self.vocabulary = Vocabulary()
        self.payload_uses = self._count_payload_uses()

    def read(self) -> Vocabulary:
        for name, schema in self.defs.items():
            if schema.get("x-docs-ignore"):
                self.vocabulary.documentation[name] = "a root that lists params or results; methods.py is that list"
            elif name not in self.vocabulary.flattened and name not in self.vocabulary.definitions:
                self._definition(name, schema)
        for name in self.vocabulary.flattened:
            self.vocabulary.definitions.pop(name, None)
        self.vocabulary.unstable = self._unstable()
        return self.vocabulary

    # definitions

    def _definition(self, name: str, schema: Schema) -> None:
        add = self.vocabulary.add
        alternatives: list[Schema] = schema.get("anyOf", [])
        if "oneOf" in schema:
            add(Closed(name, tuple(option["const"] for option in schema["oneOf"])))
        elif alternatives and all("const" in option for option in alternatives[:-1]) and len(alternatives) > 1:
            add(self._constants(name, alternatives))
        elif alternatives and any(_tag_of(option) for option in alternatives):
            self._union(name, schema)
        elif alternatives and "properties" in schema:
            add(self._structure(name, schema))
        elif alternatives and any(option.get("type") == "null" for option in alternatives):
            add(Alias(name, self._type(schema)))
        elif alternatives:
            self._untagged(name, alternatives)
        elif schema.get("type") == "object":
            add(self._structure(name, schema))
        else:
            add(Alias(name, self._type(schema)))

    def _constants(self, name: str, options: list[Schema]) -> Constants:
        last = options[-1]
        if "const" in last or len({option["type"] for option in options}) != 1:
            raise ValueError(f"{name}: an enumeration without its open end")
        base = "str" if last["type"] == "string" else INTEGERS[last["format"]]
        return Constants(name, base, tuple(option["const"] for option in options[:-1]))

    def _structure(self, name: str, schema: Schema) -> Structure:
        fields, one_of = self._fields(name, schema)
        return Structure(name, name, fields, one_of=one_of, method=schema.get("x-method"))

    def _fields(self, name: str, schema: Schema) -> tuple[tuple[Field, ...], tuple[str, ...]]:
        required = set(schema.get("required", ()))
        fields = [self._field(name, wire, member, wire in required) for wire, member in schema["properties"].items()]
        one_of = tuple(_reference(option["allOf"][0]) for option in schema.get("anyOf", ()) if "allOf" in option)
        for alternative in one_of:
            for field in self._fields(alternative, self.defs[alternative])[0]:
                fields.append(replace(field, required=False, optional_member=field.required))
        return tuple(fields), one_of

    def _field(self, owner: str, wire: str, schema: Schema, required: bool) -> Field:
        lenient = bool(schema.get(DEFAULT_ON_ERROR))
        patch = owner in PATCHES and lenient
        default = schema.get("default", MISSING)
        return Field(wire, self._type(schema), required, lenient, patch, default=default, unstable=_is_marked(schema))

    # unions

    def _union(self, name: str, schema: Schema) -> None:
        alternatives: list[Schema] = schema["anyOf"]
        tagged = [option for option in alternatives if _tag_of(option)]
        tag_field = next(tag.field for option in tagged if (tag := _tag_of(option)))
        [open_arm] = [option for option in alternatives if "not" in option]
        rest = [option for option in alternatives if option not in tagged and option is not open_arm]
        siblings, _ = self._fields(name, {**schema, "anyOf": []}) if "properties" in schema else ((), ())
        arms = [
            (tag.value, self._arm(name, tag, option, siblings, schema)) for option in tagged if (tag := _tag_of(option))
        ]
        _check_open_arm(name, open_arm, tag_field, [tag for tag, _ in arms])
        other = self._other(name, open_arm, tag_field, siblings)
        union = Union(name, tag_field, tuple(arms), other)
        if not rest:
            self.vocabulary.add(union)
            return
        # A tagged union with an untagged way out: two types, tried in the schema's order.
        inner = f"Tagged{name}"
        self.vocabulary.add(replace(union, name=inner))
        self.vocabulary.add(Untagged(name, (Named(inner), *(self._type(option) for option in rest)), native=False))

    def _arm(self, union: str, tag: Tag, option: Schema, siblings: tuple[Field, ...], whole: Schema) -> str:
        """Defines the arm's structure and returns its name."""
        payload = _reference(option["allOf"][0]) if "allOf" in option else None
        own = {wire: member for wire, member in option["properties"].items() if wire != tag.field}
        if payload is not None and own:
            raise ValueError(f"{union}.{tag.value}: members beside a payload")
        name = ARM_NAMES.get((union, tag.value), payload)
        if name is None:
            raise ValueError(f"{union}.{tag.value} needs a name in ARM_NAMES")
        method = whole.get("x-method")
        if payload is None:
            fields, _ = self._fields(name, {**option, "properties": own})
            self.vocabulary.add(Structure(name, union, (*siblings, *fields), tag=tag, method=method))
            return name
        schema = self.defs[payload]
        if any(_tag_of(inner) for inner in schema.get("anyOf", ())):
            self._nested_union(payload, tag)
            return payload
        structure = self._structure(payload, schema)
        if name == payload:
            self.vocabulary.add(replace(structure, fields=(*siblings, *structure.fields), tag=tag, method=method))
        elif self.payload_uses[payload] > 1:
            # The payload is a type of its own; the arm adds the tag, and what stands beside the union.
            if payload not in self.vocabulary.definitions:
                self.vocabulary.add(structure)
            self.vocabulary.add(Structure(name, payload, siblings, base=payload, tag=tag))
        else:
            self.vocabulary.flattened[payload] = f"its fields are those of {name}"
            self.vocabulary.add(
                Structure(
                    name, payload, (*siblings, *structure.fields), tag=tag, one_of=structure.one_of, method=method
                )
            )
        return name

    def _nested_union(self, name: str, outer: Tag) -> None:
        """A union inside a union: msgspec sees the outer tag, the inner one becomes a constant field."""
        self._union(name, self.defs[name])
        union = self.vocabulary.definitions[name]
        assert isinstance(union, Union)
        for value, arm in union.arms:
            structure = self.vocabulary.definitions[arm]
            assert isinstance(structure, Structure)
            inner = Field(union.tag_field, Named("str"), False, constant=value)
            self.vocabulary.definitions[arm] = replace(structure, tag=outer, fields=(inner, *structure.fields))
        self.vocabulary.definitions[name] = replace(union, outer=outer)

    def _other(self, union: str, option: Schema, tag_field: str, siblings: tuple[Field, ...]) -> str | None:
        """The structure an unknown variant must satisfy beyond its tag, when there is one."""
        members = {wire: member for wire, member in option["properties"].items() if wire != tag_field}
        fields, one_of = self._fields(f"Other{union}", {**option, "properties": members})
        needed = tuple(field for field in (*siblings, *fields) if field.required or field.optional_member)
        if not needed:
            return None
        name = f"Other{union}"
        extra = tuple(field for field in fields if field not in needed) if one_of else ()
        self.vocabulary.add(Structure(name, union, (*needed, *extra), one_of=one_of, private=True))
        return name

    def _untagged(self, name: str, alternatives: list[Schema]) -> None:
        native = not any("$ref" in str(option) for option in alternatives)
        self.vocabulary.add(Untagged(name, tuple(self._type(option) for option in alternatives), native))

    # types

    def _type(self, schema: Schema) -> Type:
        if "$ref" in schema:
            return Named(_reference(schema))
        if "allOf" in schema:
            [only] = schema["allOf"]
            return self._type(only)
        if "anyOf" in schema:
            return self._any_of(schema["anyOf"])
        kind = schema.get("type")
        if isinstance(kind, list):
            [inner] = [name for name in kind if name != "null"]
            return Nullable(self._type({**schema, "type": inner}))
        return self._plain(kind, schema)

    def _any_of(self, options: list[Schema]) -> Type:
        inner = [option for option in options if option.get("type") != "null"]
        of = self._type(inner[0]) if len(inner) == 1 else Either(tuple(self._type(option) for option in inner))
        return of if len(inner) == len(options) else Nullable(of)

    def _plain(self, kind: str | None, schema: Schema) -> Type:
        match kind:
            case None:
                return Named("Any")
            case "string":
                return Named("str")
            case "boolean":
                return Named("bool")
            case "number":
                return Named("float")
            case "integer":
                return Named(INTEGERS[schema["format"]])
            case "array":
                return Listed(self._type(schema["items"]), bool(schema.get(SKIP_INVALID)))
            case "object" if schema.get("additionalProperties") is True:
                return Named("JsonObject")
            case "object":
                return Mapped(self._type(schema["additionalProperties"]))
            case _:
                raise ValueError(f"unexpected type {kind!r}")

    # what the whole schema says

    def _count_payload_uses(self) -> dict[str, int]:
        """How often each definition is used, as an arm's payload or as a plain field."""
        uses = dict.fromkeys(self.defs, 0)

        def count(schema: object) -> None:
            if isinstance(schema, dict):
                if isinstance(target := schema.get("$ref"), str):
                    uses[target.rpartition("/")[2]] += 1
                for inner in schema.values():
                    count(inner)
            elif isinstance(schema, list):
                for inner in schema:
                    count(inner)

        count(self.defs)
        return uses

    def _unstable(self) -> set[str]:
        """Types that stable methods never reach. The schema marks unstable parts in its prose only."""
        reached: set[str] = set()

        def reach(schema: object) -> None:
            if isinstance(schema, list):
                for inner in schema:
                    reach(inner)
            elif isinstance(schema, dict) and not _is_marked(schema):
                if isinstance(target := schema.get("$ref"), str):
                    name = target.rpartition("/")[2]
                    if name not in reached and not _is_marked(self.defs[name]):
                        reached.add(name)
                        reach(self.defs[name])
                for inner in schema.values():
                    reach(inner)

        for name, schema in self.defs.items():
            method = str(schema.get("x-method", ""))
            stable_method = method and not method.startswith(UNSTABLE_METHODS) and not _is_marked(schema)
            if stable_method or name == "Error" or name.startswith("Ext"):  # the last two are what every method shares
                reached.add(name)
                reach(schema)
        ignored = self.vocabulary.documentation
        return {name for name in self.defs if name not in reached and name not in ignored}


def read(document: Schema) -> Vocabulary:
    """The intermediate form of the whole schema."""
    return Reader(document).read()


def _is_marked(schema: Schema) -> bool:
    """Whether the schema's prose calls this part unstable; it says so nowhere else."""
    return "UNSTABLE" in str(schema.get("description", ""))


def _reference(schema: Schema) -> str:
    target: str = schema["$ref"]
    return target.rpartition("/")[2]


def _tag_of(option: Schema) -> Tag | None:
    """The constant an arm is known by."""
    for wire, member in option.get("properties", {}).items():
        if "const" in member and wire in option.get("required", ()):
            return Tag(wire, member["const"])
    return None


def _check_open_arm(name: str, option: Schema, tag_field: str, tags: list[str]) -> None:
    """The open arm must exclude exactly the known tags, or unknown and malformed could not be told apart (FWD-3)."""
    excluded = {tag for clause in option["not"]["anyOf"] if (tag := _tag_of(clause))}
    if excluded != {Tag(tag_field, tag) for tag in tags}:
        raise ValueError(f"{name}: the open arm does not exclude the known tags")
