"""Who is shown what an agent does through its services, and how much of an output."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import RpcError
from roost.process.services import ClientServices, ServiceLimits, TerminalCreated, TerminalExited, TerminalWrote
from roost.process.services.shown import ShownOutput
from roost.process.services.watchers import Watchers

Make = Callable[..., ClientServices]


class Watcher:
    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def terminal_created(self, terminal_id: str, command: str, cwd: str) -> None:
        self.told.append(("created", terminal_id, command, cwd))

    def terminal_wrote(self, terminal_id: str, data: bytes) -> None:
        self.told.append(("wrote", terminal_id, data))

    def terminal_exited(self, terminal_id: str, exit_code: int | None, signal: str | None) -> None:
        self.told.append(("exited", terminal_id, exit_code, signal))

    def file_writing(self, path: str, asked: str, *, plain: bool, is_new: bool, before: str | None) -> None:
        self.told.append(("writing", path, asked, plain, is_new, before))


class Failing(Watcher):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


# ---- terminals


def test_everybody_who_watches_is_told_in_order() -> None:
    heard: list[Any] = []
    watchers = Watchers(lambda terminal_id, event: heard.append(event), 100)
    one, two = Watcher(), Watcher()
    watchers.add(one, 0)
    watchers.add(Failing(), 0)
    watchers.add(two, 0)
    events = [TerminalCreated("ls", "/w"), TerminalWrote(b"x"), TerminalExited(1, None)]
    for event in events:
        watchers.terminal("t", event)
    assert heard == events
    assert one.told == two.told == [("created", "t", "ls", "/w"), ("wrote", "t", b"x"), ("exited", "t", 1, None)]


def test_a_terminal_is_shown_to_those_who_saw_it_begin_until_they_leave() -> None:
    watchers = Watchers(None, 100)
    early, late = Watcher(), Watcher()
    watchers.terminal("before", TerminalCreated("a", "/"))
    leave = watchers.add(early, 0)
    watchers.terminal("before", TerminalWrote(b"x"))
    watchers.terminal("before", TerminalExited(0, None))
    assert early.told == []
    watchers.terminal("t", TerminalCreated("a", "/"))
    leave()
    leave()
    watchers.add(late, 0)
    watchers.terminal("t", TerminalExited(0, None))
    assert early.told == [("created", "t", "a", "/")]
    assert late.told == [("exited", "t", 0, None)]


def test_an_observer_that_fails_takes_nothing_from_the_others() -> None:
    def fail(terminal_id: str, event: object) -> None:
        raise RuntimeError

    watchers, watcher = Watchers(fail, 100), Watcher()
    watchers.add(watcher, 0)
    watchers.terminal("t", TerminalCreated("a", "/"))
    assert len(watcher.told) == 1


def test_an_output_over_the_bound_is_shown_with_its_end() -> None:
    watchers, watcher = Watchers(None, 3), Watcher()
    watchers.add(watcher, 0)
    watchers.terminal("t", TerminalCreated("a", "/"))
    for data in (b"ab", b"cd", b"ef"):
        watchers.terminal("t", TerminalWrote(data))
    watchers.terminal("t", TerminalExited(0, None))
    shown = [told[2] for told in watcher.told if told[0] == "wrote"]
    assert shown == [b"ab", b"c", b"\n[roost] 0 bytes of output are not shown (shown_bytes)\ndef"]


@given(st.lists(st.binary(max_size=20)), st.integers(1, 50))
def test_what_is_shown_is_the_beginning_the_count_and_the_end(chunks: list[bytes], room: int) -> None:
    shown = ShownOutput(room, "bound")
    whole = b"".join(chunks)
    parts = [shown.part(chunk) for chunk in chunks]
    assert b"".join(parts) == whole[:room]
    rest = whole[room:].decode(errors="replace")
    assert shown.end() == (b"" if len(whole) <= room else _end(len(whole) - room, rest))


def _end(dropped: int, text: str) -> bytes:
    end = text.encode()
    return b"\n[roost] %d bytes of output are not shown (bound)\n%b" % (max(dropped - len(end), 0), end)


async def test_a_real_terminal_is_shown_as_it_is_bounded(make: Make) -> None:
    services, watcher = make(limits=ServiceLimits(shown_bytes=4)), Watcher()
    services.watch(watcher, 0)
    async with asyncio.timeout(15):
        made = await services.handle("terminal/create", {"command": "printf", "args": ["123456"]})
        await services.handle("terminal/wait_for_exit", made)
    assert watcher.told[0][:2] == ("created", made["terminalId"])
    shown = b"".join(told[2] for told in watcher.told if told[0] == "wrote")
    assert shown == b"1234\n[roost] 0 bytes of output are not shown (shown_bytes)\n56"
    assert watcher.told[-1] == ("exited", made["terminalId"], 0, None)


# ---- files


async def write(services: ClientServices, path: Path, content: str = "new") -> None:
    await services.handle("fs/write_text_file", {"path": str(path), "content": content})


async def test_a_write_is_told_with_what_the_file_held(make: Make, workspace: Path) -> None:
    services, watcher = make(), Watcher()
    services.watch(watcher, 100)
    file, link = workspace / "file", workspace / "link"
    await write(services, file, "one")
    await write(services, file, "two")
    link.symlink_to("file")
    await write(services, link, "three")
    real = str(file)
    assert watcher.told == [
        ("writing", real, real, True, True, None),
        ("writing", real, real, True, False, "one"),
        ("writing", real, str(link), False, False, "two"),
    ]


async def test_a_text_that_is_too_long_is_not_read_but_for_whoever_wants_more(make: Make, workspace: Path) -> None:
    services, watcher = make(), Watcher()
    leave = services.watch(Watcher(), 5)
    services.watch(watcher, 2)
    file = workspace / "file"
    file.write_text("abc")
    await write(services, file)
    file.write_text("abc")
    leave()
    await write(services, file)
    assert [told[5] for told in watcher.told] == ["abc", None]


async def test_nothing_is_told_of_a_write_that_is_not_allowed(make: Make, workspace: Path) -> None:
    async def deny(path: str) -> bool:
        return False

    services, watcher = make(may_write=deny), Watcher()
    services.watch(watcher, 100)
    with pytest.raises(RpcError):
        await write(services, workspace / "file")
    assert watcher.told == []


async def test_without_watchers_a_file_is_not_read_before_it_is_written(
    make: Make, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = make()
    leave = services.watch(Watcher(), 100)
    leave()
    monkeypatch.setattr(services, "text_before", None)  # whoever called it would fail
    await write(services, workspace / "file")
    assert (workspace / "file").read_text() == "new"
