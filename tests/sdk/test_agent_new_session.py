"""SES-1 to SES-10: what an agent makes a session of, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roost.errors import RpcError
from roost.sdk.agent_session import AgentSession
from roost.sdk.limits import AgentLimits
from roost.sdk.turn import Turn

from .raw_client import Json, started
from .steps import agent_of, echo


@pytest.mark.parametrize("params", [{}, {"cwd": "w"}, {"cwd": ""}, {"cwd": 5}, {"cwd": None}, {"cwd": "./w"}])
async def test_s_01_a_session_needs_an_absolute_directory_ses_1(params: Json) -> None:
    client = await started(agent_of(echo))
    error = await client.error("session/new", params)
    assert (error["code"], error["data"]["path"]) == (-32602, "cwd")


@pytest.mark.parametrize("cwd", ["/w", "C:\\w", "C:/w", "\\\\server\\share"])
async def test_windows_paths_are_absolute_too_ses_1(cwd: str) -> None:
    client = await started(agent_of(echo))
    assert (await client.call("session/new", {"cwd": cwd}))["sessionId"]


async def test_s_02_relative_paths_start_at_the_sessions_directory_ses_6(tmp_path: Path) -> None:
    seen: list[Any] = []
    (tmp_path / "out").symlink_to("/")

    async def answer(turn: Turn) -> None:
        session = turn.session
        seen.append(session.resolve("a"))
        seen.append(session.resolve("/x/../y"))
        seen.append([session.contains(path) for path in ("a", ".", "..", "out/etc", "/other/x", str(tmp_path) + "x")])
        seen.append(session.roots)

    client = await started(agent_of(answer, roots=True))
    session = await client.new_session(cwd=str(tmp_path), additionalDirectories=["/other"])
    client.prompt(session)
    await client.idle()
    assert seen == [
        f"{tmp_path}/a",
        "/y",
        [True, True, False, False, True, False],
        [str(tmp_path), "/other"],
    ]


async def test_s_03_roots_that_are_not_supported_are_refused_ses_8() -> None:
    client = await started(agent_of(echo))
    error = await client.error("session/new", {"cwd": "/w", "additionalDirectories": ["/a"]})
    assert error["code"] == -32602
    assert await client.new_session(additionalDirectories=[])


async def test_s_04_relative_and_empty_roots_are_refused_and_garbage_is_dropped_ses_9(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = await started(agent_of(echo, roots=True))
    for roots in (["/a", 5, "b"], ["/a", ""]):
        assert (await client.error("session/new", {"cwd": "/w", "additionalDirectories": roots}))["code"] == -32602
    caplog.clear()
    assert await client.new_session(additionalDirectories=["/a", 5])
    assert "additionalDirectories" in caplog.text


async def test_s_05_ids_are_distinct_and_not_to_be_guessed_ses_2() -> None:
    client = await started(agent_of(echo))
    ids = {await client.new_session() for _ in range(5)}
    assert len(ids) == 5
    assert all(len(id) >= 32 for id in ids)


@pytest.mark.parametrize(
    "server",
    [
        {"type": "stdio", "name": "srv", "command": "/bin/x"},
        {"type": "http", "name": "srv", "url": "http://x"},
        {"type": "acp", "name": "srv", "serverId": "s"},
        {"type": "sse", "name": "srv", "url": "http://x"},
    ],
)
async def test_s_08_an_mcp_server_of_a_kind_not_supported_is_refused_by_name_ses_10(server: Json) -> None:
    client = await started(agent_of(echo))
    secret = {**server, "env": [{"name": "K", "value": "secret"}]}
    error = await client.error("session/new", {"cwd": "/w", "mcpServers": [secret]})
    assert error["code"] == -32602
    assert "'srv'" in error["message"]
    assert "secret" not in str(error)  # SEC-2


async def test_mcp_servers_that_are_supported_reach_the_author_ses_10() -> None:
    seen: list[Any] = []

    async def answer(turn: Turn) -> None:
        seen.extend(turn.session.mcp_servers)

    client = await started(agent_of(answer, mcp=["stdio", "http", "acp"]))
    servers = [
        {"type": "stdio", "name": "a", "command": "/bin/a"},
        {"type": "http", "name": "b", "url": "http://b"},
        {"type": "acp", "name": "c", "serverId": "c"},
    ]
    client.prompt(await client.new_session(mcpServers=servers))
    await client.idle()
    assert [server.name for server in seen] == ["a", "b", "c"]
    relative = {"type": "stdio", "name": "a", "command": "bin/a"}
    assert (await client.error("session/new", {"cwd": "/w", "mcpServers": [relative]}))["code"] == -32602
    twice = [{"type": "acp", "name": "c", "serverId": "c"}] * 2
    assert (await client.error("session/new", {"cwd": "/w", "mcpServers": twice}))["code"] == -32602  # MCP-1


@pytest.mark.parametrize("servers", [None, [], "absent"])
async def test_s_09_no_mcp_servers_is_fine_ses_10(servers: Any) -> None:
    client = await started(agent_of(echo))
    assert await client.new_session(**({} if servers == "absent" else {"mcpServers": servers}))


async def test_updates_of_a_new_session_follow_its_response_ses_4() -> None:
    agent = agent_of(echo)

    @agent.session_hook
    async def opened(session: AgentSession, origin: str) -> None:
        await session.set_title(origin)

    client = await started(agent)
    await client.new_session()
    await client.settle()
    assert "result" in client.messages[1]
    assert client.updates()[0]["title"] == "new"


async def test_an_author_may_refuse_a_session_and_nothing_is_left_of_it() -> None:
    agent = agent_of(echo)

    @agent.session_hook
    async def opened(session: AgentSession, origin: str) -> None:
        raise RpcError(-32002, "no such directory")

    client = await started(agent)
    assert (await client.error("session/new", {"cwd": "/w"}))["code"] == -32002
    assert (await client.call("session/list", {})) == {"sessions": []}


async def test_sessions_are_bounded() -> None:
    client = await started(agent_of(echo, limits=AgentLimits(sessions=2)))
    first = await client.new_session()
    await client.new_session()
    error = await client.error("session/new", {"cwd": "/w"})
    assert (error["code"], error["data"]["limit"]) == (-32005, "sessions")
    await client.call("session/close", {"sessionId": first})
    await client.new_session()
