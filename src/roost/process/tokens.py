"""Notes on disk about the tokens of daemons, and the sweep after a daemon that died together with its guard.

One small file for each daemon, named after its token. It is written before the first agent starts and removed after
a shutdown, so a file that lies there means: alive, or died. Which of the two is told by the pid and its start time,
within one boot of the machine and one pid namespace; whatever comes from another namespace is left alone, for its
numbers mean nothing here.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from roost.process import table

_DIRECTORY = "process-tokens"
# Four short words. A longer file is not ours.
_NOTE_BYTES = 512


class TokenNote:
    """This daemon's own file."""

    def __init__(self, state_dir: Path, token: str) -> None:
        self._path = state_dir / _DIRECTORY / token

    def write(self) -> None:
        """Tell later daemons that agents with this token may exist. OSError when that cannot be written."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        start = table.start_of(os.getpid())
        text = f"{os.getpid()} {start} {_boot_id()} {_pid_namespace()}\n"
        draft = self._path.with_name(f".{self._path.name}.new")
        draft.write_text(text, encoding="ascii")
        draft.replace(self._path)

    def remove(self) -> None:
        """No agent with this token exists any more."""
        with suppress(OSError):
            self._path.unlink()


def sweep(state_dir: Path) -> list[int]:
    """Kill what daemons that are gone have left behind, and forget their tokens; the pids that were signalled.

    Called once, before a daemon starts its first agent. Blocks for as long as it takes to see them dead, at most
    ten seconds each.
    """
    killed: list[int] = []
    try:
        notes = sorted((state_dir / _DIRECTORY).iterdir())
    except OSError:
        return killed
    for note in notes:
        if note.name.startswith("."):
            continue
        try:
            with note.open("rb") as file:
                words = file.read(_NOTE_BYTES).decode("ascii").split()
        except (OSError, UnicodeDecodeError):
            continue
        if len(words) != 4 or not words[0].isdigit() or not words[1].isdigit():
            continue
        pid, start, boot, namespace = int(words[0]), int(words[1]), words[2], words[3]
        if boot == _boot_id():
            if namespace != _pid_namespace() or table.is_alive(pid, start):
                continue
            killed += table.exterminate(note.name, {}, confirmations=())
        with suppress(OSError):
            note.unlink()
    return killed


def _boot_id() -> str:
    """Differs after every boot; a constant where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def _pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return "only"
