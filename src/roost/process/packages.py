"""Finding agents: installed packages as the reference lays them out, shipped agents, and plain command lines.

    <root>/pkgs/<name>/current/agentos-package.json      current is a link to a version
    <root>/bin/<entrypoint>                              a link into the package

The name of an agent is the name of its folder. The first root that has the folder decides, also when what is in it
is damaged: running an older copy from elsewhere instead would be a surprise. Links may lead anywhere inside their
root and nowhere else.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from roost.errors import ConfigError, SidecarError
from roost.process.manifest import NotAnAgent, name_fault, read_manifest
from roost.process.runtimes.registry import Runtimes
from roost.process.runtimes.sniff import RUNTIME_KINDS, FileKind, sniff
from roost.process.shipped import SHIPPED_AGENTS, shipped_command, shipped_file

SYSTEM_ROOT = Path("/opt/agentos")
MANIFEST_NAME = "agentos-package.json"

# Folders looked at in one root. More is not a collection of agents but a mistake.
MAX_PACKAGES = 1024

# Wire-visible, sidecar section 2.1: callers match on it.
_UNKNOWN_AGENT = (
    'unknown agent type "{0}": no projected /opt/agentos/pkgs/{0} package with an agent.acpEntrypoint'
    " — pass its package to AgentOs software"
)


@dataclass(frozen=True, slots=True)
class Package:
    """An agent that was found under its name. `root` and `manifest` are None for one that is shipped with Roost.

    `folder` is where the package's own files are. `kind` says which runtime its file asks for. `command`, when
    there, runs it instead of a runtime with `entrypoint`. `missing` says why it cannot be run as things are, and
    what to do.
    """

    name: str
    version: str
    entrypoint: str
    root: Path | None = None
    folder: Path | None = None
    manifest: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    launch_args: tuple[str, ...] = ()
    kind: FileKind = FileKind.UNKNOWN
    command: tuple[str, ...] = ()
    missing: str | None = None

    @property
    def installed(self) -> bool:
        """It can be run here and now."""
        return self.missing is None


@dataclass(frozen=True, slots=True)
class CommandLine:
    """An agent without a package. `program` is a path, maybe relative to the session's cwd, or a name on PATH."""

    program: str
    launch_args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


def is_command_line(agent_type: str) -> bool:
    """Whether an agent type is a command and not a package's name."""
    return "/" in agent_type or any(character.isspace() for character in agent_type)


def parse_command_line(agent_type: str) -> CommandLine:
    """Split a command as a shell would, without running anything; a leading `~` is the daemon's user's home.

    ConfigError when it cannot be split.
    """
    try:
        words = shlex.split(agent_type)
    except ValueError as error:
        raise ConfigError(f"the command {agent_type!r} cannot be split into words: {str(error).lower()}") from error
    if not words or not words[0]:
        raise ConfigError(f"the command {agent_type!r} names no program")
    words = [os.path.expanduser(word) if word == "~" or word.startswith("~/") else word for word in words]
    return CommandLine(words[0], tuple(words[1:]))


