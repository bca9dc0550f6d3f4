"""`roost close`, `roost sleep` and `roost rm`: three ways of ending what runs, from keeping all to keeping nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from roost.cli.options import json_option, kept_session_options
from roost.cli.status import ExitStatus, Failure

if TYPE_CHECKING:
    from roost.cli.configuration import Wanted
    from roost.cli.inventory import Row
    from roost.host.host import Host

End = Callable[["Host", "Row"], Awaitable[None]]


@click.command("sleep")
@click.argument("sessions", metavar="SESSION...", nargs=-1, required=True)
@json_option("one JSON object for each session")
@kept_session_options
def sleep(
    sessions: tuple[str, ...], as_json: bool, socket: str | None, config_file: str | None, caller: str | None
) -> None:
    """End the agents of sessions; the next prompt wakes them."""
    _end_all(_sleep, "asleep", sessions, as_json, socket, config_file, caller)


@click.command("close")
@click.argument("sessions", metavar="SESSION...", nargs=-1, required=True)
@json_option("one JSON object for each session")
@kept_session_options
def close(
    sessions: tuple[str, ...], as_json: bool, socket: str | None, config_file: str | None, caller: str | None
) -> None:
    """Close sessions: their agents end, also in mid-turn, and what was said can still be read.

    Only `roost resume` opens one again.
    """
    _end_all(_close, "closed", sessions, as_json, socket, config_file, caller)


@click.command("rm")
@click.argument("sessions", metavar="SESSION...", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Also sessions that are in mid-turn.")
@json_option("one JSON object for each session")
@kept_session_options
def remove(
    sessions: tuple[str, ...],
    force: bool,
    as_json: bool,
    socket: str | None,
    config_file: str | None,
    caller: str | None,
) -> None:
    """Delete sessions and everything that was said in them."""
    _end_all(_remove if force else _remove_quiet, "deleted", sessions, as_json, socket, config_file, caller)


def _end_all(
    end: End,
    done: str,
    names: tuple[str, ...],
    as_json: bool,
    socket: str | None,
    config_file: str | None,
    caller: str | None,
) -> None:
    import msgspec

    from roost.cli.asking import ask_sidecar
    from roost.cli.configuration import wanted

    def tell(row: Row, short: str) -> None:
        told = {"sessionId": row.session_id, done: True}
        click.echo(msgspec.json.encode(told).decode() if as_json else f"{short} {done}")

    ask_sidecar(_end_each, wanted(config_file, socket, caller), end, names, tell)


async def _end_each(wanted: Wanted, end: End, names: tuple[str, ...], tell: Callable[[Row, str], None]) -> None:
    """Nothing is ended when one of the names means nothing."""
    from roost.cli.attach import find_sidecar
    from roost.cli.inventory import list_sessions
    from roost.cli.naming import find_session, short_ids

    async with find_sidecar(wanted, needs_journal=True) as sidecar:
        rows = await list_sessions(sidecar.host)
        short = short_ids(rows)
        found = {row.session_id: row for row in (find_session(rows, name) for name in names)}
        for row in found.values():
            await end(sidecar.host, row)
            tell(row, short[row.session_id])


async def _sleep(host: Host, row: Row) -> None:
    from roost.cli.inventory import put_to_sleep

    if row.state == "closed":
        raise Failure(ExitStatus.USAGE, f"session {row.session_id} is closed; `roost resume` opens it")
    if row.is_live:
        await put_to_sleep(host, row.session_id)


async def _close(host: Host, row: Row) -> None:
    from roost.sidecar.gen.messages import AcpCloseSessionRequest

    if row.state != "closed":
        await host.request(AcpCloseSessionRequest(row.session_id))


async def _remove(host: Host, row: Row) -> None:
    from roost.cli.inventory import delete_session

    await delete_session(host, row.session_id)


async def _remove_quiet(host: Host, row: Row) -> None:
    if row.is_live and row.state != "idle":
        raise Failure(ExitStatus.USAGE, f"session {row.session_id} is {row.state}; --force deletes it all the same")
    await _remove(host, row)
