"""Sessions as a client opens, forks, closes and deletes them (SES-1 to SES-11, SES-26 to SES-29)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import CapabilityError, LocalProtocolError, RemoteProtocolError, RpcError
from roost.sdk.client_limits import ClientLimits
from tests.sdk.raw_agent import (
    OPTION,
    RUNNING,
    bounded,
    connected,
    in_session,
    opened,
    response,
    said,
    settled,
    update_message,
)

COMMANDS = {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "plan", "description": ""}]}


def options_update(*options: Any) -> dict[str, Any]:
    return {"sessionUpdate": "config_option_update", "configOptions": list(options)}


async def test_new_sends_what_was_given_and_no_more() -> None:
    async with connected() as (client, agent):
        opening = asyncio.ensure_future(client.new_session("/work"))
        request = await agent.next("session/new")
        assert request["params"] == {"cwd": "/work"}
        agent.reply(request, {"sessionId": "s1", "configOptions": [OPTION]})
        session = await bounded(opening)
        assert (session.id, session.cwd, client.sessions) == ("s1", "/work", {"s1": session})
        assert [option.config_id for option in session.view.config_options] == ["web"]  # type: ignore[union-attr]

        server = v2.McpServerStdio(name="x", command="/bin/x", env=[v2.EnvVariable(name="A", value="1")])
        opening = asyncio.ensure_future(
            client.new_session("C:\\work", mcp_servers=[server], additional_directories=["/lib"], meta={"k": 1})
        )
        request = await agent.next("session/new")
        assert request["params"] == {
            "cwd": "C:\\work",
            "additionalDirectories": ["/lib"],
            "mcpServers": [{"type": "stdio", "name": "x", "command": "/bin/x", "env": [{"name": "A", "value": "1"}]}],
            "_meta": {"k": 1},
        }
        agent.reply(request, {"sessionId": "s2"})
        await bounded(opening)


@pytest.mark.parametrize("cwd", ["work", "", "./x", "~", "C:work"])
async def test_ses_1_a_path_that_is_not_absolute_is_not_sent(cwd: str) -> None:
    """C-36."""
    async with connected() as (client, agent):
        for attempt in (client.new_session(cwd), client.resume_session("s", cwd), client.fork_session("s", cwd)):
            with pytest.raises(LocalProtocolError):
                await attempt
        with pytest.raises(LocalProtocolError):
            await client.new_session("/work", additional_directories=["/a", cwd])
        with pytest.raises(LocalProtocolError):
            await client.new_session("/work", mcp_servers=[v2.McpServerStdio(name="x", command=cwd)])
        await settled(client, agent)
        assert not agent.untaken


async def test_s_03_directories_that_are_not_advertised_are_not_sent() -> None:
    async with connected({"session": {}}) as (client, _):
        with pytest.raises(CapabilityError) as caught:
            await client.new_session("/work", additional_directories=["/lib"])
        assert caught.value.path == "capabilities.session.additionalDirectories"


@pytest.mark.parametrize(
    "server",
    [
        v2.McpServerStdio(name="x", command="/x"),
        v2.McpServerHttp(name="x", url="http://localhost/"),
        v2.McpServerAcp(name="x", server_id="1"),
    ],
)
async def test_s_10_servers_the_agent_cannot_reach_are_not_sent(server: v2.McpServer) -> None:
    for mcp in (None, {}, {"stdio": True, "http": None}):
        async with connected({"session": {"mcp": mcp}}) as (client, _):
            with pytest.raises(CapabilityError):
                await client.new_session("/work", mcp_servers=[server])


async def test_s_06_updates_before_the_answer_are_kept_and_those_behind_it_come_after() -> None:
    async with connected() as (client, agent):
        opening = asyncio.ensure_future(client.new_session("/work"))
        request = await agent.next("session/new")
        agent.update("s1", COMMANDS, options_update(), said("early"))
        agent.update("other", COMMANDS)
        agent.send(
            response(request, {"sessionId": "s1", "configOptions": [OPTION]}),
            update_message("s1", said(" late")),
            update_message("s1", options_update(OPTION, {**OPTION, "configId": "new"})),
        )
        session = await bounded(opening)
        assert [command.name for command in session.view.commands] == ["plan"]
        assert session.view.messages[0].text == "early late"
        assert len(session.view.config_options) == 2
        assert list(client.sessions) == ["s1"]


async def test_early_updates_are_bounded() -> None:
    async with connected(limits=ClientLimits(early_updates=3)) as (client, agent):
        opening = asyncio.ensure_future(client.new_session("/work"))
        request = await agent.next("session/new")
        agent.update("s1", *(said(str(n)) for n in range(5)))
        agent.reply(request, {"sessionId": "s1"})
        session = await bounded(opening)
        assert session.view.messages[0].text == "012"
    async with connected(limits=ClientLimits(early_update_bytes=500)) as (client, agent):
        opening = asyncio.ensure_future(client.new_session("/work"))
        request = await agent.next("session/new")
        agent.update("s1", said("a" * 400), said("b" * 400), said("c"))
        agent.reply(request, {"sessionId": "s1"})
        session = await bounded(opening)
        assert set(session.view.messages[0].text) <= {"a", "c"}


async def test_s_07_updates_of_unknown_sessions_are_ignored() -> None:
    async with in_session() as (session, agent):
        agent.update("never", said("x"), RUNNING)
        agent.update("s1", said("y"))
        await settled(session.client, agent)
        assert session.view.messages[0].text == "y"
        assert list(session.client.sessions) == ["s1"]


async def test_ses_11_an_id_that_is_in_use_is_the_agents_fault() -> None:
    async with in_session() as (session, agent):
        opening = asyncio.ensure_future(session.client.new_session("/work"))
        agent.reply(await agent.next("session/new"), {"sessionId": "s1"})
        with pytest.raises(RemoteProtocolError):
            await bounded(opening)
        assert session.client.sessions == {"s1": session}


@pytest.mark.parametrize("result", [{}, {"sessionId": 5}, [], 7])
async def test_an_answer_without_a_session_is_the_agents_fault(result: Any) -> None:
    async with connected() as (client, agent):
        opening = asyncio.ensure_future(client.new_session("/work"))
        agent.reply(await agent.next("session/new"), result)
        with pytest.raises(RemoteProtocolError):
            await bounded(opening)
        assert client.sessions == {}


async def test_p_32_p_35_a_malformed_update_is_dropped_and_the_next_is_taken() -> None:
    async with in_session() as (session, agent):
        agent.update(
            "s1",
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "no id"}},
            {"sessionUpdate": "usage_update", "used": None, "size": 1},
            {"no": "tag"},
            said("fine"),
        )
        agent.notify("session/update", {"update": said("no session")})
        agent.notify("session/update")
        await settled(session.client, agent)
        assert [message.text for message in session.view.messages] == ["fine"]
        assert session.view.usage is None


async def test_pln_6_an_update_of_version_1_is_kept_and_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    async with in_session() as (session, agent):
        agent.update("s1", {"sessionUpdate": "tool_call", "toolCallId": "t"}, {"sessionUpdate": "plan", "entries": []})
        agent.update("s1", {"sessionUpdate": "notice", "title": "of version 3"})
        await settled(session.client, agent)
        assert [other.tag for other in session.view.others] == ["tool_call", "plan", "notice"]
        assert caplog.text.count("which is of version 1") == 1


async def test_s_36_a_fork_is_a_session_of_its_own() -> None:
    async with in_session() as (session, agent):
        forking = asyncio.ensure_future(
            session.client.fork_session("s1", "/work", additional_directories=["/lib"], meta={"k": 1})
        )
        request = await agent.next("session/fork")
        assert request["params"] == {
            "sessionId": "s1",
            "cwd": "/work",
            "additionalDirectories": ["/lib"],
            "_meta": {"k": 1},
        }
        agent.update("s2", said("what was said"))
        agent.reply(request, {"sessionId": "s2"})
        fork = await bounded(forking)
        assert fork.view.messages[0].text == "what was said"
        assert session.view.messages == []
        assert set(session.client.sessions) == {"s1", "s2"}


async def test_closing_is_once_and_updates_behind_it_are_ignored() -> None:
    async with connected() as (client, agent):
        async with await opened(client, agent) as session:
            stream = session.updates()
            closing = asyncio.ensure_future(session.close())
            request = await agent.next("session/close")
            agent.reply(request)
            agent.update("s1", said("late"))
            await bounded(closing)
        await settled(client, agent)
        assert session.view.messages == []
        assert [update async for update in stream] == []
        assert not agent.untaken


async def test_leaving_the_block_closes() -> None:
    async with connected() as (client, agent):
        session = await opened(client, agent)

        async def use() -> None:
            async with session:
                pass

        using = asyncio.ensure_future(use())
        agent.reply(await agent.next("session/close"))
        await bounded(using)
        assert client.sessions == {}


async def test_a_refused_close_is_told_and_the_session_is_closed_here() -> None:
    async with in_session() as (session, agent):
        closing = asyncio.ensure_future(session.close())
        agent.refuse(await agent.next("session/close"), -32002)
        with pytest.raises(RpcError):
            await bounded(closing)
        assert not session.is_open


async def test_s_32_deleting_needs_the_capability() -> None:
    async with connected({"session": {}}) as (client, _):
        with pytest.raises(CapabilityError):
            await client.delete_session("s")


async def test_s_33_deleting_what_is_not_there_is_no_error() -> None:
    async with connected() as (client, agent):
        for _ in range(2):
            deleting = asyncio.ensure_future(client.delete_session("gone"))
            agent.reply(await agent.next("session/delete"))
            await bounded(deleting)
