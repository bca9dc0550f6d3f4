"""PRM-14, CAN-12: prompts that are held until it is their turn."""

from __future__ import annotations

from roost.sdk.limits import AgentLimits
from roost.sdk.turn import Turn

from .raw_client import shape, started, text_block
from .steps import Steps, agent_of


async def test_p_10_a_second_prompt_is_held_and_accepted_when_it_is_its_turn_prm_14() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait(turn.text)

    client = await started(agent_of(slow))
    session = await client.new_session()
    one, two, three = (client.prompt(session, name) for name in ("one", "two", "three"))
    await steps.reached("one")
    await client.settle()
    assert client.responses(one)
    assert not client.responses(two)
    for name in ("one", "two", "three"):
        steps.go(name)
    await client.idle(3)
    assert shape(client)[2:] == [
        f"response {one}",
        "user_message",
        "running",
        f"response {client._next_id}",
        "idle",
        f"response {two}",
        "user_message",
        "running",
        "idle",
        f"response {three}",
        "user_message",
        "running",
        "idle",
    ]
    assert [u["content"][0]["text"] for u in client.updates("user_message")] == ["one", "two", "three"]


async def test_p_11_a_held_prompt_can_be_withdrawn_and_is_never_inserted_can_12() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")

    client = await started(agent_of(slow))
    session = await client.new_session()
    client.prompt(session, "one")
    two = client.prompt(session, "two")
    client.withdraw(two)
    assert (await client.response(two))["error"]["code"] == -32800
    steps.go("x")
    await client.idle()
    await client.settle()
    assert [u["content"][0]["text"] for u in client.updates("user_message")] == ["one"]
    assert client.states() == ["running", "idle:end_turn"]


async def test_withdrawing_an_accepted_prompt_has_no_effect_can_12() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")

    client = await started(agent_of(slow))
    session = await client.new_session()
    id = client.prompt(session)
    await client.response(id)
    client.withdraw(id)
    await client.settle()
    assert client.states() == ["running"]
    steps.go("x")
    await client.idle()
    assert client.states() == ["running", "idle:end_turn"]
    assert len(client.responses(id)) == 1


async def test_p_12_a_full_queue_refuses_and_changes_nothing_prm_14() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")

    client = await started(agent_of(slow, limits=AgentLimits(queued_prompts=2)))
    session = await client.new_session()
    for _ in range(3):
        client.prompt(session)
    error = await client.error("session/prompt", {"sessionId": session, "prompt": [text_block("too many")]})
    assert error == {
        "code": -32005,
        "message": "Limit exceeded: queued_prompts",
        "data": {"limit": "queued_prompts", "bound": 2},
    }
    steps.go("x")
    await client.idle(3)
    assert client.states() == ["running", "idle:end_turn"] * 3
