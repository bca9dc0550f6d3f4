"""The two ways back into a session: the agent's own, and a fresh one that is told where its past can be read."""

from __future__ import annotations

from roost.errors import RpcError
from roost.rpc.messages import INTERNAL_ERROR, RESOURCE_NOT_FOUND

NATIVE = "native"
FALLBACK = "fallback"


def is_unknown_session(error: RpcError, session_id: str) -> bool:
    """Whether the agent says that it has no such session, and nothing worse."""
    data = error.data if isinstance(error.data, dict) else {}
    if data.get("kind") == "unknown_session":
        return True
    if error.code == INTERNAL_ERROR and data.get("details") == "NotFoundError":
        return True
    return error.code == RESOURCE_NOT_FOUND and data.get("sessionId") == session_id  # ERR-3


def preamble(transcript_path: str) -> str:
    """The first block of the first prompt of a fallback session. Wire-visible: callers match on it."""
    return (
        f"You are continuing an earlier session. The full prior transcript is at `{transcript_path}`. "
        "Read it with your file tools if you need context before answering."
    )
