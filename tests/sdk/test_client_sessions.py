"""Sessions as a client opens, finds, resumes and closes them (SES-1 to SES-30)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import CapabilityError, LimitError, LocalProtocolError, RemoteProtocolError, RpcError
from roost.sdk.client_limits import ClientLimits
from tests.sdk.raw_agent import (
    ALL,
    RUNNING,
    bounded,
    connected,
    idle,
    in_session,
    opened,
    response,
    said,
    settled,
    state,
    tool_call,
    update_message,
    user_said,
)

OPTION = {"type": "boolean", "configId": "web", "name": "Web", "currentValue": True}
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
        assert (session.session_id, session.cwd, client.sessions) == ("s1", "/work", {"s1": session})
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


# --- listing ---


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


# --- resuming ---


async def test_ses_17_a_resume_without_replay_asks_for_none() -> None:
    async with connected() as (client, agent):
        resuming = asyncio.ensure_future(client.resume_session("s1", "/work"))
        request = await agent.next("session/resume")
        assert request["params"] == {"sessionId": "s1", "cwd": "/work"}
        agent.update("s1", state("running"))
        agent.reply(request, {"configOptions": [OPTION]})
        session = await bounded(resuming)
        assert session.view.state == "running"
        assert len(session.view.config_options) == 1


async def test_ses_18_a_replay_is_in_the_view_when_the_session_is_there() -> None:
    async with connected() as (client, agent):
        resuming = asyncio.ensure_future(client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        assert request["params"]["replayFrom"] == {"type": "start"}
        history = (user_said("hi"), said("hello"), tool_call(title="t", status="completed"), idle())
        agent.send(*(update_message("s1", update) for update in history), response(request))
        session = await bounded(resuming)
        assert [entry.kind for entry in session.view.timeline] == ["user_message", "agent_message", "other"]
        assert session.view.is_idle


async def test_an_unknown_place_to_replay_from_is_passed_on() -> None:
    async with connected() as (client, agent):
        place = {"type": "_message", "messageId": "m7"}
        resuming = asyncio.ensure_future(client.resume_session("s1", "/work", replay=v2.Unknown.of(place)))
        request = await agent.next("session/resume")
        assert request["params"]["replayFrom"] == place
        agent.reply(request)
        await bounded(resuming)


async def test_s_26_resuming_what_is_open_clears_the_view_first() -> None:
    async with in_session() as (session, agent):
        agent.update("s1", user_said("hi"), said("hello"), tool_call(title="old"))
        await settled(session.client, agent)
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        assert session.view.timeline == []
        agent.update("s1", user_said("hi"), said("hello"))
        agent.reply(request)
        assert await bounded(resuming) is session
        assert [message.text for message in session.view.messages] == ["hi", "hello"]
        assert session.view.tool_calls == {}


async def test_what_is_replayed_goes_to_the_view_and_not_to_those_who_read_on() -> None:
    async with in_session() as (session, agent):
        stream = session.updates()
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        agent.update("s1", user_said("hi"), said("hello"))
        agent.send(response(request), update_message("s1", said("live", "m2")))
        await bounded(resuming)
        update = await bounded(anext(stream))
        assert isinstance(update, v2.AgentMessageChunk)
        assert update.message_id == "m2"
        assert len(session.view.messages) == 3


async def test_ses_24_resuming_what_is_open_without_replay_keeps_the_view() -> None:
    async with in_session() as (session, agent):
        agent.update("s1", said("hello"))
        await settled(session.client, agent)
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work"))
        agent.reply(await agent.next("session/resume"))
        assert await bounded(resuming) is session
        assert session.view.messages[0].text == "hello"


async def test_a_prompt_under_way_is_not_ended_by_what_is_replayed() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("new").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("new", "u2"), RUNNING)
        await settled(session.client, agent)
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        old = (user_said("old", "u1"), RUNNING, said("answer", "m1"), idle(), user_said("new", "u2"), RUNNING)
        agent.update("s1", *old)
        agent.reply(request)
        await bounded(resuming)
        assert not turn.is_over
        agent.update("s1", said("answer 2", "m2"), idle("max_tokens"))
        end = await bounded(turn)
        assert (end.stop_reason, session.view.state) == ("max_tokens", "idle")
        assert end.text == "answer 2"


async def test_a_prompt_that_ended_unseen_ends_with_the_replay_that_says_so() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("new").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("new"), RUNNING)
        await settled(session.client, agent)
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        agent.update("s1", user_said("new"), said("done"), idle("end_turn"))
        agent.reply(request)
        await bounded(resuming)
        assert (await bounded(turn)).stop_reason == "end_turn"


async def test_s_22_a_failed_resume_raises_and_leaves_nothing_behind() -> None:
    async with connected() as (client, agent):
        resuming = asyncio.ensure_future(client.resume_session("gone", "/work", replay=True))
        request = await agent.next("session/resume")
        agent.update("gone", user_said("half of it"))
        agent.refuse(request, -32002, "Resource not found", {"sessionId": "gone"})
        with pytest.raises(RpcError) as caught:
            await bounded(resuming)
        assert caught.value.code == -32002
        assert client.sessions == {}


async def test_a_failed_replay_of_what_is_open_leaves_no_half_of_it() -> None:
    async with in_session() as (session, agent):
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        agent.update("s1", user_said("half of it"))
        agent.refuse(request, -32603)
        with pytest.raises(RpcError):
            await bounded(resuming)
        assert session.is_open
        assert session.view.timeline == []


async def test_s_25_a_long_replay_is_taken_without_anybody_reading_it() -> None:
    async with connected() as (client, agent):
        resuming = asyncio.ensure_future(client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        for start in range(0, 10_000, 100):
            agent.update("s1", *(said("x", f"m{n}") for n in range(start, start + 100)))
        agent.reply(request)
        session = await bounded(resuming)
        assert len(session.view.messages) == 10_000


# --- forking, closing, deleting ---


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


# --- settings ---

SELECT = {
    "type": "select",
    "configId": "model",
    "name": "Model",
    "currentValue": "small",
    "options": [{"value": "small", "name": "S"}, {"value": "large", "name": "L"}],
}
GROUPED = {
    "type": "select",
    "configId": "effort",
    "name": "Effort",
    "currentValue": "low",
    "options": [{"groupId": "g", "name": "G", "options": [{"value": "low", "name": "L"}]}],
}
ODD = {"type": "_slider", "configId": "heat", "name": "Heat", "max": 3}


async def test_o_01_setting_a_value_brings_the_full_list() -> None:
    async with connected() as (client, agent):
        session = await opened(client, agent, configOptions=[SELECT, GROUPED, OPTION, ODD])
        for config_id, value, kind in (("model", "large", "id"), ("effort", "low", "id"), ("web", False, "boolean")):
            setting = asyncio.ensure_future(session.set_config(config_id, value, meta={"k": 1}))
            request = await agent.next("session/set_config_option")
            expected = {"sessionId": "s1", "configId": config_id, "type": kind, "value": value, "_meta": {"k": 1}}
            assert request["params"] == expected
            agent.reply(request, {"configOptions": [{**SELECT, "currentValue": "large"}, GROUPED, OPTION, ODD]})
            await bounded(setting)
        assert session.view.config_options[0].current_value == "large"  # type: ignore[union-attr]


async def test_o_06_an_option_that_is_not_in_the_answer_is_gone() -> None:
    async with connected() as (client, agent):
        session = await opened(client, agent, configOptions=[SELECT, OPTION])
        setting = asyncio.ensure_future(session.set_config("model", "large"))
        agent.reply(await agent.next("session/set_config_option"), {"configOptions": [SELECT]})
        await bounded(setting)
        with pytest.raises(LocalProtocolError):
            await session.set_config("web", True)


@pytest.mark.parametrize(
    ("config_id", "value"),
    [("model", "huge"), ("model", True), ("web", "true"), ("heat", "1"), ("nothing", "x"), ("effort", "g")],
)
async def test_o_02_o_07_what_the_agent_does_not_advertise_is_not_set(config_id: str, value: Any) -> None:
    """CFG-4, CFG-5."""
    async with connected() as (client, agent):
        session = await opened(client, agent, configOptions=[SELECT, GROUPED, OPTION, ODD])
        with pytest.raises(LocalProtocolError):
            await session.set_config(config_id, value)
        await settled(client, agent)
        assert not agent.untaken


async def test_o_08_an_answer_without_the_list_fails_that_call_alone() -> None:
    async with connected() as (client, agent):
        session = await opened(client, agent, configOptions=[SELECT])
        setting = asyncio.ensure_future(session.set_config("model", "large"))
        agent.reply(await agent.next("session/set_config_option"), {})
        with pytest.raises(RemoteProtocolError):
            await bounded(setting)
        assert len(session.view.config_options) == 1


async def test_every_method_of_the_table_that_an_agent_may_lack_is_gated() -> None:
    from roost.acp.v2.gen.methods import NOTIFICATIONS, REQUESTS
    from roost.sdk.client_gates import check_method

    async with connected({}) as (client, _):
        for name, row in {**REQUESTS, **NOTIFICATIONS}.items():
            if row.side == "client":
                with pytest.raises(LocalProtocolError):
                    check_method(client.agent, name)
            elif row.gate is not None and row.gate.side == "agent":
                with pytest.raises(CapabilityError):
                    check_method(client.agent, name)
            else:
                check_method(client.agent, name)
    async with connected(ALL, initialize={"authMethods": [{"type": "agent", "methodId": "a", "name": "A"}]}) as (c, _):
        for name, row in {**REQUESTS, **NOTIFICATIONS}.items():
            if row.side != "client":
                check_method(c.agent, name)
