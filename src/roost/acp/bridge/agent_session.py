"""One session of a v1 agent: its message ids, its tool calls, its options, and its turn."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from msgspec import Struct, field

from roost.acp.bridge.config import AgentConfig
from roost.acp.bridge.content import prompt_text
from roost.acp.bridge.grants import Grant, ToolFacts
from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.losses import Losses
from roost.acp.bridge.payload import Json, as_text, picked
from roost.acp.bridge.updates_v2 import SAME, Shaper

CHUNKS: Final = frozenset({"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"})
_OWNED: Final = frozenset({"state_update"})  # what the bridge itself derives


class Prompt(Struct):
    """A prompt of the client: the token of its request, and what it holds."""

    token: int
    params: Json
    call: int = 0


class Turn(Struct):
    """A prompt a v1 agent works on. Accepted: the client has its `{}`, its user message and `running`."""

    prompt: Prompt
    accepted: bool = False
    cancelled: bool = False
    asking: int = 0  # questions to the user that are open
    echo: str = ""  # what is left of the prompt's text, should the agent repeat it
    ending: Json | None = None  # the `idle` that waits for late updates
    grants: list[Grant] = field(default_factory=list)  # what the user has allowed in it, and was not done yet


class AgentSession:
    """`prefix` begins its synthesised message ids: the same for every connection that sees its whole history."""

    def __init__(self, session_id: str, roots: tuple[str, ...], prefix: str, limits: BridgeLimits, losses: Losses):
        self.id = session_id
        self.roots = roots
        self.closed = False
        self.title: Any = None
        self.updated_at: Any = None
        self.config = AgentConfig(losses)
        self.turn: Turn | None = None
        self.queue: deque[Prompt] = deque()
        self.loading = ""
        """"replay" or "swallow" while a `session/load` is open."""
        self.kept: dict[str, Json] = {}
        """What a swallowed replay said of the present: told behind the answer."""
        self.shaper = Shaper(roots[0], limits.diff_bytes, losses)
        self._titles: dict[str, str] = {}
        self._facts: dict[str, ToolFacts] = {}  # of the tool calls of this turn, the newest
        self._limits = limits
        self._losses = losses
        self._prefix = prefix
        self._messages = 0
        self._current = ("", "")  # kind and id of the message that chunks without an id belong to

    def attach(self, roots: tuple[str, ...]) -> None:
        """It is open, in these directories; they are those of the latest request (SES-14)."""
        self.closed = False
        self.roots = roots
        self.shaper = Shaper(roots[0], self._limits.diff_bytes, self._losses)

    def info(self) -> Json:
        """What a list says of it (B-04)."""
        info: Json = {"sessionId": self.id, "cwd": self.roots[0]}
        if len(self.roots) > 1:
            info["additionalDirectories"] = list(self.roots[1:])
        return {**info, **picked({"title": self.title, "updatedAt": self.updated_at}, "title", "updatedAt")}

    # ---- message ids

    def new_message_id(self) -> str:
        self._messages += 1
        return f"{self._prefix}{self._messages}"

    def message_id(self, kind: str) -> str:
        """The id of a chunk that has none: one for all chunks of a kind that follow each other (B-03)."""
        if self._current[0] != kind:
            self._losses.count("message_id")
            self._current = (kind, self.new_message_id())
        return self._current[1]

    def break_message(self) -> None:
        self._current = ("", "")

    def restart_messages(self) -> None:
        """The whole history comes again, and its ids with it (SES-18)."""
        self._messages = 0
        self.break_message()
        self._titles.clear()

    # ---- updates

    def keep(self, update: Json) -> None:
        """What a swallowed replay says of the present; patches of the same kind add up (B-02)."""
        tag = update["sessionUpdate"]
        self.kept[tag] = {**self.kept.get(tag, {}), **update}

    def shaped(self, update: Json) -> list[Json]:
        """What an update is in v2; nothing when it tells nothing new, or cannot be told."""
        tag = update.get("sessionUpdate")
        if tag in CHUNKS:
            return self._chunk(update, str(tag))
        if tag in ("tool_call", "tool_call_update"):
            return self._tool_call(update)
        if tag == "current_mode_update":
            self.config.take_mode(update.get("currentModeId"))
            return self.changed_options()
        if tag == "config_option_update":
            self.config.take_options(update.get("configOptions"))
            return self.changed_options()
        if not isinstance(tag, str):
            self._losses.count("malformed_update")
            return []
        if tag in _OWNED:
            self._losses.count("second_state")
            return []
        if tag == "session_info_update":
            self.title = update.get("title", self.title)
            self.updated_at = update.get("updatedAt", self.updated_at)
        shape = SAME.get(tag)
        return [update if shape is None else shape(update)]  # BR-5: an unknown kind passes as it is

    def _chunk(self, update: Json, kind: str) -> list[Json]:
        content = update.get("content")
        turn = self.turn
        if kind == "user_message_chunk" and turn is not None and isinstance(content, dict):
            text = as_text(content.get("text"))
            if text and turn.echo.startswith(text):
                turn.echo = turn.echo[len(text) :]
                self._losses.count("user_echo")
                return []
        given = update.get("messageId")
        if isinstance(given, str):
            self.break_message()
        identifier = given if isinstance(given, str) else self.message_id(kind)
        chunk: Json = {"sessionUpdate": kind, "messageId": identifier, "content": content}
        if isinstance(update.get("_meta"), dict):
            chunk["_meta"] = update["_meta"]
        return [chunk]

    def _tool_call(self, update: Json) -> list[Json]:
        identifier = update.get("toolCallId")
        if not isinstance(identifier, str):
            self._losses.count("malformed_update")
            return []
        known = identifier in self._titles
        if update["sessionUpdate"] == "tool_call" or not known:
            self.break_message()
        self.note_title(identifier, update.get("title"))
        self.note_facts(identifier, update)
        return [{"sessionUpdate": "tool_call_update", **self.shaper.tool_call(update, not known)}]

    def changed_options(self) -> list[Json]:
        """All options, when the client knows others."""
        options = self.config.full()
        if options == self.config.told:
            return []
        self.config.told = options
        return [{"sessionUpdate": "config_option_update", "configOptions": options}]

    # ---- tool calls

    def note_title(self, tool_call_id: str, title: Any) -> None:
        if isinstance(title, str) and title:
            self._titles[tool_call_id] = title[: self._limits.title_characters]
        elif tool_call_id not in self._titles:
            self._titles[tool_call_id] = ""
        if len(self._titles) > self._limits.tool_calls:
            del self._titles[next(iter(self._titles))]

    def note_facts(self, tool_call_id: str, call: Json) -> ToolFacts:
        """What this turn's tool call says it is about, with all it has said before."""
        facts = self._facts.get(tool_call_id)
        if facts is None:
            facts = self._facts[tool_call_id] = ToolFacts()
            if len(self._facts) > self._limits.tool_facts:
                del self._facts[next(iter(self._facts))]
        facts.take(call, self.roots[0])
        return facts

    def tool_call_about(self, path: str) -> tuple[str, ToolFacts] | None:
        """The newest tool call of this turn that names the file."""
        return next(((key, facts) for key, facts in reversed(self._facts.items()) if path in facts.paths), None)

    def knows_tool_call(self, tool_call_id: str) -> bool:
        return tool_call_id in self._titles

    def tool_title(self, tool_call_id: str) -> str:
        return self._titles.get(tool_call_id, "")

    # ---- turns

    def begin(self, prompt: Prompt) -> Turn:
        self.break_message()
        self._facts.clear()
        self.turn = Turn(prompt, echo=prompt_text(prompt.params.get("prompt")))
        return self.turn


class Question(Struct):
    """A request of the agent that waits for the client: what it gets when the work is cancelled."""

    token: int
    kind: str
    session_id: str | None = None
    in_turn: bool = False
    options: dict[str, str] = field(default_factory=dict)  # id -> kind; "" where several of one id disagree
    grant: Grant | None = None  # what a yes to it allows
