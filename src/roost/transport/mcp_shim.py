"""The program an agent starts as an MCP server when a server inside its client is meant: it carries lines, both ways.

It is started as a file, by `python -I -S`, and loads nothing of Roost. Its environment says where Roost listens and by
which secret it is known there; arguments could be read by other users. What it carries it does not look into, but for
the length of lines. It ends when either side does.
"""

from __future__ import annotations

import _thread
import os
import socket
from collections.abc import Callable

SOCKET = "ROOST_MCP_SOCKET"
TOKEN = "ROOST_MCP_TOKEN"  # noqa: S105  # the variable, not the secret
LINE_BYTES = "ROOST_MCP_LINE_BYTES"
HELLO = b"roost-mcp 1 "  # and the token
WELCOME = b"ok"  # anything else says why not

_CHUNK_BYTES = 65536
_ANSWER_BYTES = 1024  # of the answer to the hello: a word or a sentence


class Refused(Exception):
    """It cannot work; the text is for whoever reads the agent's log."""


def connect(environment: dict[str, str]) -> socket.socket:
    """A connection on which Roost has said that it may go on."""
    address, token = environment.get(SOCKET, ""), environment.get(TOKEN, "")
    if not address or not token:
        raise Refused(f"{SOCKET} and {TOKEN} are not set; it is Roost that says how this program is started")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(address)
        connection.sendall(HELLO + os.fsencode(token) + b"\n")
        answer = _first_line(connection)
    except OSError as error:
        raise Refused(f"cannot reach Roost at {address}: {error.strerror or error}") from None
    if answer != WELCOME:
        reason = answer.decode("utf-8", "replace") or "the connection ended; has the session?"
        raise Refused(f"Roost does not let this program in: {reason}")
    return connection


def _first_line(connection: socket.socket) -> bytes:
    line = b""
    while len(line) < _ANSWER_BYTES:
        byte = connection.recv(1)  # what comes behind it is not for us
        if byte in (b"", b"\n"):
            break
        line += byte
    return line


def carry(read: Callable[[], bytes], write: Callable[[bytes], object], limit: int, whose: str) -> None:
    """Everything from one side to the other, until the first ends. OSError: one of them is gone."""
    length = 0  # of the line that has no end yet
    while chunk := read():
        pieces = chunk.split(b"\n")
        if length + len(pieces[0]) > limit or max(map(len, pieces)) > limit:
            raise Refused(f"a line of {whose} is longer than line_bytes, which is {limit}")
        length = len(pieces[-1]) + (length if len(pieces) == 1 else 0)
        write(chunk)


def write_all(chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(1, view) :]


def tell(text: str) -> None:
    os.write(2, f"roost mcp: {text}\n".encode("utf-8", "replace"))


def run(environment: dict[str, str]) -> None:
    """Carries until one side ends."""
    limit = int(environment.get(LINE_BYTES, "") or 16 * 1024 * 1024)
    connection = connect(environment)

    def from_agent() -> None:
        _ended(lambda: carry(lambda: os.read(0, _CHUNK_BYTES), connection.sendall, limit, "the agent"))

    _thread.start_new_thread(from_agent, ())
    carry(lambda: connection.recv(_CHUNK_BYTES), write_all, limit, "the MCP server")
    tell("the connection to Roost has ended")


def _ended(work: Callable[[], None]) -> None:
    """Ends this program with the work, whatever the other direction is doing."""
    code = 0
    try:
        work()
    except Refused as refusal:
        tell(str(refusal))
        code = 1
    except (OSError, KeyboardInterrupt):  # one of the two sides is gone
        pass
    os._exit(code)


if __name__ == "__main__":
    _ended(lambda: run(dict(os.environ)))
