"""Taking secrets out of what other programs say, before anybody sees it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

HIDDEN: Final = "***"

# Shorter values stand in too many words by chance, and hide nothing.
_SHORTEST: Final = 6

_SECRET_NAME: Final = re.compile(r"token|secret|passw|key|auth|credential", re.IGNORECASE)
_USER_IN_URL: Final = re.compile(r"(?<=://)[^/\s@'\"]*:?[^/\s@'\"]*@")
_TELLING: Final = re.compile(
    r"((?:_authToken|_password|_auth|authorization)[\"']?\s*[:=]\s*)(?:\w+ )?\S+", re.IGNORECASE
)
_BEARER: Final = re.compile(r"\b(Bearer|Basic)\s+\S+")
_NPM_TOKEN: Final = re.compile(r"\bnpm_[A-Za-z0-9]{20,}")


def without_secrets(text: str, environment: Mapping[str, str]) -> str:
    """The text without users and passwords in URLs, tokens that say so, and values of telling variables."""
    text = _USER_IN_URL.sub(f"{HIDDEN}@", text)
    text = _TELLING.sub(rf"\1{HIDDEN}", text)
    text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    text = _NPM_TOKEN.sub(HIDDEN, text)
    secrets = [value for name, value in environment.items() if _SECRET_NAME.search(name) and len(value) >= _SHORTEST]
    for value in sorted(secrets, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text
