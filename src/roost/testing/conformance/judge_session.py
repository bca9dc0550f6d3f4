"""One session's story as its updates tell it: states, messages, tools, terminals, diffs, plans, permissions."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from roost.acp import v2
from roost.acp.paths import is_absolute
from roost.testing.conformance.findings import MUST, SHOULD, Level
from roost.testing.conformance.patches import faults_in
from roost.testing.conformance.peer import Json
from roost.wire.model import UNSET, Unknown

_V1_UPDATES: Final = ("tool_call", "plan", "current_mode_update")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_OPEN: Final = (v2.ToolCallStatus.PENDING, v2.ToolCallStatus.IN_PROGRESS)


def _values(enum: type) -> frozenset[str]:
    return frozenset(value for name, value in vars(enum).items() if name.isupper())


_STATUSES, _KINDS = _values(v2.ToolCallStatus), _values(v2.ToolKind)
_REASONS, _OPTION_KINDS = _values(v2.StopReason), _values(v2.PermissionOptionKind)


class Fail(Protocol):
    def __call__(self, topic: str, rule: str, expected: str, came: Any, level: Level = ...) -> None: ...


class SessionStory:
    """Told update by update."""

    def __init__(self, fail: Fail, seen: set[str]) -> None:
        self._fail = fail
        self._seen = seen
        self._working = False
        self._state = "idle"
        self._accepted = 0  # prompts, since the last idle
        self._replaying = False
        self._closed = False
        self._messages: dict[str, str] = {}  # id: kind
        self._statuses: dict[str, str] = {}  # of tool calls
        self._exited: set[str] = set()  # terminals
        self._commands: dict[str, Any] = {}

    # ---- what we did

    def accepted(self) -> None:
        self._accepted += 1

    def closed(self) -> None:
        self._closed = True
        self._working = False

    def resuming(self, replay: bool) -> None:
        self._replaying = replay
        self._closed = False

    def resumed(self) -> None:
        self._replaying = False

    # ---- what it told

    def update(self, update: Any, part: Json) -> None:
        if self._closed:
            self._fail("sessions", "SES-26", "no updates of a closed session", part, SHOULD)
        match update:
            case v2.UserMessage() | v2.UserMessageChunk():
                self._message("user", update.message_id, part)
            case v2.AgentMessage() | v2.AgentMessageChunk():
                self._message("agent", update.message_id, part)
            case v2.AgentThought() | v2.AgentThoughtChunk():
                self._message("thought", update.message_id, part)
            case v2.RunningStateUpdate() | v2.RequiresActionStateUpdate() | v2.IdleStateUpdate():
                if not self._replaying:
                    self._state_update(update, part)
            case v2.ToolCallUpdate():
                self._tool_call(update, part)
            case v2.ToolCallContentChunk():
                self._statuses.setdefault(update.tool_call_id, v2.ToolCallStatus.PENDING)
                self._contents([update.content], part)
            case v2.TerminalUpdate():
                self._terminal(update, part)
            case v2.TerminalOutputChunk():
                self._base64(update.data, part)
            case v2.PlanUpdate():
                if isinstance(update.plan, v2.PlanFile) and not _URI.match(update.plan.uri):
                    self._fail("plans", "PLN-3", "an absolute address of a plan's file", part)
            case v2.AvailableCommandsUpdate():
                self._available(update.available_commands, part)
            case v2.ConfigOptionUpdate():
                judge_options(
                    update.config_options,
                    lambda rule, expected, level: self._fail("options", rule, expected, part, level),
                )
            case v2.SessionInfoUpdate():
                if isinstance(update.updated_at, str) and not is_time(update.updated_at):
                    self._fail("sessions", "SES-15", "updatedAt as an RFC 3339 time", part, SHOULD)
            case v2.UsageUpdate():
                self._usage(update, part)
            case Unknown(tag):
                if tag in _V1_UPDATES:
                    self._fail("messages", "PLN-6", f"no update {tag!r}: it is one of version 1", part)

    def _message(self, kind: str, id: str, part: Json) -> None:
        if self._messages.setdefault(id, kind) != kind:
            self._fail("messages", "MSG-1", "a messageId for one kind of message alone", part)

    def _state_update(self, update: Any, part: Json) -> None:
        if not isinstance(update, v2.IdleStateUpdate):
            self._working, self._state = True, update.state
            return
        reason = update.stop_reason
        if self._working and reason is None:
            self._fail("states", "PRM-8", "a stopReason in the idle that ends work", part)
        if not self._working and reason is not None and not self._accepted:
            self._fail("states", "PRM-8", "one idle with a stopReason for each running", part)
        if reason is not None and reason not in _REASONS and not reason.startswith("_"):
            self._fail("states", "PRM-9", "a stop reason of the protocol, or one's own with _ in front", part, SHOULD)
        if reason is not None:
            for id, status in self._statuses.items():
                if status in _OPEN:
                    self._fail("tools", "TCL-7", "no tool call left open when work ends", f"{id} is {status}", SHOULD)
        self._working, self._state = False, "idle"
        if reason is not None and self._accepted:
            self._accepted -= 1  # prompts that ran side by side may each end by themselves (PRM-13)

    def _tool_call(self, update: v2.ToolCallUpdate, part: Json) -> None:
        if update.tool_call_id not in self._statuses and not isinstance(update.title, str):
            self._fail("tools", "TCL-2", "a title in the first report of a tool call", part, SHOULD)
        status = update.status if isinstance(update.status, str) else None
        before = self._statuses.setdefault(update.tool_call_id, v2.ToolCallStatus.PENDING)
        self._statuses[update.tool_call_id] = status or before
        for value, known, what in ((status, _STATUSES, "status"), (update.kind, _KINDS, "kind")):
            if isinstance(value, str) and value not in known and not value.startswith("_"):
                self._fail("tools", "EXT-5", f"a {what} of the protocol, or one's own with _ in front", part, SHOULD)
        for location in update.locations or ():
            if not is_absolute(location.path):
                self._fail("tools", "TCL-8", "absolute paths in locations", part)
            if location.line == 0:
                self._fail("tools", "TCL-8", "lines counted from 1", part, SHOULD)
        if update.content is not UNSET:
            self._contents(update.content or (), part)

    def _contents(self, contents: Iterable[Any], part: Json) -> None:
        for content in contents:
            if isinstance(content, v2.Diff):
                self._seen.add("diffs")
                self._diff(content, part)

    def _diff(self, diff: v2.Diff, part: Json) -> None:
        paths: set[str] = set()
        for change in diff.changes:
            named = [getattr(change, name) for name in ("path", "old_path") if hasattr(change, name)]
            paths.update(named)
            if not all(map(is_absolute, named)):
                self._fail("diffs", "DIF-1", "absolute paths in the changes of a diff", part)
        if diff.patch is not None and diff.patch.format == "git_patch":
            for rule, expected in faults_in(diff.patch.text, paths):
                self._fail("diffs", rule, expected, part)

    def _terminal(self, update: v2.TerminalUpdate, part: Json) -> None:
        id = update.terminal_id
        if isinstance(update.cwd, str) and not is_absolute(update.cwd):
            self._fail("terminals", "TRM-3", "an absolute cwd of a terminal", part)
        if isinstance(update.command, str):
            if id in self._exited and self._commands.get(id) != update.command and not self._replaying:
                self._fail("terminals", "TRM-2", "a new terminal for a new command", part)
            self._commands[id] = update.command
        if isinstance(update.exit_status, v2.TerminalExitStatus):
            self._exited.add(id)
        if isinstance(update.output, v2.TerminalOutput):
            self._base64(update.output.data, part)

    def _base64(self, data: str, part: Json) -> None:
        try:
            base64.b64decode(data, validate=True)
        except ValueError:
            self._fail("terminals", "TRM-6", "base64 with padding, each piece by itself", part)

    def _available(self, commands: Sequence[v2.AvailableCommand], part: Json) -> None:
        for command in commands:
            if not command.name or command.name.startswith("/") or any(map(str.isspace, command.name)):
                self._fail("commands", "MSC-1", "a command's name as one word without the slash", part)

    def _usage(self, update: v2.UsageUpdate, part: Json) -> None:
        if update.size == 0:
            self._fail("commands", "MSC-4", "no usage_update when the size is not known", part, SHOULD)
        if update.cost is not None and not _CURRENCY.fullmatch(update.cost.currency):
            self._fail("commands", "MSC-4", "a currency in three capital letters", part)

    def permission(self, request: v2.RequestPermissionRequest, part: Json) -> None:
        """A question: what has to be known before it is asked."""

        def fail(rule: str, expected: str, level: Level = MUST) -> None:
            self._fail("permissions", rule, expected, part, level)

        if not request.options:
            fail("PER-2", "at least one option in a permission")
        ids = [option.option_id for option in request.options]
        if len(ids) != len(set(ids)):
            fail("PER-1", "every option of a permission to have an id of its own")
        if any(o.kind not in _OPTION_KINDS and not o.kind.startswith("_") for o in request.options):
            fail("PER-7", "option kinds of the protocol, or one's own with _ in front", SHOULD)
        subject = request.subject
        if isinstance(subject, v2.ToolCallPermissionSubject) and subject.tool_call.tool_call_id not in self._statuses:
            fail("TCL-11", "a tool call to be reported before its permission is asked", SHOULD)
        if isinstance(subject, v2.CommandPermissionSubject) and not is_absolute(subject.cwd):
            fail("PER-3", "an absolute cwd in a command's permission")
        if self._state != "requires_action":
            fail("PRM-7", "requires_action before a permission is asked", SHOULD)


def judge_options(options: Sequence[Any], fail: Callable[[str, str, Level], None]) -> None:
    """A whole list of config options."""
    ids = [option.config_id for option in options if not isinstance(option, Unknown)]
    if len(ids) != len(set(ids)):
        fail("CFG-1", "every config option to have an id of its own", MUST)
    for option in options:
        if isinstance(option, v2.SessionConfigSelect):
            values = _choices(option.options)
            if not values:
                fail("CFG-10", "at least one choice in a select", SHOULD)
            elif option.current_value not in values:
                fail("CFG-3", "a current value among those offered", SHOULD)


def _choices(options: Iterable[Any]) -> list[str]:
    out: list[str] = []
    for option in options:
        out += [one.value for one in option.options] if hasattr(option, "group_id") else [option.value]
    return out


def is_time(text: str) -> bool:
    return _TIME.fullmatch(text) is not None
