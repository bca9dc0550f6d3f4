"""A plan as its agent keeps it: entries that get done, told as a whole each time (PLN-1, PLN-2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import structs

from roost.acp import v2

if TYPE_CHECKING:
    from roost.sdk.agent_session import AgentSession


class AgentPlan:
    """One plan. Entries are counted from zero."""

    def __init__(
        self, session: AgentSession, plan_id: str, entries: Iterable[str | v2.PlanEntry], priority: str
    ) -> None:
        self._session = session
        self._priority = priority
        self.plan_id = plan_id
        self.entries: list[v2.PlanEntry] = [self._entry(entry) for entry in entries]

    def _entry(self, entry: str | v2.PlanEntry) -> v2.PlanEntry:
        if isinstance(entry, str):
            return v2.PlanEntry(content=entry, priority=self._priority, status=v2.PlanEntryStatus.PENDING)
        return entry

    async def show(self) -> None:
        """Tells the plan as it is."""
        await self._session.update(v2.PlanUpdate(plan=v2.PlanItems(plan_id=self.plan_id, entries=list(self.entries))))

    async def start(self, index: int) -> None:
        """This entry is being worked on. IndexError: there is none of that number."""
        await self.mark(index, v2.PlanEntryStatus.IN_PROGRESS)

    async def complete(self, index: int) -> None:
        """This entry is done. IndexError as for `start`."""
        await self.mark(index, v2.PlanEntryStatus.COMPLETED)

    async def cancel(self, index: int) -> None:
        """This entry will not be done. IndexError as for `start`."""
        await self.mark(index, v2.PlanEntryStatus.CANCELLED)

    async def abandon(self) -> None:
        """Whatever is not completed is cancelled."""
        self.entries = [
            entry if entry.status == v2.PlanEntryStatus.COMPLETED else _with_status(entry, v2.PlanEntryStatus.CANCELLED)
            for entry in self.entries
        ]
        await self.show()

    async def mark(self, index: int, status: str) -> None:
        """Sets an entry's status (see PlanEntryStatus). IndexError as for `start`."""
        self.entries[index] = _with_status(self.entries[index], status)
        await self.show()

    async def add(self, *entries: str | v2.PlanEntry) -> None:
        """Puts entries at the end; a text is one that is pending."""
        self.entries += [self._entry(entry) for entry in entries]
        await self.show()

    async def remove(self) -> None:
        """Takes the plan away (unstable: PlanRemoved)."""
        await self._session.update(v2.PlanRemoved(plan_id=self.plan_id))


def _with_status(entry: v2.PlanEntry, status: str) -> v2.PlanEntry:
    return structs.replace(entry, status=status)
