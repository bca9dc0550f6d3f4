"""The agents of this machine, as the engine asks for them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping

from roost.errors import ProcessError, SidecarError
from roost.process.base import SpawnPlan
from roost.process.launch import plan_agent
from roost.process.packages import CommandLine, Package, Packages, is_command_line
from roost.process.runtimes.registry import Runtimes
from roost.sidecar.gen.messages import AcpAgentEntry, AcpRuntimeKind
from roost.sidecar.launch import AgentProgram, Launch

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
    ) -> None:
        self._packages = packages
        self._runtimes = runtimes
        self._own_env = own_env
        self._let_through = tuple(let_through)

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
        if isinstance(agent, CommandLine):
            return AgentProgram(
                agent_type=agent_type, entrypoint=agent.program, launch_args=agent.launch_args, env=agent.env
            )
        return AgentProgram(
            agent_type=agent_type,
            entrypoint=agent.entrypoint,
            launch_args=agent.launch_args,
            env=agent.env,
            runtime=runtime_of(agent),
            package=None if agent.folder is None else str(agent.folder),
        )

    def entries(self) -> list[AcpAgentEntry]:
        return [AcpAgentEntry(package.name, package.installed, package.entrypoint) for package in self._packages.list()]

    def plan(self, launch: Launch) -> SpawnPlan:
        agent = self._packages.resolve(launch.agent_type)
        for path, text in launch.files:
            write_file(path, text)
        return plan_agent(
            agent,
            runtime=launch.runtime.name,
            args=launch.args,
            env=launch.env,
            cwd=launch.cwd,
            own_env=self._own_env,
            runtimes=self._runtimes,
            let_through=self._let_through,
        )


def runtime_of(package: Package) -> AcpRuntimeKind | None:
    """What the package's file asks for; None when it runs by itself, or tells nothing."""
    try:
        return AcpRuntimeKind[package.kind.value]
    except KeyError:
        return None


def write_file(path: str, text: str) -> None:
    """A file an agent is to read, in a folder of the daemon's own. Raises ProcessError naming the file."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ProcessError(f"cannot write {path} for the agent: {error.strerror}") from error
