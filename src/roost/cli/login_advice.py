"""What a person is told about an agent's needs: beside it in the list, and with the error that is for want of one."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace

from roost.catalogue.needs import Need, needs
from roost.catalogue.needs import credentials_hint as hint_of
from roost.catalogue.needs_probe import look_at
from roost.catalogue.profiles import Identity, Profile, Profiles
from roost.catalogue.profiles_match import identity_of, identity_of_package
from roost.cli.catalogue import Agent
from roost.cli.configuration import daemon_settings
from roost.daemon.catalogue import runtime_of
from roost.daemon.config import Config
from roost.errors import ProcessError, SidecarError
from roost.process.environment import inherited_names
from roost.process.launch import plan_agent
from roost.process.packages import CommandLine, Package, Packages
from roost.process.runtimes.registry import Runtimes
from roost.sidecar.gen.messages import AcpRuntimeKind

Which = Callable[[str], str | None]


def login_advice(argument: str, config: Config, given: Mapping[str, str], own: Mapping[str, str]) -> str:
    """What helps an agent that wants a login. `argument` is what it was called, `given` the variables it was given.

    `own` is the environment of whoever runs it: a key in it that the agent does not get is the likeliest mistake.
    """
    name, profile, command = _known(argument, config, own)
    inherited = {variable: own[variable] for variable in inherited_names(own, config.daemon.let_through)}
    command = command or f"roost login {shlex.quote(argument)}"
    at_hand = {variable for variable, value in own.items() if value}
    hint = hint_of(name, profile, {**inherited, **given}, at_hand=at_hand, advice=command)
    return hint or f"log in with: {command}"


def own_login(profile: Profile | None, agent: Package | CommandLine, which: Which = shutil.which) -> str:
    """The command that logs in to an agent that cannot be asked to, as it can be typed here; empty for none.

    What `roost install` brought is not on PATH: its program is named by its path.
    """
    if profile is None or not profile.login:
        return ""
    program, space, rest = profile.login.partition(" ")
    if isinstance(agent, Package) and program in profile.programs and which(program) is None:
        program = shlex.quote(agent.entrypoint)
    return f"{program}{space}{rest}"


def look_closely(config: Config, own: Mapping[str, str]) -> Callable[[Package, Agent], Agent]:
    """Adds to an agent of the list what it needs and has not got here."""
    settings = daemon_settings(config, own)
    runtimes, profiles = Runtimes(settings["runtimes"]), Profiles(config.quirks)

    def look(package: Package, agent: Agent) -> Agent:
        identity = identity_of_package(package)
        missing = _needs_of(package, profiles.find(identity), config, own, runtimes)
        hard = [need.sentence for need in missing if need.hard]
        if hard and profiles.quirks(identity).needs == "checked":
            return replace(agent, installed=False, reason="; ".join(hard))
        soft = [need.sentence for need in missing if not need.hard]
        return replace(agent, hint=soft[0]) if soft else agent

    return look


def _needs_of(
    package: Package, profile: Profile | None, config: Config, own: Mapping[str, str], runtimes: Runtimes
) -> list[Need]:
    kind = runtime_of(package)
    runtime = (AcpRuntimeKind.JAVA_SCRIPT if kind is None else kind).name
    through = config.daemon.let_through
    try:
        plan = plan_agent(
            package, runtime=runtime, args=(), env={}, cwd="/", own_env=own, runtimes=runtimes, let_through=through
        )
    except ProcessError:
        return []  # said better by whoever starts it
    found = look_at(plan.argv, plan.env, plan.cwd)
    return needs(
        package.name,
        profile,
        found,
        plan.env,
        at_hand={name for name, value in own.items() if value},
        advice=own_login(profile, package),
    )


def _known(argument: str, config: Config, own: Mapping[str, str]) -> tuple[str, Profile | None, str]:
    """What to call the agent, what is known of it, and its own login; nothing, where it cannot even be found."""
    profiles = Profiles(config.quirks)
    try:
        agent = Packages(daemon_settings(config, own)["roots"]).resolve(argument)
    except SidecarError:
        profile = profiles.find(Identity(name=argument, program=argument))
        return argument, profile, "" if profile is None else profile.login
    profile = profiles.find(identity_of(agent, own, os.getcwd()))
    name = argument if isinstance(agent, Package) else os.path.basename(agent.program)
    return name, profile, own_login(profile, agent)
