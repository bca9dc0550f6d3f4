"""Manifests with every kind of damage."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import ConfigError
from roost.process.manifest import MANIFEST_LIMIT, Manifest, NotAnAgent, name_fault, parse_manifest, read_manifest


def parse(value: object) -> Manifest:
    return parse_manifest(json.dumps(value).encode(), "m.json")


def test_everything_a_manifest_can_say():
    assert parse(
        {
            "name": "x",
            "version": "1.2",
            "agent": {"acpEntrypoint": "x-acp", "env": {"A": "1"}, "launchArgs": ["--acp"], "snapshot": True},
            "provides": {"env": {}},
        }
    ) == Manifest("x-acp", "1.2", {"A": "1"}, ("--acp",))


def test_the_least_a_manifest_can_say():
    assert parse({"agent": {"acpEntrypoint": "x"}}) == Manifest("x")


def test_values_of_env_that_are_no_strings_are_dropped():
    agent = {"acpEntrypoint": "x", "env": {"A": "1", "B": 2, "C": None, "D": ["x"], "E": True}}
    assert parse({"agent": agent}).env == {"A": "1"}


def test_a_version_that_is_no_string_is_none():
    assert parse({"version": 3, "agent": {"acpEntrypoint": "x"}}).version == ""


@pytest.mark.parametrize(
    "value", [{}, {"agent": None}, {"agent": {}}, {"agent": {"acpEntrypoint": ""}}, {"agent": {"acpEntrypoint": None}}]
)
def test_a_package_that_is_no_agent_is_told_apart_from_a_damaged_one(value):
    with pytest.raises(NotAnAgent):
        parse(value)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "does not hold a JSON object"),
        (b'"x"', "does not hold a JSON object"),
        (b'{"agent": []}', "agent is not an object"),
        (b'{"agent": {"acpEntrypoint": 1}}', "agent.acpEntrypoint is not a string"),
        (b'{"agent": {"acpEntrypoint": "../x"}}', "must not begin with a dot"),
        (b'{"agent": {"acpEntrypoint": "/bin/sh"}}', "must not contain a slash"),
        (b'{"agent": {"acpEntrypoint": "a/../../x"}}', "must not contain a slash"),
        (b'{"agent": {"acpEntrypoint": "x\\u0000"}}', "must not contain control characters"),
        (b'{"agent": {"acpEntrypoint": "x", "env": []}}', "agent.env is not an object"),
        (b'{"agent": {"acpEntrypoint": "x", "launchArgs": "--x"}}', "agent.launchArgs is not a list of strings"),
        (b'{"agent": {"acpEntrypoint": "x", "launchArgs": ["a", 1]}}', "agent.launchArgs is not a list of strings"),
    ],
)
def test_every_damage_has_its_own_text(text, fault):
    with pytest.raises(ConfigError) as error:
        parse_manifest(text, "m.json")
    assert fault in str(error.value)
    assert "m.json" in str(error.value)
    assert not isinstance(error.value, NotAnAgent)


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path):
    file = tmp_path / "m.json"
    file.write_bytes(b'{"agent":{"acpEntrypoint":"x"}}' + b" " * MANIFEST_LIMIT)
    with pytest.raises(ConfigError, match=f"larger than {MANIFEST_LIMIT} bytes"):
        read_manifest(file)


def test_a_file_that_cannot_be_read_says_why(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_manifest(tmp_path)


@given(
    st.binary()
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["agent", "acpEntrypoint", "env", "launchArgs", "version"]), inner)
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_text_raises_anything_else(text):
    try:
        parse_manifest(text, "m.json")
    except ConfigError:
        return


@pytest.mark.parametrize("name", ["", ".", "..", ".x", "a/b", "/a", "a\\b", "a\0", "a\n", "\x7f", "x" * 256, "é" * 128])
def test_names_that_lead_elsewhere_are_refused(name):
    assert name_fault(name) is not None


@pytest.mark.parametrize("name", ["pi", "claude-code", "a.b", "x" * 255, "é", "a b", "\ud800"])
def test_other_names_are_names(name):
    assert name_fault(name) is None
