"""From an agent to a plan: which command runs it, in which environment. Pure but for looking at files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from roost.errors import ProcessError
from roost.process.base import SpawnPlan
from roost.process.environment import agent_environment
from roost.process.packages import CommandLine, Package
from roost.process.programs import Which, find_program
from roost.process.runtimes.base import ProgramFile
from roost.process.runtimes.registry import Runtimes
from roost.process.runtimes.sniff import RUNTIME_KINDS, FileKind, ReadHead, Sniffed, interpreter_kind, read_head, sniff


def plan_agent(
    agent: Package | CommandLine,
    *,
    runtime: str,
    args: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    own_env: Mapping[str, str],
    runtimes: Runtimes,
    let_through: Iterable[str] = (),
    read: ReadHead = read_head,
    which: Which | None = None,
) -> SpawnPlan:
    """Everything needed to start the agent.

    `runtime` is the name of an AcpRuntimeKind. `args` are all arguments, the agent's `launch_args` among them:
    whoever decides about a launch joins them, once. `env` is the request's; `own_env` the daemon's, of which little
    is passed on. ProcessError when the agent cannot be run: its file or its runtime is missing, or the two do not
    fit.
    """
    if isinstance(agent, CommandLine):
        return _plan_command(agent, tuple(args), env, cwd, own_env, let_through, read, which)
    if agent.command:
        if agent.missing is not None:
            raise ProcessError(f"agent {agent.name} cannot be run: {agent.missing}")
        python = agent.kind is FileKind.PYTHON
        command = (*agent.command, *args)
    else:
        # The version's own folder, not the link `current`: an update must not change what runs already.
        folder = None if agent.folder is None else os.path.realpath(agent.folder)
        program = ProgramFile(agent.entrypoint, folder, _sniff(agent, read))
        command = command_for(program, runtime, tuple(args), cwd, runtimes)
        python = _runtime_kind(program.sniffed, runtime) == FileKind.PYTHON
    return SpawnPlan(command, agent_environment(own_env, agent.env, env, python=python, let_through=let_through), cwd)


def command_for(
    program: ProgramFile, runtime: str, args: tuple[str, ...], cwd: str, runtimes: Runtimes
) -> tuple[str, ...]:
    """The command for one file under one requested runtime.

    A file that is recognised as another runtime's is refused, naming both. Native programs and scripts of other
    languages run by themselves, whatever was requested; a file that tells nothing is taken for what was requested.
    """
    kind = _runtime_kind(program.sniffed, runtime)
    if kind is None:
        return (program.path, *args)
    if kind != runtime:
        raise ProcessError(f"{program.path} is {program.sniffed.description} and cannot be run as {runtime}")
    chosen = runtimes.get(kind)
    missing = runtimes.missing(kind)
    if chosen is None or missing is not None:
        raise ProcessError(f"{program.path} cannot be run as {runtime}: {missing}")
    return chosen.command(program, args, cwd)


def _runtime_kind(sniffed: Sniffed, requested: str) -> str | None:
    """The runtime the file needs; None when it needs none of ours."""
    if sniffed.kind in RUNTIME_KINDS:
        return sniffed.kind
    return requested if sniffed.kind is FileKind.UNKNOWN else None


def _sniff(package: Package, read: ReadHead) -> Sniffed:
    try:
        return sniff(package.entrypoint, read(package.entrypoint))
    except FileNotFoundError:
        raise ProcessError(f"agent {package.name}: its entrypoint {package.entrypoint} does not exist") from None
    except OSError as error:
        raise ProcessError(
            f"agent {package.name}: its entrypoint {package.entrypoint} cannot be read: {error.strerror}"
        ) from error


def _plan_command(
    command: CommandLine,
    args: tuple[str, ...],
    env: Mapping[str, str],
    cwd: str,
    own_env: Mapping[str, str],
    let_through: Iterable[str],
    read: ReadHead,
    which: Which | None,
) -> SpawnPlan:
    final = agent_environment(own_env, command.env, env, let_through=let_through)
    program = find_program(command.program, final, cwd, which)
    if _runs_python(program, read):
        final = agent_environment(own_env, command.env, env, python=True, let_through=let_through)
    return SpawnPlan((program, *args), final, cwd)


def _runs_python(program: str, read: ReadHead) -> bool:
    if interpreter_kind((program,)) is FileKind.PYTHON:
        return True
    try:
        return sniff(program, read(program)).kind is FileKind.PYTHON
    except OSError:
        return False  # said better by whoever starts it
