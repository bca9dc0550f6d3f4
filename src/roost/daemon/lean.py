"""Keeping a daemon small: what it would import and never use."""

from __future__ import annotations

import sys


def leave_out_tls() -> None:
    """Spares this process OpenSSL: `ssl`, 4.5 MB that asyncio imports where it can and a unix socket has no use for,
    and `_hashlib`, 3.6 MB for hashes that Python has of its own.

    To be called before anything imports asyncio, in a program that is a daemon and nothing else; afterwards it
    does nothing.
    """
    if "asyncio" not in sys.modules and "ssl" not in sys.modules:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # the import system's own mark for "not there"
        if "hashlib" not in sys.modules:
            sys.modules["_hashlib"] = None  # type: ignore[assignment]
