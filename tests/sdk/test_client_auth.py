"""Logging in by each kind of method (AUTH-1 to AUTH-10)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import (
    CapabilityError,
    ConnectionClosed,
    LocalProtocolError,
    ProcessError,
    RemoteProtocolError,
    RpcError,
)
from roost.sdk.client import Client
from roost.sdk.client_options import ClientOptions
from roost.transport.child import Launch
from roost.transport.messages import MessageChannel, message_pair
from tests.sdk.raw_agent import LOGIN, RUNNING, RawAgent, bounded, connected, idle, opened, settled

TERMINAL = {
    "type": "terminal",
    "methodId": "tty",
    "name": "In a terminal",
    "args": ["login", "--browser"],
    "env": [{"name": "MODE", "value": "login"}],
}
VARIABLES = {
    "type": "env_var",
    "methodId": "vars",
    "name": "By variables",
    "vars": [{"name": "API_KEY"}, {"name": "ORG", "optional": True, "secret": False}],
}
ODD = {"type": "_sso", "methodId": "sso", "name": "SSO", "realm": "acme"}


class Agents:
    """An agent of ours that is started anew whenever the client wants, without a process."""

    def __init__(self, launch: Launch, methods: list[dict[str, Any]], shared: Agents | None = None) -> None:
        self.launch = launch
        self.tolerant = True
        self.is_fresh = True
        self.methods = methods
        self.started: list[tuple[Launch, RawAgent]] = [] if shared is None else shared.started
        self.news = asyncio.Event() if shared is None else shared.news

    async def open(self) -> MessageChannel:
        ours, theirs = message_pair()
        self.started.append((self.launch, RawAgent(theirs)))
        self.news.set()
        return ours

    def with_launch(self, launch: Launch) -> Agents:
        return Agents(launch, self.methods, self)

    async def agent(self, number: int) -> RawAgent:
        """The agent that was started as the so-manyth, its `initialize` answered."""
        async with asyncio.timeout(10):
            while len(self.started) <= number:
                self.news.clear()
                await self.news.wait()
        agent = self.started[number][1]
        await agent.initialize({"session": {}}, authMethods=self.methods)
        return agent


INFO = v2.Implementation(name="test", version="1")


async def started(methods: list[dict[str, Any]], **options: Any) -> tuple[Client, Agents, RawAgent]:
    agents = Agents(Launch(argv=("agent", "--acp"), env={"A": "1"}), methods)
    client = Client(agents, ClientOptions(info=INFO, **options))
    opening = asyncio.ensure_future(client.open())
    agent = await agents.agent(0)
    await bounded(opening)
    return client, agents, agent


async def test_a_login_over_the_protocol_is_one_request() -> None:
    async with connected(initialize={"authMethods": [LOGIN]}) as (client, agent):
        logging_in = asyncio.ensure_future(client.login("key"))
        request = await agent.next("auth/login")
        assert request["params"] == {"methodId": "key"}
        agent.reply(request)
        await bounded(logging_in)
        leaving = asyncio.ensure_future(client.logout())
        agent.reply(await agent.next("auth/logout"))
        await bounded(leaving)


@pytest.mark.parametrize("methods", [[], None, [{"methodId": "broken"}], {"0": LOGIN}])
async def test_i_18_without_methods_there_is_no_login(methods: Any) -> None:
    """AUTH-1, AUTH-2."""
    async with connected({"session": {}, "auth": {}}, initialize={"authMethods": methods}) as (client, agent):
        assert client.auth_methods == []
        with pytest.raises(LocalProtocolError):
            await client.login("key")
        with pytest.raises(CapabilityError):
            await client.logout()
        await settled(client, agent)
        assert not agent.untaken


@pytest.mark.parametrize("method_id", ["zzz", "sso", ""])
async def test_auth_4_only_a_method_that_is_advertised_and_known_is_used(method_id: str) -> None:
    async with connected(initialize={"authMethods": [LOGIN, ODD]}) as (client, agent):
        with pytest.raises(LocalProtocolError):
            await client.login(method_id)
        await settled(client, agent)
        assert not agent.untaken


async def test_i_27_a_method_of_an_unknown_kind_is_kept_whole() -> None:
    async with connected(initialize={"authMethods": [ODD]}) as (client, _):
        (method,) = client.auth_methods
        assert isinstance(method, v2.Unknown)
        assert method.value() == ODD


async def test_a_refused_login_is_told() -> None:
    async with connected(initialize={"authMethods": [LOGIN]}) as (client, agent):
        logging_in = asyncio.ensure_future(client.login("key"))
        agent.refuse(await agent.next("auth/login"), -32602)
        with pytest.raises(RpcError):
            await bounded(logging_in)


# --- AUTH-8: what needs a login is tried again ---


async def test_i_22_a_call_that_needs_a_login_is_tried_again_after_it() -> None:
    """I-28, AUTH-8, AUTH-10."""

    async def choose(methods: list[v2.AuthMethod]) -> str:
        assert len(methods) == 1
        return "key"

    async with connected(initialize={"authMethods": [LOGIN]}, on_login=choose) as (client, agent):
        opening = asyncio.ensure_future(client.new_session("/work"))
        agent.refuse(await agent.next("session/new"), -32000, "Authentication required")
        agent.reply(await agent.next("auth/login"))
        agent.reply(await agent.next("session/new"), {"sessionId": "s1"})
        session = await bounded(opening)

        resuming = asyncio.ensure_future(client.resume_session("s2", "/work", replay=True))
        agent.refuse(await agent.next("session/resume"), -32000)
        agent.reply(await agent.next("auth/login"))
        agent.reply(await agent.next("session/resume"))
        assert (await bounded(resuming)).is_open

        turn = session.prompt("hi").send()  # I-28: a prompt is the program's to repeat
        agent.refuse(await agent.next("session/prompt"), -32000)
        with pytest.raises(RpcError) as caught:
            await bounded(turn)
        assert caught.value.code == v2.ErrorCode.AUTHENTICATION_REQUIRED


async def test_a_login_that_does_not_help_is_not_tried_for_ever() -> None:
    async with connected(initialize={"authMethods": [LOGIN]}, on_login=lambda methods: "key") as (client, agent):
        opening = asyncio.ensure_future(client.new_session("/work"))
        agent.refuse(await agent.next("session/new"), -32000)
        agent.reply(await agent.next("auth/login"))
        agent.refuse(await agent.next("session/new"), -32000)
        with pytest.raises(RpcError):
            await bounded(opening)


@pytest.mark.parametrize("options", [{}, {"on_login": lambda methods: None}])
async def test_without_somebody_to_log_in_the_error_is_told(options: Any) -> None:
    async with connected(initialize={"authMethods": [LOGIN]}, **options) as (client, agent):
        opening = asyncio.ensure_future(client.new_session("/work"))
        agent.refuse(await agent.next("session/new"), -32000)
        with pytest.raises(RpcError):
            await bounded(opening)
        await settled(client, agent)
        assert not agent.untaken


async def test_an_agent_without_methods_is_not_offered_a_login() -> None:
    def never(methods: Any) -> str:
        raise AssertionError

    async with connected(on_login=never) as (client, agent):
        opening = asyncio.ensure_future(client.new_session("/work"))
        agent.refuse(await agent.next("session/new"), -32000)
        with pytest.raises(RpcError):
            await bounded(opening)


# --- terminal ---


async def test_i_25_a_terminal_login_runs_our_own_command_with_more_and_connects_anew() -> None:
    """AUTH-6, SEC-3."""
    ran: list[Launch] = []

    async def run(launch: Launch) -> int:
        ran.append(launch)
        return 0

    client, agents, agent = await started([TERMINAL], terminal_login=run)
    session = await opened(client, agent)
    logging_in = asyncio.ensure_future(client.login("tty"))
    second = await agents.agent(1)
    await bounded(logging_in)
    assert ran == [Launch(argv=("agent", "--acp", "login", "--browser"), env={"A": "1", "MODE": "login"})]
    assert agents.started[1][0] == Launch(argv=("agent", "--acp"), env={"A": "1"})
    assert agent.is_over
    assert not session.is_open
    assert not [m for m in (*agent.messages, *second.messages) if m.get("method") == "auth/login"]
    await opened(client, second, "s1")
    await client.close()


async def test_i_25_a_terminal_login_that_fails_leaves_the_connection() -> None:
    async def run(launch: Launch) -> int:
        return 3

    client, agents, agent = await started([TERMINAL], terminal_login=run)
    with pytest.raises(ProcessError) as caught:
        await client.login("tty")
    assert caught.value.exit_code == 3
    assert len(agents.started) == 1
    await opened(client, agent)
    await client.close()


async def test_i_26_a_terminal_login_that_sets_a_variable_twice_is_refused() -> None:
    ran: list[Launch] = []

    async def run(launch: Launch) -> int:
        ran.append(launch)
        return 0

    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    client, _, _ = await started([{**TERMINAL, "env": env}], terminal_login=run)
    with pytest.raises(RemoteProtocolError):
        await client.login("tty")
    assert ran == []
    await client.close()


async def test_a_terminal_login_needs_a_terminal_and_a_command_of_ours() -> None:
    client, _, _ = await started([TERMINAL])
    with pytest.raises(LocalProtocolError):
        await client.login("tty")
    await client.close()

    async def run(launch: Launch) -> int:
        raise AssertionError

    async with connected(initialize={"authMethods": [TERMINAL]}, terminal_login=run) as (client, _):
        with pytest.raises(LocalProtocolError):
            await client.login("tty")


async def test_auth_8_a_login_in_a_terminal_is_followed_by_the_call_on_the_new_connection() -> None:
    async def run(launch: Launch) -> int:
        return 0

    client, agents, agent = await started([TERMINAL], terminal_login=run, on_login=lambda methods: "tty")
    resuming = asyncio.ensure_future(client.resume_session("s1", "/work", replay=True))
    agent.refuse(await agent.next("session/resume"), -32000)
    second = await agents.agent(1)
    request = await second.next("session/resume")
    second.update("s1", {"sessionUpdate": "session_info_update", "title": "back"})
    second.reply(request)
    session = await bounded(resuming)
    assert session.view.title == "back"
    turn = session.prompt("hi").send()
    second.reply(await second.next("session/prompt"))
    second.update("s1", RUNNING, idle())
    assert (await bounded(turn)).stop_reason == "end_turn"
    await client.close()


# --- variables ---


async def test_auth_7_a_login_by_variables_starts_the_agent_with_them() -> None:
    asked: list[v2.AuthMethodEnvVar] = []

    async def ask(method: v2.AuthMethodEnvVar) -> dict[str, str]:
        asked.append(method)
        return {"API_KEY": "secret"}

    client, agents, _ = await started([VARIABLES], on_env_vars=ask)
    logging_in = asyncio.ensure_future(client.login("vars"))
    await agents.agent(1)
    await bounded(logging_in)
    assert agents.started[1][0].env == {"A": "1", "API_KEY": "secret"}
    assert [(variable.name, variable.secret, variable.optional) for variable in asked[0].vars] == [
        ("API_KEY", True, False),
        ("ORG", False, True),
    ]
    assert "secret" not in repr(client.launch)
    await client.close()


@pytest.mark.parametrize("values", [None, {}, {"ORG": "x"}, {"API_KEY": "x", "LD_PRELOAD": "/evil"}])
async def test_variables_that_are_not_those_asked_for_start_nothing(values: Any) -> None:
    client, agents, _ = await started([VARIABLES], on_env_vars=lambda method: values)
    with pytest.raises(LocalProtocolError):
        await client.login("vars")
    assert len(agents.started) == 1
    await client.close()


async def test_nobody_to_ask_for_variables() -> None:
    client, _, _ = await started([VARIABLES])
    with pytest.raises(LocalProtocolError):
        await client.login("vars")
    await client.close()


async def test_a_turn_under_way_fails_when_the_agent_is_started_anew() -> None:
    client, agents, agent = await started([VARIABLES], on_env_vars=lambda method: {"API_KEY": "x"})
    session = await opened(client, agent)
    turn = session.prompt("hi").send()
    agent.reply(await agent.next("session/prompt"))
    logging_in = asyncio.ensure_future(client.login("vars"))
    await agents.agent(1)
    await bounded(logging_in)
    with pytest.raises(ConnectionClosed):
        await bounded(turn)
    await client.close()
