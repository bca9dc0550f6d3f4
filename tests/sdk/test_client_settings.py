"""Settings of a session as a client changes them, and what the agent must advertise first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.errors import CapabilityError, LocalProtocolError, RemoteProtocolError
from tests.sdk.raw_agent import (
    ALL,
    OPTION,
    bounded,
    connected,
    opened,
    settled,
)

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
