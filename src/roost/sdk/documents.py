"""Documents as an editor shares them with an agent: what is open, and each change, in the order it happened (NES-2).

Positions here are Python's: indexes into the text. They are sent in the encoding the agent chose, and changes in the
form it asked for, whole or piece by piece (NES-3, NES-4). Events it did not ask for are not sent; the text is kept in
step all the same, so that suggestions can be applied.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from roost.acp import v2
from roost.errors import LimitError, LocalProtocolError
from roost.sdk.text_document import TextDocument

if TYPE_CHECKING:
    from roost.sdk.nes import NesSession


class OpenDocument:
    """One open document. Made by `NesSession.open_document`.

    document = nes.open_document("file:///project/a.py", "python", text)
    document.replace(10, 12, "new")
    document.close()
    """

    def __init__(self, session: NesSession, uri: str, language_id: str, text: str, version: int) -> None:
        self._session = session
        self._content = TextDocument(uri, language_id, version, text, session.position_encoding)
        self.is_open = True
        session.account(self, len(text))
        if self._is_wanted("did_open"):
            self._tell(v2.DidOpenDocumentNotification, language_id=language_id, version=version, text=text)

    @property
    def uri(self) -> str:
        """The URI it was opened under."""
        return self._content.uri

    @property
    def version(self) -> int:
        """Grows with every change (NES-2)."""
        return self._content.version

    @property
    def text(self) -> str:
        """The text as it is now, with every change in it."""
        return self._content.text or ""

    # ---- changes

    def replace(self, start: int, end: int, text: str) -> None:
        """Replaces `self.text[start:end]`."""
        self.edit([(start, end, text)])

    def edit(self, edits: Iterable[tuple[int, int, str]]) -> None:
        """Several replacements in one change, each in what the one before it left (NES-3).

        LocalProtocolError: a place that is not in the text; nothing is changed then.
        """
        changes = []
        trial = TextDocument(self.uri, "", self.version, self.text, self._content.encoding)
        for start, end, text in edits:
            if not 0 <= start <= end <= len(trial.text or ""):
                raise LocalProtocolError(f"{start} to {end} is not in the document")
            before = trial.text or ""
            if _splits_line_end(before, start):  # no position is inside one: so it is replaced, half of it by itself
                start, text = start - 1, "\r" + text
            if _splits_line_end(before, end):
                end, text = end + 1, text + "\n"
            changes.append(v2.TextDocumentContentChangeEvent(range=trial.range(start, end), text=text))
            trial.text = before[:start] + text + before[end:]
        if changes:
            self._change(trial.text or "", changes)

    def set_text(self, text: str) -> None:
        """Replaces all of it."""
        self._change(text, [v2.TextDocumentContentChangeEvent(text=text)])

    def _change(self, text: str, changes: list[v2.TextDocumentContentChangeEvent]) -> None:
        self._require_open()
        self._session.account(self, len(text))
        self._content.text = text
        self._content.version += 1
        wanted = self._session.events.did_change
        if wanted is not None:
            if wanted.sync_kind == "full":
                changes = [v2.TextDocumentContentChangeEvent(text=text)]
            self._tell(v2.DidChangeDocumentNotification, version=self.version, content_changes=changes)

    # ---- the other events

    def save(self) -> None:
        """It was saved."""
        self._require_open()
        if self._is_wanted("did_save"):
            self._tell(v2.DidSaveDocumentNotification)

    def focus(self, at: int, visible: tuple[int, int] | None = None) -> None:
        """The user looks at it, with the cursor `at`; `visible`: the part of the text that is on the screen."""
        self._require_open()
        if self._is_wanted("did_focus"):
            start, end = visible or (0, len(self.text))
            self._tell(
                v2.DidFocusDocumentNotification,
                version=self.version,
                position=self.position(at),
                visible_range=self.range(start, end),
            )

    def close(self) -> None:
        """It is not open any more. Once is enough."""
        if self.is_open:
            self.is_open = False
            self._session.close_document(self)
            if self._is_wanted("did_close"):
                self._tell(v2.DidCloseDocumentNotification)

    # ---- positions

    def position(self, offset: int) -> v2.Position:
        """A place in the text as the agent counts."""
        return self._content.position(offset)

    def range(self, start: int, end: int) -> v2.Range:
        """The range between two places in the text, as the agent counts."""
        return self._content.range(start, end)

    def offset(self, position: v2.Position) -> int:
        """A place the agent named, as an index into the text."""
        return self._content.offset(position)

    def apply(self, suggestion: v2.NesEditSuggestion) -> None:
        """Makes the edits of a suggestion, all of which refer to the text as it is. Accepting it is another matter.

        LocalProtocolError: it is for another document, or its edits overlap.
        """
        if suggestion.uri != self.uri:
            raise LocalProtocolError("the suggestion is for another document")
        edits = [
            (self.offset(edit.range.start), self.offset(edit.range.end), edit.new_text) for edit in suggestion.edits
        ]
        edits.sort(key=lambda edit: edit[:2])
        if any(end < start for start, end, _ in edits) or any(one[1] > two[0] for one, two in pairwise(edits)):
            raise LocalProtocolError("the edits of the suggestion overlap")
        self.edit(reversed(edits))  # from the end, so that no edit moves another

    def _is_wanted(self, event: str) -> bool:
        return getattr(self._session.events, event) is not None

    def _tell(self, kind: Any, **fields: Any) -> None:
        self._session.tell(kind(session_id=self._session.id, uri=self.uri, **fields))

    def _require_open(self) -> None:
        if not self.is_open:
            raise LocalProtocolError(f"{self.uri} is not open")


def _splits_line_end(text: str, at: int) -> bool:
    return at > 0 and text[at - 1 : at + 1] == "\r\n"


class DocumentBudget:
    """How much text the open documents of a session may have together."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._sizes: dict[int, int] = {}

    def account(self, document: object, size: int) -> None:
        """LimitError (`document_chars`): that would be too much."""
        if sum(self._sizes.values()) - self._sizes.get(id(document), 0) + size > self._bound:
            raise LimitError("document_chars", self._bound)
        self._sizes[id(document)] = size

    def release(self, document: object) -> None:
        """The document is closed; its text does not count any more."""
        self._sizes.pop(id(document), None)
