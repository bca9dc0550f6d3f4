"""What an agent said lately: the material of error messages."""

from __future__ import annotations

from collections import deque

import msgspec

# A method's name, or an id, is shown up to here: one entry must not hold a whole line.
LABEL_LENGTH = 200
UPDATE_RECEIVED = "received notification session/update"


class Activity:
    """The last few JSON-RPC happenings, and what came on stderr and, being no protocol, on stdout.

    Of stderr the end is kept, where a crash explains itself; of stdout the beginning too, where a program that is no
    agent introduces itself.
    """

    __slots__ = (
        "_noise_cut",
        "_noise_head",
        "_noise_size",
        "_noise_tail",
        "_recent",
        "_stderr",
        "_stderr_size",
        "noise_count",
    )

    def __init__(self, *, entries: int, stderr_tail: int, noise_tail: int) -> None:
        self._recent: deque[str] = deque(maxlen=entries)
        self._stderr = b""
        self._stderr_size = stderr_tail
        self._noise_head = b""
        self._noise_tail = b""
        self._noise_cut = False
        self._noise_size = noise_tail
        self.noise_count = 0

    def sent(self, method: str, call: int) -> None:
        self._recent.append(f"sent request {method[:LABEL_LENGTH]} id={call}")

    def received_request(self, method: str, label: str) -> None:
        self._recent.append(f"received request {method[:LABEL_LENGTH]} id={label[:LABEL_LENGTH]}")

    def received_notification(self, method: str) -> None:
        self._recent.append(f"received notification {method[:LABEL_LENGTH]}")

    def received_updates(self, count: int) -> None:
        """That many session/update in a row."""
        self._recent.extend((UPDATE_RECEIVED,) * min(count, self._recent.maxlen or 0))

    def received_garbage(self, line: bytes) -> None:
        self.noise_count += 1
        self._recent.append("invalid_json_rpc code=-32700 Parse error")
        half = self._noise_size // 2
        data = line + b"\n"
        room = half - len(self._noise_head)
        self._noise_head += data[:room]
        rest = self._noise_tail + data[room:]
        self._noise_tail = _tail(rest, half)
        self._noise_cut = self._noise_cut or len(rest) > half

    def wrote_stderr(self, chunk: bytes) -> None:
        # 4 bytes a character at most, so that the tail is whole characters after decoding
        self._stderr = _tail(self._stderr + chunk, self._stderr_size * 4)

    @property
    def recent(self) -> list[str]:
        return list(self._recent)

    @property
    def stderr(self) -> str:
        return _tail_text(self._stderr.decode("utf-8", "replace"), self._stderr_size)

    @property
    def noise(self) -> str:
        """The first and the last of it."""
        gap = "…".encode() if self._noise_cut else b""
        return (self._noise_head + gap + self._noise_tail).decode("utf-8", "replace")

    def sentence(self) -> str:
        recent = " | ".join(self._recent)
        return f"Recent ACP activity: {recent}" if recent else "no recent ACP activity"

    def diagnosis(self) -> str:
        """What it said, as it stands at the end of an error."""
        text = f"recent_activity={_quoted_list(self.recent)}; adapter_stderr={_quoted(self.stderr)}"
        return f"{text}; adapter_stdout={_quoted(self.noise)}" if self.noise_count else text


def _tail(data: bytes, size: int) -> bytes:
    return data if len(data) <= size else data[len(data) - size :]


def _tail_text(text: str, size: int) -> str:
    return text if len(text) <= size else text[len(text) - size :]


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _quoted_list(texts: list[str]) -> str:
    return "[" + ", ".join(_quoted(text) for text in texts) + "]"
