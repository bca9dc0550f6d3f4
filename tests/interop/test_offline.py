"""What is tried offline is offline, and what comes after is not."""

from __future__ import annotations

import ctypes
import socket
import sys
from pathlib import Path

import pytest

from tests.interop.harness.offline import BLOCKED, offline

NETWORK = Path("/proc/thread-self/ns/net")
ANYWHERE = ("192.0.2.1", 443)  # RFC 5737: for documentation, nobody's

linux = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")


@linux
def test_within_there_is_loopback_and_nothing_else() -> None:
    before = NETWORK.stat().st_ino
    with offline() as extra:
        if extra:
            pytest.skip("this user may not make network namespaces; agents are kept in by proxies")
        assert NETWORK.stat().st_ino != before
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
            pass
        with pytest.raises(OSError, match="unreachable"):
            socket.create_connection(ANYWHERE, timeout=5)
    assert NETWORK.stat().st_ino == before


@linux
def test_the_way_back_is_taken_when_something_fails() -> None:
    before = NETWORK.stat().st_ino
    with pytest.raises(ZeroDivisionError), offline():
        raise ZeroDivisionError
    assert NETWORK.stat().st_ino == before


@linux
def test_where_it_is_not_permitted_proxies_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forbidding:
        def unshare(self, flags: int) -> int:
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Forbidding())
    with offline() as extra:
        assert extra == BLOCKED
