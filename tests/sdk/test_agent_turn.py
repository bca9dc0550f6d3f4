"""MSG-1, MSC-2, MSC-4, EXT-2: what an agent tells in a turn, as it arrives."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import LocalProtocolError
from roost.sdk.turn import Turn

from .raw_client import connect, started
from .steps import agent_of, echo


async def test_p_33_pieces_in_a_row_are_one_message_and_the_next_is_another_msg_1() -> None:
    async def answer(turn: Turn) -> None:
        await turn.say("a")
        await turn.say("b")
        await turn.think("c")
        await turn.say("d")
        async with turn.tool("look"):
            pass
        await turn.say("e")
        turn.new_message()
        await turn.say("f")

    client = await started(agent_of(answer))
    client.prompt(await client.new_session())
    await client.idle()
    ids = {u["content"]["text"]: u["messageId"] for u in client.updates("agent_message_chunk")}
    thought = client.updates("agent_thought_chunk")[0]["messageId"]
    assert ids["a"] == ids["b"]
    assert len({*ids.values(), thought, client.updates("user_message")[0]["messageId"]}) == 6


async def test_p_34_a_slash_command_is_parsed_and_reported_as_typed_msc_2() -> None:
    agent = agent_of(echo)

    @agent.command("plan", "Plans", hint="what")
    async def plan(turn: Turn, arguments: str) -> None:
        await turn.say(f"<{turn.command}|{arguments}>")

    client = await started(agent)
    session = await client.new_session()
    for text in ("/plan x y", "/plan", "/plan\nnext line", "/planx", "plan", "/unknown a"):
        client.prompt(session, text)
    await client.idle(6)
    assert client.said() == "<plan|x y><plan|><plan|next line>/planxplan/unknown a"
    assert client.updates("user_message")[0]["content"][0]["text"] == "/plan x y"
    assert client.updates("available_commands_update") == [
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [{"name": "plan", "description": "Plans", "input": {"type": "text", "hint": "what"}}],
        }
    ]


async def test_p_36_usage_of_unknown_size_is_not_told_msc_4() -> None:
    async def answer(turn: Turn) -> None:
        await turn.usage(10, None)
        await turn.usage(10, 100)
        await turn.usage(20, 100, amount=0.5, currency="EUR")
        turn.spent = v2.Usage(total_tokens=3, input_tokens=1, output_tokens=2)
        with pytest.raises(LocalProtocolError):
            await turn.usage(1, 2, amount=1, currency="euro")

    client = await started(agent_of(answer))
    client.prompt(await client.new_session())
    idle = await client.idle()
    assert client.updates("usage_update") == [
        {"sessionUpdate": "usage_update", "used": 10, "size": 100},
        {"sessionUpdate": "usage_update", "used": 20, "size": 100, "cost": {"amount": 0.5, "currency": "EUR"}},
    ]
    assert idle["usage"] == {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}  # PRM-20


async def test_after_its_end_a_turn_says_nothing() -> None:
    kept: list[Turn] = []

    async def answer(turn: Turn) -> None:
        kept.append(turn)

    client = await started(agent_of(answer))
    client.prompt(await client.new_session())
    await client.idle()
    with pytest.raises(LocalProtocolError):
        await kept[0].say("late")
    await kept[0].session.update(v2.AgentMessageChunk(message_id="bg", content=v2.TextContent(text="background")))
    await client.until(lambda: client.said() == "background")  # PRM-12: background updates while idle
    assert client.states() == ["running", "idle:end_turn"]


async def test_raw_updates_pass_and_wrong_ones_do_not_ext_2() -> None:
    from roost.errors import CodecError

    async def answer(turn: Turn) -> None:
        await turn.raw_update({"sessionUpdate": "_acme/graph", "n": [1, None]})
        with pytest.raises(CodecError):
            await turn.raw_update({"no tag": 1})
        with pytest.raises(CodecError):
            await turn.raw_update(v2.AgentMessageChunk(message_id="m", content="text"))  # type: ignore[arg-type]
        with pytest.raises(CodecError):
            await turn.say("\ud800")

    client = await started(agent_of(answer))
    client.prompt(await client.new_session())
    await client.idle()
    assert client.updates("_acme/graph") == [{"sessionUpdate": "_acme/graph", "n": [1, None]}]
    assert client.states() == ["running", "idle:end_turn"]


async def test_e_44_meta_is_carried_and_never_merged_ext_6() -> None:
    seen: list[Any] = []

    async def answer(turn: Turn) -> None:
        seen.append((turn.session.id, turn.meta, turn.trace))

    client = await started(agent_of(answer))
    session = await client.new_session()
    meta = {"sessionId": "other", "prompt": 5, "traceparent": "00-1", "baggage": 7}
    client.prompt(session, "x", _meta=meta)
    await client.idle()
    assert seen == [(session, meta, {"traceparent": "00-1"})]


async def test_a_slow_client_slows_the_agent_down_std_8() -> None:
    """Nothing is lost or grows without a bound: while the client does not read, the agent waits."""
    said = 0

    async def flood(turn: Turn) -> None:
        nonlocal said
        for _ in range(4000):
            await turn.say("x" * 1000)
            said += 1

    client, _ = connect(agent_of(flood), high_water=64 * 1024)
    await client.initialize()
    session = await client.new_session()
    client.pause()
    client.prompt(session)
    seen = -1
    async with asyncio.timeout(10):
        while said != seen or said == 0:
            seen = said
            for _ in range(20):
                await asyncio.sleep(0)
    assert 0 < said < 400
    client.resume()
    await client.idle()
    assert len(client.said()) == 4_000_000


async def test_h_01_content_with_line_breaks_stays_on_one_line_std_1() -> None:
    client = await started(agent_of(echo))
    client.prompt(await client.new_session(), "a\nb\r\nc\u2028d")  # the raw client asserts on every message
    await client.idle()
    assert client.said() == "a\nb\r\nc\u2028d"
