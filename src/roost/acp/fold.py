"""How a session's updates make what a client shows: one function per kind of update, each the protocol's patch rule.

    view = SessionView()
    for update in updates:
        fold(view, update)

Upserts create what they name (MSG-2, TCL-1, TRM-3). A patch field that is UNSET keeps, None clears, a value replaces,
arrays whole (TCL-3). Chunks append, in the order they arrive. Nothing an agent sends raises here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from roost.acp.v2.gen.config import ConfigOptionUpdate
from roost.acp.v2.gen.messages import (
    AgentMessage,
    AgentMessageChunk,
    AgentThought,
    AgentThoughtChunk,
    ContentChunk,
    UserMessage,
    UserMessageChunk,
)
from roost.acp.v2.gen.plans import PlanRemoved, PlanUpdate
from roost.acp.v2.gen.state import IdleStateUpdate, RequiresActionStateUpdate, RunningStateUpdate, StateUpdate
from roost.acp.v2.gen.terminals import TerminalOutputChunk, TerminalUpdate
from roost.acp.v2.gen.tools import SessionToolCallUpdate, ToolCallContentChunk, ToolCallStatus, ToolCallUpdate, ToolKind
from roost.acp.v2.gen.updates import AvailableCommandsUpdate, SessionInfoUpdate, SessionUpdate, UsageUpdate
from roost.acp.view import SessionView
from roost.acp.view_entries import Entry, EntryKey, Message, MessageKind, Plan, ToolCall
from roost.acp.view_terminal import Terminal
from roost.acp.view_weight import weigh, weigh_block, weigh_text
from roost.wire.model import UNSET, Unknown

__all__ = ["fold"]


def fold(view: SessionView, update: SessionUpdate) -> Entry | None:
    """Takes one update into the view. Returns the entry it made or changed; None when it was about the session."""
    view.version += 1
    return _FOLDS[type(update)](view, update)


# --- messages and thoughts ---


def _chunk_of(kind: MessageKind) -> Callable[[SessionView, ContentChunk], Entry | None]:
    def fold_chunk(view: SessionView, update: ContentChunk) -> Entry | None:
        message = _message(view, (kind, update.message_id), kind)
        if message is not None:
            block = update.content  # the chunk's own _meta is not the message's (MSG-3)
            message.content.append(block)
            view.gain(message, weigh_block(block))
        return message

    return fold_chunk


def _upsert_of(kind: MessageKind) -> Callable[[SessionView, UserMessage | AgentMessage | AgentThought], Entry | None]:
    def fold_message(view: SessionView, update: UserMessage | AgentMessage | AgentThought) -> Entry | None:
        message = _message(view, (kind, update.message_id), kind)
        if message is None:
            return None
        gained = _set_meta(message, update.meta)
        if update.content is not UNSET:
            gained += _set_content(message, update.content)
        view.gain(message, gained)
        return message

    return fold_message


def _message(view: SessionView, key: tuple[MessageKind, str], kind: MessageKind) -> Message | None:
    message = view.find(key)
    if message is None:
        if view.is_gone(key):
            return None
        message = Message(kind, key[1])
        view.add(key, message)
    return message  # type: ignore[return-value]  # the key says so


# --- tool calls ---


def _fold_tool_call(view: SessionView, update: ToolCallUpdate) -> Entry | None:
    call = _tool_call(view, update.tool_call_id)
    if call is None:
        return None
    gained = _set_meta(call, update.meta)
    if update.status is not UNSET:
        status = ToolCallStatus.PENDING if update.status is None else update.status
        gained += weigh_text(status) - weigh_text(call.status)
        call.status = status
    if update.title is not UNSET:
        title = update.title or ""
        gained += weigh_text(title) - weigh_text(call.title)
        call.title = title
    if update.kind is not UNSET:
        kind = ToolKind.OTHER if update.kind is None else update.kind
        gained += weigh_text(kind) - weigh_text(call.kind)
        call.kind = kind
    if update.name is not UNSET:
        gained += _set(call, "name", update.name)
    if update.content is not UNSET:
        gained += _set_content(call, update.content)
    if update.locations is not UNSET:
        gained += _set(call, "locations", [*(update.locations or ())])
    if update.raw_input is not UNSET:
        gained += _set(call, "raw_input", update.raw_input)
    if update.raw_output is not UNSET:
        gained += _set(call, "raw_output", update.raw_output)
    view.gain(call, gained)
    return call


def _fold_tool_call_chunk(view: SessionView, update: ToolCallContentChunk) -> Entry | None:
    call = _tool_call(view, update.tool_call_id)
    if call is not None:
        call.content.append(update.content)
        view.gain(call, weigh_block(update.content))
    return call


def _tool_call(view: SessionView, tool_call_id: str) -> ToolCall | None:
    key = ("tool_call", tool_call_id)
    call = view.find(key)
    if call is None:
        if view.is_gone(key):
            return None
        call = ToolCall(tool_call_id)
        view.add(key, call)
    return call  # type: ignore[return-value]  # the key says so


# --- terminals ---


def _fold_terminal(view: SessionView, update: TerminalUpdate) -> Entry | None:
    terminal = _terminal(view, update.terminal_id)
    if terminal is None:
        return None
    gained = _set_meta(terminal, update.meta)
    if update.command is not UNSET:
        gained += _set(terminal, "command", update.command)
    if update.cwd is not UNSET:
        gained += _set(terminal, "cwd", update.cwd)
    if update.exit_status is not UNSET:
        gained += _set(terminal, "exit_status", update.exit_status)
    if update.output is not UNSET:
        held = terminal.retained
        lost = terminal.replace(None if update.output is None else update.output.data)
        gained += _output_gain(view, lost, terminal.retained - held)
    view.gain(terminal, gained)
    return terminal


def _fold_terminal_chunk(view: SessionView, update: TerminalOutputChunk) -> Entry | None:
    terminal = _terminal(view, update.terminal_id)
    if terminal is not None:
        held = terminal.retained
        lost = terminal.append(update.data)
        view.gain(terminal, _output_gain(view, lost, terminal.retained - held))
    return terminal


def _output_gain(view: SessionView, lost: int, gained: int) -> int:
    if lost < 0:  # TRM-6
        view.dropped.malformed += 1
    else:
        view.dropped.bytes += lost
    return gained


def _terminal(view: SessionView, terminal_id: str) -> Terminal | None:
    key = ("terminal", terminal_id)
    terminal = view.find(key)
    if terminal is None:
        if view.is_gone(key):
            return None
        terminal = Terminal(terminal_id, view.limits.terminal_bytes)
        view.add(key, terminal)
    return terminal  # type: ignore[return-value]  # the key says so


# --- plans ---


class _AnyPlan(msgspec.Struct, rename={"plan_id": "planId"}):
    plan_id: str


_plan_id_of = msgspec.json.Decoder(_AnyPlan).decode


def _fold_plan(view: SessionView, update: PlanUpdate) -> Entry | None:
    value = update.plan
    try:
        plan_id = _plan_id_of(value.raw).plan_id if isinstance(value, Unknown) else value.plan_id
    except (msgspec.DecodeError, UnicodeDecodeError):
        return view.add_other(value)  # type: ignore[arg-type]  # PLN-4; made by hand, for none such is decoded
    key: EntryKey = ("plan", plan_id)
    plan = view.find(key)
    if plan is None:
        plan = Plan(plan_id, value)
        view.add(key, plan)
        view.gain(plan, weigh(value))
    else:
        view.gain(plan, _set(plan, "value", value))  # as a whole, whatever its type was (PLN-1)
    return plan


def _fold_plan_removed(view: SessionView, update: PlanRemoved) -> None:
    view.remove(("plan", update.plan_id))  # PLN-5


# --- the session itself ---


def _fold_state(view: SessionView, update: StateUpdate) -> None:
    view.state_update = update


def _fold_unknown(view: SessionView, update: Unknown) -> Entry | None:
    if update.tag_field == "state":  # FWD-7: a state, and not idle
        view.state_update = update
        return None
    return view.add_other(update)


def _fold_commands(view: SessionView, update: AvailableCommandsUpdate) -> None:
    view.commands = [*update.available_commands]


def _fold_config_options(view: SessionView, update: ConfigOptionUpdate) -> None:
    view.config_options = [*update.config_options]  # CFG-1: never merged


def _fold_info(view: SessionView, update: SessionInfoUpdate) -> None:  # SES-30
    if update.title is not UNSET:
        view.title = update.title
    if update.updated_at is not UNSET:
        view.updated_at = update.updated_at
    if update.meta is not UNSET:
        view.info_meta = update.meta


def _fold_usage(view: SessionView, update: UsageUpdate) -> None:
    view.usage = update


# --- fields ---


def _set(entry: Entry, field: str, value: Any) -> int:
    """Sets a field; returns how much heavier that made the entry."""
    before = getattr(entry, field)
    setattr(entry, field, value)
    return weigh(value) - weigh(before)


def _set_meta(entry: Message | ToolCall | Terminal, meta: Any) -> int:
    return 0 if meta is UNSET else _set(entry, "meta", meta)


def _set_content(entry: Message | ToolCall, content: list[Any] | None) -> int:
    before = entry.content
    entry.content = [*(content or ())]  # a copy: chunks will be appended to it
    entry.dropped_blocks = 0
    gained = 0
    for block in entry.content:
        gained += weigh_block(block)
    for block in before:
        gained -= weigh_block(block)
    return gained


_FOLDS: Final[dict[type, Callable[[SessionView, Any], Entry | None]]] = {
    UserMessageChunk: _chunk_of("user_message"),
    UserMessage: _upsert_of("user_message"),
    AgentMessageChunk: _chunk_of("agent_message"),
    AgentMessage: _upsert_of("agent_message"),
    AgentThoughtChunk: _chunk_of("agent_thought"),
    AgentThought: _upsert_of("agent_thought"),
    RunningStateUpdate: _fold_state,
    IdleStateUpdate: _fold_state,
    RequiresActionStateUpdate: _fold_state,
    SessionToolCallUpdate: _fold_tool_call,
    ToolCallContentChunk: _fold_tool_call_chunk,
    TerminalUpdate: _fold_terminal,
    TerminalOutputChunk: _fold_terminal_chunk,
    PlanUpdate: _fold_plan,
    PlanRemoved: _fold_plan_removed,
    AvailableCommandsUpdate: _fold_commands,
    ConfigOptionUpdate: _fold_config_options,
    SessionInfoUpdate: _fold_info,
    UsageUpdate: _fold_usage,
    Unknown: _fold_unknown,
}
