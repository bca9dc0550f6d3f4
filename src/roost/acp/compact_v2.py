"""Compaction of v2 lines, by the patch rules that `fold` follows: one function per kind of update.

Chunks and patches of one subject become one upsert (MSG-2, TCL-3, TRM-11); of what is replaced as a whole the last one
stays. Blocks are never joined (MSG-5). A line that says something malformed, beyond the rules' forgiveness or within,
stays, and what is before it is not merged with what is after. A chunk's own `_meta` is not kept (MSG-3, TCL-4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Raw

from roost.acp.compact import Compacted, Known, Outcome
from roost.acp.compact_segments import Fields, PatchSegment, PlanSegment, Segment, TerminalSegment
from roost.acp.v2.gen.config import ConfigOptionUpdate
from roost.acp.v2.gen.messages import (
    AgentMessage,
    AgentMessageChunk,
    AgentThought,
    AgentThoughtChunk,
    UserMessage,
    UserMessageChunk,
)
from roost.acp.v2.gen.plans import PlanRemoved, PlanUpdate
from roost.acp.v2.gen.state import IdleStateUpdate, RequiresActionStateUpdate, RunningStateUpdate
from roost.acp.v2.gen.terminals import TerminalOutputChunk, TerminalUpdate
from roost.acp.v2.gen.tools import SessionToolCallUpdate, ToolCallContentChunk
from roost.acp.v2.gen.updates import AvailableCommandsUpdate, SessionInfoUpdate, SessionUpdate, UsageUpdate
from roost.acp.view_terminal import decode_base64
from roost.errors import CodecError
from roost.wire.decode import decode
from roost.wire.model import UNSET, Unknown


class _Params(msgspec.Struct, rename="camel"):
    session_id: str
    update: Raw


class _Line(msgspec.Struct):
    method: str
    params: _Params
    id: Raw | msgspec.UnsetType = msgspec.UNSET


class _PlanId(msgspec.Struct, rename="camel"):
    plan_id: str


# Members that mean something on a message or a tool call, and nothing on a chunk of it.
_OF_UPSERTS: Final = {"_meta", "name", "title", "kind", "status", "locations", "rawInput", "rawOutput"}

_line_of: Final = msgspec.json.Decoder(_Line).decode
_fields_of: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_plan_id_of: Final = msgspec.json.Decoder(_PlanId).decode


class TypedCompactor:
    """Walks the lines once and keeps one open segment per subject."""

    def __init__(self, known: Known, merged_bytes: int) -> None:
        self._known = known
        self._merged_bytes = merged_bytes
        self._outcome = Outcome()
        self._open: dict[str, Segment] = {}
        self._touched: dict[str, None] = {}
        self._appeared = 0  # how many subjects have appeared so far
        self._latest: dict[str, tuple[str, int]] = {}  # of what is replaced as a whole: by whom, and where it is
        self._lossy = False

    def feed(self, number: int, body: bytes, first: int = 0) -> None:
        index = self._outcome.add(number, first)
        try:
            line = _line_of(body)
            if line.method != "session/update" or line.id is not UNSET:
                return
            raw = line.params.update
            self._lossy = False
            update = decode(SessionUpdate, raw, on_loss=self._lose)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, CodecError):
            return  # no view takes it either
        _WALK[type(update)](self, index, line.params.session_id, update, raw)

    def finish(self) -> Compacted:
        for segment in self._open.values():
            segment.close(self._outcome)
        return self._outcome.compacted(self._touched)

    def _lose(self, path: tuple[str | int, ...], what: str) -> None:
        self._lossy = True

    # --- subjects ---

    def _find(self, subject: str, session: str, size: int) -> Any:
        """The open segment, unless it is another session's or would become too long; then a new one has to be begun."""
        segment = self._open.get(subject)
        if segment is not None and (segment.session != session or segment.weight + size > self._merged_bytes):
            self._close(subject)
            return None
        return segment

    def _begin(self, subject: str) -> bool:
        """A subject appears, as far as this stretch is concerned. Whether it is new to the session."""
        self._appeared += 1
        fresh = subject not in self._touched and not self._known(subject)
        self._touched[subject] = None
        return fresh

    def _close(self, subject: str) -> None:
        segment = self._open.pop(subject, None)
        if segment is not None:
            segment.close(self._outcome)

    def _stays(self, subject: str) -> None:
        """A line about the subject that is left alone: nothing is merged across it."""
        self._close(subject)
        self._begin(subject)

    # --- messages and tool calls ---

    def _patched(self, index: int, session: str, tag: str, id_key: str, id_: str, size: int) -> PatchSegment:
        subject = f"{tag}\0{id_}"
        segment = self._find(subject, session, size)
        if segment is None:
            fresh = self._begin(subject)
            segment = PatchSegment(session, tag, id_key, id_, fresh=fresh, index=index, appeared=self._appeared)
            self._open[subject] = segment
        return segment  # type: ignore[no-any-return]  # the subject says so

    def _chunk(self, index: int, session: str, raw: Raw, tag: str, id_key: str, id_: str) -> None:
        if self._lossy:
            self._stays(f"{tag}\0{id_}")
            return
        fields = _members(raw, id_key)
        block = fields.pop("content")
        for name in _OF_UPSERTS & fields.keys():
            del fields[name]
        segment = self._patched(index, session, tag, id_key, id_, len(bytes(block)))
        segment.append(index, self._appeared, block, fields)

    def _patch(self, index: int, session: str, raw: Raw, tag: str, id_key: str, id_: str) -> None:
        if self._lossy:
            self._stays(f"{tag}\0{id_}")
            return
        segment = self._patched(index, session, tag, id_key, id_, len(bytes(raw)))
        segment.patch(index, self._appeared, _members(raw, id_key), self._outcome)

    def _info(self, index: int, session: str, update: SessionInfoUpdate, raw: Raw) -> None:
        self._patch(index, session, raw, "session_info_update", "", "")

    def _tool_call(self, index: int, session: str, update: SessionToolCallUpdate, raw: Raw) -> None:
        self._patch(index, session, raw, "tool_call_update", "toolCallId", update.tool_call_id)

    def _tool_call_chunk(self, index: int, session: str, update: ToolCallContentChunk, raw: Raw) -> None:
        self._chunk(index, session, raw, "tool_call_update", "toolCallId", update.tool_call_id)

    # --- terminals ---

    def _terminal(self, index: int, session: str, id_: str, size: int) -> TerminalSegment:
        subject = f"terminal_update\0{id_}"
        segment = self._find(subject, session, size)
        if segment is None:
            fresh = self._begin(subject)
            segment = TerminalSegment(session, id_, fresh=fresh, index=index, appeared=self._appeared)
            self._open[subject] = segment
        return segment  # type: ignore[no-any-return]  # the subject says so

    def _terminal_chunk(self, index: int, session: str, update: TerminalOutputChunk, raw: Raw) -> None:
        if self._lossy:
            self._stays(f"terminal_update\0{update.terminal_id}")
            return
        segment = self._terminal(index, session, update.terminal_id, len(update.data))
        data = decode_base64(update.data)
        if data is None:
            segment.reject(index, self._appeared)
        else:
            segment.append(index, self._appeared, data)

    def _terminal_patch(self, index: int, session: str, update: TerminalUpdate, raw: Raw) -> None:
        output: bytes | None = None
        if update.output is not UNSET:
            output = b"" if update.output is None else decode_base64(update.output.data)
        if self._lossy or (output is None and update.output is not UNSET):
            self._stays(f"terminal_update\0{update.terminal_id}")
            return
        segment = self._terminal(index, session, update.terminal_id, len(bytes(raw)))
        segment.patch(index, self._appeared, _members(raw, "terminalId"), output, self._outcome)

    # --- plans ---

    def _plan(self, index: int, session: str, update: PlanUpdate, raw: Raw) -> None:
        plan = update.plan
        subject = f"plan_update\0{_plan_id_of(plan.raw).plan_id if isinstance(plan, Unknown) else plan.plan_id}"
        segment: Any = self._find(subject, session, 0)
        if segment is None:
            self._begin(subject)
            segment = self._open[subject] = PlanSegment(session, index=index, appeared=self._appeared)
        segment.update(index, self._appeared)

    def _plan_removed(self, index: int, session: str, update: PlanRemoved, raw: Raw) -> None:
        subject = f"plan_update\0{update.plan_id}"
        segment = self._open.pop(subject, None)
        if isinstance(segment, PlanSegment) and segment.session == session:
            segment.forget(self._outcome)
        elif segment is not None:
            segment.close(self._outcome)
        self._replaced(index, session, f"no {subject}")

    # --- the session itself ---

    def _replaced(self, index: int, session: str, what: str) -> None:
        """Takes the place of the one before, if that was the same session's."""
        before = self._latest.get(what)
        if before is not None and before[0] == session:
            self._outcome.drop(before[1])
        self._latest[what] = (session, index)

    def _commands(self, index: int, session: str, update: AvailableCommandsUpdate, raw: Raw) -> None:
        self._replaced(index, session, "commands")

    def _options(self, index: int, session: str, update: ConfigOptionUpdate, raw: Raw) -> None:
        self._replaced(index, session, "options")

    def _usage(self, index: int, session: str, update: UsageUpdate, raw: Raw) -> None:
        self._replaced(index, session, "usage")

    def _state(self, index: int, session: str, update: Any, raw: Raw) -> None:
        self._replaced(index, session, "state")

    def _idle(self, index: int, session: str, update: IdleStateUpdate, raw: Raw) -> None:
        """Stays: it is how a turn ended. What the agent did before it is over."""
        self._replaced(index, session, "state")
        del self._latest["state"]

    def _unknown(self, index: int, session: str, update: Unknown, raw: Raw) -> None:
        if update.tag_field == "state":  # FWD-7
            self._replaced(index, session, "state")
        else:
            self._appeared += 1


