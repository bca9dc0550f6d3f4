"""`roost log SESSION`: what was said and done in a session, from the journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from roost.cli.options import kept_session_options
from roost.cli.status import ExitStatus, say

if TYPE_CHECKING:
    from roost.cli.configuration import Wanted
    from roost.cli.inventory import Row
    from roost.cli.output import Output
    from roost.host.host import Host
    from roost.sidecar.journal import Entry

# How often a followed session is looked after that tells us nothing: it may sleep, and be woken by somebody else.
_LOOK_AGAIN = 1.0


@click.command("log")
@click.argument("session")
@click.option("--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option(
    "--after", type=click.IntRange(min=0), default=0, metavar="N", help="Only the entries with larger numbers than N."
)
@click.option("--json", "form", flag_value="json", help="Print one JSON object for each entry.")
@click.option("--markdown", "form", flag_value="markdown", help="Print a Markdown page.")
@kept_session_options
def command(
    session: str,
    follow: bool,
    after: int,
    form: str | None,
    socket: str | None,
    config_file: str | None,
    caller: str | None,
) -> int:
    """Show the history of SESSION, an id or the beginning of one."""
    from roost.cli.asking import ask_sidecar
    from roost.cli.configuration import wanted

    if follow and form == "markdown":
        raise click.UsageError("--follow cannot be told as --markdown: a page has an end")
    try:
        return ask_sidecar(_log, wanted(config_file, socket, caller), session, follow, after, form)
    except KeyboardInterrupt:
        if not follow:
            raise
        return ExitStatus.ENDED


async def _log(wanted: Wanted, name: str, follow: bool, after: int, form: str | None) -> int:
    import sys

    from roost.cli.attach import find_sidecar
    from roost.cli.inventory import list_sessions
    from roost.cli.naming import find_session
    from roost.cli.output import Output, abandon

    def closed(error: OSError) -> None:
        abandon(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            say(f"cannot write to standard output: {error.strerror}")

    output = Output(sys.stdout, closed)
    async with find_sidecar(wanted, needs_journal=True) as sidecar:
        row = find_session(await list_sessions(sidecar.host), name)
        take, finish = _teller(form, output, row)
        if follow and sidecar.daemon is not None:
            say("no daemon runs, so nothing comes after this")
            follow = False
        await (_follow if follow else _read)(sidecar.host, row, after, take, output)
        finish()
    output.flush()
    return ExitStatus.ENDED if output.error is None else ExitStatus.CUT_SHORT


async def _read(host: Host, row: Row, after: int, take: Callable[[Entry], None], output: Output) -> int:
    """The number of the entry read last."""
    from roost.cli.inventory import read_history

    async for entries in read_history(host, row.session_id, after):
        for entry in entries:
            take(entry)
        after = entries[-1].number
        output.flush()
        if output.error is not None:
            break
    return after


async def _follow(host: Host, row: Row, after: int, take: Callable[[Entry], None], output: Output) -> int:
    """Events only say that there is something to read: the journal has all of it, in order, each entry once."""
    import asyncio

    from roost.errors import SidecarError

    heard = host.known_session(row.session_id, row.protocol_version).events()
    while output.error is None:
        try:
            after = await _read(host, row, after, take, output)
        except SidecarError as error:
            say(f"the session is gone: {error}")
            break
        try:
            await asyncio.wait_for(heard.__anext__(), _LOOK_AGAIN)
            heard.clear()
        except TimeoutError:
            continue
        except StopAsyncIteration:
            break
    return after


def _teller(form: str | None, output: Output, row: Row) -> tuple[Callable[[Entry], None], Callable[[], None]]:
    """What takes each entry, and what is done at the end."""
    import sys

    import msgspec

    from roost.cli.palette import palette_for
    from roost.cli.replay import Replay
    from roost.cli.screen import Screen
    from roost.sidecar.transcript import Transcript

    if form == "json":

        def put(entry: Entry) -> None:
            told = {
                "type": "entry",
                "sessionId": row.session_id,
                "number": entry.number,
                "first": entry.first or entry.number,
                "at": entry.at,
                "kind": entry.kind.value,
                "body": msgspec.Raw(entry.body),
            }
            output.write_bytes(msgspec.json.encode(told) + b"\n")

        return put, output.flush
    if form == "markdown":
        page = Transcript(row.session_id, sys.maxsize)
        return page.add, lambda: output.write(page.text())
    replay = Replay(Screen(output, palette_for(sys.stdout)), row.cwd, row.protocol_version)
    return replay.tell, replay.finish
