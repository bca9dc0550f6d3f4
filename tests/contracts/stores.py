"""How the contract of stores makes one, and what its histories show."""

from __future__ import annotations

from collections.abc import Callable

from roost.store.base import Store

Make = Callable[..., Store]
