"""INI-1 to INI-19: the first exchange, seen from a raw client."""

from __future__ import annotations

from typing import Any

import pytest

from roost.sdk.agent import Agent
from roost.sdk.agent_providers import Provider
from roost.sdk.turn import Turn

from .raw_client import Json, RawClient, connect, initialize_params, started


def an_agent(**more: Any) -> Agent:
    agent = Agent("test", "1.0", **more)

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say(turn.text)

    return agent


async def test_i_01_version_2_is_answered_with_version_info_and_capabilities() -> None:
    client, _ = connect(an_agent(title="Test"))
    assert await client.initialize() == {
        "protocolVersion": 2,
        "info": {"name": "test", "version": "1.0", "title": "Test"},
        "capabilities": {"session": {"delete": {}}},
    }


@pytest.mark.parametrize(
    "params",
    [
        {"protocolVersion": 1, "clientInfo": {"name": "old", "version": "1"}, "clientCapabilities": {"fs": {}}},
        {"protocolVersion": 1},
        {"protocolVersion": 1, "clientInfo": 5, "clientCapabilities": []},
        {"protocolVersion": 0},
    ],
)
async def test_i_02_a_v1_client_is_answered_2_whatever_its_body_ini_5(params: Json) -> None:
    client, _ = connect(an_agent())
    assert (await client.call("initialize", params))["protocolVersion"] == 2


async def test_i_03_a_newer_client_is_answered_2_ini_9() -> None:
    client, _ = connect(an_agent())
    assert (await client.initialize(version=3))["protocolVersion"] == 2


async def test_i_04_without_info_it_is_refused_and_may_be_tried_again_ini_16() -> None:
    client, _ = connect(an_agent())
    error = await client.error("initialize", {"protocolVersion": 2})
    assert error["code"] == -32602
    assert (await client.initialize())["protocolVersion"] == 2


@pytest.mark.parametrize("version", ["2", 2.5, -1, 70000, None, True, [2], "2025-06-18"])
async def test_i_05_a_version_of_the_wrong_type_is_invalid_ini_8(version: Any) -> None:
    client, _ = connect(an_agent())
    error = await client.error("initialize", initialize_params(version))
    assert error["code"] == -32602
    assert error["data"] == {"path": "protocolVersion"}


@pytest.mark.parametrize("method", ["session/new", "session/prompt", "nonsense", "_ext/x", "auth/login"])
async def test_i_06_nothing_is_done_before_initialize_ini_1(method: str) -> None:
    client, _ = connect(an_agent())
    assert (await client.error(method, {"cwd": "/w"}))["code"] == -32600
    await client.initialize()


async def test_i_07_notifications_before_initialize_are_dropped_ini_1() -> None:
    client, _ = connect(an_agent())
    client.notify("session/cancel", {"sessionId": "s"})
    await client.initialize()
    assert len(client.messages) == 1


async def test_i_08_a_second_initialize_is_refused_and_changes_nothing_ini_10() -> None:
    client, link = connect(an_agent())
    await client.initialize(capabilities={"elicitation": {"form": {}}})
    assert (await client.error("initialize", initialize_params()))["code"] == -32600
    assert link.capabilities.elicitation is not None
    await client.new_session()


async def test_i_09_of_two_in_flight_the_second_is_refused_ini_10() -> None:
    client, _ = connect(an_agent())
    client.send(
        client.message("initialize", initialize_params(), "a"), client.message("initialize", initialize_params(), "b")
    )
    assert "result" in await client.response("a")
    assert (await client.response("b"))["error"]["code"] == -32600


@pytest.mark.parametrize("capabilities", [None, 5, [], "yes", {"nonsense": {}, "session": {"x": 1}}])
async def test_i_16_unknown_and_malformed_capabilities_mean_nothing_ini_12_ini_14(capabilities: Any) -> None:
    client, link = connect(an_agent())
    await client.initialize(capabilities=capabilities)
    assert link.capabilities.elicitation is None


