"""Reading the params of one request: each member by its type, or the error -32602 that names method and member."""

from __future__ import annotations

import binascii
import signal
from typing import Any, Final

from roost.process.services.faults import bad_params, shown

_TEXT_ENCODINGS: Final = (None, "utf-8", "utf8")
# Counts of ACP v1 are uint32; outputByteLimit is a uint64, and nothing is lost by the same bound for all.
_MAX_COUNT: Final = 2**63 - 1


class Params:
    """`value` is the request's `params` as decoded from JSON."""

    __slots__ = ("_members", "method")

    def __init__(self, method: str, value: object) -> None:
        if not isinstance(value, dict):
            raise bad_params(f"{method} requires object params")
        self.method = method
        self._members: dict[str, Any] = value

    def path(self, name: str = "path") -> str:
        """An absolute path; whether it may be used is somebody else's question."""
        path = self.string(name)
        if not path.startswith("/"):
            raise bad_params(f"{self.method} requires an absolute {name}: {shown(path)}")
        if "\0" in path:
            raise bad_params(f"{self.method} requires a {name} without NUL characters")
        return path

    def optional_path(self, name: str) -> str | None:
        return None if self._members.get(name) is None else self.path(name)

    def string(self, name: str) -> str:
        value = self._members.get(name)
        if not isinstance(value, str) or not _is_unicode(value):
            raise bad_params(f"{self.method} requires a string {name}")
        return value

    def count(self, name: str, least: int = 0) -> int | None:
        """A whole number; None when it is left out or null."""
        value = self._members.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MAX_COUNT:
            raise bad_params(f"{self.method} requires {name} to be a whole number of at least {least}")
        return value

    def in_base64(self) -> bool:
        """Whether `encoding` asks for base64 rather than UTF-8."""
        encoding = self._members.get("encoding")
        if encoding == "base64":
            return True
        if encoding not in _TEXT_ENCODINGS:
            raise bad_params(f"{self.method} knows the encodings utf-8 and base64 only")
        return False

    def content(self, name: str) -> bytes:
        """What is to be written, decoded as `encoding` says."""
        text = self.string(name)
        if not self.in_base64():
            return text.encode()
        try:
            return binascii.a2b_base64(text, strict_mode=True)
        except ValueError:
            raise bad_params(f"{self.method} requires {name} to be base64, as its encoding says") from None

    def words(self, name: str) -> tuple[str, ...]:
        """A list of strings that a program can be given; empty when it is left out or null."""
        value = self._members.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(word, str) and _is_word(word) for word in value):
            raise bad_params(f"{self.method} requires {name} to be a list of strings without NUL characters")
        return tuple(value)

    def word(self, name: str) -> str:
        """A string that a program can be given, and not an empty one."""
        word = self.string(name)
        if not word or "\0" in word:
            raise bad_params(f"{self.method} requires a {name} that is not empty and has no NUL characters")
        return word

    def environment(self, name: str) -> dict[str, str]:
        """Variables: an object, or a list of `{name, value}`, of which the last one of a name counts."""
        value = self._members.get(name)
        if value is None:
            return {}
        pairs: list[tuple[Any, Any]]
        if isinstance(value, dict):
            pairs = list(value.items())
        elif isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
            pairs = [(entry.get("name"), entry.get("value")) for entry in value]
        else:
            raise bad_params(f"{self.method} requires {name} to be an object, or a list of names and values")
        variables: dict[str, str] = {}
        for key, text in pairs:
            if not isinstance(key, str) or not isinstance(text, str) or not _is_word(key) or not _is_word(text):
                raise bad_params(f"{self.method} requires {name} to hold strings without NUL characters")
            if not key or "=" in key:
                raise bad_params(f"{self.method} requires {name} to hold names of variables, not {shown(key)!r}")
            variables[key] = text
        return variables

    def signal(self, name: str) -> int | None:
        """A signal's number (0 to 31: the real-time ones have no name that travels) or its name."""
        value = self._members.get(name)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 31:
            return value
        if isinstance(value, str):
            found = getattr(signal.Signals, value, None) or getattr(signal.Signals, f"SIG{value}", None)
            if isinstance(found, signal.Signals):
                return int(found)
        raise bad_params(f"{self.method} requires {name} to be a signal's number or name")


def _is_word(text: str) -> bool:
    return "\0" not in text and _is_unicode(text)


def _is_unicode(text: str) -> bool:
    """No half of a surrogate pair, which JSON can spell and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
