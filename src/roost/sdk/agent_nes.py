"""Next-edit suggestions as an agent makes them: sessions of their own, documents kept in step, suggestions checked."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from roost.acp import v2
from roost.errors import LocalProtocolError, RpcError
from roost.rpc.messages import LIMIT_EXCEEDED
from roost.sdk.agent_sessions import unknown_session
from roost.sdk.incoming import Incoming, Losses
from roost.sdk.text_document import TextDocument

if TYPE_CHECKING:
    from roost.sdk.agent_link import AgentLink

log = logging.getLogger("roost.agent")

ContextKind: TypeAlias = Literal[
    "recent_files", "related_snippets", "edit_history", "user_actions", "open_files", "diagnostics"
]
_CONTEXTS: Final[dict[str, Any]] = {
    "recent_files": v2.NesRecentFilesCapabilities,
    "related_snippets": v2.NesRelatedSnippetsCapabilities,
    "edit_history": v2.NesEditHistoryCapabilities,
    "user_actions": v2.NesUserActionsCapabilities,
    "open_files": v2.NesOpenFilesCapabilities,
    "diagnostics": v2.NesDiagnosticsCapabilities,
}


class AgentNesSession:
    """One session of suggestions. `scratch` is the author's own, and lasts until close."""

    def __init__(self, link: AgentLink, session_id: str, request: v2.StartNesRequest) -> None:
        self.link = link
        self.id = session_id
        self.request = request
        self.documents: dict[str, TextDocument] = {}
        """Open documents by URI, as far as the agent asked for document events."""
        self.focused: TextDocument | None = None
        self.scratch: dict[str, Any] = {}
        self._next_id = 0

    def new_suggestion_id(self) -> str:
        """An id that no other suggestion of this session has."""
        self._next_id += 1
        return f"sug-{self._next_id}"


class SuggestCall:
    """One request for suggestions."""

    def __init__(self, session: AgentNesSession, request: v2.SuggestNesRequest) -> None:
        self.session = session
        self.request = request

    @property
    def document(self) -> TextDocument | None:
        """The document in question, if the client keeps it in step, and its text is known."""
        document = self.session.documents.get(self.request.uri)
        return None if document is None or document.text is None else document

    @property
    def offset(self) -> int | None:
        """Where the cursor is in the document's text."""
        return None if self.document is None else self.document.offset(self.request.position)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of suggestion this client can carry out (NES-5)."""
        return allowed_kinds(self.session.link.capabilities)

    def edit(self, start: int, end: int, new_text: str) -> v2.NesEditSuggestion:
        """A suggestion to replace a stretch of the document's text. ValueError: the text is not known."""
        if self.document is None:
            raise ValueError("the document's text is not known")
        return v2.NesEditSuggestion(
            suggestion_id=self.session.new_suggestion_id(),
            uri=self.request.uri,
            edits=[v2.NesTextEdit(range=self.document.range(start, end), new_text=new_text)],
        )


Suggester: TypeAlias = Callable[[SuggestCall], Awaitable[Sequence[v2.NesSuggestion]]]


class Suggestions:
    """What an author registered about suggestions."""

    def __init__(
        self,
        suggest: Suggester,
        documents: Literal["full", "incremental"] | None,
        context: Iterable[ContextKind] | Mapping[ContextKind, int | None],
        focus: bool,
        save: bool,
    ) -> None:
        self.suggest = suggest
        self.documents = documents
        self.context = {kind: _context(kind, count) for kind, count in _counts(context)}
        self.focus = focus
        self.save = save
        self.accepted: Callable[[AgentNesSession, v2.AcceptNesNotification], Any] | None = None
        self.rejected: Callable[[AgentNesSession, v2.RejectNesNotification], Any] | None = None
        self.saved: Callable[[AgentNesSession, TextDocument], Any] | None = None

    def capabilities(self) -> v2.NesCapabilities:
        """What is advertised: the events and the context that were asked for."""
        events = v2.NesDocumentEventCapabilities(
            did_open=v2.NesDocumentDidOpenCapabilities() if self.documents else None,
            did_change=v2.NesDocumentDidChangeCapabilities(sync_kind=self.documents) if self.documents else None,
            did_close=v2.NesDocumentDidCloseCapabilities() if self.documents else None,
            did_save=v2.NesDocumentDidSaveCapabilities() if self.save else None,
            did_focus=v2.NesDocumentDidFocusCapabilities() if self.focus else None,
        )
        wanted = self.documents or self.save or self.focus
        return v2.NesCapabilities(
            events=v2.NesEventCapabilities(document=events) if wanted else None,
            context=v2.NesContextCapabilities(**self.context) if self.context else None,
        )


def _counts(
    context: Iterable[ContextKind] | Mapping[ContextKind, int | None],
) -> Iterable[tuple[ContextKind, int | None]]:
    return context.items() if isinstance(context, Mapping) else ((kind, None) for kind in context)


def _context(kind: ContextKind, count: int | None) -> Any:
    if count is None:
        return _CONTEXTS[kind]()
    if kind not in ("recent_files", "edit_history", "user_actions") or count < 0:
        raise LocalProtocolError(f"how many of {kind} are wanted cannot be said")
    return _CONTEXTS[kind](max_count=count)


def allowed_kinds(capabilities: v2.ClientCapabilities) -> frozenset[str]:
    """The kinds of suggestion a client advertised; `edit` always."""
    offered = capabilities.nes
    kinds = {"edit"}
    if offered is not None:
        kinds |= {
            kind
            for kind, capability in (
                ("jump", offered.jump),
                ("rename", offered.rename),
                ("searchAndReplace", offered.search_and_replace),
            )
            if capability is not None
        }
    return frozenset(kinds)


