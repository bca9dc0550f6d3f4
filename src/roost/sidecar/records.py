"""What is remembered of a session that is not live."""

from __future__ import annotations

from typing import Final

import msgspec

from roost.sidecar.launch import Launch


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A stored session: enough to start its agent again and to attach it."""

    session_id: str
    launch: Launch


class Foreign:
    """A stored session of somebody else; to its asker it does not exist, and it must not be attached either."""


FOREIGN: Final = Foreign()
