"""`roost export` and `roost import`: a session as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from roost.cli.options import caller_option, config_option, json_option, kept_session_options
from roost.cli.status import ExitStatus, Failure

if TYPE_CHECKING:
    from roost.cli.configuration import Wanted
    from roost.sidecar.journal import StoredSession


@click.command("export")
@click.argument("session")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE when it is there.")
@json_option("one JSON object")
@kept_session_options
def export(
    session: str,
    file: Path,
    force: bool,
    as_json: bool,
    socket: str | None,
    config_file: str | None,
    caller: str | None,
) -> None:
    """Write everything that is kept of SESSION to FILE, which only you may read.

    Values of variables and headers are not in it, for they are not kept. What was said is, whatever it was.
    """
    from roost.cli.asking import ask_sidecar
    from roost.cli.configuration import wanted

    ident = ask_sidecar(_export, wanted(config_file, socket, caller), session, file, force)
    _tell(as_json, ident, f"exported to {file}", {"file": str(file)})


async def _export(wanted: Wanted, name: str, file: Path, force: bool) -> str:
    from roost.cli.attach import find_sidecar
    from roost.cli.inventory import KeptSessions, list_sessions
    from roost.cli.naming import find_session
    from roost.errors import StoreError
    from roost.store.archive import export_session

    async with find_sidecar(wanted, needs_journal=True) as sidecar:
        row = find_session(await list_sessions(sidecar.host), name)
        try:
            await export_session(KeptSessions(sidecar.host), row.session_id, file, overwrite=force)
        except StoreError as error:
            if error.code != "refused":
                raise
            raise Failure(ExitStatus.USAGE, f"{file} is there already; --force replaces it") from error
    return row.session_id


_STOP_THE_DAEMON = """\
An import writes the journal itself. When that process is a daemon: stop it (Ctrl-C where it runs, or kill with that
number; its sessions fall asleep, and nothing of them is lost), import, and start it again."""


@click.command("import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace the session when it is there.")
@json_option("one JSON object")
@config_option
@caller_option("Whose session it becomes.")
def import_(file: Path, force: bool, as_json: bool, config_file: str | None, caller: str | None) -> None:
    """Keep what FILE, an export, holds as a session of yours.

    The file is read to its end before anything is kept. The journal is written by this program, so a daemon that uses
    it has to be stopped before, and can be started again after it.
    """
    from roost.cli.asking import ask_sidecar
    from roost.cli.configuration import wanted

    session = ask_sidecar(_import, wanted(config_file, None, caller), file, force)
    _tell(as_json, session.name, "imported", {"entries": session.last_number})


async def _import(wanted: Wanted, file: Path, force: bool) -> StoredSession:
    from roost.cli.configuration import journal_of
    from roost.errors import LimitError, StoreError
    from roost.sidecar.journal import DeleteSession
    from roost.sidecar.naming import key_of
    from roost.store.archive import import_session, read_header

    if not wanted.journal:
        raise Failure(ExitStatus.USAGE, "there is no journal: store.enabled is false")
    try:
        header = await read_header(file)
    except (StoreError, LimitError) as error:
        raise Failure(ExitStatus.USAGE, str(error)) from error
    store = journal_of(wanted.config)
    try:
        await store.open()
    except StoreError as error:
        detail = _STOP_THE_DAEMON if error.code == "locked" else ""
        raise Failure(ExitStatus.AGENT_FAILED, str(error), detail) from error
    try:
        await store.recover()
        key = key_of(wanted.owner, header.session_id)
        if await store.session(key) is not None:
            if not force:
                raise Failure(ExitStatus.USAGE, f"session {header.session_id} is kept already; --force replaces it")
            store.write([DeleteSession(key)])
        return await import_session(store, file, wanted.owner)
    finally:
        await store.close()


def _tell(as_json: bool, session_id: str, done: str, members: dict[str, object]) -> None:
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"sessionId": session_id, **members}).decode())
    else:
        from roost.acp.view_text import reveal

        click.echo(reveal(f"{session_id} {done}"))