def _members(raw: Raw, id_key: str) -> Fields:
    fields: Fields = _fields_of(raw)
    fields.pop("sessionUpdate", None)
    fields.pop(id_key, None)
    return fields


_Walk = Callable[[TypedCompactor, int, str, Any, Raw], None]


def _message_chunk(tag: str) -> _Walk:
    def walk(self: TypedCompactor, index: int, session: str, update: Any, raw: Raw) -> None:
        self._chunk(index, session, raw, tag, "messageId", update.message_id)

    return walk


def _message_patch(tag: str) -> _Walk:
    def walk(self: TypedCompactor, index: int, session: str, update: Any, raw: Raw) -> None:
        self._patch(index, session, raw, tag, "messageId", update.message_id)

    return walk


_WALK: Final[dict[type, _Walk]] = {
    UserMessageChunk: _message_chunk("user_message"),
    UserMessage: _message_patch("user_message"),
    AgentMessageChunk: _message_chunk("agent_message"),
    AgentMessage: _message_patch("agent_message"),
    AgentThoughtChunk: _message_chunk("agent_thought"),
    AgentThought: _message_patch("agent_thought"),
    RunningStateUpdate: TypedCompactor._state,
    IdleStateUpdate: TypedCompactor._idle,
    RequiresActionStateUpdate: TypedCompactor._state,
    SessionToolCallUpdate: TypedCompactor._tool_call,
    ToolCallContentChunk: TypedCompactor._tool_call_chunk,
    TerminalUpdate: TypedCompactor._terminal_patch,
    TerminalOutputChunk: TypedCompactor._terminal_chunk,
    PlanUpdate: TypedCompactor._plan,
    PlanRemoved: TypedCompactor._plan_removed,
    AvailableCommandsUpdate: TypedCompactor._commands,
    ConfigOptionUpdate: TypedCompactor._options,
    SessionInfoUpdate: TypedCompactor._info,
    UsageUpdate: TypedCompactor._usage,
    Unknown: TypedCompactor._unknown,
}
