"""A caller's connection: what waits for it is watched."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from roost.daemon.connection import CallerConnection, Reception
from roost.sidecar.gen.frames import Hello, encode_frame
from roost.sidecar.limits import Limits


class Line:
    """A channel that keeps what is sent."""

    peer, uid = "uid 1, pid 2", 1

    def __init__(self) -> None:
        self.waiting = 0

    def send(self, data: bytes) -> None:
        self.waiting += len(data)

    def resume_reading(self) -> None:
        pass


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
