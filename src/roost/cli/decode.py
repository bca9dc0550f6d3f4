"""`roost decode`: values as our types see them, for whoever debugs a peer."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import click

from roost.cli.status import ExitStatus, Failure

if TYPE_CHECKING:
    from roost.cli.decode_types import Readable, Seen

# One line of input; ours, eight times the daemon's own bound on a message, so that what it refuses can be looked at.
MAX_LINE_BYTES = 128 * 1024 * 1024


@click.command("decode")
@click.argument("type_name", metavar="TYPE", required=False)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.File("rb"))
@click.option("--bare", is_flag=True, help="TYPE is of the sidecar's messages and frames, and each line is hex.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each line: its value, or its error.")
@click.option("--list", "listing", is_flag=True, help="List the names TYPE can be.")
def command(
    type_name: str | None, files: Sequence[IO[bytes]], bare: bool, as_json: bool, listing: bool
) -> ExitStatus | None:
    """Read one JSON value per line, of TYPE, and print it as Roost understands it.

    Defaults are filled in, unknown variants are kept, members nobody knows are gone. Whatever was malformed but could
    be forgiven is told on stderr, and so is an error, with its path. TYPE is a name of the ACP v2 schema, or a method,
    which stands for its params. Without FILE, stdin is read. The exit status is 1 when a line could not be read.
    """
    from roost.cli import decode_bare, decode_types

    names = decode_bare.names() if bare else decode_types.names()
    if listing:
        for name in names:
            click.echo(name)
        return None
    if type_name is None:
        raise click.UsageError("which TYPE? `roost decode --list` has their names")
    readable = decode_bare.find(type_name) if bare else decode_types.find(type_name)
    if readable is None:
        raise Failure(ExitStatus.USAGE, _unknown(type_name, names, bare))
    if not files and sys.stdin is None:
        raise click.UsageError("there is nothing to read: standard input is closed")
    show = _show_json if as_json else _show_text
    failed = False
    for file in files or (sys.stdin.buffer,):
        prefix = f"{file.name}: " if len(files) > 1 else ""
        for number, line in _lines(file):
            failed |= not show(_seen(readable, line), number, prefix)
    return ExitStatus.USAGE if failed else None


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Each line that is not blank, with its number; None for one beyond the bound."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            yield number, None
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE_BYTES)
        elif line.strip():
            yield number, line.strip()


def _seen(readable: Readable, line: bytes | None) -> Seen:
    from roost.cli.decode_types import Seen

    return Seen(None, f"longer than {MAX_LINE_BYTES} bytes") if line is None else readable(line)


def _show_text(seen: Seen, number: int, prefix: str) -> bool:
    from roost.errors import format_path

    for path, what in seen.losses:
        _tell(f"{prefix}line {number}: {format_path(path)}: {what}")
    if seen.error is None:
        _print(seen.value)
        return True
    at = f" (at {format_path(seen.path)})" if seen.path else ""
    _tell(f"{prefix}line {number}: {seen.error}{at}")
    return False


def _show_json(seen: Seen, number: int, prefix: str) -> bool:
    from roost.wire.decode import encode

    out: dict[str, Any] = {"line": number}
    if seen.error is None:
        out["value"] = seen.value
    else:
        out |= {"error": seen.error, "path": list(seen.path)}
    if seen.losses:
        out["losses"] = [{"path": list(path), "what": what} for path, what in seen.losses]
    _print(encode(out))
    return seen.error is None


def _print(line: Any) -> None:
    if sys.stdout is not None:
        sys.stdout.buffer.write(bytes(line) + b"\n")
        sys.stdout.buffer.flush()  # whoever follows a log wants each line when it is there


def _tell(sentence: str) -> None:
    from roost.acp.view_text import reveal

    click.echo(reveal(sentence), err=True)


def _unknown(name: str, names: Sequence[str], bare: bool) -> str:
    from difflib import get_close_matches

    lower = {known.lower(): known for known in names}
    close = [lower[found] for found in get_close_matches(name.lower(), list(lower), n=3, cutoff=0.6)]
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    listing = "roost decode --bare --list" if bare else "roost decode --list"
    return f"there is no type {name!r}{hint or f'; `{listing}` has their names'}"
