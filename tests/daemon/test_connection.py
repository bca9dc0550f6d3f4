"""A caller's connection: what waits for it is watched, and it has to say who it is."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from roost.daemon.connection import CallerConnection, Reception
from roost.sidecar.gen.frames import Frame, Hello, Refused, Welcome, decode_frame, encode_frame
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

    def leave(self, number: int) -> None:
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


def reception(**limits: Any) -> Reception:
    driver: Any = NoDriver()
    return Reception(driver, Limits(**limits), server="roost", uid=None, token=None)


def met(at: Reception) -> tuple[CallerConnection, Any]:
    channel: Any = Line()
    connection = at.accept()
    connection.opened(channel)
    return connection, channel


async def test_who_has_not_said_hello_in_time_is_refused_by_the_name_of_the_setting() -> None:
    _, channel = met(reception(hello_timeout=0.01))
    async with asyncio.timeout(20):
        await channel.closed.wait()
    assert channel.told() == [Refused(0, "timeout", "no complete Hello within 0.01 s (hello_timeout)")]


async def test_who_has_said_hello_has_all_the_time_in_the_world() -> None:
    connection, channel = met(reception(hello_timeout=3600.0))
    deadline = connection._deadline
    assert deadline is not None
    connection.received([encode_frame(Hello(1, "test", None, None))])
    assert deadline.cancelled()
    assert not channel.closed.is_set()


async def test_connections_are_bounded_and_warned_of_and_a_place_is_free_again_when_one_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    at = reception(connections=5, hello_timeout=3600.0)
    with caplog.at_level(logging.WARNING, "roost.daemon"):
        met_before = [met(at) for _ in range(3)]
        assert caplog.records == []
        met_before += [met(at) for _ in range(2)]
        assert [record.message for record in caplog.records] == ["4 callers are connected; connections is 5"]
    refused, channel = met(at)
    text = "no further caller can connect: limit connections of 5 reached; raise connections to allow more"
    assert channel.told() == [Refused(0, "limit_exceeded", text)]
    assert channel.closed.is_set()
    refused.received([encode_frame(Hello(1, "test", None, None))])
    assert len(channel.told()) == 1, "it is not welcome"
    refused.closed(None)
    met_before[0][0].closed(None)
    late, channel = met(at)
    late.received([encode_frame(Hello(1, "test", None, None))])
    assert [type(frame) for frame in channel.told()] == [Welcome]
    for connection, _ in [*met_before[1:], (late, channel)]:
        connection.closed(None)
    assert at.connections == {}
