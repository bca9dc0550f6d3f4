"""Floods, slow readers, slow and broken handlers: what a client stands, and what it keeps."""

from __future__ import annotations

import asyncio
import gc
import logging
from pathlib import Path
from typing import Any

import pytest

from roost.acp import v2
from roost.acp.view import ViewLimits
from roost.errors import ConnectionClosed, LimitError
from roost.sdk.client_limits import ClientLimits
from tests.sdk.raw_agent import (
    RUNNING,
    bounded,
    connected,
    idle,
    in_session,
    opened,
    permission,
    said,
    settled,
    tool_call,
    update_message,
)

FEW = ClientLimits(waiting_updates=10)


async def test_e_20_a_hundred_updates_in_front_of_an_answer_are_applied_before_it_is_seen() -> None:
    async with in_session() as (session, agent):
        asking = asyncio.ensure_future(session.client.call_extension("_x/ask"))
        request = await agent.next("_x/ask")
        agent.send(
            *(update_message("s1", said("x")) for _ in range(100)), {"jsonrpc": "2.0", "id": request["id"], "result": 1}
        )
        assert await bounded(asking) == 1
        assert len(session.view.messages[0].content) == 100


async def test_e_30_a_batch_of_updates_is_applied_in_its_order() -> None:
    """BAT-6, BAT-9."""
    async with in_session() as (session, agent):
        agent.send([update_message("s1", said(letter)) for letter in "abc"])
        await settled(session.client, agent)
        assert session.view.messages[0].text == "abc"


async def test_a_slow_reader_stops_the_agent_and_gets_everything_in_the_end() -> None:
    async with in_session(limits=FEW) as (session, agent):
        stream = session.updates()
        for number in range(100):
            agent.update("s1", said(str(number)))
        for _ in range(200):
            await asyncio.sleep(0)
        assert 10 <= stream.waiting < 20
        assert len(session.view.messages[0].content) == stream.waiting
        read = [await bounded(anext(stream)) for _ in range(100)]
        assert [update.content.text for update in read] == [str(number) for number in range(100)]  # type: ignore[union-attr]


async def test_a_reader_that_waits_for_an_answer_does_not_wait_for_itself() -> None:
    async with in_session(limits=FEW) as (session, agent):
        stream = session.updates()
        asking = asyncio.ensure_future(session.client.call_extension("_x/ask"))
        request = await agent.next("_x/ask")
        agent.update("s1", *(said("x") for _ in range(50)))
        agent.reply(request, 1)
        assert await bounded(asking) == 1
        assert stream.waiting == 50


async def test_a_reader_may_cancel_while_its_queue_is_full() -> None:
    async with in_session(limits=FEW) as (session, agent):
        turn = session.prompt("hi")
        updates = aiter(turn)
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", RUNNING)
        await bounded(anext(updates))
        for _ in range(5):
            agent.update("s1", *(said("x") for _ in range(10)))
        cancelling = asyncio.ensure_future(session.cancel())  # by another task, as a helper would
        await agent.until(lambda: any(m["method"] == "session/cancel" for m in agent.untaken))
        agent.update("s1", idle("cancelled"))
        await bounded(cancelling)
        assert (await bounded(turn)).was_cancelled
        assert len([update async for update in updates]) == 51


async def test_a_reader_may_wait_for_another_turn_while_its_queue_is_full() -> None:
    async with connected(limits=FEW) as (client, agent):
        session, other = await opened(client, agent), await opened(client, agent, "s2")

        async def read() -> str:
            async for _ in session.updates():
                return (await other.prompt("hi")).text
            return "nothing came"

        reading = asyncio.ensure_future(read())
        for _ in range(5):
            agent.update("s1", *(said("x") for _ in range(10)))
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", *(said("x") for _ in range(20)))
        agent.update("s2", RUNNING, said("done"), idle())
        assert await bounded(reading) == "done"


async def test_a_reader_that_never_reads_again_stops_nobody_once_its_session_is_over() -> None:
    async with connected(limits=FEW) as (client, agent):
        session, other = await opened(client, agent), await opened(client, agent, "s2")
        stream = session.updates()
        agent.update("s1", *(said("x") for _ in range(20)))
        closing = asyncio.ensure_future(session.close())
        agent.reply(await agent.next("session/close"))
        await bounded(closing)
        agent.update("s2", *(said("y") for _ in range(100)))
        await settled(client, agent)
        assert len(other.view.messages[0].content) == 100
        assert len([update async for update in stream]) == 20


async def test_a_reader_far_behind_is_told_and_the_view_has_everything() -> None:
    async with in_session(limits=FEW) as (session, agent):
        stream = session.updates()
        asking = asyncio.ensure_future(session.client.call_extension("_x/ask"))
        request = await agent.next("_x/ask")
        agent.update("s1", *(said("x") for _ in range(500)))
        agent.reply(request, 1)
        await bounded(asking)
        for _ in range(160):
            await bounded(anext(stream))
        with pytest.raises(LimitError) as caught:
            await bounded(anext(stream))
        assert caught.value.limit == "waiting_updates"
        assert len(session.view.messages[0].content) == 500
        agent.update("s1", said("y"))
        await settled(session.client, agent)
        assert [update async for update in stream] == []


