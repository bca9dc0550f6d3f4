"""The AGENT argument: a package's name, or a command line whose program is looked for where the user is."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from roost.cli.status import ExitStatus, Failure
from roost.errors import ConfigError
from roost.process.packages import is_command_line, parse_command_line

if TYPE_CHECKING:
    from roost.cli.catalogue import Agent

Which = Callable[[str], str | None]


def agent_type_of(argument: str, agents: Sequence[Agent], which: Which = shutil.which) -> str:
    """What the daemon is asked to start. Raises Failure saying what is wrong with the argument.

    A program's path is made absolute and a bare name is looked for on PATH here: the daemon has another directory,
    and maybe another PATH. `agents` are those that can be named; they matter to a bare word alone.
    """
    if os.path.isfile(argument) and "/" in argument:  # also a path with spaces in it
        return _command([argument], which)
    if is_command_line(argument):
        try:
            command = parse_command_line(argument)
        except ConfigError as error:
            raise Failure(ExitStatus.USAGE, str(error)) from error
        return _command([command.program, *command.launch_args], which)
    return _name(argument, agents, which)


def _name(name: str, agents: Sequence[Agent], which: Which) -> str:
    for agent in agents:
        if agent.name == name:
            if agent.installed:
                return name
            raise Failure(ExitStatus.AGENT_FAILED, f"agent {name} cannot be run: {agent.reason}")
    if which(name) is not None:
        return _command([name], which)
    from roost.catalogue.registry import shipped_registry

    known = shipped_registry().knows(name)
    help = f"`roost install {name}` brings it" if known else "`roost agents` lists what can be run"
    raise Failure(ExitStatus.USAGE, f"there is no agent {name!r}, and no such program on PATH; {help}")


def _command(words: Sequence[str], which: Which) -> str:
    program, *arguments = words
    if "/" in program:
        path = os.path.abspath(program)
        if not os.path.isfile(path):
            raise Failure(ExitStatus.USAGE, f"the program {path} does not exist")
    else:
        found = which(program)
        if found is None:
            raise Failure(ExitStatus.USAGE, f"the program {program!r} was not found on PATH")
        path = os.path.abspath(found)
    return shlex.join([path, *arguments])
