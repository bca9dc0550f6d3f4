"""Sessions as a client lists them (SES-13)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import LimitError, RemoteProtocolError
from roost.sdk.client_limits import ClientLimits
from tests.sdk.raw_agent import (
    bounded,
    connected,
)


async def test_ses_13_all_pages_are_listed_and_the_cursor_is_only_passed_on() -> None:
    async with connected() as (client, agent):
        listing = asyncio.ensure_future(_all(client.list_sessions("/work")))
        for cursor, following in ((None, "öpaque\n1"), ("öpaque\n1", "2"), ("2", None)):
            request = await agent.next("session/list")
            assert request["params"] == {"cwd": "/work"} | ({} if cursor is None else {"cursor": cursor})
            page: dict[str, Any] = {
                "sessions": [{"sessionId": f"after {cursor}", "cwd": "/work"}, {"sessionId": "bad"}]
            }
            agent.reply(request, page | ({"nextCursor": following} if cursor != "2" else {"nextCursor": None}))
        found = await bounded(listing)
        assert [info.session_id for info in found] == ["after None", "after öpaque\n1", "after 2"]


async def _all(infos: Any) -> list[v2.SessionInfo]:
    return [info async for info in infos]


async def test_a_listing_that_does_not_move_on_is_an_error() -> None:
    async with connected() as (client, agent):
        listing = asyncio.ensure_future(_all(client.list_sessions()))
        for _ in range(2):
            agent.reply(await agent.next("session/list"), {"sessions": [], "nextCursor": "same"})
        with pytest.raises(RemoteProtocolError):
            await bounded(listing)


async def test_a_listing_without_an_end_is_an_error() -> None:
    async with connected(limits=ClientLimits(list_pages=2)) as (client, agent):
        listing = asyncio.ensure_future(_all(client.list_sessions()))
        for number in range(2):
            agent.reply(await agent.next("session/list"), {"sessions": [], "nextCursor": str(number)})
        with pytest.raises(LimitError) as caught:
            await bounded(listing)
        assert caught.value.limit == "list_pages"
