"""Keeping a daemon small: what it would import and never use."""

from __future__ import annotations

import sys


def leave_out_tls() -> None:
    """Spares this process `ssl`, 4.5 MB that asyncio imports where it can and a unix socket has no use for.

    To be called before anything imports asyncio, in a program that is a daemon and nothing else; afterwards it
    does nothing.
    """
    if "asyncio" not in sys.modules and "ssl" not in sys.modules:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # the import system's own mark for "not there"
