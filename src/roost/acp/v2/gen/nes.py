"""Next-edit suggestions: sessions, context, suggestions and their fate.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TYPE_CHECKING, TypeAlias

from roost.acp.calls import Notification, Request
from roost.acp.v2.gen.documents import Position, Range
from roost.acp.v2.gen.ids import NesSuggestionId, SessionId
from roost.wire.model import Int64, JsonObject, Lenient, Model, OpenUnion, Uint32, Uint64, Unknown


class WorkspaceFolder(Model, frozen=True, kw_only=True):
    """A folder of the editor's workspace.

    Unstable. Schema: #/$defs/WorkspaceFolder.
    """

    uri: str
    name: str
    meta: Lenient[JsonObject | None] = None


class NesRepository(Model, frozen=True, kw_only=True):
    """The repository the workspace is a copy of.

    Unstable. Schema: #/$defs/NesRepository.
    """

    name: str
    owner: str
    remote_url: str
    meta: Lenient[JsonObject | None] = None


class StartNesRequest(Request["StartNesResponse"], frozen=True, kw_only=True):
    """Opens a session for edit suggestions; its ids are not those of other sessions.

    To the agent: request `nes/start`. Unstable. Schema: #/$defs/StartNesRequest.
    """

    METHOD: ClassVar[str] = "nes/start"

    workspace_uri: Lenient[str | None] = None
    workspace_folders: list[WorkspaceFolder] | None = None
    repository: Lenient[NesRepository | None] = None
    meta: Lenient[JsonObject | None] = None


class StartNesResponse(Model, frozen=True, kw_only=True):
    """The suggestion session.

    Unstable. Schema: #/$defs/StartNesResponse.
    """

    session_id: SessionId
    meta: Lenient[JsonObject | None] = None


class CloseNesRequest(Request["CloseNesResponse"], frozen=True, kw_only=True):
    """Closes a suggestion session.

    To the agent: request `nes/close`. Unstable. Schema: #/$defs/CloseNesRequest.
    """

    METHOD: ClassVar[str] = "nes/close"

    session_id: SessionId
    meta: Lenient[JsonObject | None] = None


class CloseNesResponse(Model, frozen=True, kw_only=True):
    """The suggestion session is closed.

    Unstable. Schema: #/$defs/CloseNesResponse.
    """

    meta: Lenient[JsonObject | None] = None


class NesTriggerKind:
    """What made the client ask for suggestions.

    Names for some values; fields hold any str. Unstable. Schema: #/$defs/NesTriggerKind.
    """

    AUTOMATIC: Final = "automatic"
    DIAGNOSTIC: Final = "diagnostic"
    MANUAL: Final = "manual"


class NesDiagnosticSeverity:
    """How bad a diagnostic is.

    Names for some values; fields hold any str. Unstable. Schema: #/$defs/NesDiagnosticSeverity.
    """

    ERROR: Final = "error"
    WARNING: Final = "warning"
    INFORMATION: Final = "information"
    HINT: Final = "hint"


class NesRecentFile(Model, frozen=True, kw_only=True):
    """A recently visited file.

    Unstable. Schema: #/$defs/NesRecentFile.
    """

    uri: str
    language_id: str
    text: str
    meta: Lenient[JsonObject | None] = None


class NesExcerpt(Model, frozen=True, kw_only=True):
    """Some lines of a file.

    Unstable. Schema: #/$defs/NesExcerpt.
    """

    start_line: Uint32
    end_line: Uint32
    text: str
    meta: Lenient[JsonObject | None] = None


class NesRelatedSnippet(Model, frozen=True, kw_only=True):
    """Lines of a file that have to do with the place in question.

    Unstable. Schema: #/$defs/NesRelatedSnippet.
    """

    uri: str
    excerpts: list[NesExcerpt]
    meta: Lenient[JsonObject | None] = None


class NesEditHistoryEntry(Model, frozen=True, kw_only=True):
    """An edit made before.

    Unstable. Schema: #/$defs/NesEditHistoryEntry.
    """

    uri: str
    diff: str
    meta: Lenient[JsonObject | None] = None


class NesUserAction(Model, frozen=True, kw_only=True):
    """Something the user did, with its time in milliseconds since 1970.

    Unstable. Schema: #/$defs/NesUserAction.
    """

    action: str
    uri: str
    position: Position
    timestamp_ms: Uint64
    meta: Lenient[JsonObject | None] = None


class NesOpenFile(Model, frozen=True, kw_only=True):
    """A file open in the editor.

    Unstable. Schema: #/$defs/NesOpenFile.
    """

    uri: str
    language_id: str
    visible_range: Lenient[Range | None] = None
    last_focused_ms: Lenient[Uint64 | None] = None
    meta: Lenient[JsonObject | None] = None


class NesDiagnostic(Model, frozen=True, kw_only=True):
    """An error or a warning at a place.

    Unstable. Schema: #/$defs/NesDiagnostic.
    """

    uri: str
    range: Range
    severity: str  # NesDiagnosticSeverity
    message: str
    meta: Lenient[JsonObject | None] = None


class NesSuggestContext(Model, frozen=True, kw_only=True):
    """What surrounds a request for suggestions.

    Unstable. Schema: #/$defs/NesSuggestContext.
    """

    recent_files: list[NesRecentFile] | None = None
    related_snippets: list[NesRelatedSnippet] | None = None
    edit_history: list[NesEditHistoryEntry] | None = None
    user_actions: list[NesUserAction] | None = None
    open_files: list[NesOpenFile] | None = None
    diagnostics: list[NesDiagnostic] | None = None
    meta: Lenient[JsonObject | None] = None


class SuggestNesRequest(Request["SuggestNesResponse"], frozen=True, kw_only=True):
    """Asks what the user may want to edit next.

    To the agent: request `nes/suggest`. Unstable. Schema: #/$defs/SuggestNesRequest.
    """

    METHOD: ClassVar[str] = "nes/suggest"

    session_id: SessionId
    uri: str
    version: Int64
    position: Position
    selection: Range | None = None
    trigger_kind: str  # NesTriggerKind
    context: NesSuggestContext | None = None
    meta: Lenient[JsonObject | None] = None


class NesTextEdit(Model, frozen=True, kw_only=True):
    """A range and what it becomes.

    Unstable. Schema: #/$defs/NesTextEdit.
    """

    range: Range
    new_text: str
    meta: Lenient[JsonObject | None] = None


class NesEditSuggestion(Model, frozen=True, kw_only=True, tag_field="kind", tag="edit"):
    """Suggests edits to a file.

    Unstable. Schema: #/$defs/NesEditSuggestion.
    """

    suggestion_id: NesSuggestionId
    uri: str
    edits: list[NesTextEdit]
    cursor_position: Lenient[Position | None] = None
    meta: Lenient[JsonObject | None] = None


class NesJumpSuggestion(Model, frozen=True, kw_only=True, tag_field="kind", tag="jump"):
    """Suggests a place to go to.

    Unstable. Schema: #/$defs/NesJumpSuggestion.
    """

    suggestion_id: NesSuggestionId
    uri: str
    position: Position
    meta: Lenient[JsonObject | None] = None


class NesRenameSuggestion(Model, frozen=True, kw_only=True, tag_field="kind", tag="rename"):
    """Suggests renaming the symbol at a place.

    Unstable. Schema: #/$defs/NesRenameSuggestion.
    """

    suggestion_id: NesSuggestionId
    uri: str
    position: Position
    new_name: str
    meta: Lenient[JsonObject | None] = None


class NesSearchAndReplaceSuggestion(Model, frozen=True, kw_only=True, tag_field="kind", tag="searchAndReplace"):
    """Suggests replacing all of something in a file.

    Unstable. Schema: #/$defs/NesSearchAndReplaceSuggestion.
    """

    suggestion_id: NesSuggestionId
    uri: str
    search: str
    replace: str
    is_regex: bool | None = None
    meta: Lenient[JsonObject | None] = None


class _OtherNesSuggestion(Model, frozen=True, kw_only=True):
    """What a variant of NesSuggestion needs beside its tag, whatever the tag."""

    suggestion_id: NesSuggestionId


if TYPE_CHECKING:
    NesSuggestion: TypeAlias = (
        NesEditSuggestion
        | NesJumpSuggestion
        | NesRenameSuggestion
        | NesSearchAndReplaceSuggestion
        | Unknown
    )
else:
    NesSuggestion = Annotated[
        NesEditSuggestion | NesJumpSuggestion | NesRenameSuggestion | NesSearchAndReplaceSuggestion,
        OpenUnion("kind", {
            "edit": NesEditSuggestion,
            "jump": NesJumpSuggestion,
            "rename": NesRenameSuggestion,
            "searchAndReplace": NesSearchAndReplaceSuggestion,
        }, _OtherNesSuggestion),
    ]
"""One suggestion.

