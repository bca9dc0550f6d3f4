"""Instances of the schema's definitions, made from the schema: valid ones, broken ones, exhaustive and random."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from tests.oracle.acp_reference import DEFS, RANGES

GENERATED = [name for name, schema in DEFS.items() if not schema.get("x-docs-ignore")]

# One value of each JSON type, and a few that only look like another.
DEPTH = 3
JSON_KINDS: list[Any] = [None, True, 5, 5.5, "x", [], {}, [1], {"type": 5}, -1, 1.0, "true", [None], [{}], {"a": []}]


MARK = "the odd token goes here"
TOKENS = [
    b"1.0",
    b"-0",
    b"-0.0",
    b"1e2",
    b"1E400",
    b"-1e400",
    b"9" * 5000,
    b"9" * 400,
    b"9007199254740993",
    b"9223372036854775807",
    b"9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"65536",
    b"4294967296",
    b"01",
    b"1.",
    b"NaN",
    b"Infinity",
    b"nul",
    b"'x'",
    rb'"\ud800"',
    rb'"\ud83d\ude00"',
    rb'"\udc00\ud800"',
    rb'"\u0000"',
    rb'"\x"',
    b'"\xff"',
    b'"\xc3\xa9"',
    b'"\xed\xa0\x80"',
    b'"a\nb"',
    b'{"a":1,"a":2}',
    rb'{"\ud800":1}',
    b'{"\xff":1}',
    b"[1,]",
    b"[1e400]",
    b" [ ] ",
    b"\xef\xbb\xbf1",
]


def example(schema: dict[str, Any], full: bool = True) -> Any:
    """One valid instance: with every optional member, or with none."""
    if "$ref" in schema:
        return example(DEFS[schema["$ref"].rpartition("/")[2]], full)
    if "properties" in schema or ("allOf" in schema and "type" in schema):
        required = schema.get("required", ())
        members = {
            name: example(member, full)
            for name, member in schema.get("properties", {}).items()
            if full or name in required
        }
        for part in [*schema.get("allOf", ()), *schema.get("anyOf", ())[:1]]:
            members |= example(part, full)
        return members
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            options = [option for option in schema[key] if option.get("type") != "null"]
            return example(options[0], full)
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        (kind,) = [name for name in kind if name != "null"]
    if kind == "array":
        return [example(schema["items"], full)] if full or schema.get("minItems") else []
    if kind == "object":
        inner = schema.get("additionalProperties", True)
        return {"key": {"deep": [1, None]}} if inner is True else {"key": example(inner, full)}
    return {"null": None, "string": "text", "integer": 7, "number": 0.5, "boolean": True}[kind]


def variants(name: str) -> Iterator[Any]:
    """Valid instances of one definition: each arm of its union, and an unknown one."""
    schema = DEFS[name]
    if "properties" in schema or "anyOf" not in schema:
        bases = [{**schema, "anyOf": [option]} for option in schema.get("anyOf", ())] or [schema]
    else:
        bases = list(schema["anyOf"])
    for base in bases:
        for full in (True, False):
            yield example(base, full)


def walk(value: Any, depth: int = 99, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside, containers first."""
    yield path
    if depth == len(path):
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, depth, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from walk(inner, depth, (*path, index))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with the value at `path` replaced."""
    if not path:
        return copy.deepcopy(new)
    out = copy.copy(value)
    out[path[0]] = replaced(value[path[0]], path[1:], new)
    return out


def removed(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy without the value at `path`."""
    if len(path) > 1:
        return replaced(value, path[:1], removed(value[path[0]], path[1:]))
    out = copy.copy(value)
    del out[path[0]]
    return out


def single_faults(name: str) -> Iterator[bytes]:
    """Instances of a definition with nothing wrong, or one thing, at most DEPTH steps inside.

    What lies deeper is the business of the definitions there.
    """
    seen = set()
    for instance in variants(name):
        for mutant in (instance, *_faulty(instance)):
            text = json.dumps(mutant).encode()
            if text not in seen:
                seen.add(text)
                yield text


