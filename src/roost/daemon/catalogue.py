"""The agents of this machine, as the engine asks for them."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from roost.daemon.config_quirks import section_of
from roost.errors import ProcessError, SidecarError
from roost.process.base import SpawnPlan
from roost.process.environment import inherited_names
from roost.process.launch import plan_agent
from roost.process.packages import CommandLine, Package, Packages, is_command_line
from roost.process.runtimes.base import which
from roost.process.runtimes.registry import Runtimes
from roost.sidecar.gen.messages import AcpAgentEntry, AcpRuntimeKind
from roost.sidecar.launch import AgentProgram, Launch
from roost.sidecar.quirks import Quirks

if TYPE_CHECKING:
    from roost.catalogue.profiles import Profiles
    from roost.transport.claimed_folder import ClaimedFolder

log = logging.getLogger("roost.daemon")


class LocalCatalogue:
    """Packages of some roots, agents shipped with Roost, and any command line."""

    def __init__(
        self,
        packages: Packages,
        runtimes: Runtimes,
        *,
        own_env: Mapping[str, str],
        let_through: Iterable[str] = (),
        quirks: Mapping[str, Mapping[str, Any]] | None = None,
        folder: ClaimedFolder | None = None,
    ) -> None:
        """`folder`: where the files of launches are to be, made with the first of them."""
        self._packages = packages
        self._runtimes = runtimes
        self._own_env = own_env
        self._let_through = tuple(let_through)
        self._inherited = inherited_names(own_env, self._let_through)
        self._quirks = quirks
        self._folder = folder
        if quirks:
            self._profiles  # noqa: B018  says what is wrong with them

    @cached_property
    def _profiles(self) -> Profiles:
        from roost.catalogue.profiles import Profiles  # an idle daemon knows nobody

        return Profiles(self._quirks)

    def find(self, agent_type: str) -> AgentProgram | None:
        """None for everything that is wrong with a package; what it was goes to the log."""
        try:
            agent = self._packages.resolve(agent_type)
        except SidecarError as error:
            for note in getattr(error, "__notes__", ()):
                log.warning("agent %s: %s", agent_type, note)
            if is_command_line(agent_type):
                log.warning("%s", error)
            return None
        known = self._known_of(agent)
        if isinstance(agent, CommandLine):
            return AgentProgram(
                **known,
                agent_type=agent_type,
                entrypoint=agent.program,
                launch_args=agent.launch_args,
                env=agent.env,
                revision=marks_of(agent.program, *agent.launch_args, path=self._own_env.get("PATH", os.defpath)),
            )
        return AgentProgram(
            **known,
            agent_type=agent_type,
            entrypoint=agent.entrypoint,
            launch_args=agent.launch_args,
            env=agent.env,
            runtime=runtime_of(agent),
            revision=agent.version or marks_of(agent.entrypoint),
            package=None if agent.folder is None else str(agent.folder),
        )

    def _known_of(self, agent: Package | CommandLine) -> dict[str, Any]:
        """Its quirks; where its files do not tell what it is, those of what it may call itself."""
        from roost.catalogue.profiles_match import identity_of  # an idle daemon knows nobody

        identity = identity_of(agent, self._own_env, "/")
        quirks = self._profiles.quirks(identity)
        by_info = self._profiles.by_info() if self._profiles.find(identity) is None else {}
        wanted = {name for one in (quirks, *by_info.values()) for name in _variables(one)}
        return {
            "quirks": quirks,
            "quirks_by_info": by_info,
            "inherited": tuple(sorted(wanted.intersection(self._inherited))),
        }

    def entries(self) -> list[AcpAgentEntry]:
        return [AcpAgentEntry(package.name, package.installed, package.entrypoint) for package in self._packages.list()]

    def plan(self, launch: Launch) -> SpawnPlan:
        agent = self._packages.resolve(launch.agent_type)
        for path, text in launch.files:
            write_file(path, text, self._folder)
        plan = plan_agent(
            agent,
            runtime=launch.runtime.name,
            args=launch.args,
            env=launch.env,
            cwd=launch.cwd,
            own_env=self._own_env,
            runtimes=self._runtimes,
            let_through=self._let_through,
        )
        if launch.program.quirks.needs == "checked":
            self._check_needs(agent, plan)
        return plan

    def _check_needs(self, agent: Package | CommandLine, plan: SpawnPlan) -> None:
        """Raises ProcessError for what would make it fail without saying why."""
        from roost.catalogue.needs import hard_needs
        from roost.catalogue.needs_probe import look_at
        from roost.catalogue.profiles_match import identity_of

        identity = identity_of(agent, plan.env, plan.cwd)
        name = agent.name if isinstance(agent, Package) else os.path.basename(agent.program)
        for need in hard_needs(name, self._profiles.find(identity), look_at(plan.argv, plan.env, plan.cwd)):
            section = section_of(name)
            raise ProcessError(f'{need.sentence} (needs = "ignored" in [{section}] of the configuration tries it)')


def _variables(quirks: Quirks) -> Iterator[str]:
    for variables in quirks.authenticate.values():
        yield from variables


def runtime_of(package: Package) -> AcpRuntimeKind | None:
    """What the package's file asks for; None when it runs by itself, or tells nothing."""
    try:
        return AcpRuntimeKind[package.kind.value]
    except KeyError:
        return None


# A command line is mostly an interpreter, some options and a script; more arguments than these are no programs.
_MARKED_ARGUMENTS = 8


def marks_of(program: str, *arguments: str, path: str = os.defpath) -> str:
    """What changes when the files of a command do: their sizes and times. "" when there is none that can be found.

    A name is looked for along `path`; of the arguments only absolute paths count.
    """
    found = program if "/" in program else which(program, path)
    marks = []
    for name in (found, *arguments[:_MARKED_ARGUMENTS]):
        if name is None or not os.path.isabs(name):
            continue
        try:
            state = os.stat(name)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(state.st_mode):
            marks.append(f"{state.st_size}:{state.st_mtime_ns}")
    return " ".join(marks)


def write_file(path: str, text: str, folder: ClaimedFolder | None = None) -> None:
    """A file an agent is to read, in a folder of the daemon's own. Raises ProcessError naming the file."""
    try:
        if folder is not None and os.path.dirname(path) == folder.path:
            folder.make()
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ProcessError(f"cannot write {path} for the agent: {error.strerror}") from error
