"""From what an agent asks to be run to what is run: a program with its arguments, or a line for the shell.

Blocks, because programs are looked for on the disk: it is called in a thread.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from typing import Final

from roost.errors import ProcessError, RpcError
from roost.process.base import SpawnPlan
from roost.process.programs import checked, find_program
from roost.process.services import faults
from roost.process.services.policy import TerminalCommand

SHELL: Final = "/bin/sh"

# Anything else in a lone word means something to a shell, or separates words.
_ONE_WORD: Final = re.compile(r"[\w@%+:,./-]+")

# The directory was a path when it was checked and is one again when the system goes there. This looks at where the
# process then really is, which nobody can change any more, and both kinds of output share one pipe, in order.
_ARRIVE: Final = (
    'cd -P . && [ "$PWD" = "$1" ] || { echo "the working directory has moved" >&2; exit 126; }; shift; exec "$@" 2>&1'
)
_WITHOUT_INPUT: Final = " </dev/null"


def resolve(
    command: str, args: tuple[str, ...], *, cwd: str, base_env: Mapping[str, str], env: Mapping[str, str]
) -> TerminalCommand:
    """The program behind a command. RpcError: there is none, or it cannot be run.

    Real agents send whole shell lines as `command`, without `args`. What is not the name of a program and would mean
    more than one word to a shell is taken for such a line.
    """
    merged = {**base_env, **env}
    try:
        program = find_program(command, merged, cwd)
    except ProcessError:
        program = ""
    if not args and not _ONE_WORD.fullmatch(command) and not _is_executable(program):
        return TerminalCommand(SHELL, ("-c", command), cwd, env, command)
    if not program:
        raise RpcError(faults.INTERNAL_ERROR, f"program not found: {faults.shown(command)}", {"code": "ENOENT"})
    try:
        checked(SpawnPlan((program, *args), merged, cwd))
    except ProcessError as error:
        code = "EACCES" if os.path.exists(program) else "ENOENT"
        raise RpcError(
            faults.INTERNAL_ERROR, f"program cannot be run: {faults.shown(command)}", {"code": code}
        ) from error
    return TerminalCommand(program, args, cwd, env, shlex.join((command, *args)))


def plan(command: TerminalCommand, base_env: Mapping[str, str], *, takes_input: bool) -> SpawnPlan:
    """What a runner starts: the command in exactly its directory, stdout and stderr as one.

    Without `takes_input` its stdin is /dev/null: many programs take an open pipe for their input and wait for ever.
    """
    script = _ARRIVE if takes_input else _ARRIVE + _WITHOUT_INPUT
    argv = (SHELL, "-c", script, "sh", command.cwd, command.program, *command.args)
    return SpawnPlan(argv, {**base_env, **command.env, "PWD": command.cwd}, command.cwd)


def _is_executable(program: str) -> bool:
    return os.path.isfile(program) and os.access(program, os.X_OK)
