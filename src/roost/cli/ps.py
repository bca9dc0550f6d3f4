"""`roost ps`: the sessions of the caller, live and at rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from roost.cli.options import json_option, kept_session_options

if TYPE_CHECKING:
    from roost.cli.configuration import Wanted
    from roost.cli.inventory import Row

# What a column shows of a text; the whole of it is in the JSON.
_WIDEST = 40


@click.command("ps")
@click.option("--all", "everything", is_flag=True, help="Closed sessions too.")
@json_option("one JSON object for each session")
@kept_session_options
def command(everything: bool, as_json: bool, socket: str | None, config_file: str | None, caller: str | None) -> None:
    """List your sessions, newest first: what can be resumed, looked at and exported."""
    import time

    from roost.cli.asking import ask_sidecar
    from roost.cli.configuration import wanted

    rows, memory = ask_sidecar(_survey, wanted(config_file, socket, caller))
    shown = [row for row in rows if everything or row.state != "closed"]
    if as_json:
        for line in json_lines(shown, rows, memory):
            click.echo(line)
        return
    for text in table(shown, rows, memory, time.time()):
        click.echo(text)


async def _survey(wanted: Wanted) -> tuple[list[Row], dict[str, int]]:
    from roost.cli.attach import find_sidecar
    from roost.cli.inventory import list_sessions
    from roost.process.tree import tree_rss

    async with find_sidecar(wanted, needs_journal=True) as sidecar:
        rows = await list_sessions(sidecar.host)
        return rows, {row.session_id: tree_rss(row.pid) for row in rows if row.pid is not None}


def json_lines(shown: Sequence[Row], rows: Sequence[Row], memory: dict[str, int]) -> list[str]:
    import msgspec

    from roost.cli.naming import short_ids

    short = short_ids(rows)
    objects: list[dict[str, Any]] = [
        {
            "sessionId": row.session_id,
            "shortId": short[row.session_id],
            "agent": row.agent,
            "state": row.state,
            "title": row.title,
            "cwd": row.cwd,
            "createdAt": row.created_at,
            "updatedAt": row.updated_at,
            "pid": row.pid,
            "memoryBytes": memory.get(row.session_id),
            "envNames": row.env_names,
            "protocolVersion": row.protocol_version,
        }
        for row in shown
    ]
    return [msgspec.json.encode(found).decode() for found in objects]


def table(shown: Sequence[Row], rows: Sequence[Row], memory: dict[str, int], now: float) -> list[str]:
    """Columns for people; `rows` are those the names have to tell apart."""
    from roost.acp.view_text import reveal
    from roost.cli.naming import short_ids

    if not shown:
        return ["no sessions; `roost run AGENT PROMPT` starts one"]
    short = short_ids(rows)
    lines = [("SESSION", "AGENT", "STATE", "AGE", "MEMORY", "CWD", "TITLE")]
    for row in shown:
        used = memory.get(row.session_id)
        lines.append(
            (
                short[row.session_id],
                _cut(reveal(row.agent)),
                row.state,
                age(now - row.updated_at),
                "-" if used is None else f"{used / 1024 / 1024:.1f} MiB",
                reveal(row.cwd),
                _cut(reveal(row.title)) if row.title else "-",
            )
        )
    lines = [(reveal(line[0]), *line[1:]) for line in lines]
    widths = [max(len(line[column]) for line in lines) for column in range(6)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[6]]) for line in lines
    ]


def age(seconds: float) -> str:
    """Since something last happened, in the largest unit that fits."""
    seconds = max(0.0, seconds)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."
