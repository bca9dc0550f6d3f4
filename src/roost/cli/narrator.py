"""A session's updates told as they come: what is new, and only that, for a person to read.

What the session looks like is folded from the updates; here is only what was already said about it.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import msgspec

from roost.acp import v2
from roost.acp.fold import fold
from roost.acp.view import SessionView
from roost.acp.view_entries import Entry, Message, Plan, ToolCall
from roost.acp.view_terminal import Terminal, TerminalReader
from roost.acp.view_text import TerminalText, reveal
from roost.cli.palette import Role
from roost.cli.screen import Screen
from roost.wire.decode import encode

_ROLES = {"agent_message": Role.MESSAGE, "agent_thought": Role.THOUGHT}
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}
_STATUS_ROLES = {"completed": Role.GOOD, "failed": Role.BAD, "cancelled": Role.BAD}
_WORK = "work"

# Readers of terminals that are held before it is looked which of them are still needed.
_READERS = 64


class _Told(msgspec.Struct):
    """What was said of a tool call: its status, how many places, and which pieces of content (as hashes)."""

    status: str
    places: int = 0
    content: list[int] = []


class _PlanTold(NamedTuple):
    steps: tuple[str, ...]
    lines: tuple[str, ...]


class Narrator:
    """Tells updates on a screen. Paths inside `cwd` are shown from there."""

    def __init__(self, screen: Screen, cwd: str) -> None:
        self._screen = screen
        self._cwd = cwd
        self.view = SessionView()
        self._cleaner: tuple[object, TerminalText] = (None, TerminalText())
        self._calls: dict[str, _Told] = {}
        self._readers: dict[str, TerminalReader] = {}
        self._readers_bound = _READERS
        self._commands: dict[str, str] = {}  # terminal -> its command as last told
        self._exited: set[str] = set()
        self._plans: dict[str, _PlanTold] = {}

    def tell(self, update: v2.SessionUpdate) -> None:
        if isinstance(update, v2.AgentMessage | v2.AgentThought):
            self._tell_whole_message(update)
        elif isinstance(update, v2.TerminalUpdate):
            self._tell_terminal_update(update)
        else:
            self._tell_change(fold(self.view, update), update)

    def _tell_change(self, entry: Entry | None, update: v2.SessionUpdate) -> None:
        match entry:
            case Message() if isinstance(update, v2.AgentMessageChunk | v2.AgentThoughtChunk):
                self._grow_message(entry, block_text(update.content))
            case ToolCall() if isinstance(update, v2.ToolCallContentChunk):
                told = self._tell_call(entry)
                self._tell_piece(update.content)
                told.content.append(_print_of(update.content))
            case ToolCall():
                told = self._tell_call(entry)
                if isinstance(update, v2.ToolCallUpdate) and update.content is not v2.UNSET:
                    self._tell_content(entry, told)
            case Terminal():
                self._tell_output(entry)
            case Plan():
                self._tell_plan(entry)

    # ---- messages

    def _tell_whole_message(self, update: v2.AgentMessage | v2.AgentThought) -> None:
        """What an upsert adds to what was told; a text that is another one is told anew."""
        kind: Any = "agent_message" if isinstance(update, v2.AgentMessage) else "agent_thought"
        known = self.view.message(kind, update.message_id)
        before = "" if known is None else message_text(known)
        message = fold(self.view, update)
        if not isinstance(message, Message):
            return
        after = message_text(message)
        if after.startswith(before):
            self._grow_message(message, after[len(before) :])
        else:
            self._screen.lines(
                Role.DETAIL, "(replaces what was said before)", (message.kind, message.message_id, "new")
            )
            self._grow_message(message, after)

    def _grow_message(self, message: Message, text: str) -> None:
        role = _ROLES.get(message.kind)
        if role is None:
            return  # the user's own words
        block = (message.kind, message.message_id)
        if self._cleaner[0] != block:
            self._cleaner = (block, TerminalText())
        self._screen.grow(role, self._cleaner[1].feed(text), block)

    # ---- tool calls

    def _tell_call(self, call: ToolCall) -> _Told:
        told = self._calls.get(call.tool_call_id)
        if told is None:
            told = self._calls[call.tool_call_id] = _Told(call.status)
            self._tell_status(call)
        elif told.status != call.status:
            told.status = call.status
            if call.status not in ("pending", "in_progress"):
                self._tell_status(call)
        for location in call.locations[told.places :]:
            line = "" if location.line is None else f":{location.line}"
            self._screen.lines(Role.DETAIL, f"    {self._path(location.path)}{line}", _WORK)
        told.places = max(told.places, len(call.locations))
        return told

    def _tell_status(self, call: ToolCall) -> None:
        title = call.title or call.name or "tool call"
        kind = "" if call.kind == "other" else f" ({reveal(call.kind)})"
        status = "in progress" if call.status == "in_progress" else reveal(call.status)
        role = _STATUS_ROLES.get(call.status, Role.TOOL)
        self._screen.lines(role, f"* {reveal(title)}{kind} - {status}", _WORK)

    def _tell_content(self, call: ToolCall, told: _Told) -> None:
        """The pieces after those already told; all of them when these changed."""
        prints = [_print_of(piece) for piece in call.content]
        count = len(told.content)
        fresh = count if prints[:count] == told.content else 0
        for piece in call.content[fresh:]:
            self._tell_piece(piece)
        told.content = prints

    def _tell_piece(self, piece: v2.ToolCallContent) -> None:
        match piece:
            case v2.Content(content=block):
                text = TerminalText().feed(block_text(block)).rstrip("\n")
                self._screen.lines(Role.OUTPUT, text, _WORK)
            case v2.Diff():
                self._tell_diff(piece)
            case v2.Terminal():
                pass  # it tells itself
            case _:
                self._screen.lines(Role.DETAIL, f"    ({reveal(piece.tag)})", _WORK)

    def _tell_diff(self, diff: v2.Diff) -> None:
        for change in diff.changes:
            if isinstance(change, v2.Unknown):
                self._screen.lines(Role.DETAIL, f"    ({reveal(change.tag)})", _WORK)
                continue
            verb = type(change).__struct_config__.tag
            source = f"{self._path(change.old_path)} -> " if isinstance(change, v2.DiffMove | v2.DiffCopy) else ""
            self._screen.lines(Role.DETAIL, f"    {verb} {source}{self._path(change.path)}", _WORK)
        if diff.patch is not None:
            self._tell_patch(reveal(diff.patch.text, lines=True).rstrip("\n"))

    def _tell_patch(self, text: str) -> None:
        for line in text.split("\n"):
            header = line.startswith(("+++", "---"))
            added, removed = line.startswith("+"), line.startswith("-")
            role = Role.PATCH if header else Role.ADDED if added else Role.REMOVED if removed else Role.PATCH
            self._screen.lines(role, line, _WORK)

    # ---- terminals

    def _tell_terminal_update(self, update: v2.TerminalUpdate) -> None:
        known = self.view.terminal(update.terminal_id)
        before = known.plain() if known is not None and isinstance(update.output, v2.TerminalOutput) else ""
        terminal = fold(self.view, update)
        if isinstance(terminal, Terminal):
            self._tell_output(terminal, before)
            if terminal.has_exited and terminal.terminal_id not in self._exited:
                self._exited.add(terminal.terminal_id)
                self._tell_exit(terminal)

    def _tell_output(self, terminal: Terminal, before: str = "") -> None:
        """`before`: what was told of it, when the update replaced it by all output so far."""
        ident = terminal.terminal_id
        reader = self._readers.get(ident)
        if reader is None:
            self._let_go_of_readers()
            reader = self._readers[ident] = terminal.reader()
        text = reader.read()
        if reader.restarted and text.startswith(before):
            text = text[len(before) :]
        self._head_terminal(terminal, bool(text))
        self._screen.grow(Role.OUTPUT, text, ("terminal", ident))

    def _let_go_of_readers(self) -> None:
        """A reader holds its terminal's output; those of terminals that the view has let go are of no more use."""
        if len(self._readers) >= self._readers_bound:
            self._readers = {ident: reader for ident, reader in self._readers.items() if self.view.terminal(ident)}
            self._readers_bound = max(_READERS, 2 * len(self._readers))

    def _head_terminal(self, terminal: Terminal, speaks: bool) -> None:
        ident, command = terminal.terminal_id, terminal.command
        group = ("terminal", ident)
        if command is not None and self._commands.get(ident) != command:
            self._commands[ident] = command
            self._screen.lines(Role.COMMAND, f"$ {reveal(command)}", group)
        elif speaks and not self._screen.is_last(group):
            name = command if command is not None else f"(terminal {ident})"
            self._screen.lines(Role.COMMAND, f"$ {reveal(name)}", group)

    def _tell_exit(self, terminal: Terminal) -> None:
        status = terminal.exit_status
        group = ("terminal", terminal.terminal_id)
        if status is None:
            return
        if not self._screen.is_last(group):
            self._head_terminal(terminal, True)
        if status.signal is not None:
            self._screen.lines(Role.BAD, f"ended by {reveal(status.signal)}", group)
        elif status.exit_code is not None:
            self._screen.lines(Role.BAD if status.exit_code else Role.GOOD, f"exit code {status.exit_code}", group)
        else:
            self._screen.lines(Role.DETAIL, "ended", group)

    # ---- plans

    def _tell_plan(self, plan: Plan) -> None:
        """All of it; of a plan that was told, the steps that changed."""
        steps, lines = plan_lines(plan.value)
        told = self._plans.get(plan.plan_id)
        self._plans[plan.plan_id] = _PlanTold(steps, lines)
        group = ("plan", plan.plan_id)
        if told is not None and told.steps == steps:
            lines = tuple(line for line, before in zip(lines, told.lines, strict=True) if line != before)
        if lines:
            if not self._screen.is_last(group):
                self._screen.lines(Role.PLAN, "Plan", group)
            self._screen.lines(Role.DETAIL, "\n".join(lines), group)

    # ---- the rest

    def _path(self, path: str) -> str:
        inside = path.startswith(self._cwd.rstrip("/") + "/")
        return reveal(os.path.relpath(path, self._cwd) if inside else path)


