"""What a recorded v1 conversation says, in plain data: the yardstick for what a client of v2 is shown of it.

Nothing here is taken from the bridge: it reads the recording as a person would, with a dict for each thing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.replay.recording import Json

KINDS = {
    "user_message_chunk": "user_message",
    "agent_message_chunk": "agent_message",
    "agent_thought_chunk": "agent_thought",
}


class SaidSession:
    def __init__(self) -> None:
        self.is_open = False
        self.ending = False
        self.values: dict[str, Any] = {}  # of options, by id
        self.categories: dict[str, str] = {}  # ids of options, by category
        self.modes: dict[str, str] = {}  # current mode and model, by category
        self.commands: list[str] = []
        self.usage: Json | None = None
        self.title: str | None = None
        self.updated_at: str | None = None
        self.updates = 0
        self.unnamed = 0  # messages of the agent without an id, in all replays
        self.clear()

    def clear(self) -> None:
        """As before a replay."""
        self.blocks: dict[str, list[Json]] = {kind: [] for kind in KINDS.values()}
        self.tools: dict[str, Json] = {}
        self.stops: list[str] = []
        self.turn: Json | None = None
        self.order: list[str] = []  # kinds of messages and ids of tool calls, as they first appeared
        self._seen: set[tuple[str, str]] = set()
        self._unnamed: str | None = None  # the kind of message that chunks without an id go on with

    def appears(self, kind: str, message_id: str | None = None) -> bool:
        """Whether it is a new message."""
        if (message_id is None and self._unnamed == kind) or (kind, message_id) in self._seen:
            return False
        if message_id is not None:
            self._seen.add((kind, message_id))
        if self.order[-1:] != [kind]:
            self.order.append(kind)
        self._unnamed = kind if message_id is None else None
        return True

    def interrupt(self) -> None:
        self._unnamed = None

    def texts(self, kind: str) -> str:
        return "".join(block.get("text", json.dumps(block, sort_keys=True)) for block in self.blocks[kind])


class Said:
    """Reads the log of a RecordedAgent.

    `accepted` tells of a prompt that failed at once whether its turn began. `last_words` are what a turn is ended with
    that the agent did not end; None when such a turn is shown as it is. `marked`: whoever cancels shows unfinished tool
    calls so at once (PRM-15).
    """

    def __init__(
        self,
        log: list[tuple[str, Json]],
        accepted: Callable[[Json], bool],
        last_words: str | None = None,
        *,
        marked: bool = False,
    ) -> None:
        self.sessions: dict[str, SaidSession] = {}
        self.losses: Counter[str] = Counter()
        self.answers: list[tuple[Json, Json]] = []
        self.cleared = 0
        """Turns of which nothing is shown any longer."""
        self._accepted = accepted
        self._marked = marked
        self._asked: dict[str, Json] = {}
        for sign, message in log:
            if sign == ">":
                self._client(message)
            elif "method" in message:
                self._agent(message)
            elif repr(message.get("id")) in self._asked:
                request = self._asked.pop(repr(message["id"]))
                self.answers.append((request, message))
                self._answer(request, message)
            else:
                self.losses["late_answer"] += 1
        for request in self._asked.values():
            if request["method"] == "session/prompt" and last_words is not None:
                self._ended(self._session(request["params"]), request, {"error": {"code": 0, "message": last_words}})
        for session in self.sessions.values():
            if not session.is_open:
                self.losses["early_update"] += session.updates

    def opened(self) -> dict[str, SaidSession]:
        return {name: session for name, session in self.sessions.items() if session.is_open}

    def _session(self, params: Json) -> SaidSession:
        return self.sessions.setdefault(str(params.get("sessionId")), SaidSession())

    # ---- the client

    def _client(self, message: Json) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method is not None and "id" in message:
            self._asked[repr(message["id"])] = message
        if method == "session/load":
            session = self._session(params)
            self.cleared += len(session.stops)
            session.clear()
            session.is_open = True  # a client hears its replay
        elif method == "session/cancel":
            session = self._session(params)
            if session.turn is not None:
                session.turn["cancelled"] = True
            for call in session.tools.values() if self._marked else ():
                if call.get("status", "pending") in ("pending", "in_progress"):
                    call["status"] = "cancelled"
        elif method == "session/prompt":
            session = self._session(params)
            text = "".join(block["text"] for block in params["prompt"] if block["type"] == "text")
            session.turn = {"cancelled": False, "echo": text}
            if self._accepted(message):
                session.interrupt()
                session.appears("user_message")
                session.interrupt()
                session.blocks["user_message"] += params["prompt"]

    # ---- the agent's answers

    def _answer(self, request: Json, answer: Json) -> None:
        method, params, result = request["method"], request.get("params") or {}, answer.get("result")
        if method == "session/prompt":
            self._ended(self._session(params), request, answer)
        elif "error" in answer:
            if method == "session/load" and not self._session(params).values:
                self._session(params).is_open = False
        elif method in ("session/new", "session/fork"):
            session = self._session(result)
            session.is_open = True
            self._options(session, result)
        elif method in ("session/load", "session/resume"):
            session = self._session(params)
            session.is_open = True
            self._options(session, result or {})
        elif method in ("session/set_mode", "session/set_model"):
            self._mode(
                self._session(params),
                "mode" if "modeId" in params else "model",
                params.get("modeId", params.get("modelId")),
            )
        elif method == "session/set_config_option":
            self._session(params).values[params["configId"]] = params["value"]
            self._options(self._session(params), result or {})

    def _ended(self, session: SaidSession, request: Json, answer: Json) -> None:
        turn, session.turn = session.turn or {"cancelled": False}, None
        if not self._accepted(request):
            return
        session.interrupt()
        if "result" in answer:
            reason = answer["result"]["stopReason"]
            session.stops.append("cancelled" if turn["cancelled"] and reason == "end_turn" else reason)
            return
        error = answer["error"]
        if turn["cancelled"] or error["code"] == -32800:
            session.stops.append("cancelled")
            return
        self.losses["failed_turn"] += 1
        session.appears("agent_message")
        session.interrupt()
        session.blocks["agent_message"].append({"type": "text", "text": error["message"] or f"error {error['code']}"})
        session.stops.append("_auth_required" if error["code"] == -32000 else "_error")

    # ---- what the agent says by itself

    def _agent(self, message: Json) -> None:
        method, params = message["method"], message.get("params") or {}
        if method == "session/update":
            session = self._session(params)
            session.updates += 1
            self._update(session, params["update"])
        elif method == "session/request_permission":
            session = self._session(params)
            if params["toolCall"]["toolCallId"] not in session.tools:
                self._tool(session, params["toolCall"])

    def _update(self, session: SaidSession, update: Json) -> None:
        tag = update["sessionUpdate"]
        if tag in KINDS:
            text, echo = update["content"].get("text"), (session.turn or {}).get("echo")
            if tag == "user_message_chunk" and session.turn and echo and text and echo.startswith(text):
                session.turn["echo"] = echo[len(text) :]
                self.losses["user_echo"] += 1
            else:
                is_new = session.appears(KINDS[tag], update.get("messageId"))
                session.unnamed += is_new and update.get("messageId") is None
                session.blocks[KINDS[tag]].append(update["content"])
        elif tag in ("tool_call", "tool_call_update"):
            self._tool(session, update)
        elif tag == "available_commands_update":
            session.commands = [command["name"] for command in update["availableCommands"]]
        elif tag == "usage_update":
            session.usage = {name: update[name] for name in ("used", "size", "cost") if update.get(name) is not None}
        elif tag == "session_info_update":
            session.title = update.get("title", session.title)
            session.updated_at = update.get("updatedAt", session.updated_at)
        elif tag == "current_mode_update":
            self._mode(session, "mode", update["currentModeId"])
        elif tag == "config_option_update":
            self._options(session, update)
        else:
            raise AssertionError(f"a kind of update nobody here knows: {tag}")

    def _tool(self, session: SaidSession, update: Json) -> None:
        if update.get("sessionUpdate") == "tool_call" or update["toolCallId"] not in session.tools:
            session.interrupt()
        if update["toolCallId"] not in session.tools:
            session.order.append(update["toolCallId"])
        call = session.tools.setdefault(update["toolCallId"], {})
        for name in ("title", "kind", "status", "rawInput", "rawOutput", "content", "locations"):
            if update.get(name) is not None:
                call[name] = update[name]

    # ---- options

    def _options(self, session: SaidSession, result: Json) -> None:
        for option in result.get("configOptions") or []:
            session.values[option["id"]] = option["currentValue"]
            if option.get("category"):
                session.categories.setdefault(option["category"], option["id"])
        if result.get("modes"):
            session.modes["mode"] = result["modes"]["currentModeId"]
        if result.get("models"):
            session.modes["model"] = result["models"]["currentModelId"]

    def _mode(self, session: SaidSession, category: str, value: str) -> None:
        session.modes[category] = value
        if category in session.categories:
            session.values[session.categories[category]] = value

    def current(self, session: SaidSession) -> dict[str, Any]:
        """What each option stands at: by id those the agent has, by category modes and models that are none."""
        made = {name: value for name, value in session.modes.items() if name not in session.categories}
        return {**made, **session.values}
