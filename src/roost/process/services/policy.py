"""What an agent may do beyond reading: the host decides, each time, and nothing is allowed that it did not allow."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

_log = logging.getLogger(__name__)

Asked = TypeVar("Asked")


@dataclass(frozen=True, slots=True)
class TerminalCommand:
    """A command an agent wants to run, exactly as it would be run.

    `program` is absolute: the file itself, or /bin/sh for a shell line. `env` holds only what the agent adds to the
    environment; it can change what any program does (LD_PRELOAD, PATH). `line` is the command in one line as a person
    would type it. All of it comes from the agent and is to be shown literally.
    """

    program: str
    args: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    line: str


# The path is absolute and free of symbolic links: the file that would be written, which need not exist.
MayWrite = Callable[[str], Awaitable[bool]]
MayRun = Callable[[TerminalCommand], Awaitable[bool]]


async def allow_all(asked: object) -> bool:
    """For `may_write` and `may_run` of a host that trusts its agent, or has put it and itself into a sandbox."""
    return True


async def is_allowed(decide: Callable[[Asked], Awaitable[bool]] | None, asked: Asked) -> bool:
    """The host's word. No decider, one that fails, and any answer but True itself are a no."""
    if decide is None:
        return False
    try:
        return await decide(asked) is True
    except Exception:
        _log.exception("the host's decision failed, and what was asked is not allowed")
        return False
