"""A session as its updates have made it so far: what a client shows. `fold` writes it, everyone else reads.

    view.messages, view.tool_calls, view.terminals, view.plans     by kind
    view.timeline                                                  everything, in the order it first appeared
    view.state, view.stop_reason, view.is_idle                     what the agent is doing
    view.config_options, view.commands, view.usage, view.title     the latest of each

Entries are live: the same object changes as updates come; `view.version` tells that something did. Lists inside are to
be read, not written. Memory is bounded by `ViewLimits`, and `view.dropped` says what was let go: first the entries that
were touched least recently, then the front of what is left.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from roost.acp.v2.gen.config import SessionConfigOption
from roost.acp.v2.gen.state import IdleStateUpdate, RequiresActionStateUpdate, RunningStateUpdate, StateUpdate, Usage
from roost.acp.v2.gen.tools import ToolCallStatus
from roost.acp.v2.gen.updates import AvailableCommand, UsageUpdate
from roost.acp.view_entries import UNFINISHED, Entry, EntryKey, Message, MessageKind, OtherUpdate, Plan, ToolCall, shed
from roost.acp.view_terminal import Terminal
from roost.acp.view_weight import weigh
from roost.wire.model import JsonObject, Unknown

# Entry object, its place in the index, and what is in its fields when they are empty; rounded up (CPython, 64 bit).
ENTRY_OVERHEAD: Final = 512


class ViewLimits(Struct, frozen=True):
    """What a view keeps. The defaults are ours: a day's work of one session, on a machine with hundreds of them."""

    total_bytes: int = 32 * 1024 * 1024  # all entries together, as they lie in memory
    entries: int = 20_000
    terminal_bytes: int = 1024 * 1024  # output of one terminal

    def __post_init__(self) -> None:
        if min(self.total_bytes, self.entries, self.terminal_bytes) < 1:
            raise ValueError("a view keeps at least one of each")


DEFAULT_VIEW_LIMITS: Final = ViewLimits()


class Dropped(Struct):
    """What a view had to let go or could not take, since it was last cleared."""

    entries: int = 0
    """Whole entries that are no longer in the view."""
    bytes: int = 0
    """Memory let go: of those, and from the front of messages, tool calls and terminals."""
    updates: int = 0
    """Updates for entries that were already gone."""
    malformed: int = 0
    """Terminal output that was no base64 (TRM-6)."""

    def __bool__(self) -> bool:
        return bool(self.entries or self.bytes or self.updates or self.malformed)


