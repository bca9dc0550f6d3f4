"""One session of a v2 agent as a v1 client sees it: what it was sent, its options, its turn; and its updates (4.5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Struct

from roost.acp.bridge.client_messages import SentMessages
from roost.acp.bridge.client_terminals import Terminals
from roost.acp.bridge.client_tools import ReadFile, Tools
from roost.acp.bridge.config import mode_option, modes_of, option_to_v1
from roost.acp.bridge.content import block_to_v1
from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.losses import Losses
from roost.acp.bridge.payload import Json, as_object, as_text, objects, picked, with_meta

MESSAGES: Final = {
    "user_message": "user_message_chunk",
    "agent_message": "agent_message_chunk",
    "agent_thought": "agent_thought_chunk",
}
_Shape: TypeAlias = Callable[[Json], list[Json]]
_CHUNKS: Final = frozenset(MESSAGES.values())
_PRIORITIES: Final = frozenset({"high", "medium", "low"})
_ENTRY_STATUSES: Final = frozenset({"pending", "in_progress", "completed"})


class HeldPrompt(Struct):
    """A prompt of the v1 client, which is answered when its turn is over."""

    token: int
    raw_id: bytes
    params: Json
    call: int = 0


class HeldTurn(Struct):
    """The prompt the agent works on, and how far it is seen to be (PRM-10)."""

    prompt: HeldPrompt
    accepted: bool = False
    user_message: str | None = None  # the id of the message that reports it
    running: bool = False
    cancelled: bool = False
    ended: Json | None = None  # the idle that ended it, when that came before its acceptance


class ClientSession:
    """`switches` and `plans`: whether the client has boolean options, and plans by id."""

    def __init__(
        self,
        session_id: str,
        limits: BridgeLimits,
        losses: Losses,
        read_file: ReadFile | None,
        *,
        switches: bool,
        plans: bool,
    ) -> None:
        self.id = session_id
        self.turn: HeldTurn | None = None
        self.queue: deque[HeldPrompt] = deque()
        self.is_replaying = False
        self.is_closed = False
        self.options: list[Json] = []
        self.messages = SentMessages(limits.messages, losses)
        self.terminals = Terminals(limits.terminal_bytes, limits.terminals)
        self.tools = Tools(limits, losses, self.terminals, read_file)
        self.dirty: dict[str, None] = {}
        """Tool calls whose content has grown since it was sent."""
        self._losses = losses
        self._switches = switches
        self._plans = plans
        self._plan: str | None = None

    # ---- options

    def opened(self, result: Json) -> Json:
        """What the answer that opened a session says of options, modes and models in v1."""
        self.options = objects(result.get("configOptions"))
        shown = self.v1_options()
        v1: Json = {"configOptions": shown} if shown else {}
        return with_meta({**v1, **modes_of(self.options, self._losses)}, result)

    def v1_options(self) -> list[Json]:
        shown = (option_to_v1(option, self._switches, self._losses) for option in self.options)
        return [option for option in shown if option is not None]

    def option(self, config_id: Any) -> Json | None:
        return next((option for option in self.options if option.get("configId") == config_id), None)

    def current(self, category: str) -> Any:
        option = mode_option(self.options, category)
        return None if option is None else option.get("currentValue")

    # ---- updates

    def shaped(self, update: Json) -> list[Json]:
        """What an update is in v1: nothing for much of it."""
        tag = update.get("sessionUpdate")
        if tag in _CHUNKS:
            return self._chunk(update, str(tag))
        if tag in MESSAGES:
            return self._message(update, str(tag))
        if tag == "tool_call_update":
            if "content" in update:
                self.dirty.pop(as_text(update.get("toolCallId")), None)
            return [self.tools.patched(update)]
        if tag == "tool_call_content_chunk":
            first = self.tools.appended(update)
            if first is not None:
                return [first]
            self.dirty[as_text(update.get("toolCallId"))] = None
            return []
        if tag in ("terminal_update", "terminal_output_chunk"):
            changed = self.terminals.update(update) if tag == "terminal_update" else self.terminals.append(update)
            self.dirty.update(dict.fromkeys(changed))
            return []
        shapes: dict[str, _Shape] = {
            "plan_update": self._plan_update,
            "plan_removed": self._plan_removed,
            "available_commands_update": self._commands,
            "config_option_update": self._config,
            "session_info_update": _same("title", "updatedAt"),
            "usage_update": _same("used", "size", "cost"),
        }
        shape = shapes.get(str(tag))
        if shape is None:  # BR-5: closed unions, and clients that hang up at what they do not know
            self._losses.count("update_form")
            return []
        return shape(update)

    def _is_own(self, message_id: str) -> bool:
        """Whether a user's message reports the prompt of the turn, which the client shows already."""
        turn = self.turn
        if turn is None or self.is_replaying:
            return False
        if turn.user_message is None:
            turn.user_message = message_id
        return turn.user_message == message_id

    def _chunk(self, update: Json, kind: str) -> list[Json]:
        message_id = as_text(update.get("messageId"))
        block = as_object(update.get("content"))
        if kind == "user_message_chunk" and self._is_own(message_id):
            return []
        self.messages.appended(kind, message_id, block)
        return [_chunk(kind, message_id, block_to_v1(block, self._losses), update)]

    def _message(self, update: Json, tag: str) -> list[Json]:
        kind, message_id = MESSAGES[tag], as_text(update.get("messageId"))
        if tag == "user_message" and self._is_own(message_id):
            return []
        if "_meta" in update:
            self._losses.count("message_meta")
        if "content" not in update:
            return []
        missing = self.messages.missing(kind, message_id, update["content"])
        return [_chunk(kind, message_id, block) for block in missing]

    def _plan_update(self, update: Json) -> list[Json]:
        plan = as_object(update.get("plan"))
        if self._plans and plan.get("type") in ("items", "file", "markdown"):
            return [update]
        plan_id, kind = as_text(plan.get("planId")), plan.get("type")
        if self._plan not in (None, plan_id):
            self._losses.count("other_plan")
        self._plan = plan_id
        if kind == "items":
            entries = [self._entry(entry) for entry in objects(plan.get("entries"))]
        else:
            self._losses.count("plan_form")
            text = as_text(plan.get("uri")) or as_text(plan.get("content")) or f"[plan of type {as_text(kind, '?')}]"
            entries = [{"content": text, "priority": "medium", "status": "in_progress"}]
        return [with_meta({"sessionUpdate": "plan", "entries": entries}, plan, update)]

    def _entry(self, entry: Json) -> Json:
        status, priority = entry.get("status"), entry.get("priority")
        if status not in _ENTRY_STATUSES:
            self._losses.count("plan_status")
        known = status if status in _ENTRY_STATUSES else "completed" if status == "cancelled" else "pending"  # B-26
        graded = {"priority": priority if priority in _PRIORITIES else "medium", "status": known}
        return with_meta({"content": entry.get("content"), **graded}, entry)

    def _plan_removed(self, update: Json) -> list[Json]:
        if self._plans:
            return [update]
        if update.get("planId") != self._plan:
            return []
        self._plan = None
        return [{"sessionUpdate": "plan", "entries": []}]

    def _commands(self, update: Json) -> list[Json]:
        commands = []
        for command in objects(update.get("availableCommands")):
            v1 = picked(command, "name", "description")
            given = as_object(command.get("input"))
            if given.get("type") == "text":
                v1["input"] = {name: value for name, value in given.items() if name != "type"}
            elif given:
                self._losses.count("command_input")
            commands.append(with_meta(v1, command))
        return [with_meta({"sessionUpdate": "available_commands_update", "availableCommands": commands}, update)]

    def _config(self, update: Json) -> list[Json]:
        mode = self.current("mode")
        self.options = objects(update.get("configOptions"))
        out: list[Json] = []
        if self.current("mode") not in (None, mode):
            out.append({"sessionUpdate": "current_mode_update", "currentModeId": self.current("mode")})
        out.append(with_meta({"sessionUpdate": "config_option_update", "configOptions": self.v1_options()}, update))
        return out


def _chunk(kind: str, message_id: str, block: Json, *sources: Json) -> Json:
    return with_meta({"sessionUpdate": kind, "messageId": message_id, "content": block}, *sources)


def _same(*names: str) -> _Shape:
    def copied(update: Json) -> list[Json]:
        return [{name: update[name] for name in ("sessionUpdate", *names, "_meta") if name in update}]

    return copied
