"""One reading of the process table serves all who wait for it, and never somebody who asked later."""

from __future__ import annotations

import asyncio
import threading

import pytest

from roost.process import table
from roost.process.census import Census


class Counted(Census):
    """Each reading waits until the test lets it go on, and tells its number."""

    def __init__(self) -> None:
        super().__init__("token", 0, dict)
        self.readings = 0
        self.gate = threading.Semaphore(0)

    def _read(self, roots):
        self.readings += 1
        number = self.readings
        assert self.gate.acquire(timeout=10)
        return {"reading": number}


async def test_whoever_asks_while_a_reading_runs_gets_the_next_one_and_shares_it(tools):
    census = Counted()
    first = asyncio.create_task(census.take())
    await tools.until(lambda: census.readings == 1)
    later = []
    for _ in range(5):
        later.append(asyncio.create_task(census.take()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    census.gate.release(2)
    async with asyncio.timeout(10):
        assert await first == {"reading": 1}
        assert [await task for task in later] == [{"reading": 2}] * 5
    assert census.readings == 2


async def test_those_who_ask_in_one_turn_share_a_reading():
    census = Counted()
    census.gate.release()
    async with asyncio.timeout(10):
        assert await asyncio.gather(census.take(), census.take()) == [{"reading": 1}] * 2


async def test_one_that_is_cancelled_does_not_spoil_it_for_the_others():
    census = Counted()
    one, other = asyncio.create_task(census.take()), asyncio.create_task(census.take())
    await asyncio.sleep(0)
    one.cancel()
    census.gate.release()
    async with asyncio.timeout(10):
        assert await other == {"reading": 1}


async def test_a_reading_that_fails_fails_for_those_who_waited_and_not_for_the_next(monkeypatch):
    census = Census("token", 0, dict)
    with monkeypatch.context() as broken:
        broken.setattr(table, "process_table", lambda _since: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await census.take()
    assert await census.take() == {}