def message_text(message: Message) -> str:
    return "".join(map(block_text, message.content))


def block_text(block: v2.ContentBlock) -> str:
    """A content block in words; what is no text is named."""
    match block:
        case v2.TextContent(text=text):
            return text
        case v2.ResourceLink(name=name, uri=uri):
            return f"[{name}: {uri}]" if name != uri else f"[{uri}]"
        case v2.EmbeddedResource(resource=v2.TextResourceContents(uri=uri, text=text)):
            return f"[{uri}]\n{text}"
        case v2.EmbeddedResource(resource=resource):
            return f"[{resource.uri}]"
        case v2.ImageContent() | v2.AudioContent():
            return f"[{block.mime_type}, {len(block.data) * 3 // 4} bytes]"
    return f"[{block.tag}]"


def plan_lines(plan: v2.PlanUpdateContent) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The steps' texts, and the lines they are shown as."""
    match plan:
        case v2.PlanItems(entries=entries):
            steps = tuple(entry.content for entry in entries)
            lines = []
            for entry in entries:
                urgent = " (high)" if entry.priority == "high" else ""
                lines.append(f"  {_MARKS.get(entry.status, '[?]')} {reveal(entry.content)}{urgent}")
            return steps, tuple(lines)
        case v2.PlanMarkdown(content=text):
            lines = [f"  {line}" for line in TerminalText().feed(text).rstrip("\n").split("\n")]
        case v2.PlanFile(uri=uri):
            lines = [f"  {reveal(uri)}"]
        case _:
            lines = [f"  ({reveal(plan.tag)})"]
    return tuple(lines), tuple(lines)


def _print_of(piece: v2.ToolCallContent) -> int:
    """Recognizes a piece without keeping it."""
    return hash(encode(piece))
