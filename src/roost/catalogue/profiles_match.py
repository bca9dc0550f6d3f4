"""Which agent a package or a command line is: by its record, by where its program lies, by what a launcher fetches."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from roost.catalogue.installed import with_record
from roost.catalogue.profiles import Identity
from roost.errors import ProcessError
from roost.process.packages import CommandLine, Package
from roost.process.programs import find_program

# Options of a launcher that are followed by a value, and those whose value is the package.
_NPX_VALUES = frozenset(("-c", "--call", "-w", "--workspace", "--registry", "--cache", "--prefix", "--userconfig"))
_NPX_PACKAGE = frozenset(("-p", "--package"))
_UVX_VALUES = frozenset(
    (
        *("-p", "--python", "-w", "--with", "--with-editable", "--with-requirements", "-c", "--constraints"),
        *("--index", "--default-index", "-i", "--index-url", "--extra-index-url", "-f", "--find-links"),
        *("--cache-dir", "--pip-args"),
    )
)
_UVX_PACKAGE = frozenset(("--from", "--spec"))

_NPM_LAUNCHERS = frozenset(("npx", "bunx", "pnpx"))
_PYPI_LAUNCHERS = frozenset(("uvx",))
_SUBCOMMANDS: Mapping[tuple[str, str], str] = {
    ("npm", "exec"): "npx",
    ("npm", "x"): "npx",
    ("pnpm", "dlx"): "npx",
    ("yarn", "dlx"): "npx",
    ("bun", "x"): "npx",
    ("pipx", "run"): "uvx",
    ("uv", "tool"): "uvx",
}
_INTERPRETERS = frozenset(("node", "nodejs", "bun", "deno", "python", "python3"))
_PYPI_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def identity_of(agent: Package | CommandLine, environment: Mapping[str, str], cwd: str) -> Identity:
    """`environment` is the agent's own, for its PATH; `cwd` what a relative path is taken from."""
    if isinstance(agent, Package):
        return identity_of_package(agent)
    return identity_of_command((agent.program, *agent.launch_args), environment, cwd)


def identity_of_package(package: Package) -> Identity:
    """An installed agent. What `roost install` has noted wins; a folder put there by hand is looked into."""
    record = with_record(package).record
    program = os.path.basename(package.entrypoint)
    if record is None:
        return Identity(name=package.name, npm=npm_package_at(package.entrypoint), program=program)
    return Identity(
        name=record.registry_id or package.name,
        npm=record.package if record.kind == "npm" else npm_package_at(package.entrypoint),
        pypi=normalized(record.package) if record.kind == "pypi" else "",
        program=program,
    )


def identity_of_command(argv: Sequence[str], environment: Mapping[str, str], cwd: str) -> Identity:
    """A command line: a launcher with a package, an interpreter with a file, or a program."""
    program, rest = os.path.basename(argv[0]), list(argv[1:])
    launcher = _SUBCOMMANDS.get((program, rest[0])) if rest else None
    if launcher is not None:
        rest = rest[2:] if program == "uv" else rest[1:]
    elif program in _NPM_LAUNCHERS:
        launcher = "npx"
    elif program in _PYPI_LAUNCHERS:
        launcher = "uvx"
    if launcher == "npx":
        return Identity(npm=npm_name(_launched(rest, _NPX_VALUES, _NPX_PACKAGE)), launched=True)
    if launcher == "uvx":
        return Identity(pypi=normalized(_launched(rest, _UVX_VALUES, _UVX_PACKAGE)), launched=True)
    file = argv[0]
    if program in _INTERPRETERS:
        file = next((word for word in rest if not word.startswith("-")), file)
    try:
        path = find_program(file, environment, cwd) if file is argv[0] else os.path.join(cwd, file)
    except ProcessError:
        return Identity(program=program)  # whoever starts it says what is wrong
    return Identity(npm=npm_package_at(path), program=os.path.basename(file))


def npm_package_at(path: str) -> str:
    """The npm package that a file belongs to, its links followed; empty for none."""
    folder = npm_folder_of(path)
    if not folder:
        return ""
    scope, name = os.path.split(folder)
    scope = os.path.basename(scope)
    return f"{scope}/{name}" if scope.startswith("@") else name


def npm_folder_of(path: str) -> str:
    """The folder of the npm package that a file belongs to: the innermost `node_modules` it is in."""
    before, found, inside = os.path.realpath(path).rpartition("/node_modules/")
    words = inside.split("/")
    length = 2 if words[0].startswith("@") else 1
    if not found or len(words) <= length:
        return ""
    return os.path.join(before, "node_modules", *words[:length])


def npm_name(spec: str) -> str:
    """`@google/gemini-cli@1.2` without its version; empty for what names no package of a registry."""
    name, _, _ = spec[1:].partition("@")
    name = spec[:1] + name
    plain = name.count("/") == (1 if name.startswith("@") else 0) and ":" not in name and not name.startswith(".")
    return name if plain else ""


def normalized(spec: str) -> str:
    """`Hermes_Agent[acp]==0.19` as PyPI calls it: `hermes-agent`; empty for what names no package of it."""
    found = _PYPI_NAME.match(spec)
    if found is None or "/" in spec or ":" in spec:
        return ""
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def _launched(words: Sequence[str], values: frozenset[str], packages: frozenset[str]) -> str:
    """The package that a launcher is given, before the program's own arguments."""
    left = iter(words)
    for word in left:
        name, given, value = word.partition("=")
        if name in packages:
            return value if given else next(left, "")
        if word in values:
            next(left, None)
        elif not word.startswith("-"):
            return word
    return ""
