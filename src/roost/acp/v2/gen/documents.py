"""Open documents, kept in step with the editor.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from roost.acp.calls import Notification
from roost.acp.v2.gen.ids import SessionId
from roost.wire.model import Int64, Items, JsonObject, Lenient, Model, Uint32


class Position(Model, frozen=True, kw_only=True):
    """A place in a document, counted from zero in the negotiated encoding.

    Unstable. Schema: #/$defs/Position.
    """

    line: Uint32
    character: Uint32
    meta: Lenient[JsonObject | None] = None


class Range(Model, frozen=True, kw_only=True):
    """From one place up to, but not including, another.

    Unstable. Schema: #/$defs/Range.
    """

    start: Position
    end: Position
    meta: Lenient[JsonObject | None] = None


class TextDocumentContentChangeEvent(Model, frozen=True, kw_only=True):
    """One edit, or the whole text when there is no range.

    Unstable. Schema: #/$defs/TextDocumentContentChangeEvent.
    """

    range: Range | None = None
    text: str
    meta: Lenient[JsonObject | None] = None


class DidOpenDocumentNotification(Notification, frozen=True, kw_only=True):
    """A document was opened, with its text.

    To the agent: notification `document/didOpen`. Unstable. Schema: #/$defs/DidOpenDocumentNotification.
    """

    METHOD: ClassVar[str] = "document/didOpen"

    session_id: SessionId
    uri: str
    language_id: str
    version: Int64
    text: str
    meta: Lenient[JsonObject | None] = None


class DidChangeDocumentNotification(Notification, frozen=True, kw_only=True):
    """A document changed.

    To the agent: notification `document/didChange`. Unstable. Schema: #/$defs/DidChangeDocumentNotification.
    """

    METHOD: ClassVar[str] = "document/didChange"

    session_id: SessionId
    uri: str
    version: Int64
    content_changes: Lenient[Items[TextDocumentContentChangeEvent]]
    meta: Lenient[JsonObject | None] = None


class DidCloseDocumentNotification(Notification, frozen=True, kw_only=True):
    """A document was closed.

    To the agent: notification `document/didClose`. Unstable. Schema: #/$defs/DidCloseDocumentNotification.
    """

    METHOD: ClassVar[str] = "document/didClose"

    session_id: SessionId
    uri: str
    meta: Lenient[JsonObject | None] = None


class DidSaveDocumentNotification(Notification, frozen=True, kw_only=True):
    """A document was saved.

    To the agent: notification `document/didSave`. Unstable. Schema: #/$defs/DidSaveDocumentNotification.
    """

    METHOD: ClassVar[str] = "document/didSave"

    session_id: SessionId
    uri: str
    meta: Lenient[JsonObject | None] = None


class DidFocusDocumentNotification(Notification, frozen=True, kw_only=True):
    """The user looks at a document, here.

    To the agent: notification `document/didFocus`. Unstable. Schema: #/$defs/DidFocusDocumentNotification.
    """

    METHOD: ClassVar[str] = "document/didFocus"

    session_id: SessionId
    uri: str
    version: Int64
    position: Position
    visible_range: Range
    meta: Lenient[JsonObject | None] = None