def default_roots(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Where packages are looked for: the system's place, then the user's."""
    data = environment.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # XDG: a relative value is ignored
        data = os.path.join(environment.get("HOME", ""), ".local/share")
    return (SYSTEM_ROOT, Path(data, "roost")) if os.path.isabs(data) else (SYSTEM_ROOT,)


class Packages:
    """The agents that can be named on this machine. Looks at the disk each time, so a new package counts at once."""

    def __init__(
        self,
        roots: Sequence[Path],
        runtimes: Runtimes | None = None,
        shipped: Mapping[str, str] = SHIPPED_AGENTS,
    ) -> None:
        self.roots = tuple(roots)
        self._runtimes = runtimes or Runtimes()
        self._shipped = shipped

    def find(self, name: str) -> Package:
        """The agent of this name, also when `missing` says that it cannot be run.

        SidecarError `invalid_state` with the wire's one text for everything that is wrong; what it was is in the
        error's notes.
        """
        try:
            return self._find(name)
        except ConfigError as error:
            unknown = SidecarError("invalid_state", _UNKNOWN_AGENT.format(name))
            unknown.add_note(str(error))
            raise unknown from error

    def resolve(self, agent_type: str) -> Package | CommandLine:
        """What an agent type means: `find` for a name, else the command. The command is not looked for here.

        SidecarError as `find`, and for a command that cannot be split.
        """
        if not is_command_line(agent_type):
            return self.find(agent_type)
        try:
            return parse_command_line(agent_type)
        except ConfigError as error:
            raise SidecarError("invalid_state", str(error)) from error

    def list(self) -> list[Package]:
        """All agents that `find` finds, sorted by name."""
        return [found for _, found in self._survey() if isinstance(found, Package)]

    def damaged(self) -> dict[str, str]:
        """The packages that mean to be agents and cannot be found for it, by name, each with what is wrong."""
        return {
            name: str(found)
            for name, found in self._survey()
            if isinstance(found, ConfigError) and not isinstance(found, NotAnAgent)
        }

    def explain(self, name: str) -> str | None:
        """What keeps this agent from being run, for people; None when nothing does."""
        try:
            return self._find(name).missing
        except ConfigError as error:
            return str(error)

    def _survey(self) -> Iterable[tuple[str, Package | ConfigError]]:
        names = set(self._shipped)
        for root in self.roots:
            names.update(_package_names(root))
        for name in sorted(names):
            try:
                yield name, self._find(name)
            except ConfigError as error:
                yield name, error

    def _find(self, name: str) -> Package:
        if fault := name_fault(name):
            raise ConfigError(f"{name!r} is no agent's name: it {fault}")
        for root in self.roots:
            if os.path.lexists(root / "pkgs" / name):
                return self._read(root, name)
        if name in self._shipped:
            return self._find_shipped(name)
        looked = ", ".join(str(root / "pkgs") for root in self.roots) or "nowhere"
        raise ConfigError(
            f"there is no package {name} (looked in {looked}) and no agent of that name shipped with Roost"
        )

    def _read(self, root: Path, name: str) -> Package:
        folder = root / "pkgs" / name / "current"
        manifest_path = folder / MANIFEST_NAME
        _check_inside(root, manifest_path)
        if not folder.exists():
            raise ConfigError(f"package {name} has no current version: {folder} does not exist")
        if not manifest_path.is_file():
            raise ConfigError(f"package {name} has no manifest: {manifest_path} is not a file")
        manifest = read_manifest(manifest_path)
        entrypoint = root / "bin" / manifest.entrypoint
        _check_inside(root, entrypoint)
        kind, missing = self._look_at(entrypoint)
        return Package(
            name=name,
            version=manifest.version,
            root=root,
            folder=folder,
            manifest=manifest_path,
            entrypoint=str(entrypoint),
            env=manifest.env,
            launch_args=manifest.launch_args,
            kind=kind,
            missing=missing,
        )

    def _find_shipped(self, name: str) -> Package:
        module = self._shipped[name]
        file = shipped_file(module)
        return Package(
            name=name,
            version="",
            entrypoint=file or module,
            kind=FileKind.PYTHON,
            command=shipped_command(module),
            missing=None if file else f"module {module} is missing from this installation of Roost",
        )

    def _look_at(self, entrypoint: Path) -> tuple[FileKind, str | None]:
        """What the file is, and why it cannot be run."""
        if not entrypoint.is_file():
            state = "is not a file" if entrypoint.exists() else "does not exist"
            return FileKind.UNKNOWN, f"entrypoint {entrypoint} {state}"
        try:
            sniffed = sniff(str(entrypoint))
        except OSError as error:
            return FileKind.UNKNOWN, f"entrypoint {entrypoint} cannot be read: {error.strerror}"
        kind = sniffed.kind
        if kind in RUNTIME_KINDS:
            return kind, self._runtimes.missing(kind)
        if kind is FileKind.UNKNOWN:
            # Run by whatever the caller asks for, and callers ask for JavaScript (sidecar section 9).
            return kind, self._runtimes.missing(FileKind.JAVA_SCRIPT)
        if not os.access(entrypoint, os.X_OK):
            return kind, f"entrypoint {entrypoint} is {sniffed.description} and not executable"
        return kind, None


def _package_names(root: Path) -> list[str]:
    try:
        with os.scandir(root / "pkgs") as entries:
            names = [entry.name for entry, _ in zip(entries, range(MAX_PACKAGES), strict=False) if entry.is_dir()]
    except OSError:
        return []
    return [name for name in names if name_fault(name) is None]


def _check_inside(root: Path, path: Path, resolve: Callable[[str], str] = os.path.realpath) -> None:
    """ConfigError when links lead from `path` to somewhere outside the root."""
    base, target = resolve(str(root)), resolve(str(path))
    if target != base and not target.startswith(base.rstrip("/") + "/"):
        raise ConfigError(f"{path} leads out of {root}, to {target}")
