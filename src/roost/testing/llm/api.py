"""What each API the server speaks comes down to: reading a request, and telling a reply whole or as events."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from roost.testing.llm.asks import Ask
from roost.testing.llm.steps import Gate, Pause, Reply

TOKENS_IN = 11  # every request is said to cost the same
TOKENS_OUT = 7


@dataclass(frozen=True)
class Event:
    """One server-sent event; `data` is JSON, or text that is sent as it is."""

    data: dict[str, Any] | str
    name: str = ""


Events = Iterator[Event | Pause | Gate]


@dataclass(frozen=True)
class Api:
    """`read` takes the body and the request's path."""

    name: str
    read: Callable[[dict[str, Any], str], Ask]
    whole: Callable[[Reply, Ask], dict[str, Any]]
    events: Callable[[Reply, Ask], Events]


def fresh(prefix: str) -> str:
    """An id as the APIs make them."""
    return f"{prefix}{secrets.token_hex(10)}"
