"""`roost daemon`: serves the unix socket, in the foreground, until it is told to end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roost.cli.options import LOG_LEVELS, config_option, socket_option
from roost.cli.status import ExitStatus, Failure, say

if TYPE_CHECKING:
    from roost.cli.configuration import Wanted
    from roost.daemon.daemon import Daemon


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
    help="What is logged, to stderr. Default: info, or what is configured.",
)
@click.option("--no-journal", is_flag=True, help="Keep nothing: sessions are gone with the daemon.")
@config_option
def command(
    socket: str | None,
    packages: tuple[str, ...],
    log_level: str | None,
    no_journal: bool,
    config_file: str | None,
) -> None:
    """Run the daemon: it keeps agents and their sessions, and serves them at a unix socket.

    What happens in the sessions of named callers is in its journal, and they survive it. Without a journal that can be
    used it does not start, unless --no-journal or the configuration (store.durability) says that it may.
    It ends at SIGTERM or Ctrl-C, and its agents with it; a second signal ends them at once.
    """
    from roost.daemon.lean import leave_out_tls

    leave_out_tls()
    import asyncio
    import os

    from roost.cli.configuration import wanted
    from roost.daemon import log
    from roost.errors import RoostError, StoreError, TransportError

    settings = wanted(config_file, socket, journal=not no_journal)
    log.set_up(log_level or settings.config.daemon.log_level)
    path = os.path.abspath(settings.path)
    try:
        asyncio.run(_serve(settings, path, [Path(root).absolute() for root in packages]))
    except TransportError as error:
        raise Failure(ExitStatus.USAGE, str(error)) from error
    except StoreError as error:
        hint = "" if error.code == "locked" else " (--no-journal starts without a journal)"
        raise Failure(ExitStatus.USAGE, f"{error}{hint}") from error
    except RoostError as error:  # an agent that cannot be ended
        raise Failure(ExitStatus.AGENT_FAILED, str(error)) from error


async def _serve(wanted: Wanted, path: str, roots: Sequence[Path]) -> None:
    import asyncio
    import signal

    from roost.transport.unix import require_free

    _raise_file_limit()
    require_free(path)  # it would hold the journal too, and this says more
    daemon = await _open_daemon(wanted, roots)
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


async def _open_daemon(wanted: Wanted, roots: Sequence[Path]) -> Daemon:
    """Raises StoreError when there is no usable journal and there has to be one, or another process has it."""
    import os

    from roost.cli.configuration import daemon_settings, journal_of
    from roost.daemon.archivist import Watch
    from roost.daemon.daemon import Daemon, default_state_dir
    from roost.errors import StoreError

    config = wanted.config
    settings = daemon_settings(config, os.environ)
    settings["roots"] = (*roots, *settings["roots"])
    settings["state_dir"] = default_state_dir(os.environ)
    if wanted.journal:
        daemon = None
        try:
            daemon = Daemon(limits=config.limits, store=journal_of(config, Watch()), **settings)
            await daemon.open()
            return daemon
        except StoreError as error:
            if daemon is not None:
                await daemon.close()
            if error.code == "locked" or config.store.durability == "required":
                raise
            say(f"nothing is kept: {error}")
    return Daemon(limits=config.limits, **settings)


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