def odd_tokens(name: str) -> Iterator[bytes]:
    """Instances in which one value is a token that JSON libraries disagree about."""
    seen = set()
    for instance in variants(name):
        for path in walk(instance, 2):
            if path:
                text = json.dumps(replaced(instance, path, MARK)).encode()
                if text not in seen:
                    seen.add(text)
                    yield from (text.replace(f'"{MARK}"'.encode(), token) for token in TOKENS)


def _faulty(instance: Any) -> Iterator[Any]:
    for path in walk(instance, DEPTH):
        if path:
            yield removed(instance, path)
        for junk in JSON_KINDS:
            yield replaced(instance, path, junk)
        at: Any = instance
        for step in path:
            at = at[step]
        if isinstance(at, list):
            for junk in (5, {}, None):
                yield replaced(instance, path, [junk, *at, junk])
        if isinstance(at, dict):
            yield replaced(instance, path, {**at, "unknownMember": {"x": 1}})


# random instances

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


def instances(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Valid instances."""
    if "$ref" in schema:
        return of_definition(schema["$ref"].rpartition("/")[2])
    if "properties" in schema or ("allOf" in schema and "type" in schema):
        return _objects(schema)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return st.one_of([instances(option) for option in schema[key]])
    if "const" in schema:
        return st.just(schema["const"])
    kind = schema.get("type")
    if kind is None:
        return JSON
    if isinstance(kind, list):
        return st.one_of([instances({**schema, "type": one}) for one in kind])
    if kind == "array":
        return st.lists(instances(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
    if kind == "object":
        inner = schema.get("additionalProperties", True)
        return st.dictionaries(TEXT, JSON if inner is True else instances(inner), max_size=2)
    if kind == "integer":
        low, high = RANGES[schema["format"]]
        return st.integers(low, high)
    return {
        "null": st.none(),
        "string": TEXT,
        "boolean": st.booleans(),
        "number": st.floats(0, 1) | st.integers(0, 1),
    }[kind]


def _objects(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    members = {name: instances(member) for name, member in schema.get("properties", {}).items()}
    if "not" in schema:  # an open arm: any tag but the known ones
        members |= {name: st.sampled_from(["_acme/x", "future_x"]) for name, s in _tags(schema)}
    required = set(schema.get("required", ()))
    whole = st.fixed_dictionaries(
        {name: member for name, member in members.items() if name in required},
        optional={name: member for name, member in members.items() if name not in required},
    )
    parts = [instances(part) for part in schema.get("allOf", ())]
    if "anyOf" in schema:
        parts.append(st.one_of([instances(option) for option in schema["anyOf"]]))
    return st.builds(
        lambda own, *rest: {key: inner for part in (own, *rest) for key, inner in part.items()}, whole, *parts
    )


def _tags(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for clause in schema["not"]["anyOf"]:
        yield from clause["properties"].items()


_strategies: dict[str, st.SearchStrategy[Any]] = {}


def of_definition(name: str) -> st.SearchStrategy[Any]:
    if name not in _strategies:
        _strategies[name] = st.deferred(lambda: instances(DEFS[name]))
    return _strategies[name]


@st.composite
def mutated(draw: st.DrawFn, name: str) -> Any:
    """A valid instance in which one to three things were broken."""
    value = draw(of_definition(name))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(walk(value))))
        match draw(st.sampled_from(["remove", "junk", "add", "tag"])):
            case "remove" if path:
                value = removed(value, path)
            case "tag" if path and isinstance(path[-1], str):
                value = replaced(value, path, draw(st.sampled_from(["_acme/x", "future_x", 5, None])))
            case "add" if path and isinstance(path[-1], int):
                value = replaced(value, path[:-1], [*_at(value, path[:-1]), draw(JSON)])
            case _:
                value = replaced(value, path, draw(st.sampled_from(JSON_KINDS)))
    return value


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value
