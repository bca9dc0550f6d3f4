"""A journal that is prompt, slow, silent or failing, and that looks at what it is told.

It keeps everything in the order it came, as a store does whose disk fails for a while; only its word comes late, or
says that nothing is durable yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from typing import TYPE_CHECKING

import msgspec

from roost.errors import StoreError
from roost.sidecar.journal import (
    Append,
    Change,
    ChangeSession,
    DeleteSession,
    Entry,
    Holder,
    Kind,
    OpenSession,
    StoredPrompt,
    StoredSession,
)
from roost.store.base import Done, Place, StoreWatcher
from tests.simulation.marks import PLACE

if TYPE_CHECKING:
    from tests.simulation.world import World

MOODS = ("prompt", "prompt", "prompt", "slow", "silent", "failing", "pressed")


class SimulatedStore:
    """As much of `Store` as the driver uses."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = world.random
        self.mood = world.random.choice(MOODS)
        self.sessions_kept: dict[str, StoredSession] = {}
        self.entries_kept: dict[str, list[Entry]] = {}
        self.owners: set[tuple[str, str]] = set()  # and the sessions they have, or had
        self.told: set[tuple[str, int]] = set()  # numbered events of agents that are in it
        self._last_told: dict[str, int] = {}
        self.durable_prompts: set[str] = set()
        self._watcher = StoreWatcher()
        self._pressed = False

    def watch(self, watcher: StoreWatcher) -> None:
        self._watcher = watcher

    def press(self) -> None:
        """The disk is slow; a little later it is not."""
        if self.mood == "pressed" and not self._pressed:
            self._pressed = True
            self._watcher.store_pressed(True)
            self._world.loop.call_later(self._random.choice((0.01, 1.0, 30.0)), self._ease)

    def _ease(self) -> None:
        self._pressed = False
        self._watcher.store_pressed(False)

    # ---- writing

    def write(self, changes: Sequence[Change], done: Done | None = None) -> None:
        taken = [c.session.session_id for c in changes if isinstance(c, OpenSession)]
        if any(session_id in self.sessions_kept for session_id in taken):
            refusal = StoreError("there is such a session already", "refused")
            if done is None:
                self._watcher.store_complained(refusal)
            else:
                self._world.loop.call_soon(done, refusal)
            return
        prompts = [prompt for change in changes if (prompt := self._apply(change)) is not None]
        if done is None:
            return
        loop, random = self._world.loop, self._random

        def durable() -> None:
            self.durable_prompts.update(prompts)
            done(None)

        match self.mood:
            case "slow":
                loop.call_later(random.choice((0.005, 0.5, 4.0)), durable)
            case "silent" if random.random() < 0.3:
                loop.call_later(25.0, durable)
            case "failing" if random.random() < 0.3:
                loop.call_soon(done, StoreError("the disk is full", "full"))
            case _:
                loop.call_soon(durable)

    def _apply(self, change: Change) -> str | None:
        """The mark of a prompt that is in it."""
        ledger = self._world.ledger
        match change:
            case OpenSession(session):
                session_id = session.session_id
                self.sessions_kept[session_id] = msgspec.structs.replace(session, created_at=self._world.loop.now)
                self.entries_kept[session_id] = []
                self.owners.add((session.owner, session.name))
            case ChangeSession(session_id, fields) if session_id in self.sessions_kept:
                self.sessions_kept[session_id] = msgspec.structs.replace(self.sessions_kept[session_id], **fields)
            case DeleteSession(session_id):
                self.sessions_kept.pop(session_id, None)
                self.entries_kept.pop(session_id, None)
            case Append(entry) if entry.session_id in self.entries_kept:
                entries = self.entries_kept[entry.session_id]
                if entry.number != len(entries) + 1:
                    ledger.violated(f"journal: entry {entry.number} of {entry.session_id} after {len(entries)}")
                entries.append(entry)
                session = self.sessions_kept[entry.session_id]
                self.sessions_kept[entry.session_id] = msgspec.structs.replace(session, last_number=entry.number)
                return self._look_at(entry)
        return None

    def _look_at(self, entry: Entry) -> str | None:
        ledger = self._world.ledger
        if entry.kind is Kind.PROMPT:
            mark = msgspec.json.decode(entry.body)["params"].get("mark")
            return mark if isinstance(mark, str) else None
        place = PLACE.search(entry.body.decode()) if entry.kind is Kind.UPDATE else None
        if place is not None:
            process, number = place[1], int(place[2])
            last = self._last_told.get(process)
            heard = ledger.processes[process]
            missing = [] if last is None else [n for n in range(last + 1, number) if not heard.is_replay(n)]
            if ledger.is_bridged(process):
                missing = []  # not every notification of version 1 is one in version 2
            in_order = last is None or last < number
            ledger.require(in_order and not missing, f"journal: event {number} of {process} after {last}")
            self._last_told[process] = number
            self.told.add((process, number))
        return None

    # ---- reading

    async def _ponder(self) -> None:
        if self.mood == "slow":
            await asyncio.sleep(self._random.choice((0.0, 0.1, 3.0)))
        elif self.mood == "silent" and self._random.random() < 0.2:
            await asyncio.sleep(50.0)

    async def holders(self, names: Collection[str]) -> list[Holder]:
        await self._ponder()
        return [
            Holder(name, session.owner, session.launch.agent_type)
            for session in self.sessions_kept.values()
            for name in (session.name, session.live_id)
            if name in names
        ]

    async def session(self, session_id: str) -> StoredSession | None:
        await self._ponder()
        return self.sessions_kept.get(session_id)

    async def sessions(self, owner: str | None, *, after: Place | None = None, limit: int = 100) -> list[StoredSession]:
        await self._ponder()
        return [session for session in self.sessions_kept.values() if session.owner == owner][:limit]

    async def pages(self, session_id: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[list[Entry]]:
        await self._ponder()
        yield self.entries_kept.get(session_id, [])[after:][:limit]

    async def entries(self, session_id: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Entry]:
        async for page in self.pages(session_id, after=after, limit=limit):
            for entry in page:
                yield entry

    async def prompt_by_key(self, session_id: str, key: str) -> StoredPrompt | None:
        await self._ponder()
        return None
