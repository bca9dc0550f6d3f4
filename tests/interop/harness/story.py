"""One turn as a client of v2 sees it, put together from its updates; each of them has to decode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from roost.acp import v2
from roost.host import HostEvent, Notification, Turn
from roost.sidecar.wake import RESUMED

Json = dict[str, Any]


class Story:
    """`text` and `thoughts` are what was said in the turn, `calls` its tool calls by id, as told last.

    `own`: the kinds of updates the agent has beside those of the schema.
    """

    def __init__(self, own: frozenset[str] = frozenset()) -> None:
        self._own = own
        self.text = ""
        self.thoughts = ""
        self.prompt = ""
        self.calls: dict[str, Json] = {}
        self.kinds: list[str] = []
        self.tier: str | None = None  # how the session was woken, where it was
        self.stop_reason: str | None = None

    def __repr__(self) -> str:
        calls = {id_: call.get("status") for id_, call in self.calls.items()}
        return f"Story({self.text!r}, thoughts={self.thoughts!r}, calls={calls}, stop_reason={self.stop_reason!r})"

    def hear(self, event: HostEvent) -> None:
        if not isinstance(event, Notification):
            return
        if event.method == RESUMED:
            self.tier = event.message["params"]["tier"]
        if event.method != "session/update":
            return
        update = event.raw_update
        kind = update["sessionUpdate"]
        if isinstance(event.update, v2.Unknown):
            assert kind in self._own, f"an update that v2 has no type for: {event.text}"
        self.kinds.append(kind)
        match kind:
            case "agent_message_chunk" | "agent_message":
                self.text += _text(update)
            case "agent_thought_chunk" | "agent_thought":
                self.thoughts += _text(update)
            case "user_message_chunk" | "user_message":
                self.prompt += _text(update)
            case "tool_call_update":
                self.calls.setdefault(update["toolCallId"], {}).update(update)

    async def follow(self, turn: Turn, until: Callable[[Story], bool] | None = None) -> Story:
        """To the turn's end, or until something is seen. Raises what the turn raises."""
        async for event in turn:
            self.hear(event)
            if until is not None and until(self):
                return self
        self.stop_reason = turn.stop_reason
        return self


def _text(update: Json) -> str:
    content = update.get("content")
    blocks = content if isinstance(content, list) else [content]
    return "".join(block.get("text", "") for block in blocks if isinstance(block, dict))
