"""`roost daemon`: serves the unix socket, in the foreground, until it is told to end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from roost.cli.options import LOG_LEVELS, socket_option
from roost.cli.status import ExitStatus, Failure, say


@click.command("daemon")
@socket_option("Where to listen.")
@click.option(
    "--packages",
    multiple=True,
    metavar="ROOT",
    type=click.Path(exists=True, file_okay=False),
    help="A folder with agent packages, looked at before the usual ones. May be given several times.",
)
@click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    default="info",
    show_default=True,
    help="What is logged, to stderr.",
)
def command(socket: str | None, packages: tuple[str, ...], log_level: str) -> None:
    """Run the daemon: it keeps agents and their sessions, and serves them at a unix socket.

    It ends at SIGTERM or Ctrl-C, and its agents with it; a second signal ends them at once.
    """
    from roost.daemon.lean import leave_out_tls

    leave_out_tls()
    import asyncio
    import os

    from roost.daemon import log
    from roost.errors import RoostError, TransportError
    from roost.host import default_socket

    log.set_up(log_level)
    path = os.path.abspath(socket or default_socket())
    try:
        asyncio.run(_serve(path, [Path(root).absolute() for root in packages]))
    except TransportError as error:
        raise Failure(ExitStatus.USAGE, str(error)) from error
    except RoostError as error:  # an agent that cannot be ended
        raise Failure(ExitStatus.AGENT_FAILED, str(error)) from error


async def _serve(path: str, roots: Sequence[Path]) -> None:
    import asyncio
    import os
    import signal

    from roost.daemon.daemon import Daemon, default_state_dir
    from roost.process.packages import default_roots

    _raise_file_limit()
    daemon = Daemon(roots=(*roots, *default_roots(os.environ)), state_dir=default_state_dir(os.environ))
    loop = asyncio.get_running_loop()
    ending = asyncio.Event()

    def signalled() -> None:
        if ending.is_set():
            for process in daemon.runner.processes:
                process.signal_tree(signal.SIGKILL)
        ending.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, signalled)
    try:
        await daemon.listen_unix(path)
        say(f"the daemon listens at {path}")
        await ending.wait()
        say("the daemon ends")
    finally:
        await daemon.close()


# Four files for an agent (three pipes, and the descriptor its end is seen by), and one for a caller: with the bound
# of 1024 processes of `Limits` that is more than the 1024 files most systems start a program with.
_WANTED_FILES = 8192


def _raise_file_limit() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, _WANTED_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return  # macOS may refuse; then there is room for fewer agents
