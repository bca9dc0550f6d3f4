"""No network but loopback, for this process and what it starts: a namespace of its own where that is permitted."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

CLONE_NEWNET = 0x4000_0000  # linux/sched.h
SIOCSIFFLAGS = 0x8914  # linux/sockios.h
IFF_UP = 0x1

# A port nothing listens at, for machines without namespaces: what respects a proxy gets nowhere.
NOWHERE = "http://127.0.0.1:9"
BLOCKED: Mapping[str, str] = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), NOWHERE),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
}


@contextmanager
def offline() -> Iterator[Mapping[str, str]]:
    """What agents started within need in their environment: nothing when the kernel keeps them in."""
    try:
        outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY) if sys.platform == "linux" else None
    except OSError:
        outside = None
    if outside is None:
        yield BLOCKED
        return
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            yield BLOCKED
            return
        try:
            _raise_loopback()
            yield {}
        finally:
            if libc.setns(outside, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "the way back to the network is shut")
    finally:
        os.close(outside)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
