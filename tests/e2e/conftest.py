"""Every test here has its own daemon, packages and journal."""

from __future__ import annotations

from tests.own_daemon import journal, no_journal, nobody_elses_daemon

__all__ = ["journal", "no_journal", "nobody_elses_daemon"]