async def test_a_few_big_updates_stop_the_agent_too() -> None:
    async with in_session(limits=ClientLimits(waiting_update_bytes=10_000)) as (session, agent):
        stream = session.updates()
        for _ in range(10):
            agent.update("s1", said("x" * 4_000))
        for _ in range(100):
            await asyncio.sleep(0)
        assert stream.waiting == 3
        for _ in range(10):
            await bounded(anext(stream))


@pytest.mark.parametrize("leaving", ["break", "close", "drop"])
async def test_a_reader_that_has_left_stops_nobody(leaving: str) -> None:
    async with in_session(limits=FEW) as (session, agent):
        stream = session.updates()
        agent.update("s1", *(said("x") for _ in range(20)))
        async for _ in stream:
            break
        if leaving == "close":
            stream.close()
        else:
            del stream
            if leaving == "drop":
                gc.collect()
        agent.update("s1", *(said("x") for _ in range(300)))
        await settled(session.client, agent)
        assert len(session.view.messages[0].content) == 320


async def test_a_prompt_awaited_as_a_whole_keeps_no_queue() -> None:
    async with in_session(limits=FEW) as (session, agent):
        turn = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", RUNNING, *(said("x") for _ in range(5_000)), idle())
        assert len((await bounded(turn)).text) == 5_000


async def test_the_view_keeps_within_its_bounds_and_says_what_it_dropped() -> None:
    limits = ClientLimits(view=ViewLimits(total_bytes=50_000))
    async with in_session(limits=limits) as (session, agent):
        for _ in range(100):
            agent.update("s1", *(said("x" * 100) for _ in range(20)))
        await settled(session.client, agent)
        assert session.view.weight <= 50_000
        assert session.view.dropped.bytes > 0
        assert session.view.messages[0].dropped_blocks > 0


async def test_dif_7_a_diff_is_shown_and_not_applied(tmp_path: Path) -> None:
    made = tmp_path / "made"
    patch = {"format": "git_patch", "text": f"diff --git {made} {made}\nnew file mode 100644\n"}
    diff = {"type": "diff", "changes": [{"operation": "add", "path": str(made)}], "patch": patch}
    async with in_session() as (session, agent):
        agent.update("s1", tool_call(status="completed", content=[diff]))
        await settled(session.client, agent)
        assert len(session.view.tool_calls["t1"].content) == 1
    assert not made.exists()


async def test_two_readers_each_get_everything() -> None:
    async with in_session() as (session, agent):
        one, two = session.updates(), session.updates()
        agent.update("s1", said("a"), tool_call())
        for stream in (one, two):
            kinds = [type(await bounded(anext(stream))) for _ in range(2)]
            assert kinds == [v2.AgentMessageChunk, v2.SessionToolCallUpdate]


async def test_a_waiting_reader_hears_of_the_end() -> None:
    async with in_session() as (session, agent):
        waiting = asyncio.ensure_future(anext(session.updates()))
        await asyncio.sleep(0)
        agent.close()
        with pytest.raises(ConnectionClosed):
            await bounded(waiting)


async def test_env_20_a_slow_handler_does_not_stop_the_reader() -> None:
    release = asyncio.Event()

    async def slow(request: v2.RequestPermissionRequest) -> None:
        await release.wait()

    async with in_session(on_permission=slow) as (session, agent):
        request_id = agent.request("session/request_permission", permission())
        agent.update("s1", said("meanwhile"))
        await settled(session.client, agent)
        assert session.view.messages[0].text == "meanwhile"
        assert not agent.answers_to(request_id)
        release.set()
        await agent.answer_to(request_id)


async def test_e_19_a_handler_may_ask_the_agent_and_wait() -> None:
    async def asking(request: v2.RequestPermissionRequest) -> str:
        return str(await client.call_extension("_x/which"))

    async with connected(on_permission=asking) as (client, agent):
        await opened(client, agent)
        request_id = agent.request("session/request_permission", permission())
        agent.reply(await agent.next("_x/which"), "yes")
        assert (await agent.answer_to(request_id))["result"]["outcome"]["optionId"] == "yes"


async def test_extension_handlers_that_raise_stop_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(params: Any) -> None:
        raise RuntimeError("the secret is 42")

    async def broken_later(params: Any) -> None:
        raise RuntimeError("the secret is 42")

    options: dict[str, Any] = {
        "requests": {"_a": broken, "_b": broken_later},
        "notifications": {"_c": broken, "_d": broken_later},
    }
    async with connected(**options) as (client, agent):
        with caplog.at_level(logging.CRITICAL):
            for method in ("_c", "_d"):
                agent.notify(method, {})
            for method in ("_a", "_b"):
                answer = await agent.answer_to(agent.request(method, {}))
                assert answer["error"] == {"code": -32603, "message": "Internal error"}
            await settled(client, agent)
