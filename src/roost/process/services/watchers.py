"""Whoever shows what an agent does through its services: terminals as they run, files as they are written."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from roost.process.services.shown import ShownOutput
from roost.process.services.terminal import TerminalCreated, TerminalEvent, TerminalObserver, TerminalWrote

_log = logging.getLogger(__name__)


class ServiceWatcher(Protocol):
    """Called in the loop; what begins is told in the task that has called `handle`, so who asked can be known."""

    def terminal_created(self, terminal_id: str, command: str, cwd: str) -> None: ...

    def terminal_wrote(self, terminal_id: str, data: bytes) -> None:
        """Never empty; at most `shown_bytes` of a terminal, then its last part. Untrusted (TRM-9)."""

    def terminal_exited(self, terminal_id: str, exit_code: int | None, signal: str | None) -> None: ...

    def file_writing(self, path: str, asked: str, *, plain: bool, is_new: bool, before: str | None) -> None:
        """A write that is allowed and about to be done; as `acp.bridge.events.FileWrite`."""


@dataclass(eq=False, slots=True)
class _Watching:
    watcher: ServiceWatcher
    text_bytes: int


class Watchers:
    """Of one ClientServices; `on_terminal` hears everything, the others what is to be shown."""

    def __init__(self, on_terminal: TerminalObserver | None, shown_bytes: int) -> None:
        self._on_terminal = on_terminal
        self._shown_bytes = shown_bytes
        self._shown: dict[str, ShownOutput] = {}  # of terminals that somebody has seen begin
        self._watching: list[_Watching] = []

    def add(self, watcher: ServiceWatcher, text_bytes: int) -> Callable[[], None]:
        """Tells it of what begins from now on, of files no more than so many bytes of text; until what is returned is
        called."""
        watching = _Watching(watcher, text_bytes)
        self._watching.append(watching)

        def end() -> None:
            if watching in self._watching:
                self._watching.remove(watching)

        return end

    @property
    def text_bytes(self) -> int | None:
        """How much of a file somebody wants to see before it is written; None: there is nobody."""
        return max((watching.text_bytes for watching in self._watching), default=None)

    def terminal(self, terminal_id: str, event: TerminalEvent) -> None:
        if self._on_terminal is not None:
            try:
                self._on_terminal(terminal_id, event)
            except Exception:
                _log.exception("the observer of terminal %s failed", terminal_id)
        if isinstance(event, TerminalCreated):
            if not self._watching:
                return
            self._shown[terminal_id] = ShownOutput(self._shown_bytes, "shown_bytes")
            self._each(lambda watcher: watcher.terminal_created(terminal_id, event.command, event.cwd))
        elif terminal_id not in self._shown:
            return
        elif isinstance(event, TerminalWrote):
            self._wrote(terminal_id, self._shown[terminal_id].part(event.data))
        else:
            self._wrote(terminal_id, self._shown.pop(terminal_id).end())
            self._each(lambda watcher: watcher.terminal_exited(terminal_id, event.exit_code, event.signal))

    def _wrote(self, terminal_id: str, data: bytes) -> None:
        if data:
            self._each(lambda watcher: watcher.terminal_wrote(terminal_id, data))

    def writing(self, path: str, asked: str, *, plain: bool, is_new: bool, before: str | None) -> None:
        self._each(lambda watcher: watcher.file_writing(path, asked, plain=plain, is_new=is_new, before=before))

    def _each(self, tell: Callable[[ServiceWatcher], None]) -> None:
        for watching in list(self._watching):
            try:
                tell(watching.watcher)
            except Exception:
                _log.exception("whoever shows the services has failed")
