"""What a store has to know of the body of a PROMPT entry."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec


class _Body(msgspec.Struct):
    params: msgspec.Raw = msgspec.Raw(b"null")
    call: Any = None
    key: str | None = None


_body_of: Final = msgspec.json.Decoder(_Body).decode


def key_and_digest(body: bytes) -> tuple[str, bytes] | None:
    """The idempotency key and the SHA-256 of the params; None without a key."""
    prompt = _decode(body)
    if prompt is None or prompt.key is None:
        return None
    return prompt.key, hashlib.sha256(prompt.params).digest()


def call_of(body: bytes) -> object:
    """What the prompt was called; None when it does not say."""
    prompt = _decode(body)
    return None if prompt is None else prompt.call


def _decode(body: bytes) -> _Body | None:
    try:
        return _body_of(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
