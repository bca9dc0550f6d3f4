"""A caller's end of a connection, when the other end is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from roost.errors import ConnectionClosed, LimitError, SidecarError
from roost.host.link import HostLink
from roost.sidecar.gen.messages import AcpGetSessionStateRequest
from roost.transport.base import Channel


class Silent:
    """A channel whose other end reads and says nothing."""

    def send(self, data: bytes) -> None: ...

    def abort(self) -> None: ...


def opened() -> HostLink:
    link = HostLink(cast(Callable[[Any], None], lambda event: None), cast(Any, None))
    link.opened(cast(Channel, Silent()))
    return link


@pytest.mark.parametrize("fault", [None, ConnectionResetError("reset"), BrokenPipeError("broken")])
async def test_a_connection_that_is_lost_fails_requests_as_closed_whatever_the_system_says(
    fault: Exception | None,
) -> None:
    link = opened()
    asked = asyncio.ensure_future(link.request(AcpGetSessionStateRequest("s")))
    await asyncio.sleep(0)
    link.closed(fault)
    with pytest.raises(ConnectionClosed) as caught:
        await asked
    assert caught.value.__cause__ is fault
    with pytest.raises(ConnectionClosed):
        await link.request(AcpGetSessionStateRequest("s"))


async def test_a_connection_that_is_ended_for_a_reason_says_the_reason() -> None:
    link = opened()
    link.broke(LimitError("max_frame_bytes", 1))
    link.closed(None)
    with pytest.raises(LimitError):
        await link.request(AcpGetSessionStateRequest("s"))
    link = opened()
    link.closed(SidecarError("conflict", "another one"))
    with pytest.raises(SidecarError):
        await link.request(AcpGetSessionStateRequest("s"))
