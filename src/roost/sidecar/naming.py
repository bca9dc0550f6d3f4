"""Session ids belong to callers: what an agent calls a session is unique among those of one caller, and no wider.

In the journal, where the sessions of all callers are, a session has a key made of both. A caller's name has no slash.
"""

from __future__ import annotations


def key_of(owner: str, session_id: str) -> str:
    return f"{owner}/{session_id}"


def id_in(key: str) -> str:
    """The id its owner knows a session by."""
    return key.partition("/")[2]
