"""AUTH-1 to AUTH-11 and PRV-1 to PRV-5: logins and model endpoints."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import LocalProtocolError, RpcError
from roost.sdk.agent import Agent
from roost.sdk.agent_auth import LoginCall
from roost.sdk.agent_providers import Provider, Route
from roost.sdk.turn import Turn

from .raw_client import Json, connect, started, text_block
from .steps import agent_of, echo

TERMINAL = {"auth": {"terminal": {}}}


def gated(**more: Any) -> Agent:
    agent = agent_of(echo, login_required=True, fork=True, **more)

    @agent.login("browser", "Browser", description="opens one")
    async def login(call: LoginCall) -> None:
        if call.meta == {"fail": True}:
            raise RpcError(-32603, "Login failed")

    return agent


def terminal_method(**more: Any) -> v2.AuthMethodTerminal:
    return v2.AuthMethodTerminal(method_id="tty", name="Terminal", args=["login"], **more)


@pytest.mark.parametrize("method_id", ["zzz", "", "Browser"])
async def test_i_19_only_what_is_offered_logs_in_auth_4(method_id: str) -> None:
    client = await started(gated())
    error = await client.error("auth/login", {"methodId": method_id})
    assert error["code"] == -32602
    assert (await client.error("session/new", {"cwd": "/w"}))["code"] == -32000


async def test_i_20_i_21_terminal_logins_are_for_clients_with_one_and_not_driven_here_auth_5_auth_6() -> None:
    agent = gated()
    agent.login_method(terminal_method(env=[v2.EnvVariable(name="A", value="1")]))
    with_terminal, _ = connect(agent)
    without, _ = connect(agent)
    methods = (await with_terminal.initialize(capabilities=TERMINAL))["authMethods"]
    assert methods == [
        {"type": "agent", "methodId": "browser", "name": "Browser", "description": "opens one"},
        {
            "type": "terminal",
            "methodId": "tty",
            "name": "Terminal",
            "args": ["login"],
            "env": [{"name": "A", "value": "1"}],
        },
    ]
    assert [m["methodId"] for m in (await without.initialize())["authMethods"]] == ["browser"]
    assert (await with_terminal.error("auth/login", {"methodId": "tty"}))["code"] == -32602
    assert (await with_terminal.error("session/new", {"cwd": "/w"}))["code"] == -32000


async def test_i_21_an_agent_with_nothing_to_offer_this_client_asks_for_no_login_auth_1_err_2() -> None:
    agent = agent_of(echo, login_required=True)
    agent.login_method(terminal_method())
    client = await started(agent)
    assert (await client.error("auth/login", {"methodId": "tty"}))["code"] == -32601
    assert await client.new_session()


def test_i_26_a_terminal_login_names_each_variable_once_auth_6() -> None:
    twice = [v2.EnvVariable(name="A", value="1"), v2.EnvVariable(name="A", value="2")]
    with pytest.raises(LocalProtocolError):
        gated().login_method(terminal_method(env=twice))
    with pytest.raises(LocalProtocolError):
        gated().login_method(v2.AuthMethodAgent(method_id="browser", name="again"))


async def test_i_22_i_23_sessions_need_a_login_and_lose_it_auth_8_auth_9_auth_10() -> None:
    client = await started(gated())
    for _ in range(2):
        for method, params in (
            ("session/new", {"cwd": "/w"}),
            ("session/resume", {"sessionId": "s", "cwd": "/w"}),
            ("session/fork", {"sessionId": "s", "cwd": "/w"}),
            ("session/prompt", {"sessionId": "s", "prompt": [text_block("x")]}),
        ):
            assert (await client.error(method, params))["code"] == -32000, method
        assert await client.call("auth/login", {"methodId": "browser"}) == {}
        session = await client.new_session()
        client.prompt(session)
        await client.idle(1, session)
        assert await client.call("auth/logout", {}) == {}
    assert await client.call("auth/logout", {}) == {}  # AUTH-11


async def test_a_login_that_fails_is_no_login() -> None:
    client = await started(gated())
    assert (await client.error("auth/login", {"methodId": "browser", "_meta": {"fail": True}}))["code"] == -32603
    assert (await client.error("session/new", {"cwd": "/w"}))["code"] == -32000


async def test_can_10_a_login_can_be_withdrawn() -> None:
    agent = agent_of(echo, login_required=True)

    @agent.login("slow", "Slow")
    async def login(call: LoginCall) -> None:
        await asyncio.Event().wait()

    client = await started(agent)
    id = client.request("auth/login", {"methodId": "slow"})
    await client.settle()
    client.withdraw(id)
    assert (await client.response(id))["error"]["code"] == -32800
    assert (await client.error("session/new", {"cwd": "/w"}))["code"] == -32000


async def test_i_24_an_agent_without_logins_never_asks_for_one_err_2() -> None:
    client = await started(agent_of(echo))
    assert await client.new_session()


async def test_a_login_of_one_connection_is_not_one_of_another_ini_18() -> None:
    agent = gated()
    one, two = await started(agent), await started(agent)
    await one.call("auth/login", {"methodId": "browser"})
    await one.new_session()
    assert (await two.error("session/new", {"cwd": "/w"}))["code"] == -32000


async def test_who_is_logged_in_from_before_need_not_log_in_again_and_logout_is_told_auth_9() -> None:
    agent = gated()
    known = [True]
    out: list[str] = []

    @agent.logged_in
    def logged_in() -> bool:
        return known[0]

    @agent.logout
    def logout() -> None:
        out.append("out")

    client = await started(agent)
    await client.new_session()
    await client.call("auth/logout", {})
    assert out == ["out"]
    assert (await client.error("session/new", {"cwd": "/w"}))["code"] == -32000


async def test_i_27_a_login_of_the_authors_own_kind_is_offered_as_it_is_auth_3() -> None:
    agent = agent_of(echo)
    own = {"type": "_sso", "methodId": "sso", "name": "SSO", "url": "https://x"}
    agent.login_method(v2.Unknown.of(own))
    client, _ = connect(agent)
    assert (await client.initialize())["authMethods"] == [own]
    assert (await client.error("auth/login", {"methodId": "sso"}))["code"] == -32602


# ---- providers


def routed() -> Agent:
    agent = agent_of(echo)
    agent.provider(
        Provider(provider_id="main", supported=["openai", "_x"], required=True, api_type="openai", base_url="https://m")
    )
    agent.provider(Provider(provider_id="extra", supported=["anthropic"]))
    return agent


def a_route(**more: Any) -> Json:
    return {"providerId": "extra", "apiType": "anthropic", "baseUrl": "https://e", **more}


async def test_o_10_o_11_a_route_is_set_whole_and_its_headers_are_never_shown_prv_1_prv_2() -> None:
    agent = routed()
    changed: list[str] = []
    agent.provider_hook(changed.append)
    client, link = connect(agent)
    await client.initialize()
    assert link.providers is not None
    await client.call("providers/set", a_route(headers={"Authorization": "secret"}))
    assert link.providers.route("extra") == Route(
        api_type="anthropic", base_url="https://e", headers={"Authorization": "secret"}
    )
    listed = await client.call("providers/list", {})
    assert listed == {
        "providers": [
            {
                "providerId": "main",
                "supported": ["openai", "_x"],
                "required": True,
                "current": {"apiType": "openai", "baseUrl": "https://m"},
            },
            {
                "providerId": "extra",
                "supported": ["anthropic"],
                "required": False,
                "current": {"apiType": "anthropic", "baseUrl": "https://e"},
            },
        ]
    }
    await client.call("providers/set", a_route())
    assert link.providers.route("extra") == Route(api_type="anthropic", base_url="https://e")
    assert changed == ["extra", "extra"]


@pytest.mark.parametrize("params", [a_route(providerId="nobody"), a_route(apiType="openai"), a_route(headers=5)])
async def test_a_route_that_does_not_fit_is_refused_prv_2(params: Json) -> None:
    client = await started(routed())
    assert (await client.error("providers/set", params))["code"] == -32602


async def test_o_12_o_13_o_14_what_is_disabled_is_not_used_prv_3_prv_4() -> None:
    seen: list[Any] = []

    async def answer(turn: Turn) -> None:
        assert turn.session.link.providers is not None
        seen.append(turn.session.link.providers.route("extra"))

    agent = routed()
    agent.prompt(answer)
    client = await started(agent)
    assert (await client.error("providers/disable", {"providerId": "main"}))["code"] == -32602
    assert await client.call("providers/disable", {"providerId": "nobody"}) == {}
    await client.call("providers/set", a_route())
    assert await client.call("providers/disable", {"providerId": "extra"}) == {}
    assert "current" not in (await client.call("providers/list", {}))["providers"][1]
    client.prompt(await client.new_session())
    await client.idle()
    assert seen == [None]


async def test_routes_do_not_leak_from_one_client_to_another_prv_4() -> None:
    agent = routed()
    one = await started(agent)
    await one.call("providers/set", a_route())
    two = await started(agent)
    assert "current" not in (await two.call("providers/list", {}))["providers"][1]


async def test_o_15_a_route_shows_no_secrets_when_it_is_logged_prv_5() -> None:
    assert "secret" not in repr(Route(api_type="a", base_url="https://user:secret@x", headers={"k": "secret"}))


def test_providers_are_checked_when_they_are_registered() -> None:
    agent = routed()
    with pytest.raises(LocalProtocolError):
        agent.provider(Provider(provider_id="main", supported=[]))
    with pytest.raises(LocalProtocolError):
        agent.provider(Provider(provider_id="b", supported=["x"], api_type="y", base_url="z"))
