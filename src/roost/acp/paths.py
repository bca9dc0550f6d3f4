"""Whether a path of the protocol is absolute, as all of them must be (SES-1)."""

from __future__ import annotations

import re
from typing import Final

# POSIX, a Windows drive, a UNC share: the peer's platform is not ours, so all three count wherever we run.
_ABSOLUTE: Final = re.compile(r"/|[A-Za-z]:[\\/]|\\\\[^\\/]+[\\/]+[^\\/]")


def is_absolute(path: str) -> bool:
    """Only by its form: whether the path exists, or may be used, is somebody else's question."""
    return _ABSOLUTE.match(path) is not None
