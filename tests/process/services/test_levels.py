"""Bounds of the services that fill up are warned of before they are reached."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from roost.process.services import ClientServices, ServiceLimits

Warned = list[tuple[str, int, int]]


@pytest.fixture
def warned() -> Warned:
    return []


@pytest.fixture
def services(make: Callable[..., ClientServices], warned: Warned) -> ClientServices:
    limits = ServiceLimits(
        open_requests=5, terminals=5, read_bytes=1000, write_bytes=1000, waiting_write_bytes=10_000, kill_grace=0.2
    )
    return make(limits=limits, warn=lambda *what: warned.append(what))


async def test_a_read_is_warned_of_by_what_it_takes_as_json(services, workspace, warned):
    for content in ("x" * 700, "\x01" * 100):
        (workspace / "f").write_text(content)
        await services.handle("fs/read_text_file", {"path": f"{workspace}/f"})
    assert warned == []
    (workspace / "f").write_text("\x01" * 140)
    await services.handle("fs/read_text_file", {"path": f"{workspace}/f"})
    assert warned == [("read_bytes", 842, 1000)]


async def test_a_write_is_warned_of(services, workspace, warned):
    for size in (799, 800, 900):
        await services.handle("fs/write_text_file", {"path": f"{workspace}/f", "content": "x" * size})
    assert warned == [("write_bytes", 800, 1000)]


async def test_writes_that_wait_are_warned_of(make, workspace, warned):
    asked, answer = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def ask(path: str) -> bool:
        asked.set()
        return bool(await answer)

    limits = ServiceLimits(waiting_write_bytes=10)
    services = make(limits=limits, may_write=ask, warn=lambda *what: warned.append(what))
    writing = asyncio.create_task(services.handle("fs/write", {"path": f"{workspace}/f", "content": "x" * 8}))
    await asked.wait()
    assert warned == [("waiting_write_bytes", 8, 10)]
    answer.set_result(True)
    assert await writing == {}
    await services.handle("fs/write", {"path": f"{workspace}/f", "content": "x" * 8})
    assert len(warned) == 2, "it had fallen below half"


async def test_terminals_are_warned_of_until_they_are_released(services, warned):
    made = [await services.handle("terminal/create", {"command": "sleep 600"}) for _ in range(3)]
    assert warned == []
    made.append(await services.handle("terminal/create", {"command": "sleep 600"}))
    assert warned == [("terminals", 4, 5)]
    await services.handle("terminal/release", made.pop())
    made.append(await services.handle("terminal/create", {"command": "sleep 600"}))
    assert warned == [("terminals", 4, 5)], "it had not fallen below half"
    for terminal in made[2:]:
        await services.handle("terminal/release", terminal)
    for _ in range(2):
        await services.handle("terminal/create", {"command": "sleep 600"})
    assert warned == [("terminals", 4, 5)] * 2


async def test_open_requests_are_warned_of(services, warned):
    made = await services.handle("terminal/create", {"command": "sleep 600"})
    waiting = [asyncio.create_task(services.handle("terminal/wait_for_exit", made)) for _ in range(4)]
    await asyncio.sleep(0)
    assert warned == [("open_requests", 4, 5)]
    await services.handle("terminal/release", made)
    await asyncio.wait(waiting)


async def test_without_anybody_who_listens_the_log_does(make, workspace, caplog: pytest.LogCaptureFixture):
    services: Any = make(limits=ServiceLimits(write_bytes=10))
    with caplog.at_level(logging.WARNING):
        await services.handle("fs/write_text_file", {"path": f"{workspace}/f", "content": "x" * 9})
    assert [record.message for record in caplog.records] == ["write_bytes is 90 % full: 9 of 10"]
