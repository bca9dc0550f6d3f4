"""What an agent said lately: the material of error messages."""

from __future__ import annotations

from collections import deque

import msgspec


class Activity:
    """The last few JSON-RPC happenings, and the tails of stderr and of output that was no protocol."""

    __slots__ = ("_noise", "_noise_tail", "_recent", "_stderr", "_stderr_tail", "noise_count")

    def __init__(self, *, entries: int, stderr_tail: int, noise_tail: int) -> None:
        self._recent: deque[str] = deque(maxlen=entries)
        self._stderr = b""
        self._noise = b""
        self._stderr_tail = stderr_tail
        self._noise_tail = noise_tail
        self.noise_count = 0

    def sent(self, method: str, call: int) -> None:
        self._recent.append(f"sent request {method} id={call}")

    def received_request(self, method: str, label: str) -> None:
        self._recent.append(f"received request {method} id={label}")

    def received_notification(self, method: str) -> None:
        self._recent.append(f"received notification {method}")

    def received_garbage(self, line: bytes) -> None:
        self.noise_count += 1
        self._noise = _tail(self._noise + line[-self._noise_tail :] + b"\n", self._noise_tail)
        self._recent.append("invalid_json_rpc code=-32700 Parse error")

    def wrote_stderr(self, chunk: bytes) -> None:
        # 4 bytes a character at most, so that the tail is whole characters after decoding
        self._stderr = _tail(self._stderr + chunk, self._stderr_tail * 4)

    @property
    def recent(self) -> list[str]:
        return list(self._recent)

    @property
    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace")[-self._stderr_tail :]

    @property
    def noise(self) -> str:
        return self._noise.decode("utf-8", "replace")[-self._noise_tail :]

    def sentence(self) -> str:
        recent = " | ".join(self._recent)
        return f"Recent ACP activity: {recent}" if recent else "no recent ACP activity"

    def diagnosis(self) -> str:
        """The tails as they stand at the end of an exit error."""
        text = f"recent_activity={_quoted_list(self.recent)}; adapter_stderr={_quoted(self.stderr)}"
        return f"{text}; adapter_stdout={_quoted(self.noise)}" if self._noise else text


def _tail(data: bytes, size: int) -> bytes:
    return data if len(data) <= size else data[-size:]


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _quoted_list(texts: list[str]) -> str:
    return "[" + ", ".join(_quoted(text) for text in texts) + "]"
