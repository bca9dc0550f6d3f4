"""The caller's kept sessions, as the sidecar tells of them (`roost.sidecar.inventory`)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeVar

import msgspec

from roost.errors import RemoteProtocolError, SidecarError
from roost.host.host import Host
from roost.sidecar.gen.messages import AcpSessionRequest, AcpSessionRpcResponse
from roost.sidecar.inventory import LARGEST_PAGE
from roost.sidecar.journal import Entry, Kind, StoredSession
from roost.sidecar.naming import key_of

T = TypeVar("T")

# Entries asked for at once; the daemon bounds their size.
_ENTRIES = 512


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """One kept session. Times are seconds since 1970."""

    session_id: str
    agent: str
    state: str
    title: str | None
    cwd: str
    created_at: float
    updated_at: float
    pid: int | None
    env_names: list[str]
    protocol_version: int

    @property
    def is_live(self) -> bool:
        return self.state not in ("asleep", "interrupted", "closed")


class _Rows(msgspec.Struct):
    sessions: list[Row]
    next: Any = None


class _Number(msgspec.Struct):
    number: int
    first: int
    at: float
    kind: Kind
    body: msgspec.Raw


class _Entries(msgspec.Struct):
    entries: list[_Number]
    last: int


class _Record(msgspec.Struct):
    record: StoredSession


class _Answer(msgspec.Struct):
    result: msgspec.Raw


class _Nothing(msgspec.Struct):
    """Whatever the answer says, it is done."""


async def keeps_journal(host: Host) -> bool:
    try:
        await _ask(host, "", "_roost/sessions", {"limit": 1}, _Nothing)
    except SidecarError as error:
        if error.code != "unsupported":
            raise
        return False
    return True


async def list_sessions(host: Host) -> list[Row]:
    """All of the caller, newest first."""
    rows: list[Row] = []
    after = None
    while True:
        page = await _ask(host, "", "_roost/sessions", {"after": after, "limit": LARGEST_PAGE}, _Rows)
        rows += page.sessions
        if page.next is None:
            return rows
        after = page.next


async def read_history(host: Host, session_id: str, after: int = 0) -> AsyncIterator[list[Entry]]:
    """What is in the journal after a number, in pieces. Raises SidecarError: there is no such session."""
    while True:
        page = await _ask(host, session_id, "_roost/history", {"after": after, "limit": _ENTRIES}, _Entries)
        if not page.entries:
            return
        after = page.entries[-1].number
        yield [
            Entry(
                session_id,
                found.number,
                found.kind,
                bytes(found.body),
                found.at,
                0 if found.first == found.number else found.first,
            )
            for found in page.entries
        ]


async def put_to_sleep(host: Host, session_id: str) -> None:
    await _ask(host, session_id, "_roost/sleep", {}, _Nothing)


async def delete_session(host: Host, session_id: str) -> None:
    await _ask(host, session_id, "_roost/delete", {}, _Nothing)


class KeptSessions:
    """The sessions of a host as a source of archives; see `roost.store.archive.Source`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def session(self, session_id: str) -> StoredSession | None:
        record = (await _ask(self._host, session_id, "_roost/record", {}, _Record)).record
        return msgspec.structs.replace(record, session_id=key_of(record.owner, record.session_id))

    def pages(self, session_id: str, *, after: int = 0) -> AsyncIterator[list[Entry]]:
        return read_history(self._host, session_id, after)


async def _ask(host: Host, session_id: str, method: str, params: dict[str, Any], kind: type[T]) -> T:
    """One extension request; bodies in the answer stay as they are, byte for byte."""
    response = await host.request(AcpSessionRequest(session_id, method, msgspec.json.encode(params).decode()))
    if not isinstance(response, AcpSessionRpcResponse):
        raise RemoteProtocolError(f"the daemon answered {method} with {type(response).__name__}")
    try:
        return msgspec.json.decode(msgspec.json.decode(response.response, type=_Answer).result, type=kind)
    except msgspec.MsgspecError as error:
        raise RemoteProtocolError(f"the daemon's answer to {method} cannot be read: {error}") from error
