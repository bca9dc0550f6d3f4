"""Running npm, pip and their like: bounded in time and output, in a process group of its own that ends with us."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.catalogue.secrets import without_secrets
from roost.errors import CatalogueError, LimitError

# What npm says about a package with thousands of versions is about 3 MB.
MAX_OUTPUT_BYTES: Final = 32 * 1024 * 1024

# The end of what it complained about: a screenful.
TAIL_LINES: Final = 15
TAIL_WIDTH: Final = 400
_TAIL_BYTES: Final = 16 * 1024

# From SIGTERM to SIGKILL, for a program that was told to end.
_KILL_GRACE: Final = 2.0

# Becomes a program that Linux ends when we are killed. A program and no `preexec_fn`: that is no good beside threads.
# 1 is PR_SET_PDEATHSIG (linux/prctl.h).
_ENDS_WITH_US: Final = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended. `tail`: its last lines on both streams, without secrets."""

    status: int
    stdout: bytes
    stderr: bytes
    tail: str


def run_tool(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float, setting: str) -> Finished:
    """Run a program to its end. `setting`: what `timeout` is called in the configuration.

    CatalogueError `unsuitable` when it cannot be started, `failed` when it takes too long. Whatever is raised, the
    program has ended.
    """
    name = os.path.basename(argv[0])
    if not os.access(argv[0], os.X_OK):
        raise CatalogueError(f"{argv[0]} cannot be run", "unsuitable")
    try:
        process = subprocess.Popen(
            [*_ends_with_us(), *argv],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise CatalogueError(f"{argv[0]} cannot be run: {error.strerror}", "unsuitable") from error
    out, err = bytearray(), bytearray()
    try:
        if not _collect(process, out, err, time.monotonic() + timeout):
            raise CatalogueError(
                f"{name} took more than {timeout:g} s ({setting}) and was ended", "failed", _tail(out, err, env)
            )
    except BaseException:
        _end(process)
        raise
    finally:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    return Finished(process.returncode, bytes(out), bytes(err), _tail(out, err, env))


def _collect(process: subprocess.Popen[bytes], out: bytearray, err: bytearray, deadline: float) -> bool:
    """Read both streams to their ends; false when the time is over first."""
    with selectors.DefaultSelector() as selector:
        for stream, into in ((process.stdout, out), (process.stderr, err)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, into)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                return False
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                key.data.extend(chunk)
                if key.data is err:
                    del err[:-_TAIL_BYTES]
                elif len(out) > MAX_OUTPUT_BYTES:
                    raise LimitError("output of a tool", MAX_OUTPUT_BYTES, "npm or pip says more than 32 MiB")
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """The whole group, so that nothing goes on writing into a folder that is taken away."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(_KILL_GRACE)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _tail(out: bytes | bytearray, err: bytes | bytearray, env: Mapping[str, str]) -> str:
    text = bytes(err).decode("utf-8", "replace").strip() or bytes(out[-_TAIL_BYTES:]).decode("utf-8", "replace").strip()
    # Before anything is cut: half a secret would not be known for one.
    lines = without_secrets(text, env).splitlines()[-TAIL_LINES:]
    return "\n".join(line if len(line) <= TAIL_WIDTH else f"{line[:TAIL_WIDTH]}…" for line in lines)


def _ends_with_us() -> list[str]:
    """What comes before the command. Elsewhere than on Linux it goes on, in a folder that is taken away later."""
    return [sys.executable, "-I", "-S", "-c", _ENDS_WITH_US, str(os.getpid())] if sys.platform == "linux" else []
