"""The entry point: `roost` and its commands, each loaded when it is used, so that `roost --version` loads nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

import roost
from roost.cli.status import ExitStatus, say

# Command -> module; the module's `command` is the click command, or what is named after the colon.
COMMANDS = {
    "agents": "roost.cli.agents",
    "check": "roost.cli.check",
    "close": "roost.cli.endings:close",
    "config": "roost.cli.config",
    "daemon": "roost.cli.daemon",
    "decode": "roost.cli.decode",
    "exec": "roost.cli.exec",
    "export": "roost.cli.archive:export",
    "import": "roost.cli.archive:import_",
    "install": "roost.cli.install",
    "log": "roost.cli.log",
    "login": "roost.cli.login",
    "logout": "roost.cli.login:logout",
    "ps": "roost.cli.ps",
    "remove": "roost.cli.install:remove",
    "resume": "roost.cli.resume",
    "rm": "roost.cli.endings:remove",
    "run": "roost.cli.run",
    "sleep": "roost.cli.endings:sleep",
    "update": "roost.cli.install:update",
}


class Roost(click.Group):
    """The group: lazy, and with Roost's own exit statuses instead of click's."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(import_module(module), name or "command")
        return command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        sys.exit(self._run(args, prog_name, complete_var, extra))

    def _run(
        self, args: Sequence[str] | None, prog_name: str | None, complete_var: str | None, extra: dict[str, Any]
    ) -> int:
        open_closed_streams()
        try:
            result = super().main(args, prog_name, complete_var, False, **extra)
            if sys.stdout is not None:
                sys.stdout.flush()
        except click.UsageError as error:
            error.show()
            return ExitStatus.USAGE
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except click.Abort:
            say("interrupted")
            return ExitStatus.CUT_SHORT
        except BrokenPipeError:
            from roost.cli.output import abandon

            abandon(sys.stdout)
            return ExitStatus.CUT_SHORT
        except Exception as error:
            if os.environ.get("ROOST_TRACEBACK"):
                raise
            say(f"this is a mistake in roost: {type(error).__name__}: {error} (ROOST_TRACEBACK=1 shows where)")
            return ExitStatus.AGENT_FAILED
        return result if isinstance(result, int) else ExitStatus.ENDED


def open_closed_streams() -> None:
    """Where stdin, stdout or stderr was closed before we started, nothing else may get its number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


@click.command(cls=Roost, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(roost.__version__, prog_name="roost")
def main() -> None:
    """A home for coding agents: runs any ACP agent, and shows you what it does."""


if __name__ == "__main__":
    main()
