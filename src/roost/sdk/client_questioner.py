"""What the agent asks of the user, brought to the program's handlers: permissions, forms, URLs."""

from __future__ import annotations

import inspect
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from roost.acp import v2
from roost.errors import RpcError
from roost.rpc.messages import INVALID_PARAMS
from roost.sdk.client_permissions import CANCELLED, decide
from roost.sdk.client_questions import Questions
from roost.sdk.incoming import Incoming

if TYPE_CHECKING:
    from roost.sdk.client import Client
    from roost.sdk.client_elicitation import UrlQuestion
    from roost.sdk.client_link import ClientLink

log = logging.getLogger("roost.client")


class Questioner:
    """Takes the agent's questions on every connection of a client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._questions = Questions()
        self._urls: OrderedDict[str, UrlQuestion] = OrderedDict()  # agreed to, not known to be done

    @property
    def open(self) -> int:
        """How many wait for their answer."""
        return len(self._questions)

    def serve(self, link: ClientLink) -> None:
        self._urls.clear()
        link.connection.on_request("session/request_permission", self._permission)
        link.connection.on_request("elicitation/create", self._elicitation)
        link.connection.on_notification("elicitation/complete", self._completed)

    def cancel(self, of: Callable[[str | None], bool]) -> None:
        """See `Questions.cancel`."""
        self._questions.cancel(of)

    def _is_cancelling(self, session_id: str | None) -> bool:
        session = None if session_id is None else self._client.sessions.get(session_id)
        return session is not None and session.is_cancelling

    def _agent(self) -> v2.Implementation | None:
        return self._client.agent.info if self._client.is_open else None

    # Called in the order of the messages, as plain functions: what is open is known before the next one is read.

    def _permission(self, request: v2.RequestPermissionRequest, incoming: Incoming) -> Any:
        if not request.options:  # PER-2
            raise RpcError(INVALID_PARAMS, "Invalid params: nothing to choose from", {"path": "options"})
        if self._is_cancelling(request.session_id):
            return CANCELLED  # asked before the agent heard of it (CAN-13)
        answering = decide(self._client.options.on_permission, request)
        return self._questions.ask(request.session_id, incoming, CANCELLED, answering)

    def _elicitation(self, request: v2.CreateElicitationRequest, incoming: Incoming) -> Any:
        from roost.sdk import client_elicitation
        from roost.sdk.client_elicitation import FormQuestion, UrlQuestion, answer_form

        options = self._client.options
        match request:
            case v2.CreateFormElicitationRequest() if options.on_form is not None:
                form = FormQuestion(request, self._agent())
                answering: Any = answer_form(options.on_form, form)
                session_id = form.session_id
            case v2.CreateUrlElicitationRequest() if options.on_url is not None:
                url = UrlQuestion(request, self._agent())
                if not url.is_safe:
                    log.warning("an elicitation asks to open what is no web address: declined")
                    return v2.DeclineElicitationResponse()
                answering = self._ask_url(url)
                session_id = url.session_id
            case _:  # ELI-1: a mode that was not advertised, or is not known
                raise RpcError(INVALID_PARAMS, "Invalid params: this client does not elicit so", {"path": "mode"})
        if self._is_cancelling(session_id):
            answering.close()
            return client_elicitation.CANCELLED  # ELI-17
        return self._questions.ask(session_id, incoming, client_elicitation.CANCELLED, answering)

    async def _ask_url(self, question: UrlQuestion) -> v2.CreateElicitationResponse:
        from roost.sdk.client_elicitation import answer_url

        handler = self._client.options.on_url
        assert handler is not None
        response = await answer_url(handler, question)
        if isinstance(response, v2.AcceptElicitationResponse):
            self._urls[question.elicitation_id] = question
            if len(self._urls) > self._client.limits.url_elicitations:
                self._urls.popitem(last=False)
        return response

    async def _completed(self, notification: v2.CompleteElicitationNotification) -> None:
        question = self._urls.pop(notification.elicitation_id, None)  # ELI-14: once, and only what was asked
        done = self._client.options.on_url_done
        if question is not None and done is not None:
            result = done(question)
            if inspect.isawaitable(result):
                await result
