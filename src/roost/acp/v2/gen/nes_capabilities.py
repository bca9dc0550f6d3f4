"""What either side can do about next-edit suggestions.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from roost.wire.model import JsonObject, Lenient, Model, Uint32

PositionEncodingKind: TypeAlias = Literal["utf-16", "utf-32", "utf-8"]
"""What one character of a position counts.

Unstable. Schema: #/$defs/PositionEncodingKind.
"""

TextDocumentSyncKind: TypeAlias = Literal["full", "incremental"]
"""Whether document changes carry the whole text or edits.

Unstable. Schema: #/$defs/TextDocumentSyncKind.
"""


class NesDocumentDidOpenCapabilities(Model, frozen=True, kw_only=True):
    """The agent wants to hear of opened documents.

    Unstable. Schema: #/$defs/NesDocumentDidOpenCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class NesDocumentDidChangeCapabilities(Model, frozen=True, kw_only=True):
    """The agent wants to hear of changed documents, in this form.

    Unstable. Schema: #/$defs/NesDocumentDidChangeCapabilities.
    """

    sync_kind: TextDocumentSyncKind
    meta: Lenient[JsonObject | None] = None


class NesDocumentDidCloseCapabilities(Model, frozen=True, kw_only=True):
    """The agent wants to hear of closed documents.

    Unstable. Schema: #/$defs/NesDocumentDidCloseCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class NesDocumentDidSaveCapabilities(Model, frozen=True, kw_only=True):
    """The agent wants to hear of saved documents.

    Unstable. Schema: #/$defs/NesDocumentDidSaveCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class NesDocumentDidFocusCapabilities(Model, frozen=True, kw_only=True):
    """The agent wants to hear which document the user looks at.

    Unstable. Schema: #/$defs/NesDocumentDidFocusCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class NesDocumentEventCapabilities(Model, frozen=True, kw_only=True):
    """The document events the agent wants.

    Unstable. Schema: #/$defs/NesDocumentEventCapabilities.
    """

    did_open: Lenient[NesDocumentDidOpenCapabilities | None] = None
    did_change: Lenient[NesDocumentDidChangeCapabilities | None] = None
    did_close: Lenient[NesDocumentDidCloseCapabilities | None] = None
    did_save: Lenient[NesDocumentDidSaveCapabilities | None] = None
    did_focus: Lenient[NesDocumentDidFocusCapabilities | None] = None
    meta: Lenient[JsonObject | None] = None


class NesEventCapabilities(Model, frozen=True, kw_only=True):
    """The events the agent wants.

    Unstable. Schema: #/$defs/NesEventCapabilities.
    """

    document: Lenient[NesDocumentEventCapabilities | None] = None
    meta: Lenient[JsonObject | None] = None


class NesRecentFilesCapabilities(Model, frozen=True, kw_only=True):
    """The agent wants recently visited files, at most this many.

    Unstable. Schema: #/$defs/NesRecentFilesCapabilities.
    """

    max_count: Lenient[Uint32 | None] = None
    meta: Lenient[JsonObject | None] = None


class NesRelatedSnippetsCapabilities(Model, frozen=True, kw_only=True):
    """The agent wants related code.

    Unstable. Schema: #/$defs/NesRelatedSnippetsCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class NesEditHistoryCapabilities(Model, frozen=True, kw_only=True):
    """The agent wants recent edits, at most this many.

    Unstable. Schema: #/$defs/NesEditHistoryCapabilities.
    """

    max_count: Lenient[Uint32 | None] = None
    meta: Lenient[JsonObject | None] = None


class NesUserActionsCapabilities(Model, frozen=True, kw_only=True):
    """The agent wants recent actions of the user, at most this many.

    Unstable. Schema: #/$defs/NesUserActionsCapabilities.
    """

    max_count: Lenient[Uint32 | None] = None
    meta: Lenient[JsonObject | None] = None


class NesOpenFilesCapabilities(Model, frozen=True, kw_only=True):
    """The agent wants the open files.

    Unstable. Schema: #/$defs/NesOpenFilesCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class NesDiagnosticsCapabilities(Model, frozen=True, kw_only=True):
    """The agent wants diagnostics.

    Unstable. Schema: #/$defs/NesDiagnosticsCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class NesContextCapabilities(Model, frozen=True, kw_only=True):
    """The context the agent wants with each request for suggestions.

    Unstable. Schema: #/$defs/NesContextCapabilities.
    """

    recent_files: Lenient[NesRecentFilesCapabilities | None] = None
    related_snippets: Lenient[NesRelatedSnippetsCapabilities | None] = None
    edit_history: Lenient[NesEditHistoryCapabilities | None] = None
    user_actions: Lenient[NesUserActionsCapabilities | None] = None
    open_files: Lenient[NesOpenFilesCapabilities | None] = None
    diagnostics: Lenient[NesDiagnosticsCapabilities | None] = None
    meta: Lenient[JsonObject | None] = None


class NesCapabilities(Model, frozen=True, kw_only=True):
    """The agent suggests edits.

    Unstable. Schema: #/$defs/NesCapabilities.
    """

    events: Lenient[NesEventCapabilities | None] = None
    context: Lenient[NesContextCapabilities | None] = None
    meta: Lenient[JsonObject | None] = None


class NesJumpCapabilities(Model, frozen=True, kw_only=True):
    """The client can jump to a place.

    Unstable. Schema: #/$defs/NesJumpCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class NesRenameCapabilities(Model, frozen=True, kw_only=True):
    """The client can rename a symbol.

    Unstable. Schema: #/$defs/NesRenameCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class NesSearchAndReplaceCapabilities(Model, frozen=True, kw_only=True):
    """The client can search and replace.

    Unstable. Schema: #/$defs/NesSearchAndReplaceCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class ClientNesCapabilities(Model, frozen=True, kw_only=True):
    """The suggestions the client can carry out, beyond plain edits.

    Unstable. Schema: #/$defs/ClientNesCapabilities.
    """

    jump: Lenient[NesJumpCapabilities | None] = None
    rename: Lenient[NesRenameCapabilities | None] = None
    search_and_replace: Lenient[NesSearchAndReplaceCapabilities | None] = None
    meta: Lenient[JsonObject | None] = None
