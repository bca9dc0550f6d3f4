"""What a session has said so far, as its agent remembers it: folded as updates go out, sent again for a replay."""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Iterable
from typing import Final, TypeGuard, cast

from roost.acp import v2
from roost.acp.fold import fold
from roost.acp.view import SessionView, ViewLimits
from roost.acp.view_entries import Message, MessageKind, Plan, ToolCall
from roost.acp.view_terminal import Terminal
from roost.errors import CodecError
from roost.wire.decode import decode, encode
from roost.wire.model import UNSET

log = logging.getLogger("roost.agent")

# A replay has to be whole, so a history may be larger than what a client shows; ours.
DEFAULT_HISTORY_LIMITS: Final = ViewLimits(total_bytes=128 * 1024 * 1024, entries=100_000)

_GATHERED: Final = 512  # chunks of one message before their texts are joined
_JOINED: Final = 64 * 1024  # characters; a text that long is not touched again, so that joining stays linear

_MESSAGES: Final[dict[MessageKind, type[v2.UserMessage] | type[v2.AgentMessage] | type[v2.AgentThought]]] = {
    "user_message": v2.UserMessage,
    "agent_message": v2.AgentMessage,
    "agent_thought": v2.AgentThought,
}
_CHUNKS: Final[dict[type, MessageKind]] = {
    v2.AgentMessageChunk: "agent_message",
    v2.AgentThoughtChunk: "agent_thought",
    v2.UserMessageChunk: "user_message",
}


class History:
    """Records updates. `view` is what they amount to; an author's agent builds its context from it."""

    def __init__(self, limits: ViewLimits = DEFAULT_HISTORY_LIMITS) -> None:
        self.view = SessionView(limits)
        self._chunks: dict[tuple[MessageKind, str], int] = {}
        self._warned = False

    def record(self, update: v2.SessionUpdate) -> None:
        """One more update that was sent."""
        fold(self.view, update)
        kind = _CHUNKS.get(type(update))
        if kind is not None:
            key = (kind, cast(v2.ContentChunk, update).message_id)
            count = self._chunks[key] = self._chunks.get(key, 0) + 1
            if count >= _GATHERED:
                self._join(*key)

    def settle(self) -> None:
        """Work has ended: texts that came in chunks are joined."""
        for kind, message_id in list(self._chunks):
            self._join(kind, message_id)
        if self.view.dropped and not self._warned:
            self._warned = True
            log.warning("a session's history is over its limit: a replay will lack its oldest parts")

    def _join(self, kind: MessageKind, message_id: str) -> None:
        self._chunks.pop((kind, message_id), None)
        message = self.view.message(kind, message_id)
        if message is not None:
            joined = joined_texts(message.content)
            if len(joined) < len(message.content):
                fold(self.view, _MESSAGES[kind](message_id=message_id, content=joined))

    # ---- again

    def updates(self) -> list[v2.SessionUpdate]:
        """All of it once more, in order: upserts with the ids of old (SES-18, SES-19), terminals as snapshots (TRM-11).

        Left out is what means nothing later: states, and variants this version does not know.
        """
        updates: list[v2.SessionUpdate] = []
        for entry in self.view.timeline:
            match entry:
                case Message():
                    updates.append(_message_update(entry))
                case ToolCall():
                    updates.append(_tool_call_update(entry))
                case Terminal():
                    updates.append(_terminal_update(entry))
                case Plan():
                    updates.append(v2.PlanUpdate(plan=entry.value))
                case _:
                    pass
        if self.view.title is not None or self.view.info_meta is not None:
            title = UNSET if self.view.title is None else self.view.title
            meta = UNSET if self.view.info_meta is None else self.view.info_meta
            updates.append(v2.SessionInfoUpdate(title=title, meta=meta))
        if self.view.usage is not None:
            updates.append(self.view.usage)
        return updates

    def stored(self) -> list[bytes]:
        """The same as JSON texts, for a store."""
        self.settle()
        return [encode(update) for update in self.updates()]

    @classmethod
    def of(cls, stored: Iterable[bytes], limits: ViewLimits = DEFAULT_HISTORY_LIMITS) -> History:
        """A history from a store. Tool calls that were under way then have come to no end: they count as cancelled."""
        history = cls(limits)
        for text in stored:
            try:
                history.record(decode(v2.SessionUpdate, text))
            except CodecError as error:
                log.warning("an entry of a stored history is left out: %s", error)
        history.settle()
        history.view.mark_cancelled()
        return history


def joined_texts(blocks: Iterable[v2.ContentBlock]) -> list[v2.ContentBlock]:
    """The same content with neighbouring plain texts as one block."""
    joined: list[v2.ContentBlock] = []
    run: list[str] = []
    for block in blocks:
        if _is_plain(block) and len(block.text) < _JOINED:
            run.append(block.text)
            continue
        if run:
            joined.append(v2.TextContent(text="".join(run)))
            run = []
        joined.append(block)
    if run:
        joined.append(v2.TextContent(text="".join(run)))
    return joined


def _is_plain(block: v2.ContentBlock) -> TypeGuard[v2.TextContent]:
    return type(block) is v2.TextContent and block.annotations is None and block.meta is None


def _message_update(entry: Message) -> v2.SessionUpdate:
    meta = UNSET if entry.meta is None else entry.meta
    return _MESSAGES[entry.kind](message_id=entry.message_id, content=[*entry.content], meta=meta)


def _tool_call_update(entry: ToolCall) -> v2.SessionUpdate:
    return v2.SessionToolCallUpdate(
        tool_call_id=entry.tool_call_id,
        name=UNSET if entry.name is None else entry.name,
        title=entry.title,
        kind=entry.kind,
        status=entry.status,
        content=[*entry.content] or UNSET,
        locations=[*entry.locations] or UNSET,
        raw_input=UNSET if entry.raw_input is None else entry.raw_input,
        raw_output=UNSET if entry.raw_output is None else entry.raw_output,
        meta=UNSET if entry.meta is None else entry.meta,
    )


def _terminal_update(entry: Terminal) -> v2.SessionUpdate:
    return v2.TerminalUpdate(
        terminal_id=entry.terminal_id,
        command=UNSET if entry.command is None else entry.command,
        cwd=UNSET if entry.cwd is None else entry.cwd,
        output=v2.TerminalOutput(data=b64encode(entry.data).decode()) if entry.received else UNSET,
        exit_status=UNSET if entry.exit_status is None else entry.exit_status,
        meta=UNSET if entry.meta is None else entry.meta,
    )
