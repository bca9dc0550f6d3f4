"""The handshake as a client does it (INI-2 to INI-16)."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import (
    CapabilityError,
    ConnectionClosed,
    LocalProtocolError,
    RemoteProtocolError,
    RpcError,
    TransportError,
    UnsupportedVersion,
)
from roost.sdk.client import Client
from roost.sdk.client_limits import ClientLimits
from roost.sdk.connect import connect
from roost.transport.messages import message_pair
from tests.sdk.raw_agent import ALL, LOGIN, RawAgent, bounded, connected, eventually, opened, settled

INFO = {"name": "raw", "version": "0"}


async def answered(answer: Any, **options: Any) -> tuple[Client, RawAgent]:
    """A client whose `initialize` got this answer; raises what connecting raises."""
    ours, theirs = message_pair()
    agent = RawAgent(theirs)
    client = connect(ours, **options)
    opening = asyncio.ensure_future(client.open())
    request = await agent.next("initialize")
    agent.reply(request, answer)
    try:
        await bounded(opening)
    except BaseException:
        await agent.over()
        raise
    return client, agent


async def test_ini_2_it_asks_for_the_latest_version_and_says_who_it_is_and_no_more() -> None:
    async with connected() as (_, agent):
        params = agent.messages[0]["params"]
        assert params["protocolVersion"] == 2
        assert params["info"]["name"] == "roost"
        assert params["info"]["version"]
        assert params["capabilities"] == {}


async def test_ini_19_what_it_advertises_is_what_it_has_handlers_for() -> None:
    async def nobody(*_: Any) -> None: ...

    options: dict[str, Any] = {
        "on_form": nobody,
        "on_url": nobody,
        "terminal_login": nobody,
        "nes": v2.ClientNesCapabilities(rename=v2.NesRenameCapabilities()),
        "position_encodings": ["utf-8", "utf-16"],
        "info": v2.Implementation(name="mine", version="1"),
        "meta": {"traceparent": "00-0-0-00"},
    }
    async with connected(**options) as (_, agent):
        assert agent.messages[0]["params"] == {
            "protocolVersion": 2,
            "info": {"name": "mine", "version": "1"},
            "capabilities": {
                "auth": {"terminal": {}},
                "elicitation": {"form": {}, "url": {}},
                "nes": {"rename": {}},
                "positionEncodings": ["utf-8", "utf-16"],
            },
            "_meta": {"traceparent": "00-0-0-00"},
        }
    async with connected(on_url=nobody) as (_, agent):
        assert agent.messages[0]["params"]["capabilities"] == {"elicitation": {"url": {}}}


async def test_what_the_agent_says_of_itself_is_there() -> None:
    async with connected(initialize={"authMethods": [LOGIN], "_meta": {"k": 1}}) as (client, _):
        assert client.agent.info.name == "raw"
        assert client.agent.meta == {"k": 1}
        assert [method.name for method in client.auth_methods if isinstance(method, v2.AuthMethodAgent)] == ["API key"]


async def test_ini_17_an_agent_is_called_by_its_title_or_else_its_name() -> None:
    async with connected() as (client, _):
        assert client.agent_title == "raw"
    async with connected(initialize={"info": {"name": "raw", "title": "The Raw One", "version": "0"}}) as (client, _):
        assert client.agent_title == "The Raw One"


@pytest.mark.parametrize("version", [9, 3, 0])
async def test_i_10_a_version_nobody_speaks_here_closes_the_connection(version: int) -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        await answered({"protocolVersion": version})
    assert caught.value.answered == version


async def test_i_11_version_1_is_told_by_its_number_whatever_else_it_says() -> None:
    """INI-6."""
    with pytest.raises(UnsupportedVersion) as caught:
        await answered({"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
    assert caught.value.answered == 1
    assert isinstance(caught.value, RemoteProtocolError)


@pytest.mark.parametrize("version", ["2", 2.0, -1, 100_000, None, "2025-01-01", True])
async def test_ini_8_a_version_that_is_no_number_of_16_bits_is_an_error(version: Any) -> None:
    with pytest.raises(RemoteProtocolError):
        await answered({"protocolVersion": version, "info": INFO})


@pytest.mark.parametrize(
    "answer", [{}, None, {"protocolVersion": 2}, {"protocolVersion": 2, "info": {"name": "x"}}, []]
)
async def test_ini_16_an_answer_without_what_is_required_is_an_error(answer: Any) -> None:
    with pytest.raises(RemoteProtocolError):
        await answered(answer)


async def test_i_12_a_refused_version_is_not_tried_again_on_this_connection() -> None:
    ours, theirs = message_pair()
    agent = RawAgent(theirs)
    opening = asyncio.ensure_future(connect(ours).open())
    agent.refuse(await agent.next("initialize"), -32602, "what?")
    with pytest.raises(RpcError):
        await bounded(opening)
    await agent.over()
    assert [message["method"] for message in agent.messages] == ["initialize"]


async def test_an_agent_that_never_answers_is_given_up() -> None:
    ours, theirs = message_pair()
    agent = RawAgent(theirs)
    client = connect(ours, limits=ClientLimits(start_timeout=0.05))
    with pytest.raises(TransportError, match=r"did not answer initialize within 0\.05 seconds"):
        await bounded(client.open())
    await agent.over()
    assert not client.is_open


async def test_an_agent_that_hangs_up_at_once_is_an_error() -> None:
    ours, theirs = message_pair()
    agent = RawAgent(theirs)
    opening = asyncio.ensure_future(connect(ours).open())
    await agent.next("initialize")
    agent.close()
    with pytest.raises(ConnectionClosed):
        await bounded(opening)


@pytest.mark.parametrize(
    "capabilities", [None, 5, [], "yes", {}, {"session": True}, {"session": None}, {"session": []}]
)
async def test_i_13_i_14_without_sessions_nothing_of_them_is_sent(
    capabilities: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.CRITICAL):
        client, agent = await answered({"protocolVersion": 2, "info": INFO, "capabilities": capabilities})
    try:
        for attempt in (
            lambda: client.new_session("/work"),
            lambda: client.resume_session("s", "/work"),
            lambda: client.list_page(),
            lambda: client.delete_session("s"),
            lambda: client.call(v2.CloseSessionRequest(session_id="s")),
        ):
            with pytest.raises(CapabilityError):
                await attempt()
        with pytest.raises(CapabilityError):
            client.notify(v2.CancelSessionNotification(session_id="s"))
        await settled(client, agent)
        assert not agent.untaken
    finally:
        await client.close()


async def test_i_15_an_empty_session_capability_is_the_baseline_and_no_more() -> None:
    """INI-13."""
    async with connected({"session": {}}) as (client, agent):
        session = await opened(client, agent)
        for call, method in (
            (client.list_page(), "session/list"),
            (client.resume_session("s1", "/work"), "session/resume"),
            (session.close(), "session/close"),
        ):
            task = asyncio.ensure_future(call)
            agent.reply(await agent.next(method), {"sessions": []})
            await bounded(task)
        for refused in (client.delete_session("s"), client.fork_session("s", "/work"), client.start_nes()):
            with pytest.raises(CapabilityError):
                await refused
        await settled(client, agent)
        assert not agent.untaken


async def test_i_16_unknown_capabilities_are_ignored() -> None:
    async with connected({"session": {"telepathy": {}}, "_acme": {"x": 1}}) as (client, _):
        assert client.agent.capabilities.session is not None


async def test_i_17_two_clients_do_not_share_what_their_agents_can_do() -> None:
    async with connected(ALL) as (one, _), connected({"session": {}}) as (other, _):
        assert one.agent.capabilities.session is not None
        assert other.agent.capabilities.session is not None
        assert one.agent.capabilities.session.fork is not None
        assert other.agent.capabilities.session.fork is None


async def test_a_channel_serves_one_connection() -> None:
    async with connected() as (client, _):
        with pytest.raises(LocalProtocolError):
            await client.open()
        with pytest.raises(LocalProtocolError):
            await client.reopen()
        assert not client.is_open
        with pytest.raises(LocalProtocolError):
            await client.new_session("/work")


async def test_a_function_that_opens_channels_serves_as_many_as_are_wanted() -> None:
    agents: list[RawAgent] = []

    async def open_channel() -> Any:
        ours, theirs = message_pair()
        agents.append(RawAgent(theirs))
        return ours

    client = connect(open_channel)
    opening = asyncio.ensure_future(client.open())
    await eventually(lambda: agents)
    await agents[0].initialize()
    await bounded(opening)
    session = await opened(client, agents[0])
    reopening = asyncio.ensure_future(client.reopen())
    await eventually(lambda: len(agents) == 2)
    await agents[1].initialize({"session": {}})
    await bounded(reopening)
    assert not session.is_open
    assert client.sessions == {}
    assert client.agent.capabilities.session == v2.SessionCapabilities()
    await client.close()
    assert agents[0].is_over


async def test_connecting_reads_like_a_promise_too() -> None:
    ours, theirs = message_pair()
    agent = RawAgent(theirs)

    async def connecting() -> Client:
        return await connect(ours)

    opening = asyncio.ensure_future(connecting())
    await agent.initialize()
    client = await bounded(opening)
    async with client as same:
        assert same is client
    assert not client.is_open


async def test_what_comes_in_one_write_with_the_answer_is_not_lost() -> None:
    seen: list[Any] = []
    ours, theirs = message_pair()
    agent = RawAgent(theirs)
    client = connect(ours, notifications={"_hello": seen.append})
    opening = asyncio.ensure_future(client.open())
    request = await agent.next("initialize")
    answer = {"protocolVersion": 2, "info": INFO, "capabilities": {}}
    agent.send(
        {"jsonrpc": "2.0", "method": "_hello", "params": {"n": 1}},
        {"jsonrpc": "2.0", "id": request["id"], "result": answer},
        {"jsonrpc": "2.0", "method": "_hello", "params": {"n": 2}},
    )
    await bounded(opening)
    assert json.dumps(seen) == '[{"n": 1}, {"n": 2}]'
    await client.close()


def test_options_for_a_process_need_one() -> None:
    with pytest.raises(LocalProtocolError):
        connect(lambda: message_pair()[0], env={"A": "1"})