class SessionView:
    """The session so far."""

    __slots__ = (
        "_entries",
        "_gone",
        "_next_position",
        "_timeline",
        "_weight",
        "commands",
        "config_options",
        "dropped",
        "info_meta",
        "limits",
        "state_update",
        "title",
        "updated_at",
        "usage",
        "version",
    )

    def __init__(self, limits: ViewLimits = DEFAULT_VIEW_LIMITS) -> None:
        self.limits = limits
        self.version = 0
        self.clear()

    def clear(self) -> None:
        """Forgets everything, as before a replay (SES-24). Entries handed out before stay as they are."""
        self.version += 1
        self._entries: OrderedDict[EntryKey, Entry] = OrderedDict()  # least recently touched first
        self._gone: OrderedDict[int, None] = OrderedDict()  # hashes of the keys of dropped entries
        self._timeline: list[Entry] | None = []
        self._next_position = 0
        self._weight = 0
        self.dropped = Dropped()
        self.state_update: StateUpdate | None = None
        self.config_options: list[SessionConfigOption] = []
        self.commands: list[AvailableCommand] = []
        self.usage: UsageUpdate | None = None
        self.title: str | None = None
        self.updated_at: str | None = None
        self.info_meta: JsonObject | None = None

    # --- entries ---

    @property
    def timeline(self) -> list[Entry]:
        """All entries in the order they first appeared: a live list, for reading. Ask again when `version` moved."""
        if self._timeline is None:
            self._timeline = sorted(self._entries.values(), key=_position)
        return self._timeline

    @property
    def messages(self) -> list[Message]:
        """Messages and thoughts, in order."""
        return [entry for entry in self.timeline if isinstance(entry, Message)]

    @property
    def tool_calls(self) -> dict[str, ToolCall]:
        """Tool calls by id, in the order they first appeared."""
        return {entry.tool_call_id: entry for entry in self.timeline if isinstance(entry, ToolCall)}

    @property
    def terminals(self) -> dict[str, Terminal]:
        """Terminals by id, in the order they first appeared."""
        return {entry.terminal_id: entry for entry in self.timeline if isinstance(entry, Terminal)}

    @property
    def plans(self) -> dict[str, Plan]:
        """Plans by id, in the order they first appeared."""
        return {entry.plan_id: entry for entry in self.timeline if isinstance(entry, Plan)}

    @property
    def others(self) -> list[Unknown]:
        """The updates this version does not know, in order."""
        return [entry.update for entry in self.timeline if isinstance(entry, OtherUpdate)]

    def message(self, kind: MessageKind, message_id: str) -> Message | None:
        """The message or thought of that id; None when there is none, or it was dropped."""
        entry = self._entries.get((kind, message_id))
        return entry if isinstance(entry, Message) else None

    def tool_call(self, tool_call_id: str) -> ToolCall | None:
        """The tool call of that id; None as for `message`."""
        entry = self._entries.get(("tool_call", tool_call_id))
        return entry if isinstance(entry, ToolCall) else None

    def terminal(self, terminal_id: str) -> Terminal | None:
        """The terminal a tool call refers to; None while nothing but the reference has come (TRM-2)."""
        entry = self._entries.get(("terminal", terminal_id))
        return entry if isinstance(entry, Terminal) else None

    def plan(self, plan_id: str) -> Plan | None:
        """The plan of that id; None as for `message`."""
        entry = self._entries.get(("plan", plan_id))
        return entry if isinstance(entry, Plan) else None

    @property
    def next_position(self) -> int:
        """The `position` the next new entry will have: those from here on are newer than now."""
        return self._next_position

    @property
    def weight(self) -> int:
        """Memory the entries take, about, in bytes: what `ViewLimits.total_bytes` bounds."""
        return self._weight

    # --- state ---

    @property
    def state(self) -> str | None:
        """running, idle, requires_action, or whatever else the agent said; None before it said anything."""
        match self.state_update:
            case None:
                return None
            case Unknown(tag):
                return tag
            case RunningStateUpdate() | IdleStateUpdate() | RequiresActionStateUpdate() as known:
                return known.state

    @property
    def is_idle(self) -> bool:
        """Whether the agent's last word was idle. An unknown state is not (FWD-7)."""
        return isinstance(self.state_update, IdleStateUpdate)

    @property
    def stop_reason(self) -> str | None:
        """Why it went idle, as far as it said so."""
        return self.state_update.stop_reason if isinstance(self.state_update, IdleStateUpdate) else None

    @property
    def turn_usage(self) -> Usage | None:
        """The tokens it reported with that (PRM-20)."""
        return self.state_update.usage if isinstance(self.state_update, IdleStateUpdate) else None

    def mark_cancelled(self) -> None:
        """The user cancelled: unfinished tool calls show so until the agent says otherwise (PRM-15)."""
        for entry in self._entries.values():
            if isinstance(entry, ToolCall) and entry.status in UNFINISHED:
                entry.status = ToolCallStatus.CANCELLED
                self.version += 1

    # --- written by the fold ---

    def find(self, key: EntryKey) -> Entry | None:
        """The entry, which now counts as touched."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def is_gone(self, key: EntryKey) -> bool:
        """Whether the entry was dropped, so that an update for it has nowhere to go. Counted."""
        if self._gone and hash(key) in self._gone:
            self.dropped.updates += 1
            return True
        return False

    def add(self, key: EntryKey, entry: Entry) -> None:
        """A new entry, touched last. `gain` must follow, for that is where the bounds are kept."""
        entry.position = self._next_position
        entry.weight = ENTRY_OVERHEAD + weigh(key[1])
        self._next_position += 1
        self._entries[key] = entry
        if self._timeline is not None:
            self._timeline.append(entry)
        if len(self._entries) > self.limits.entries:
            self._drop_oldest()
        self._weight += entry.weight

    def add_other(self, update: Unknown) -> OtherUpdate:
        """An entry for an update this version does not know (FWD-7)."""
        entry = OtherUpdate(update)
        self.add(("other", self._next_position), entry)
        self.gain(entry, weigh(update))
        return entry

    def remove(self, key: EntryKey) -> None:
        """The agent took it back: not a loss."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._weight -= entry.weight
            self._timeline = None

    def gain(self, entry: Entry, weight: int) -> None:
        """The entry, touched last, has become that much heavier, or lighter. It may be gone after that."""
        entry.weight += weight
        self._weight += weight
        if self._weight > self.limits.total_bytes:
            self._lighten(entry)

    def _lighten(self, latest: Entry) -> None:
        # An eighth more than needed, so that a view that is always full does not do this for every update.
        goal = self.limits.total_bytes - self.limits.total_bytes // 8
        while self._weight > goal and len(self._entries) > 1:
            self._drop_oldest()
        if self._weight > goal:
            before = latest.weight
            shed(latest, self._weight - goal)
            self._weight -= before - latest.weight
            self.dropped.bytes += before - latest.weight
        if self._weight > self.limits.total_bytes and self._entries:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        key, entry = self._entries.popitem(last=False)
        self._weight -= entry.weight
        self._timeline = None
        self.dropped.entries += 1
        self.dropped.bytes += entry.weight
        if not isinstance(entry, OtherUpdate | Plan):  # those are never patched
            self._gone[hash(key)] = None
            if len(self._gone) > self.limits.entries:
                self._gone.popitem(last=False)


def _position(entry: Entry) -> int:
    return entry.position
