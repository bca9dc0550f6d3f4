"""One entry of a registry: what is taken, and what is said about each kind of damage."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from roost.catalogue.entry import BinaryTarget, PackageDistribution, entry_fault, read_entry
from roost.errors import CodecError, format_path

WHOLE: dict[str, Any] = {
    "id": "some-agent",
    "name": "Some Agent",
    "version": "1.2.3",
    "description": "Does things.",
    "authors": ["A"],
    "icon": None,
    "new": {"member": 1},
    "distribution": {
        "npx": {"package": "@a/b@1.2.3", "cmd": "b-acp", "args": ["--acp"], "env": {"A": "b"}, "more": 1},
        "uvx": {"package": "b==1.2.3"},
        "binary": {
            "linux-x86_64": {
                "archive": "https://example.org/b.tgz",
                "cmd": "./b/b",
                "args": None,
                "env": None,
                "sha256": "AB" * 32,
            }
        },
    },
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The whole entry with one member changed; `...` takes it away."""
    made = copy.deepcopy(WHOLE)
    *steps, last = path.split("/")
    inner = made
    for step in steps:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return made


def test_an_entry_is_read_and_what_nobody_knows_is_passed_over() -> None:
    entry = read_entry(WHOLE)
    assert (entry.id, entry.name, entry.version, entry.description) == (
        "some-agent",
        "Some Agent",
        "1.2.3",
        "Does things.",
    )
    assert entry.npx == PackageDistribution(package="@a/b@1.2.3", command="b-acp", args=("--acp",), env={"A": "b"})
    assert entry.uvx == PackageDistribution(package="b==1.2.3")
    assert entry.binary == {
        "linux-x86_64": BinaryTarget(archive="https://example.org/b.tgz", command="./b/b", sha256="ab" * 32)
    }


@pytest.mark.parametrize("member", ["description", "authors"])
def test_what_is_optional_may_be_missing_or_null(member: str) -> None:
    assert read_entry(changed(member, ...)) == read_entry(changed(member, None))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("id", ...),
        ("id", None),
        ("id", 7),
        ("id", ""),
        ("id", "../x"),
        ("id", "a b"),
        ("id", "-x"),
        ("name", ...),
        ("name", "  "),
        ("name", []),
        ("version", ...),
        ("version", 1),
        ("version", "../1"),
        ("version", "."),
        ("version", "a/b"),
        ("description", 7),
        ("distribution", ...),
        ("distribution", []),
        ("distribution", {}),
        ("distribution", {"other": {}}),
        ("distribution/npx", "x"),
        ("distribution/npx/package", ...),
        ("distribution/npx/package", ""),
        ("distribution/npx/package", "--global"),
        ("distribution/npx/package", "a\0b"),
        ("distribution/npx/cmd", "../../bin/sh"),
        ("distribution/npx/args", "--acp"),
        ("distribution/npx/args", [1]),
        ("distribution/npx/args", ["a\0"]),
        ("distribution/npx/env", ["A=b"]),
        ("distribution/npx/env/A", 1),
        ("distribution/npx/env/A=B", "x"),
        ("distribution/uvx/package", 3),
        ("distribution/binary", []),
        ("distribution/binary/linux-x86_64", "https://example.org/b.tgz"),
        ("distribution/binary/linux-x86_64/archive", ...),
        ("distribution/binary/linux-x86_64/archive", "file:///etc/passwd"),
        ("distribution/binary/linux-x86_64/archive", "ftp://example.org/b.tgz"),
        ("distribution/binary/linux-x86_64/cmd", ...),
        ("distribution/binary/linux-x86_64/cmd", "/bin/sh"),
        ("distribution/binary/linux-x86_64/cmd", "a/../../b"),
        ("distribution/binary/linux-x86_64/cmd", "..\\b"),
        ("distribution/binary/linux-x86_64/sha256", "ab"),
        ("distribution/binary/linux-x86_64/sha256", "zz" * 32),
    ],
)
def test_damage_is_told_with_the_member_it_is_in(path: str, value: Any) -> None:
    with pytest.raises(CodecError) as caught:
        read_entry(changed(path, value))
    told = format_path(caught.value.path).replace(".", "/")
    assert path.startswith(told)
    assert told


@pytest.mark.parametrize("value", [None, 7, "x", []])
def test_what_is_no_object_is_no_entry(value: Any) -> None:
    with pytest.raises(CodecError):
        read_entry(value)


def test_a_fault_names_the_entry_or_its_place() -> None:
    error = CodecError("it is missing", ("distribution", "npx", "package"))
    assert entry_fault({"id": "a"}, 3, error) == "entry a, distribution.npx.package: it is missing"
    assert entry_fault({"id": 7}, 3, error).startswith("entry number 4, ")
    assert entry_fault("x", 0, CodecError("an object is expected")) == "entry number 1: an object is expected"
