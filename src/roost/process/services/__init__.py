"""What an ACP v1 agent asks its client for: files and terminals, inside a session's roots and a host's policy."""

from roost.process.services.limits import ServiceLimits
from roost.process.services.policy import MayRun, MayWrite, TerminalCommand, allow_all
from roost.process.services.service import ClientServices, command_environment
from roost.process.services.terminal import (
    TerminalCreated,
    TerminalEvent,
    TerminalExited,
    TerminalObserver,
    TerminalWrote,
)
from roost.process.services.watchers import ServiceWatcher

__all__ = [
    "ClientServices",
    "MayRun",
    "MayWrite",
    "ServiceLimits",
    "ServiceWatcher",
    "TerminalCommand",
    "TerminalCreated",
    "TerminalEvent",
    "TerminalExited",
    "TerminalObserver",
    "TerminalWrote",
    "allow_all",
    "command_environment",
]
