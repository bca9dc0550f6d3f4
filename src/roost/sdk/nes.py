"""Next edit suggestions as an editor asks for them: a session, its documents, and suggestions that are still true.

nes = await client.start_nes()
document = nes.open_document("file:///project/a.py", "python", text)
suggestions = await nes.suggest(document, cursor)
if suggestions:
    document.apply(suggestions[0]); nes.accept(suggestions[0])
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from roost.acp import v2
from roost.errors import LocalProtocolError, RpcError
from roost.rpc.messages import REQUEST_CANCELLED
from roost.sdk.documents import DocumentBudget, OpenDocument
from roost.wire.model import JsonObject

if TYPE_CHECKING:
    from roost.sdk.client import Client
    from roost.sdk.client_link import ClientLink

log = logging.getLogger("roost.client")

_KINDS: Final[dict[type, str]] = {
    v2.NesJumpSuggestion: "jump",
    v2.NesRenameSuggestion: "rename",
    v2.NesSearchAndReplaceSuggestion: "search_and_replace",
}
_COUNTED: Final = ("recent_files", "edit_history", "user_actions")


class NesSession:
    """One suggestion session. Made by `Client.start_nes`."""

    def __init__(self, client: Client, link: ClientLink, session_id: str) -> None:
        self._client = client
        self._link = link
        self.id = session_id
        self.is_open = True
        capabilities = link.agent.capabilities.nes or v2.NesCapabilities()
        events = None if capabilities.events is None else capabilities.events.document
        self.events = events or v2.NesDocumentEventCapabilities()
        """Which document events the agent wants to hear of."""
        self.context = capabilities.context or v2.NesContextCapabilities()
        """Which context it can use."""
        self.position_encoding = agreed_encoding(client, link)
        self.documents: dict[str, OpenDocument] = {}
        self._budget = DocumentBudget(client.limits.document_chars)
        self._asking: asyncio.Task[Any] | None = None

    # ---- documents

    def open_document(self, uri: str, language_id: str, text: str, version: int = 1) -> OpenDocument:
        """A document was opened. LocalProtocolError: it is open. LimitError (`document_chars`)."""
        self._require_open()
        if uri in self.documents:
            raise LocalProtocolError(f"{uri} is open already")
        document = OpenDocument(self, uri, language_id, text, version)
        self.documents[uri] = document
        return document

    def account(self, document: OpenDocument, size: int) -> None:
        """Counts a document's text, of `size` characters from now on. LimitError (`document_chars`): too much."""
        self._budget.account(document, size)

    def close_document(self, document: OpenDocument) -> None:
        """The document is closed; its URI may be opened again."""
        self._budget.release(document)
        self.documents.pop(document.uri, None)

    def tell(self, notification: Any) -> None:
        """Tells the agent of a document."""
        if self.is_open:
            self._link.notify(notification)

    # ---- suggestions

    async def suggest(
        self,
        document: OpenDocument,
        at: int,
        *,
        selection: tuple[int, int] | None = None,
        trigger: str = v2.NesTriggerKind.AUTOMATIC,
        context: v2.NesSuggestContext | None = None,
        meta: JsonObject | None = None,
    ) -> list[v2.NesSuggestion] | None:
        """Asks for edits around the cursor. None: nobody wants them any more.

        That is so when a newer `suggest` has taken its place, which takes this one back, or when the document has
        changed meanwhile (NES-6). Kinds this client cannot take, and edits of nothing, are left out (NES-5). Context
        the agent did not ask for is not sent.
        """
        self._require_open()
        if self._asking is not None:
            self._asking.cancel()
        version = document.version
        request = v2.SuggestNesRequest(
            session_id=self.id,
            uri=document.uri,
            version=version,
            position=document.position(at),
            selection=None if selection is None else document.range(*selection),
            trigger_kind=trigger,
            context=self._wanted(context),
            meta=meta,
        )
        asking = self._asking = asyncio.ensure_future(self._link.call(request))
        try:
            await asyncio.wait((asking,))
        finally:
            if not asking.done():
                asking.cancel()
            if self._asking is asking:
                self._asking = None
        if asking.cancelled() or document.version != version or not document.is_open:
            return None
        try:
            response = asking.result()
        except RpcError as error:
            if error.code == REQUEST_CANCELLED:  # CAN-7, CAN-8
                return None
            raise
        return [suggestion for suggestion in response.suggestions if self._is_usable(suggestion)]

    def accept(self, suggestion: v2.NesSuggestion, *, meta: JsonObject | None = None) -> None:
        """The user took it."""
        self.tell(v2.AcceptNesNotification(session_id=self.id, suggestion_id=suggestion_id_of(suggestion), meta=meta))

    def reject(
        self, suggestion: v2.NesSuggestion, reason: str | None = None, *, meta: JsonObject | None = None
    ) -> None:
        """The user did not; `reason` as in NesRejectReason (NES-7)."""
        self.tell(
            v2.RejectNesNotification(
                session_id=self.id, suggestion_id=suggestion_id_of(suggestion), reason=reason, meta=meta
            )
        )

    async def close(self) -> None:
        """Ends the session. Once is enough."""
        if self.is_open:
            self.is_open = False
            if self._asking is not None:
                self._asking.cancel()
            self._client.forget_nes(self.id)
            await self._link.call(v2.CloseNesRequest(session_id=self.id))

    def _is_usable(self, suggestion: v2.NesSuggestion) -> bool:
        if isinstance(suggestion, v2.Unknown):
            return suggestion.is_custom
        if isinstance(suggestion, v2.NesEditSuggestion):
            if not suggestion.edits:
                log.warning("a suggestion without edits was left out")
            return bool(suggestion.edits)
        offered = self._client.options.nes
        return offered is not None and getattr(offered, _KINDS[type(suggestion)]) is not None

    def _wanted(self, context: v2.NesSuggestContext | None) -> v2.NesSuggestContext | None:
        """What the agent can use of a context, and no more than it asked for of each kind."""
        if context is None:
            return None
        changes: dict[str, Any] = {}
        for kind in v2.NesContextCapabilities.__struct_fields__:
            given = getattr(context, kind)
            wanted = getattr(self.context, kind)
            if kind == "meta" or given is None:
                continue
            if wanted is None:
                changes[kind] = None
            elif kind in _COUNTED and wanted.max_count is not None:
                changes[kind] = given[-wanted.max_count :] if wanted.max_count else []
        return replace(context, **changes)

    def _require_open(self) -> None:
        if not self.is_open:
            raise LocalProtocolError("the suggestion session is closed")


def suggestion_id_of(suggestion: v2.NesSuggestion) -> str:
    """The id of any suggestion, of kinds that are not known too."""
    if not isinstance(suggestion, v2.Unknown):
        return suggestion.suggestion_id
    found = suggestion.value().get("suggestionId")
    if not isinstance(found, str):
        raise LocalProtocolError("the suggestion has no id")
    return found


def agreed_encoding(client: Client, link: ClientLink) -> v2.PositionEncodingKind:
    """How positions are counted: as the agent chose from what was offered, else in UTF-16 (NES-4)."""
    chosen = link.agent.capabilities.position_encoding
    if chosen is None or chosen == "utf-16":
        return "utf-16"
    if chosen not in client.options.position_encodings:
        log.warning("the agent counts positions in %s, which was not offered: utf-16 it is", chosen)
        return "utf-16"
    return chosen
