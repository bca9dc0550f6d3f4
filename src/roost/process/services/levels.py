"""How full the bounds of the services are: warned of at 80 %, and again only after a fall below 50 %."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from roost.process.services.limits import ServiceLimits
from roost.sidecar.limits import Gauge

_log = logging.getLogger(__name__)

# What fills up or may be too large; the other bounds are of what is cut, or of nonsense.
WATCHED: Final = ("open_requests", "terminals", "read_bytes", "write_bytes", "waiting_write_bytes")

Warn = Callable[[str, int, int], None]
"""The name of a bound in ServiceLimits, how much of it there is, and the bound."""


class Levels:
    """Of one ClientServices. `warn` None: the log."""

    def __init__(self, limits: ServiceLimits, warn: Warn | None) -> None:
        self._gauges = {name: Gauge(name, getattr(limits, name), warn or _to_the_log) for name in WATCHED}

    def watch(self, limit: str, level: int) -> None:
        self._gauges[limit].watch(level)


def _to_the_log(limit: str, observed: int, bound: int) -> None:
    _log.warning("%s is %d %% full: %d of %d", limit, observed * 100 // bound, observed, bound)
