"""PRM-16 to PRM-19: work that is cancelled ends with one idle."""

from __future__ import annotations

import asyncio

import pytest

from roost.errors import LocalProtocolError, RpcError
from roost.sdk.limits import AgentLimits
from roost.sdk.turn import Turn

from .raw_client import shape, started, text_block
from .steps import Steps, agent_of, echo


async def test_p_13_cancel_ends_with_one_idle_and_nothing_after_it_prm_16() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        try:
            await steps.wait("x")
        finally:
            await turn.say("last words")

    client = await started(agent_of(slow))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.cancel(session)
    await client.idle()
    await client.settle()
    assert client.states() == ["running", "idle:cancelled"]
    assert shape(client)[-3:] == ["agent_message_chunk", "idle", f"response {client._next_id}"]


async def test_p_13_an_agent_that_ignores_cancel_is_left_behind_prm_16(caplog: pytest.LogCaptureFixture) -> None:
    left = asyncio.Event()
    steps = Steps()
    refused: list[Exception] = []

    async def deaf(turn: Turn) -> None:
        try:
            while not left.is_set():
                try:
                    await steps.wait("x")
                except asyncio.CancelledError:
                    await left.wait()
            await turn.say("too late")
        except LocalProtocolError as error:
            refused.append(error)

    client = await started(agent_of(deaf, limits=AgentLimits(cancel_grace=0.01)))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.cancel(session)
    await client.idle()
    assert client.states() == ["running", "idle:cancelled"]
    left.set()
    await client.settle()
    await client.settle()
    assert client.updates("agent_message_chunk") == []
    assert "does not end when cancelled" in caplog.text


async def test_p_14_cancel_when_idle_or_unknown_is_nothing_prm_17() -> None:
    client = await started(agent_of(echo))
    session = await client.new_session()
    client.cancel(session)
    client.cancel("nobody")
    client.notify("session/cancel", {})
    await client.settle()
    assert client.updates() == []


async def test_p_15_cancel_right_behind_the_prompt_prm_19() -> None:
    client = await started(agent_of(echo))
    session = await client.new_session()
    client.send(
        client.message("session/prompt", {"sessionId": session, "prompt": [text_block("x")]}, "p"),
        client.message("session/cancel", {"sessionId": session}),
    )
    await client.idle()
    await client.settle()
    assert (await client.response("p"))["result"] == {"messageId": "msg-1-1"}
    assert client.states() == ["running", "idle:cancelled"]


@pytest.mark.parametrize("error", [RuntimeError("aborted"), RpcError(-32603, "aborted"), KeyError("x")])
async def test_p_16_whatever_a_library_raises_on_cancel_it_is_cancelled_prm_16(error: Exception) -> None:
    steps = Steps()

    async def library(turn: Turn) -> None:
        try:
            await steps.wait("x")
        except asyncio.CancelledError:
            raise error from None

    client = await started(agent_of(library))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.cancel(session)
    await client.idle()
    assert client.states() == ["running", "idle:cancelled"]
    assert client.said() == ""


async def test_p_16_a_cancelled_turn_that_returns_normally_is_cancelled_prm_16() -> None:
    steps = Steps()

    async def swallows(turn: Turn) -> None:
        try:
            await steps.wait("x")
        except asyncio.CancelledError:
            return

    client = await started(agent_of(swallows))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.cancel(session)
    await client.idle()
    assert client.states() == ["running", "idle:cancelled"]


async def test_p_19_two_cancels_make_one_idle_prm_16() -> None:
    steps = Steps()

    async def tidy(turn: Turn) -> None:
        try:
            await steps.wait("x")
        finally:
            await steps.wait("tidying")

    client = await started(agent_of(tidy))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.cancel(session)
    await steps.reached("tidying")
    client.cancel(session)
    await client.settle()
    steps.go("tidying")
    await client.idle()
    await client.settle()
    assert client.states() == ["running", "idle:cancelled"]


async def test_p_20_a_prompt_right_behind_a_cancel_is_worked_on_prm_10() -> None:
    steps = Steps()

    async def answer(turn: Turn) -> None:
        if turn.text == "one":
            await steps.wait("x")
        await turn.say(turn.text)

    client = await started(agent_of(answer))
    session = await client.new_session()
    client.prompt(session, "one")
    await steps.reached("x")
    client.cancel(session)
    client.prompt(session, "two")
    await client.idle(2)
    assert client.states() == ["running", "idle:cancelled", "running", "idle:end_turn"]
    assert client.said() == "two"


async def test_cancel_drops_what_is_queued_and_says_so_prm_18() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")

    client = await started(agent_of(slow))
    session = await client.new_session()
    client.prompt(session)
    queued = [client.prompt(session), client.prompt(session)]
    await steps.reached("x")
    client.cancel(session)
    idle = await client.idle()
    for id in queued:
        assert (await client.response(id))["error"]["code"] == -32800
    assert idle["stopReason"] == "cancelled"
    assert idle["_meta"] == {"roost": {"droppedPrompts": 2}}
    assert len(client.updates("user_message")) == 1


async def test_a_cancel_reaches_an_agent_that_never_waits_for_anything() -> None:
    async def busy(turn: Turn) -> None:
        while True:
            await turn.say("x" * 1000)

    client = await started(agent_of(busy))
    session = await client.new_session()
    client.prompt(session)
    await client.until(lambda: client.updates("agent_message_chunk"))
    client.cancel(session)
    await client.idle()
    assert client.states() == ["running", "idle:cancelled"]
