"""The process table: who is alive, and which of them belong to an agent.

An agent's descendants carry a mark in their environment, which every new program inherits: it is found again after
the descendant has left the process group, opened a session of its own and lost its parent. Kinship adds those who
threw the mark away: children of members, and everybody in a session that a member opened (a session is only ever
entered by being born in it).

A process is its pid *and* its start time. No signal is sent by number alone, so a recycled pid is never hit.

This file imports nothing outside the standard library and little of that: the guard (`guard.py`) loads it without
the package.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time

# `ROOST_PROCESS=<token>:<name>`; a daemon that itself runs under a daemon appends to what it inherited, with a comma.
MARK_VARIABLE = "ROOST_PROCESS"

_MARK = MARK_VARIABLE.encode() + b"="
# Environments beyond this are searched no further. Linux allows more, but a hostile one must not cost us memory.
_ENVIRONMENT_BYTES = 1024 * 1024
_BLOCK_BYTES = 32768
_OUR_OWN_TROUBLE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)

# After the last survivor was seen: looked for again, because a program that was just being started had no mark yet.
# Seconds.
CONFIRMATIONS = (0.1, 1.0)

_LINUX = sys.platform == "linux" and os.path.exists("/proc/self/stat")


class Process:
    """One line of the process table. `start` is in clock ticks since boot on Linux, seconds since 1970 elsewhere."""

    __slots__ = ("group", "marks", "parent", "pid", "session", "start", "zombie")

    def __init__(
        self, pid: int, parent: int, group: int, session: int, start: int, zombie: bool, marks: tuple[str, ...] = ()
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.start = start
        self.zombie = zombie
        self.marks = marks

    def __repr__(self) -> str:
        return f"Process(pid={self.pid}, parent={self.parent}, session={self.session}, marks={self.marks})"


Table = dict[int, Process]
# Name within the token, to the (pid, start) of the agent itself.
Roots = dict[str, tuple[int, int]]


def mark_for(token: str, name: str, inherited: str = "") -> str:
    """The value of MARK_VARIABLE for one agent; `inherited` is the daemon's own."""
    return f"{inherited},{token}:{name}" if inherited else f"{token}:{name}"


def process_table(since: int = 0) -> Table:
    """Everybody alive now. Marks are read only of those started at `since` (in `Process.start` units) or later.

    OSError when the table cannot be read.
    """
    if not _LINUX:
        return _table_from_ps()
    table: Table = {}
    for entry in os.listdir("/proc"):
        if not entry[0].isdigit():
            continue
        found = read_process(int(entry))
        if found is not None:
            if found.start >= since and not found.zombie:
                found.marks = _read_marks(found.pid)
            table[found.pid] = found
    return table


def read_process(pid: int) -> Process | None:
    """One process without its marks, or None when there is none."""
    if not _LINUX:
        return _table_from_ps(pid).get(pid)
    stat = _read(f"/proc/{pid}/stat", 4096)
    # The name in parentheses may itself hold parentheses and spaces; the fields after the last one are proc(5)'s
    # from the third on.
    fields = stat[stat.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    return Process(pid, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]), fields[0] in (b"Z", b"X"))


def start_of(pid: int) -> int | None:
    """When the process with this number started, or None when there is none."""
    found = read_process(pid)
    return None if found is None else found.start


def is_alive(pid: int, start: int) -> bool:
    """Whether this very process still runs; a dead one that nobody collected does not."""
    found = read_process(pid)
    return found is not None and found.start == start and not found.zombie


def families(table: Table, token: str, roots: Roots) -> dict[str, list[Process]]:
    """The living members of every agent's tree, by the agent's name within `token`.

    Members are those marked, the roots themselves when pid and start time both fit, and all their kin. A process may be
    in two trees: the one it was born in, and the one whose mark it carries. This process and its ancestors are in
    none, whatever they are marked with: a daemon may have been started by an agent of an older one.
    """
    spared = _ancestors(table, os.getpid())
    found: dict[str, dict[int, Process]] = {}
    for pid, process in table.items():
        for mark in process.marks:
            whose, _, name = mark.partition(":")
            if whose == token and pid not in spared:
                found.setdefault(name, {})[pid] = process
    for name, (pid, start) in roots.items():
        root = table.get(pid)
        if root is not None and root.start == start and pid not in spared:
            found.setdefault(name, {})[pid] = root
    if not found:
        return {}
    children: dict[int, list[Process]] = {}
    sessions: dict[int, list[Process]] = {}
    for process in table.values():
        if process.pid not in spared:
            children.setdefault(process.parent, []).append(process)
            sessions.setdefault(process.session, []).append(process)
    for members in found.values():
        unvisited = list(members.values())
        unvisited_sessions = dict(sessions)
        while unvisited:
            process = unvisited.pop()
            kin = children.get(process.pid, [])
            session = process.session
            # A session whose leader lives outside the tree is somebody else's: a job server's, say.
            if session and (session in members or session not in table):
                kin = kin + unvisited_sessions.pop(session, [])
            for relative in kin:
                if relative.pid not in members:
                    members[relative.pid] = relative
                    unvisited.append(relative)
    return {name: [process for process in members.values() if not process.zombie] for name, members in found.items()}


