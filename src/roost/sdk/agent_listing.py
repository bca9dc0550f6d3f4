"""One page of a list of sessions: newest first, each session on exactly one page (SES-13, SES-15)."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable

from roost.acp import v2
from roost.sdk.handlers import invalid_params
from roost.sdk.store import SessionRecord

_SEPARATOR = "\n"  # in no time and in no id of ours


def page_of(
    records: Iterable[SessionRecord], cwd: str | None, cursor: str | None, size: int
) -> v2.ListSessionsResponse:
    """The page behind `cursor`. The filter comes first. RpcError -32602: the cursor is none of ours."""
    found = [record for record in records if cwd is None or record.cwd == cwd]
    found.sort(key=_place, reverse=True)
    if cursor is not None:
        last = _opened(cursor)
        found = [record for record in found if _place(record) < last]
    page = found[:size]
    following = _closed(_place(page[-1])) if len(found) > size else None
    return v2.ListSessionsResponse(sessions=[_shown(record) for record in page], next_cursor=following)


def _place(record: SessionRecord) -> tuple[str, str]:
    return record.updated_at, record.session_id


def _closed(place: tuple[str, str]) -> str:
    return urlsafe_b64encode(_SEPARATOR.join(place).encode()).decode()


def _opened(cursor: str) -> tuple[str, str]:
    try:
        updated_at, separator, session_id = urlsafe_b64decode(cursor.encode()).decode().partition(_SEPARATOR)
    except (binascii.Error, ValueError):
        separator = ""
    if not separator:
        raise invalid_params("not a cursor of this agent", "cursor")
    return updated_at, session_id


def _shown(record: SessionRecord) -> v2.SessionInfo:
    return v2.SessionInfo(
        session_id=record.session_id,
        cwd=record.cwd,
        additional_directories=list(record.additional_directories),
        title=record.title,
        updated_at=record.updated_at or None,
    )
