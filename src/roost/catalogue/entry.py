"""One agent in a registry, in the ACP registry's format, and what is wrong with one that is none.

    {"id": "gemini", "name": "Gemini CLI", "version": "0.61.0", "description": "…",
     "distribution": {"npx": {"package": "@google/gemini-cli@0.61.0", "args": ["--acp"]}}}

Members nobody knows are passed over; what is optional may be null.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from roost.errors import CodecError, format_path
from roost.process.manifest import name_fault

# The registry allows fewer characters; these are what a folder and a command line can hold without quoting.
ENTRY_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}\Z")
_SHA256: Final = re.compile(r"[0-9a-fA-F]{64}\Z")
_VERSION: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_!-]{0,127}\Z")


class PackageDistribution(msgspec.Struct, frozen=True, kw_only=True):
    """A package of npm or PyPI. `command`: which of its programs; empty: the one it is known for.

    With a slash in it, a file below `node_modules`, `*` being any name: for packages that put their program in place
    by a script, which is not run.
    """

    package: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class BinaryTarget(msgspec.Struct, frozen=True, kw_only=True):
    """An archive, or a bare program, for one platform. `command` is a path inside it."""

    archive: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    sha256: str = ""


class RegistryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that can be installed. `binary` has a target for each platform, such as `linux-x86_64`."""

    id: str
    name: str
    version: str
    description: str = ""
    website: str = ""
    license: str = ""
    npx: PackageDistribution | None = None
    uvx: PackageDistribution | None = None
    binary: dict[str, BinaryTarget] = {}


def read_entry(value: Any) -> RegistryEntry:
    """CodecError says what is wrong, with the path of the member."""
    _object(value, ())
    identity = _text(value, "id", ())
    if not ENTRY_ID.match(identity):
        raise CodecError("an id has letters, digits, dots, dashes, and begins with a letter or a digit", ("id",))
    version = _text(value, "version", ())
    if not is_version(version):
        raise CodecError(f"{version!r} is no version", ("version",))
    distribution = _member(value, "distribution", ())
    _object(distribution, ("distribution",))
    npx = _package(distribution, "npx")
    uvx = _package(distribution, "uvx")
    binary = _binary(distribution)
    if npx is None and uvx is None and not binary:
        raise CodecError("there is neither npx nor uvx nor binary", ("distribution",))
    return RegistryEntry(
        id=identity,
        name=_text(value, "name", ()),
        version=version,
        description=_optional_text(value, "description", ()),
        website=_optional_text(value, "website", ()) or _optional_text(value, "repository", ()),
        license=_optional_text(value, "license", ()),
        npx=npx,
        uvx=uvx,
        binary=binary,
    )


def is_version(text: str) -> bool:
    """Whether a text can be a version, and the name of a folder."""
    return _VERSION.match(text) is not None


def entry_fault(value: Any, index: int, error: CodecError) -> str:
    """A sentence that names the entry and the member."""
    identity = value.get("id") if isinstance(value, dict) else None
    named = f"entry {identity}" if isinstance(identity, str) and identity else f"entry number {index + 1}"
    where = f", {format_path(error.path)}" if error.path else ""
    return f"{named}{where}: {error.message}"


Path = tuple[str | int, ...]


def _package(distribution: Mapping[str, Any], kind: str) -> PackageDistribution | None:
    value = distribution.get(kind)
    if value is None:
        return None
    path: Path = ("distribution", kind)
    _object(value, path)
    command = _optional_text(value, "cmd", path)
    beside = kind == "npx" and "/" in command  # a file of node_modules
    if command and name_fault(command.replace("/", "-") if beside else command):
        raise CodecError(f"{command!r} is no name of a program", (*path, "cmd"))
    package = _text(value, "package", path)
    if package.startswith("-") or package.strip() != package:
        raise CodecError(f"{package!r} is no name of a package", (*path, "package"))
    return PackageDistribution(package=package, command=command, args=_args(value, path), env=_env(value, path))


def _binary(distribution: Mapping[str, Any]) -> dict[str, BinaryTarget]:
    targets = distribution.get("binary")
    if targets is None:
        return {}
    _object(targets, ("distribution", "binary"))
    found = {}
    for platform, value in targets.items():
        path: Path = ("distribution", "binary", platform)
        _object(value, path)
        archive = _text(value, "archive", path)
        if not archive.startswith(("https://", "http://")):
            raise CodecError("an archive has an http or https URL", (*path, "archive"))
        command = _text(value, "cmd", path)
        if os.path.isabs(command) or ".." in command.replace("\\", "/").split("/"):
            raise CodecError(f"{command!r} leads out of the archive", (*path, "cmd"))
        sha256 = _optional_text(value, "sha256", path)
        if sha256 and not _SHA256.match(sha256):
            raise CodecError("a sha256 has 64 hexadecimal digits", (*path, "sha256"))
        found[platform] = BinaryTarget(
            archive=archive,
            command=command,
            args=_args(value, path),
            env=_env(value, path),
            sha256=sha256.lower(),
        )
    return found


def _object(value: Any, path: Path) -> None:
    if not isinstance(value, dict):
        raise CodecError("an object is expected", path)


def _member(value: Mapping[str, Any], name: str, path: Path) -> Any:
    if value.get(name) is None:
        raise CodecError("it is missing", (*path, name))
    return value[name]


def _text(value: Mapping[str, Any], name: str, path: Path) -> str:
    text = _member(value, name, path)
    return _checked(text, (*path, name))


def _optional_text(value: Mapping[str, Any], name: str, path: Path) -> str:
    return "" if value.get(name) in (None, "") else _checked(value[name], (*path, name))


def _checked(text: Any, path: Path) -> str:
    if not isinstance(text, str) or not text.strip():
        raise CodecError("a text that is not empty is expected", path)
    if "\0" in text:
        raise CodecError("there is a NUL in it", path)
    return text


def _args(value: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    args = value.get("args") or []
    if not isinstance(args, list) or not all(isinstance(word, str) and "\0" not in word for word in args):
        raise CodecError("a list of texts is expected", (*path, "args"))
    return tuple(args)


def _env(value: Mapping[str, Any], path: Path) -> dict[str, str]:
    env = value.get("env") or {}
    if not isinstance(env, dict):
        raise CodecError("an object is expected", (*path, "env"))
    for name, found in env.items():
        if not isinstance(found, str) or "\0" in found or not name or "=" in name or "\0" in name:
            raise CodecError("a text is expected under the name of a variable", (*path, "env", name))
    return env
