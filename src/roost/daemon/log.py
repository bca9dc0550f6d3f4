"""The daemon's log: one line for each record, on stderr, with nothing in it that would act on a terminal.

What is logged is the daemon's own doing, never what callers and agents say to each other.
"""

from __future__ import annotations

import logging
import sys

from roost.acp.view_text import reveal


class OneLine(logging.Formatter):
    """A record on one line, whatever is in it: a traceback too."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return reveal(super().format(record).replace("\n", " | "))


def set_up(level: str | None) -> None:
    """Sends what Roost logs from `level` on, and everybody's warnings, to stderr; None: nothing at all."""
    if level is None:
        logging.basicConfig(handlers=[logging.NullHandler()], force=True)
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("roost").setLevel(level.upper())
