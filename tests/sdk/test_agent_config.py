"""CFG-1 to CFG-9, MSC-1: settings and commands of a session."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp import v2
from roost.errors import LocalProtocolError, RpcError
from roost.sdk.agent import Agent
from roost.sdk.agent_config import ConfigOptions, select, switch
from roost.sdk.agent_session import AgentSession
from roost.sdk.turn import Turn

from .raw_client import Json, RawClient, started
from .steps import Steps, agent_of, echo


def options() -> list[v2.SessionConfigOption]:
    grouped = v2.SessionConfigSelect(
        config_id="effort",
        name="Effort",
        current_value="low",
        options=[
            v2.SessionConfigSelectGroup(
                group_id="g", name="G", options=[v2.SessionConfigSelectOption(value="low", name="Low")]
            )
        ],
    )
    return [
        select("model", "Model", {"small": "Small", "big": "Big"}, category="model"),
        switch("web", "Web", True),
        grouped,
        v2.Unknown.of({"type": "_slider", "configId": "temp", "name": "Temperature", "value": 3}),
    ]


def set_params(session: str, config_id: str, value: Any, type: str = "id") -> Json:
    return {"sessionId": session, "configId": config_id, "value": value, "type": type}


def values(result: Json) -> Json:
    return {o["configId"]: o.get("currentValue", o.get("value")) for o in result["configOptions"]}


async def ready(agent: Agent | None = None) -> tuple[RawClient, str]:
    client = await started(agent or agent_of(echo, config=options()))
    return client, await client.new_session()


async def test_options_come_with_the_session_in_order_and_whole_cfg_1_cfg_2() -> None:
    client = await started(agent_of(echo, config=options()))
    result = await client.call("session/new", {"cwd": "/w"})
    assert [o["configId"] for o in result["configOptions"]] == ["model", "web", "effort", "temp"]
    assert result["configOptions"][0] == {
        "type": "select",
        "configId": "model",
        "name": "Model",
        "category": "model",
        "currentValue": "small",
        "options": [{"value": "small", "name": "Small"}, {"value": "big", "name": "Big"}],
    }
    assert result["configOptions"][3] == {"type": "_slider", "configId": "temp", "name": "Temperature", "value": 3}


async def test_o_01_setting_a_value_answers_with_everything_cfg_1_cfg_6() -> None:
    client, session = await ready()
    result = await client.call("session/set_config_option", set_params(session, "model", "big"))
    assert values(result) == {"model": "big", "web": True, "effort": "low", "temp": 3}
    result = await client.call("session/set_config_option", set_params(session, "web", False, "boolean"))
    assert values(result) == {"model": "big", "web": False, "effort": "low", "temp": 3}


@pytest.mark.parametrize(
    ("config_id", "value", "type"),
    [
        pytest.param("nothing", "big", "id", id="O-02 unknown option"),
        pytest.param("model", "huge", "id", id="O-02 unknown value"),
        pytest.param("model", True, "boolean", id="O-02 boolean on a select"),
        pytest.param("web", "true", "id", id="O-02 text on a switch"),
        pytest.param("effort", "g", "id", id="O-02 a group is no value"),
        pytest.param("temp", "4", "id", id="O-07 unknown type"),
        pytest.param("model", "big", "_slider", id="unknown kind of value"),
        pytest.param("model", 5, "id", id="malformed"),
    ],
)
async def test_what_does_not_fit_is_refused_and_changes_nothing_cfg_5(config_id: str, value: Any, type: str) -> None:
    client, session = await ready()
    error = await client.error("session/set_config_option", set_params(session, config_id, value, type))
    assert error["code"] == -32602
    result = await client.call("session/set_config_option", set_params(session, "web", True, "boolean"))
    assert values(result) == {"model": "small", "web": True, "effort": "low", "temp": 3}


async def test_o_03_the_type_is_required_cfg_5() -> None:
    client, session = await ready()
    params = {"sessionId": session, "configId": "model", "value": "big"}
    assert (await client.error("session/set_config_option", params))["code"] == -32602


async def test_o_04_one_change_may_change_others_cfg_1() -> None:
    agent = agent_of(echo, config=options())

    @agent.config_hook
    async def changed(session: AgentSession, config_id: str) -> None:
        if session.config["model"] == "big":
            session.config.assign("web", False)

    client, session = await ready(agent)
    result = await client.call("session/set_config_option", set_params(session, "model", "big"))
    assert values(result)["web"] is False


async def test_an_author_may_refuse_a_value_and_nothing_changes_cfg_5() -> None:
    agent = agent_of(echo, config=options())

    @agent.config_hook
    async def changed(session: AgentSession, config_id: str) -> None:
        if session.config["model"] == "big":
            session.config.assign("web", False)
            raise RpcError(-32602, "not today")

    client, session = await ready(agent)
    assert (await client.error("session/set_config_option", set_params(session, "model", "big")))["code"] == -32602
    result = await client.call("session/set_config_option", set_params(session, "model", "small"))
    assert values(result) == {"model": "small", "web": True, "effort": "low", "temp": 3}


async def test_o_05_a_change_of_the_agents_own_is_told_whole_cfg_8() -> None:
    async def fall_back(turn: Turn) -> None:
        turn.config.assign("model", "big")
        await turn.session.publish_config()

    client, session = await ready(agent_of(fall_back, config=options()))
    client.prompt(session)
    await client.idle()
    assert [values(u)["model"] for u in client.updates("config_option_update")] == ["big"]


async def test_o_09_settings_may_change_while_running_cfg_9() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")
        await turn.say(str(turn.config["model"]))

    client, session = await ready(agent_of(slow, config=options()))
    client.prompt(session)
    await steps.reached("x")
    await client.call("session/set_config_option", set_params(session, "model", "big"))
    steps.go("x")
    await client.idle()
    assert client.said() == "big"


async def test_settings_are_kept_with_the_session() -> None:
    agent = agent_of(echo, config=options())
    client, session = await ready(agent)
    await client.call("session/set_config_option", set_params(session, "model", "big"))
    await client.call("session/close", {"sessionId": session})
    agent.config = [select("model", "Model", {"small": "Small", "big": "Big"}), switch("new", "New")]
    result = await client.call("session/resume", {"sessionId": session, "cwd": "/w"})
    assert values(result) == {"model": "big", "new": False}


async def test_two_sessions_have_settings_of_their_own() -> None:
    client, session = await ready()
    other = await client.new_session()
    await client.call("session/set_config_option", set_params(session, "model", "big"))
    result = await client.call("session/set_config_option", set_params(other, "web", False, "boolean"))
    assert values(result)["model"] == "small"


def test_options_are_checked_when_they_are_offered_cfg_3() -> None:
    with pytest.raises(LocalProtocolError):
        ConfigOptions([switch("a", "A"), switch("a", "B")])
    with pytest.raises(LocalProtocolError):
        ConfigOptions([select("a", "A", {"x": "X"}, value="y")])
    config = ConfigOptions(options())
    assert (len(config), "model" in config, config.get("nothing"), config["effort"]) == (4, True, None, "low")
    with pytest.raises(KeyError):
        config["temp"]
    assert config.values() == {"model": "small", "web": True, "effort": "low"}


async def test_commands_are_replaced_as_a_whole_msc_1_msc_3() -> None:
    async def learn(turn: Turn) -> None:
        if turn.command is None:
            await turn.commands([v2.AvailableCommand(name="go", description="Goes")])
        else:
            await turn.say(f"{turn.command}:{turn.arguments}")

    client, session = await ready(agent_of(learn))
    client.prompt(session)
    client.prompt(session, "/go there")
    await client.idle(2)
    assert client.updates("available_commands_update")[0]["availableCommands"] == [
        {"name": "go", "description": "Goes"}
    ]
    assert client.said() == "go:there"


@pytest.mark.parametrize("name", ["", "/x", "a b"])
def test_a_commands_name_is_one_word_msc_1(name: str) -> None:
    with pytest.raises(LocalProtocolError):
        Agent("x", "1").command(name, "d")