async def test_i_17_two_connections_share_nothing_ini_18() -> None:
    agent = an_agent()
    one, first = connect(agent)
    two, second = connect(agent)
    await one.initialize(capabilities={"elicitation": {"form": {}}, "positionEncodings": ["utf-8"]})
    await two.initialize()
    assert (first.capabilities.elicitation is None, second.capabilities.elicitation is None) == (False, True)
    session = await one.new_session()
    assert (await two.error("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}))[
        "code"
    ] == -32002


async def test_e_32_initialize_in_a_batch_is_handled_bat_7() -> None:
    client, _ = connect(an_agent())
    client.send([client.message("initialize", initialize_params(), 7)])
    batch: Any = await client.until(lambda: client.messages and client.messages[0])
    assert batch[0]["id"] == 7
    assert batch[0]["result"]["protocolVersion"] == 2


# ---- capabilities come from what is registered


async def test_an_agent_without_prompts_has_no_sessions_ini_15() -> None:
    client, _ = connect(Agent("bare", "1"))
    assert (await client.initialize())["capabilities"] == {}
    assert (await client.error("session/new", {"cwd": "/w"}))["code"] == -32601


async def test_everything_registered_is_advertised_w_2() -> None:
    agent = an_agent(
        accepts=["image", "audio", "embedded_context"], roots=True, mcp=["stdio", "http", "acp"], fork=True
    )
    agent.provider(Provider(provider_id="main", supported=["openai"]))

    @agent.suggest(documents="full", context=["recent_files", "diagnostics"], focus=True, save=True)
    async def suggest(call: Any) -> list[Any]:
        return []

    @agent.login("browser", "Browser")
    async def login(call: Any) -> None: ...

    client, _ = connect(agent)
    answer = await client.initialize(capabilities={"positionEncodings": ["utf-8", "utf-16"]})
    assert answer["capabilities"] == {
        "session": {
            "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
            "mcp": {"stdio": {}, "http": {}, "acp": {}},
            "delete": {},
            "additionalDirectories": {},
            "fork": {},
        },
        "providers": {},
        "nes": {
            "events": {
                "document": {
                    "didOpen": {},
                    "didChange": {"syncKind": "full"},
                    "didClose": {},
                    "didSave": {},
                    "didFocus": {},
                }
            },
            "context": {"recentFiles": {}, "diagnostics": {}},
        },
        "positionEncoding": "utf-8",
    }
    assert answer["authMethods"] == [{"type": "agent", "methodId": "browser", "name": "Browser"}]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/fork", {"sessionId": "s", "cwd": "/w"}),
        ("providers/list", {}),
        ("providers/set", {"providerId": "p", "apiType": "openai", "baseUrl": "x"}),
        ("nes/start", {}),
        ("nes/suggest", {}),
        ("auth/login", {"methodId": "a"}),
        ("auth/logout", {}),
        ("mcp/message", {"connectionId": "c", "method": "m"}),
    ],
)
async def test_o_16_s_32_i_18_what_is_not_advertised_does_not_exist_err_4(method: str, params: Json) -> None:
    client = await started(an_agent())
    assert (await client.error(method, params))["code"] == -32601


async def test_s_32_delete_that_is_not_offered_does_not_exist_err_4() -> None:
    client = await started(an_agent(delete=False))
    assert (await client.error("session/delete", {"sessionId": "s"}))["code"] == -32601


@pytest.mark.parametrize(
    "method", ["session/request_permission", "elicitation/create", "mcp/connect", "mcp/disconnect"]
)
async def test_e_40_a_clients_method_is_unknown_to_an_agent_env_9(method: str) -> None:
    client = await started(an_agent(mcp=["acp"]))
    assert (await client.error(method, {}))["code"] == -32601


async def test_version_1_has_a_place_to_plug_in() -> None:
    from roost.sdk.serve import choose_dialect
    from roost.transport.messages import message_pair

    for first, bridged in ((1, True), (2, False)):
        here, there = message_pair()
        client = RawClient(here)
        client.request("initialize", initialize_params(first))
        seen: list[Any] = []

        def bridge(channel: Any, seen: list[Any] = seen) -> Any:
            seen.append(channel)
            return channel

        channel = await choose_dialect(there, bridge)
        an_agent().connect(channel)
        assert (await client.response(1))["result"]["protocolVersion"] == 2
        assert bool(seen) is bridged
        await client.new_session()


async def test_a_client_that_leaves_before_its_first_message_is_served_to_its_end() -> None:
    import asyncio

    from roost.sdk.serve import serve
    from roost.transport.messages import message_pair

    here, there = message_pair()
    client = RawClient(here)
    serving = asyncio.ensure_future(serve(an_agent(), there, bridge=lambda channel: channel))
    client.close()
    async with asyncio.timeout(5):
        await serving