def open_handle(pid: int, start: int) -> int | None:
    """A descriptor (pidfd) that means this very process for ever, or None when it is gone.

    Raises OSError where the system has no such thing, or no descriptor is left.
    """
    if sys.platform != "linux":
        raise OSError("no process descriptors on this system")
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    # Only now does the number mean one process: it cannot be recycled into our descriptor any more.
    if start_of(pid) != start:
        os.close(fd)
        return None
    return fd


def signal_process(pid: int, start: int, sig: int, handle: int | None = None) -> bool:
    """Send a signal to exactly this process. False when it is gone, or is not ours to signal."""
    try:
        if handle is not None:
            return _signal_handle(handle, sig)
        try:
            opened = open_handle(pid, start)
        except OSError:
            if start_of(pid) != start:
                return False
            os.kill(pid, sig)
            return True
        if opened is None:
            return False
        try:
            return _signal_handle(opened, sig)
        finally:
            os.close(opened)
    except (ProcessLookupError, PermissionError):
        return False


def exterminate(
    token: str, roots: Roots, patience: float = 10.0, confirmations: tuple[float, ...] = CONFIRMATIONS
) -> list[int]:
    """SIGKILL everything that belongs to `token`, until nothing is found any more; the pids that were signalled.

    Blocks, at most `patience` seconds after the first look: for the guard and for a daemon that is just starting.
    """
    deadline = time.monotonic() + patience
    signalled: dict[int, None] = {}
    quiet = 0
    while True:
        alive = [process for members in families(process_table(), token, roots).values() for process in members]
        for process in alive:
            if signal_process(process.pid, process.start, signal.SIGKILL):
                signalled[process.pid] = None
        if time.monotonic() > deadline:
            break
        if alive:
            quiet = 0
            time.sleep(0.01)
        elif quiet < len(confirmations):
            time.sleep(confirmations[quiet])
            quiet += 1
        else:
            break
    return list(signalled)


def _signal_handle(handle: int, sig: int) -> bool:
    if sys.platform != "linux":
        raise OSError("no process descriptors on this system")
    signal.pidfd_send_signal(handle, sig)
    return True


def _ancestors(table: Table, pid: int) -> set[int]:
    found: set[int] = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = table[pid].parent if pid in table else 0
    return found


def _read_marks(pid: int) -> tuple[str, ...]:
    environment = _read(f"/proc/{pid}/environ", _ENVIRONMENT_BYTES)
    if environment.startswith(_MARK):
        at = 0
    else:
        at = environment.find(b"\0" + _MARK) + 1
        if at == 0:
            return ()
    end = environment.find(b"\0", at)
    value = environment[at + len(_MARK) : end if end >= 0 else None]
    return tuple(value.decode("utf-8", "replace").split(","))


def _read(path: str, limit: int) -> bytes:
    """The beginning of a /proc file; empty when the process is gone or its file is not for us.

    Raises OSError when this process cannot read anything at the moment, which must not be taken for an empty machine.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in _OUR_OWN_TROUBLE:
            raise
        return b""
    try:
        block = data = os.read(fd, _BLOCK_BYTES)
        while len(block) == _BLOCK_BYTES and len(data) < limit:  # a shorter one was the last
            block = os.read(fd, _BLOCK_BYTES)
            data += block
        return data
    except OSError:
        return b""
    finally:
        os.close(fd)


def _table_from_ps(pid: int | None = None) -> Table:
    """The table where there is no /proc. The process group stands in for the session; marks are unknown."""
    import subprocess  # not at the top: the guard on Linux never needs it

    columns = ["-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "stat=", "-o", "lstart="]
    listed = subprocess.run(
        ["ps", *(["-A"] if pid is None else ["-p", str(pid)]), *columns],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    ).stdout
    table: Table = {}
    for line in listed.decode("utf-8", "replace").splitlines():
        words = line.split(None, 4)
        if len(words) == 5:
            number, group = int(words[0]), int(words[2])
            started = int(time.mktime(time.strptime(words[4].strip(), "%a %b %d %H:%M:%S %Y")))
            table[number] = Process(number, int(words[1]), group, group, started, words[3].startswith("Z"))
    return table
