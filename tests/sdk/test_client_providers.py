"""Model endpoints as a client routes them (PRV-1 to PRV-5), and other requests of any kind."""

from __future__ import annotations

import asyncio
import logging

import pytest

from roost.acp import v2
from roost.errors import CapabilityError, RemoteProtocolError, RpcError
from tests.sdk.raw_agent import bounded, connected, settled


async def test_o_10_providers_are_listed() -> None:
    async with connected() as (client, agent):
        listing = asyncio.ensure_future(client.providers.list())
        provider = {
            "providerId": "main",
            "supported": ["openai", 5, "_own"],
            "required": True,
            "current": {"apiType": "openai", "baseUrl": "https://x"},
        }
        off = {"providerId": "aux", "supported": [], "required": False, "current": None}
        agent.reply(await agent.next("providers/list"), {"providers": [provider, off]})
        main, aux = await bounded(listing)
        assert (main.supported, main.required, main.current.base_url) == (["openai", "_own"], True, "https://x")
        assert aux.current is None


async def test_o_11_setting_one_sends_all_of_it() -> None:
    async with connected() as (client, agent):
        for headers in ({"authorization": "secret"}, None):
            setting = asyncio.ensure_future(client.providers.set("main", "openai", "https://x", headers))
            request = await agent.next("providers/set")
            expected = {"providerId": "main", "apiType": "openai", "baseUrl": "https://x"}
            assert request["params"] == expected | ({} if headers is None else {"headers": headers})
            agent.reply(request)
            await bounded(setting)


async def test_prv_5_headers_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with connected() as (client, agent):
        with caplog.at_level(logging.DEBUG):
            setting = asyncio.ensure_future(client.providers.set("main", "openai", "https://x", {"key": "s3cret"}))
            agent.refuse(await agent.next("providers/set"), -32602)
            with pytest.raises(RpcError) as caught:
                await bounded(setting)
        assert "s3cret" not in caplog.text + repr(caught.value)


async def test_o_12_o_13_what_the_agent_refuses_is_told() -> None:
    async with connected() as (client, agent):
        disabling = asyncio.ensure_future(client.providers.disable("main"))
        agent.refuse(await agent.next("providers/disable"), -32602)
        with pytest.raises(RpcError):
            await bounded(disabling)
        disabling = asyncio.ensure_future(client.providers.disable("unknown"))
        agent.reply(await agent.next("providers/disable"))
        await bounded(disabling)


async def test_without_the_capability_nothing_is_sent() -> None:
    async with connected({"session": {}, "providers": True}) as (client, agent):
        for attempt in (client.providers.list(), client.providers.set("a", "b", "c"), client.providers.disable("a")):
            with pytest.raises(CapabilityError):
                await attempt
        await settled(client, agent)
        assert not agent.untaken


async def test_one_malformed_provider_fails_the_list() -> None:
    async with connected() as (client, agent):
        listing = asyncio.ensure_future(client.providers.list())
        agent.reply(await agent.next("providers/list"), {"providers": [{"providerId": "x", "supported": []}]})
        with pytest.raises(RemoteProtocolError):
            await bounded(listing)


async def test_any_request_knows_its_answer() -> None:
    async with connected() as (client, agent):
        asking = asyncio.ensure_future(client.call(v2.ListSessionsRequest(cwd="/w", meta={"baggage": "k=v"})))
        request = await agent.next("session/list")
        assert request["params"] == {"cwd": "/w", "_meta": {"baggage": "k=v"}}
        agent.reply(request, {"sessions": [], "_meta": {"k": 1}})
        answer = await bounded(asking)
        assert isinstance(answer, v2.ListSessionsResponse)
        assert answer.meta == {"k": 1}
        client.notify(v2.CancelSessionNotification(session_id="s"))
        await agent.next("session/cancel")


async def test_e_43_messages_of_twenty_mebibytes_go_both_ways() -> None:
    async with connected() as (client, agent):
        asking = asyncio.ensure_future(client.call_extension("_big", {"x": "a" * (20 << 20)}))
        request = await agent.next("_big")
        assert len(request["params"]["x"]) == 20 << 20
        agent.reply(request, request["params"])
        assert len((await bounded(asking))["x"]) == 20 << 20
