"""`roost exec AGENT [ARGS…]`: becomes an agent's own program, so that an editor can start what Roost has installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import click

from roost.cli.options import config_option
from roost.cli.status import ExitStatus, Failure


# What stands after AGENT is the agent's, options too.
@click.command("exec", context_settings={"allow_interspersed_args": False})
@config_option
@click.argument("agent")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(agent: str, args: tuple[str, ...], config_file: str | None) -> None:
    """Run AGENT's own program here, with its own arguments and then ARGS.

    It takes the place of this one: standard input, output and error are the same, signals reach it, and its exit status
    is the one that is seen. It gets your whole environment, over what its package sets. AGENT is found as `roost run`
    finds it.
    """
    import os

    from roost.cli.agent_here import agent_here
    from roost.cli.configuration import read_config

    plan = agent_here(agent, read_config(config_file), args=args, env=os.environ).plan
    become(plan.argv, plan.env)


def become(argv: tuple[str, ...], environment: Mapping[str, str]) -> NoReturn:
    """Replaces this program. Raises Failure when that cannot be."""
    import os
    import signal
    import sys

    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    # Python ignores these, and what is ignored stays so; a program is not started with that by anybody else.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(argv[0], argv, environment)  # noqa: S606  # the point of it
    except OSError as error:
        raise Failure(ExitStatus.AGENT_FAILED, f"cannot run {argv[0]}: {error.strerror}") from error
