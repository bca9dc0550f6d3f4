"""What is kept of a session, told as it would have been while it happened."""

from __future__ import annotations

from typing import Any

import msgspec

from roost.acp import v2
from roost.acp.view_text import TerminalText, reveal
from roost.cli.failure import exit_words
from roost.cli.narrator import Narrator
from roost.cli.palette import Role
from roost.cli.question import subject_lines
from roost.cli.screen import Screen
from roost.cli.version1 import Version1
from roost.cli.view import resumed_words
from roost.errors import CodecError
from roost.host.events import Notification, PermissionRequest
from roost.sidecar.journal import Entry, Kind
from roost.sidecar.tiers import NATIVE

_CHUNKS = frozenset(("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"))


class Replay:
    """Takes entries in order, as they are read; also while they come to be, and are merged behind our back."""

    def __init__(self, screen: Screen, cwd: str, protocol_version: int) -> None:
        self._screen = screen
        self._cwd = cwd
        self._narrator = Narrator(screen, cwd)
        self._version1 = Version1() if protocol_version < 2 else None
        self._told: list[tuple[int, int]] = []  # v1: numbers of texts that may be merged yet, and how long they are
        self._last = 0

    def tell(self, entry: Entry) -> None:
        if entry.kind is Kind.UPDATE:
            self._update(entry)
        else:
            body = msgspec.json.decode(entry.body)
            _TELL[entry.kind](self, entry.number, body if isinstance(body, dict) else {})
        self._last = max(self._last, entry.number)

    def finish(self) -> None:
        self._screen.finish()

    def _update(self, entry: Entry) -> None:
        event = Notification(entry.session_id, entry.body.decode("utf-8", "replace"))
        try:
            if self._version1 is None:
                update: v2.SessionUpdate | None = event.update
            else:
                update = self._version1.read(self._unread(entry, event.raw_update))
        except (CodecError, msgspec.MsgspecError):
            return  # no update at all
        if update is not None:
            self._narrator.tell(update)

    def _unread(self, entry: Entry, update: dict[str, Any]) -> dict[str, Any]:
        """A merged text of v1 without the beginning that was told already; v2's merged messages say that themselves."""
        content = update.get("content")
        if update.get("sessionUpdate") not in _CHUNKS or not isinstance(content, dict):
            return update
        text = content.get("text")
        if not isinstance(text, str):
            return update
        if entry.first and entry.first <= self._last:
            known = sum([size for number, size in self._told if number >= entry.first])
            update = {**update, "content": {**content, "text": text[known:]}}
        self._told.append((entry.number, len(text)))
        return update

    def _prompt(self, number: int, body: dict[str, Any]) -> None:
        params = body.get("params")
        blocks = params.get("prompt") if isinstance(params, dict) else None
        words = "".join(_block_words(block) for block in blocks) if isinstance(blocks, list) else ""
        text = TerminalText().feed(words).rstrip("\n")
        self._told.clear()
        self._screen.lines(Role.COMMAND, "\n".join(f"> {line}" for line in text.split("\n")), ("prompt", number))

    def _turn(self, number: int, body: dict[str, Any]) -> None:
        reason = body.get("stopReason")
        shown = reveal(reason) if isinstance(reason, str) else "no reason given"
        self._screen.lines(Role.END, f"Turn ended: {shown}", ("end", number))

    def _permission(self, number: int, body: dict[str, Any]) -> None:
        params = msgspec.json.encode(body.get("params")).decode()
        text = "\n".join(subject_lines(PermissionRequest("", "", params)))
        self._screen.lines(Role.PERMISSION, f"? {text}", ("permission", _ident(body)))

    def _decision(self, number: int, body: dict[str, Any]) -> None:
        by = body.get("by")
        who = f" ({reveal(by)})" if isinstance(by, str) else ""
        if "error" in body:
            answer = "refused"
        else:
            result = body.get("result")
            outcome = result.get("outcome") if isinstance(result, dict) else None
            chosen = outcome.get("optionId", outcome.get("outcome")) if isinstance(outcome, dict) else None
            answer = reveal(chosen) if isinstance(chosen, str) else "answered"
        self._screen.lines(Role.DETAIL, f"  -> {answer}{who}", ("permission", _ident(body)))

    def _request(self, number: int, body: dict[str, Any]) -> None:
        method = body.get("method")
        text = f"? asks its client: {reveal(method) if isinstance(method, str) else 'something'}"
        self._screen.lines(Role.DETAIL, text, ("permission", _ident(body)))

    def _exit(self, number: int, body: dict[str, Any]) -> None:
        code = body.get("exitCode")
        how = exit_words(code if isinstance(code, int) else None)
        again = "; it was started again" if body.get("restart") == "restarted" else ""
        self._screen.lines(Role.BAD, f"The agent {how}{again}", ("exit", number))

    def _resumed(self, number: int, body: dict[str, Any]) -> None:
        if body.get("tier") != NATIVE:  # another agent: its ids are not those of the one before
            self._narrator = Narrator(self._screen, self._cwd)
        self._screen.lines(Role.END, resumed_words(body.get("tier")), ("resumed", number))

    def _interrupted(self, number: int, body: dict[str, Any]) -> None:
        self._screen.lines(Role.BAD, "Turn interrupted: the daemon was stopped", ("end", number))

    def _gap(self, number: int, body: dict[str, Any]) -> None:
        what = {"lost": "were lost", "age": "were let go, by age", "size": "were let go, by size"}
        text = f"({body.get('first')} to {body.get('last')} {what.get(str(body.get('reason')), 'are not here')})"
        self._screen.lines(Role.BAD, text, ("gap", number))


_TELL = {
    Kind.PROMPT: Replay._prompt,
    Kind.TURN: Replay._turn,
    Kind.PERMISSION: Replay._permission,
    Kind.REQUEST: Replay._request,
    Kind.DECISION: Replay._decision,
    Kind.EXIT: Replay._exit,
    Kind.RESUMED: Replay._resumed,
    Kind.INTERRUPTED: Replay._interrupted,
    Kind.GAP: Replay._gap,
}


def _ident(body: dict[str, Any]) -> str:
    return str(body.get("id"))


def _block_words(block: Any) -> str:
    if not isinstance(block, dict):
        return ""
    text = block.get("text")
    return text if block.get("type") == "text" and isinstance(text, str) else f"[{block.get('type')}]"
