"""The display terminals of a v2 agent, as text: v1 clients show only terminals they have started themselves."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from typing import Any, Final

from roost.acp.bridge.payload import Json, as_object, as_text

# Output is untrusted (TRM-9): escape sequences and what else controls a terminal is not for a text.
_CONTROL: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FENCES: Final = re.compile(r"`{3,}")


class _Terminal:
    __slots__ = ("command", "output", "status", "tools")

    def __init__(self) -> None:
        self.command = ""
        self.output = bytearray()
        self.status: Json | None = None
        self.tools: dict[str, None] = {}  # that show it


class Terminals:
    """The terminals of one session: the newest `count`, the newest `bound` bytes of each."""

    def __init__(self, bound: int, count: int) -> None:
        self._bound = bound
        self._count = count
        self._terminals: dict[str, _Terminal] = {}

    def update(self, patch: Json) -> list[str]:
        """The tool calls that show what changed."""
        terminal = self._terminal(patch.get("terminalId"))
        if "command" in patch:
            terminal.command = as_text(patch["command"])
        if "output" in patch:  # TRM-4
            data = _bytes(as_object(patch["output"]).get("data", ""))
            if data is not None:
                terminal.output = bytearray(data[-self._bound :])
        if "exitStatus" in patch:
            status = patch["exitStatus"]
            terminal.status = status if isinstance(status, dict) else None
        return list(terminal.tools)

    def append(self, chunk: Json) -> list[str]:
        terminal = self._terminal(chunk.get("terminalId"))
        data = _bytes(chunk.get("data"))
        if data is None:  # TRM-6
            return []
        terminal.output += data
        if len(terminal.output) > 2 * self._bound:
            del terminal.output[: -self._bound]
        return list(terminal.tools)

    def shown_by(self, terminal_id: Any, tool_call_id: str) -> None:
        tools = self._terminal(terminal_id).tools
        tools[tool_call_id] = None
        if len(tools) > self._count:
            del tools[next(iter(tools))]

    def text(self, terminal_id: Any) -> str:
        """Command, output and end as a block of code."""
        terminal = self._terminal(terminal_id)
        output = bytes(terminal.output[-self._bound :])
        if len(terminal.output) >= self._bound:
            output = output.lstrip(bytes(range(0x80, 0xC0)))  # the end of a character that was cut
        lines = _CONTROL.sub("", output.decode(errors="replace").replace("\r\n", "\n"))
        if terminal.command:
            lines = f"$ {terminal.command}\n{lines}"
        if lines and not lines.endswith("\n"):
            lines += "\n"
        if terminal.status is not None:
            code, signal = terminal.status.get("exitCode"), terminal.status.get("signal")
            lines += f"[ended by {signal}]\n" if isinstance(signal, str) else f"[exit code {code}]\n" if code else ""
        return fenced(lines)

    def _terminal(self, terminal_id: Any) -> _Terminal:
        key = as_text(terminal_id)
        terminal = self._terminals.get(key)
        if terminal is None:
            terminal = self._terminals[key] = _Terminal()
            if len(self._terminals) > self._count:
                del self._terminals[next(iter(self._terminals))]
        return terminal


def fenced(text: str, language: str = "") -> str:
    """A Markdown block of code whose fence is longer than any inside."""
    fence = "`" * max((len(run) + 1 for run in _FENCES.findall(text)), default=3)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"


def _bytes(data: Any) -> bytes | None:
    try:
        return b64decode(data, validate=True) if isinstance(data, str) else None
    except (Error, ValueError):
        return None