Told apart by `kind`. Unstable. Schema: #/$defs/NesSuggestion.
"""


class SuggestNesResponse(Model, frozen=True, kw_only=True):
    """The suggestions, best first.

    Unstable. Schema: #/$defs/SuggestNesResponse.
    """

    suggestions: list[NesSuggestion]
    meta: Lenient[JsonObject | None] = None


class AcceptNesNotification(Notification, frozen=True, kw_only=True):
    """The user took a suggestion.

    To the agent: notification `nes/accept`. Unstable. Schema: #/$defs/AcceptNesNotification.
    """

    METHOD: ClassVar[str] = "nes/accept"

    session_id: SessionId
    suggestion_id: NesSuggestionId
    meta: Lenient[JsonObject | None] = None


class NesRejectReason:
    """Why a suggestion was not taken.

    Names for some values; fields hold any str. Unstable. Schema: #/$defs/NesRejectReason.
    """

    REJECTED: Final = "rejected"
    IGNORED: Final = "ignored"
    REPLACED: Final = "replaced"
    CANCELLED: Final = "cancelled"


class RejectNesNotification(Notification, frozen=True, kw_only=True):
    """The user did not take a suggestion.

    To the agent: notification `nes/reject`. Unstable. Schema: #/$defs/RejectNesNotification.
    """

    METHOD: ClassVar[str] = "nes/reject"

    session_id: SessionId
    suggestion_id: NesSuggestionId
    reason: Lenient[str | None] = None  # NesRejectReason
    meta: Lenient[JsonObject | None] = None
