"""A caller's connection: what waits for it is watched, and it has to say who it is."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from roost.daemon.connection import CallerConnection, Reception
from roost.sidecar.gen.frames import Frame, Hello, Refused, decode_frame, encode_frame
from roost.sidecar.limits import Limits
from roost.wire.framing import LengthFramer


class Line:
    """A channel that keeps what is sent."""

    peer, uid = "uid 1, pid 2", 1

    def __init__(self) -> None:
        self.waiting = 0
        self.sent = b""
        self.closed = asyncio.Event()

    def send(self, data: bytes) -> None:
        self.waiting += len(data)
        self.sent += data

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        self.closed.set()

    def abort(self) -> None:
        pass

    def told(self) -> list[Frame]:
        return [decode_frame(body) for body in LengthFramer().feed(self.sent)]


class NoDriver:
    def arrive(self, outlet: object, name: str, named: bool) -> int:
        return 1

    def feed(self, event: object) -> None:
        pass


async def test_what_waits_for_a_caller_is_warned_of_at_80_percent(caplog: pytest.LogCaptureFixture) -> None:
    driver: Any = NoDriver()
    channel: Any = Line()
    connection = CallerConnection(
        Reception(driver, Limits(caller_output_bytes=1000), server="roost", uid=None, token=None)
    )
    connection.opened(channel)
    connection.received([encode_frame(Hello(1, "test", None, None))])
    channel.waiting = 0

    def told(size: int) -> list[str]:
        connection.publish(b"x" * size)
        connection.flush()
        return [record.message for record in caplog.records if "caller_output_bytes" in record.message]

    with caplog.at_level(logging.WARNING, "roost.daemon"):
        assert told(700) == []
        assert told(200) == [f"{channel.waiting} bytes wait for a caller (uid 1, pid 2); caller_output_bytes is 1000"]
        assert len(told(200)) == 1
        channel.waiting = 200
        connection.eased()
        assert len(told(700)) == 2


def met(**limits: Any) -> tuple[CallerConnection, Any]:
    driver: Any = NoDriver()
    channel: Any = Line()
    connection = CallerConnection(Reception(driver, Limits(**limits), server="roost", uid=None, token=None))
    connection.opened(channel)
    return connection, channel


async def test_who_has_not_said_hello_in_time_is_refused_by_the_name_of_the_setting() -> None:
    _, channel = met(hello_timeout=0.01)
    async with asyncio.timeout(20):
        await channel.closed.wait()
    assert channel.told() == [Refused(0, "timeout", "no complete Hello within 0.01 s (hello_timeout)")]


async def test_who_has_said_hello_has_all_the_time_in_the_world() -> None:
    connection, channel = met(hello_timeout=3600.0)
    deadline = connection._deadline
    assert deadline is not None
    connection.received([encode_frame(Hello(1, "test", None, None))])
    assert deadline.cancelled()
    assert not channel.closed.is_set()
