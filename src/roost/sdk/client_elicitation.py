"""Answering an agent that asks the user for data, by form or by URL.

A handler gets what is asked and returns what the user did: the values of the form, True for having agreed to open the
URL, None or False for no, or a response of the protocol. Nothing that the form's own check refuses is sent (ELI-9), and
no URL is opened, fetched or shown shortened by us (ELI-15).
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

from roost.acp import v2
from roost.acp.view_text import reveal
from roost.errors import LocalProtocolError
from roost.sdk.forms import defaults_of, faults_of

log = logging.getLogger("roost.client")

_RESPONSES: Final = (v2.AcceptElicitationResponse, v2.DeclineElicitationResponse, v2.CancelElicitationResponse)

CANCELLED: Final = v2.CancelElicitationResponse()
_DECLINED: Final = v2.DeclineElicitationResponse()


class _Scope:
    """Who asks, and whom it concerns (ELI-2): a session, and perhaps one of its tool calls; or a request of ours.

    `agent` is what to show the user as the one who asks (ELI-16); None before the agent has said who it is.
    """

    def __init__(self, request: Any, agent: v2.Implementation | None) -> None:
        self.agent = agent
        self.message: str = request.message
        self.session_id: str | None = None if request.session_id is v2.UNSET else request.session_id
        self.tool_call_id: str | None = request.tool_call_id
        self.request_id: str | int | None = None if request.request_id is v2.UNSET else request.request_id
        self.meta = request.meta


class FormQuestion(_Scope):
    """A form to fill in. `schema` has its fields in order; `defaults` what they start with."""

    def __init__(self, request: v2.CreateFormElicitationRequest, agent: v2.Implementation | None = None) -> None:
        super().__init__(request, agent)
        self.schema = request.requested_schema

    @property
    def defaults(self) -> dict[str, Any]:
        """What the fields start with, by name; fields without a default are not in it."""
        return defaults_of(self.schema)

    @property
    def unknown(self) -> list[str]:
        """Fields of a kind this version does not know: they cannot be filled in (ELI-5)."""
        return [name for name, field in self.schema.properties.items() if isinstance(field, v2.Unknown)]

    @property
    def can_be_answered(self) -> bool:
        """Whether every field that is required can be filled in."""
        return not {*self.unknown}.intersection(self.schema.required or ())

    def faults(self, values: Mapping[str, Any]) -> dict[str, str]:
        """What is wrong with these values: a sentence for each field at fault; empty when they can be sent."""
        return faults_of(self.schema, values)


class UrlQuestion(_Scope):
    """A URL the user is asked to visit. Show `shown_url` whole, and `warnings`; open it only once the user agreed."""

    def __init__(self, request: v2.CreateUrlElicitationRequest, agent: v2.Implementation | None = None) -> None:
        super().__init__(request, agent)
        self.elicitation_id = request.elicitation_id
        self.url = request.url
        self._parts = _split(request.url)

    @property
    def is_safe(self) -> bool:
        """Whether it is a web address that can be shown and opened at all: http or https, with a host (R-25)."""
        return self._parts is not None and self.url.isprintable() and not any(map(str.isspace, self.url))

    @property
    def shown_url(self) -> str:
        """The whole URL, with everything hidden spelt out."""
        return reveal(self.url)

    @property
    def host(self) -> str:
        """Who will be visited, in the form that name servers are asked for."""
        return "" if self._parts is None else _ascii_host(self._parts.hostname or "")

    @property
    def warnings(self) -> list[str]:
        """What the user should know before agreeing."""
        parts = self._parts
        if parts is None:
            return ["this is no web address"]
        found = []
        if parts.scheme != "https":
            found.append("the connection is not encrypted")
        if "xn--" in self.host or not (parts.hostname or "").isascii():
            found.append(f"the name of the host is not what it looks like: {self.host}")
        if "@" in parts.netloc:
            found.append("there is a user name before the host")
        if (parts.hostname or "").replace(".", "").isdigit() or ":" in (parts.hostname or ""):
            found.append("the host has no name, only a number")
        return found


FormHandler: TypeAlias = Callable[[FormQuestion], Any | Awaitable[Any]]
UrlHandler: TypeAlias = Callable[[UrlQuestion], Any | Awaitable[Any]]


async def answer_form(handler: FormHandler, question: FormQuestion) -> v2.CreateElicitationResponse:
    """What the user did with a form. Values that do not pass its check are not sent: cancelled, and logged."""
    if not question.can_be_answered:
        log.warning("an elicitation asks for fields of a kind that is not known here: declined")
        return _DECLINED
    did = await _awaited(handler(question))
    if isinstance(did, Mapping):
        did = v2.AcceptElicitationResponse(content=dict(did))
    if isinstance(did, v2.AcceptElicitationResponse):
        faults = question.faults(did.content or {})
        if faults:
            log.error("a form was filled in wrongly, and is not sent: %s", ", ".join(sorted(faults)))
            return CANCELLED
    return _response(did)


async def answer_url(handler: UrlHandler, question: UrlQuestion) -> v2.CreateElicitationResponse:
    """Whether the user agreed to open a URL."""
    did = await _awaited(handler(question))
    if did is True:
        return v2.AcceptElicitationResponse()
    if isinstance(did, v2.AcceptElicitationResponse) and did.content is not None:
        raise LocalProtocolError("a URL elicitation is accepted without content (ELI-10)")
    return _response(did)


async def _awaited(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result


def _response(did: Any) -> v2.CreateElicitationResponse:
    if did is None or did is False:
        return _DECLINED
    if isinstance(did, _RESPONSES):
        return did
    raise LocalProtocolError(f"an elicitation handler returned {type(did).__name__}, which is no answer")


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError:
        return None
    return parts if parts.scheme in ("http", "https") and parts.hostname else None


def _ascii_host(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return reveal(host)
