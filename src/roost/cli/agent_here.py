"""An agent that a command starts by itself, without a sidecar: found as `roost run` finds it, and what is known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from roost.catalogue.needs import hard_needs
from roost.catalogue.needs_probe import look_at
from roost.catalogue.profiles import Profile, Profiles
from roost.catalogue.profiles_match import identity_of
from roost.cli.agent_argument import agent_type_of
from roost.cli.catalogue import agents_here
from roost.cli.configuration import daemon_settings
from roost.cli.login_advice import own_login
from roost.cli.status import ExitStatus, Failure
from roost.daemon.catalogue import runtime_of
from roost.daemon.config import Config
from roost.errors import ProcessError, SidecarError
from roost.process.base import SpawnPlan
from roost.process.launch import plan_agent
from roost.process.packages import Package, Packages, is_command_line
from roost.process.programs import checked
from roost.process.runtimes.registry import Runtimes
from roost.sidecar.gen.messages import AcpRuntimeKind
from roost.sidecar.quirks import Quirks


@dataclass(frozen=True)
class AgentHere:
    """An agent that can be started. `name` is what to call it; `argument` what the user called it.

    `own_login` is the command it is logged in with where it cannot be asked to; empty: none is known.
    """

    name: str
    argument: str
    plan: SpawnPlan
    profile: Profile | None
    quirks: Quirks
    own_login: str = ""


def agent_here(
    argument: str,
    config: Config,
    *,
    args: Iterable[str] = (),
    env: Mapping[str, str] | None = None,
    let_through: Iterable[str] = (),
) -> AgentHere:
    """The agent, in the current directory. `args` come after its own, `env` lies over its own.

    Raises Failure: there is no such agent, or it cannot be run here, and why.
    """
    settings = daemon_settings(config, os.environ)
    roots, runtimes = settings["roots"], Runtimes(settings["runtimes"])
    agent_type = agent_type_of(argument, () if is_command_line(argument) else agents_here(os.environ, roots))
    name = argument
    try:
        found = Packages(roots, runtimes).resolve(agent_type)
        name = found.name if isinstance(found, Package) else os.path.basename(found.program)
        kind = runtime_of(found) if isinstance(found, Package) else None
        plan = checked(
            plan_agent(
                found,
                runtime=(AcpRuntimeKind.JAVA_SCRIPT if kind is None else kind).name,
                args=(*found.launch_args, *args),
                env=env or {},
                cwd=_directory(),
                own_env=os.environ,
                runtimes=runtimes,
                let_through=(*config.daemon.let_through, *let_through),
            )
        )
    except (ProcessError, SidecarError) as error:
        raise Failure(ExitStatus.AGENT_FAILED, f"agent {name} cannot be run: {error}") from error
    identity, profiles = identity_of(found, plan.env, plan.cwd), Profiles(config.quirks)
    profile = profiles.find(identity)
    here = AgentHere(name, argument, plan, profile, profiles.quirks(identity), own_login(profile, found))
    _check_needs(here)
    return here


def _check_needs(here: AgentHere) -> None:
    if here.quirks.needs == "checked":
        for need in hard_needs(here.name, here.profile, look_at(here.plan.argv, here.plan.env, here.plan.cwd)):
            raise Failure(ExitStatus.AGENT_FAILED, f"agent {here.name} cannot be run: {need.sentence}")


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise Failure(ExitStatus.USAGE, f"the current directory is gone: {error.strerror}") from error