def serve_nes(link: AgentLink, suggestions: Suggestions, new_id: Callable[[], str]) -> None:
    """Registers on one connection."""
    service = _Service(link, suggestions, new_id)
    on_request, on_notification = link.connection.on_request, link.connection.on_notification
    on_request("nes/start", service.start)
    on_request("nes/suggest", service.suggest)
    on_request("nes/close", service.close)
    on_notification("nes/accept", service.accepted)
    on_notification("nes/reject", service.rejected)
    on_notification("document/didOpen", service.opened)
    on_notification("document/didChange", service.changed, with_losses=True)
    on_notification("document/didClose", service.closed)
    on_notification("document/didSave", service.saved)
    on_notification("document/didFocus", service.focused)


_KINDS: Final[dict[type, str]] = {
    v2.NesEditSuggestion: "edit",
    v2.NesJumpSuggestion: "jump",
    v2.NesRenameSuggestion: "rename",
    v2.NesSearchAndReplaceSuggestion: "searchAndReplace",
}


class _Service:
    def __init__(self, link: AgentLink, suggestions: Suggestions, new_id: Callable[[], str]) -> None:
        self._link = link
        self._suggestions = suggestions
        self._new_id = new_id

    # ---- requests

    def start(self, request: v2.StartNesRequest, incoming: Incoming) -> v2.StartNesResponse:
        self._link.require_login()
        bound = self._link.limits.nes_sessions
        if len(self._link.nes) >= bound:
            raise RpcError(LIMIT_EXCEEDED, "Limit exceeded: nes_sessions", {"limit": "nes_sessions", "bound": bound})
        session = AgentNesSession(self._link, self._new_id(), request)
        self._link.nes[session.id] = session
        return v2.StartNesResponse(session_id=session.id)

    async def suggest(self, request: v2.SuggestNesRequest, incoming: Incoming) -> v2.SuggestNesResponse:
        session = self._link.nes.get(request.session_id)
        if session is None:
            raise unknown_session(request.session_id)
        found = await self._suggestions.suggest(SuggestCall(session, request))
        kinds = allowed_kinds(self._link.capabilities)
        return v2.SuggestNesResponse(suggestions=[one for one in found if self._can_be_sent(one, kinds)])

    def close(self, request: v2.CloseNesRequest, incoming: Incoming) -> v2.CloseNesResponse:
        if self._link.nes.pop(request.session_id, None) is None:
            raise unknown_session(request.session_id)
        return v2.CloseNesResponse()

    def _can_be_sent(self, suggestion: v2.NesSuggestion, kinds: frozenset[str]) -> bool:
        if isinstance(suggestion, v2.Unknown):
            return suggestion.is_custom
        if isinstance(suggestion, v2.NesEditSuggestion) and not suggestion.edits:
            raise LocalProtocolError("an edit suggestion has at least one edit (NES-5)")
        return _KINDS[type(suggestion)] in kinds

    # ---- notifications

    def accepted(self, notification: v2.AcceptNesNotification) -> None:
        session = self._link.nes.get(notification.session_id)
        if session is not None and self._suggestions.accepted is not None:
            self._suggestions.accepted(session, notification)

    def rejected(self, notification: v2.RejectNesNotification) -> None:
        session = self._link.nes.get(notification.session_id)
        if session is not None and self._suggestions.rejected is not None:
            self._suggestions.rejected(session, notification)

    def opened(self, event: v2.DidOpenDocumentNotification) -> None:
        session = self._link.nes.get(event.session_id)
        if session is None:
            return
        if event.uri not in session.documents and len(session.documents) >= self._link.limits.documents:
            log.warning("a document is not kept: more than documents, which is %d", self._link.limits.documents)
            return
        encoding = self._link.position_encoding
        document = TextDocument(event.uri, event.language_id, event.version, event.text, encoding)
        session.documents[event.uri] = document
        self._bound(session, document)

    def changed(self, event: v2.DidChangeDocumentNotification, losses: Losses) -> None:
        session = self._link.nes.get(event.session_id)
        document = None if session is None else session.documents.get(event.uri)
        if session is None or document is None:
            return
        if event.version <= document.version:
            log.warning("a change of a document came out of order: its version is not newer (NES-2)")
        if any(path[:1] == ("contentChanges",) for path, _ in losses):
            document.version = event.version
            document.lose()  # NES-10: an edit is missing, and nobody knows where
            return
        document.edit(event.version, event.content_changes)
        self._bound(session, document)

    def closed(self, event: v2.DidCloseDocumentNotification) -> None:
        session = self._link.nes.get(event.session_id)
        if session is not None:
            document = session.documents.pop(event.uri, None)
            if document is session.focused:
                session.focused = None

    def saved(self, event: v2.DidSaveDocumentNotification) -> None:
        session = self._link.nes.get(event.session_id)
        document = None if session is None else session.documents.get(event.uri)
        if session is not None and document is not None and self._suggestions.saved is not None:
            self._suggestions.saved(session, document)

    def focused(self, event: v2.DidFocusDocumentNotification) -> None:
        session = self._link.nes.get(event.session_id)
        document = None if session is None else session.documents.get(event.uri)
        if session is not None and document is not None:
            document.focus, document.visible = event.position, event.visible_range
            session.focused = document

    def _bound(self, session: AgentNesSession, document: TextDocument) -> None:
        limit = self._link.limits.document_bytes
        if sum(len(known.text or "") for known in session.documents.values()) > limit:
            log.warning("the documents of a session are over document_bytes, which is %d", limit)
            document.lose()
