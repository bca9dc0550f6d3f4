"""Looking at a plan before it is run, so that what is wrong with it is said by name.

Once a program runs through another one (`setpriv`, a sandbox) the system reports its faults on that one's stderr,
where no caller sees them; and where the system reports directly, it does not say whether program, interpreter or
directory is missing.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from roost.errors import ProcessError
from roost.process.base import SpawnPlan
from roost.process.runtimes.base import which as find_on_path

Which = Callable[[str, str], str | None]

# Of a command, in an error. Characters.
_SHOWN_CHARACTERS = 200

# Enough for the longest `#!` line Linux itself accepts (256).
_HEAD_BYTES = 256


def checked(plan: SpawnPlan) -> SpawnPlan:
    """The plan with `argv[0]` as an absolute path to something that can be run. ProcessError says what cannot."""
    if not plan.argv or not plan.argv[0]:
        raise ProcessError("there is no program to run: the command is empty")
    _check_strings(plan)
    _check_directory(plan.cwd)
    program = find_program(plan.argv[0], plan.env, plan.cwd)
    _check_program(program)
    return replace(plan, argv=(program, *plan.argv[1:]))


def find_program(name: str, env: Mapping[str, str], cwd: str, which: Which | None = None) -> str:
    """Where a program is: a path is taken from `cwd`, a bare name from PATH, or it is a ProcessError."""
    if "/" in name:
        return os.path.join(cwd, name)
    path = env.get("PATH", os.defpath)
    found = (which or find_on_path)(name, path)
    if found is None:
        raise ProcessError(f"program {name!r} was not found on PATH ({path})")
    return os.path.join(cwd, found)


def why_not(argv: Sequence[str], env: Mapping[str, str], error: Exception) -> str:
    """The command and the system's reason; of what is too long for the system, the longest part and its size."""
    line = " ".join(argv)
    shown = line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "…"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        sizes = [(len(os.fsencode(word)), "the longest argument") for word in argv]
        sizes += [(len(os.fsencode(value)), f"the variable {name}") for name, value in env.items()]
        size, what = max(sizes)
        reason += f"; {what[:_SHOWN_CHARACTERS]} has {size} bytes"
    return f"({shown}): {reason}"


def interpreter_of(head: bytes) -> str | None:
    """The program named by a `#!` line, or None when the bytes do not begin with one."""
    if not head.startswith(b"#!"):
        return None
    words = head[2:].split(b"\n", 1)[0].split()
    return os.fsdecode(words[0]) if words else None


def _check_strings(plan: SpawnPlan) -> None:
    for word in plan.argv:
        if "\0" in word:
            raise ProcessError(f"the command cannot be run: the argument {word!r} contains a NUL character")
    for name, value in plan.env.items():
        if not name or "=" in name or "\0" in name:
            raise ProcessError(f"the environment cannot be used: {name!r} is not a variable's name")
        if "\0" in value:
            raise ProcessError(f"the environment cannot be used: the value of {name} contains a NUL character")


def _check_directory(cwd: str) -> None:
    if not os.path.isabs(cwd) or "\0" in cwd:
        raise ProcessError(f"the working directory {cwd!r} is not an absolute path")
    try:
        mode = os.stat(cwd).st_mode
    except FileNotFoundError:
        raise ProcessError(f"the working directory {cwd} does not exist") from None
    except NotADirectoryError:
        raise ProcessError(f"the working directory {cwd} is not a directory") from None
    except OSError as error:
        raise ProcessError(f"the working directory {cwd} cannot be used: {error.strerror}") from error
    if not stat.S_ISDIR(mode):
        raise ProcessError(f"the working directory {cwd} is not a directory")
    if not os.access(cwd, os.X_OK):
        raise ProcessError(f"the working directory {cwd} may not be entered")


def _check_program(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ProcessError(f"program {path} does not exist") from None
    except OSError as error:
        raise ProcessError(f"program {path} cannot be run: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise ProcessError(f"program {path} is a directory")
    if not os.access(path, os.X_OK):
        raise ProcessError(f"program {path} is not executable (chmod +x would make it so)")
    try:
        with open(path, "rb") as file:
            interpreter = interpreter_of(file.read(_HEAD_BYTES))
    except OSError:
        return  # a program may be run without being readable
    if interpreter is not None and not os.path.exists(interpreter):
        raise ProcessError(f"program {path} needs the interpreter {interpreter}, which does not exist")
