"""Logins an agent offers: which, to whom, and doing one (AUTH-1 to AUTH-11)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from roost.acp import v2
from roost.errors import LocalProtocolError
from roost.sdk.handlers import invalid_params
from roost.sdk.incoming import Incoming
from roost.wire.model import JsonObject

if TYPE_CHECKING:
    from roost.sdk.agent_link import AgentLink
    from roost.sdk.elicitation import Elicited
    from roost.sdk.forms import Form


class LoginCall:
    """One `auth/login` while it runs: what the author's code may need for it."""

    def __init__(self, link: AgentLink, method: v2.AuthMethod, incoming: Incoming, meta: JsonObject | None) -> None:
        self._link = link
        self._incoming = incoming
        self.method = method
        self.meta = meta

    async def elicit(
        self, message: str, form: Form | v2.ElicitationSchema, *, answer_timeout: float | None = None
    ) -> Elicited:
        """Asks the user to fill in a form that belongs to this login (ELI-2). Never for secrets (ELI-12)."""
        from roost.sdk.asking import form_outcome

        scope = {"request_id": self._incoming.id}
        return await form_outcome(self._link, self._link.connection.call, scope, message, form, answer_timeout)

    async def open_url(self, message: str, url: str, *, answer_timeout: float | None = None) -> Elicited:
        """Asks the user to log in on a web page."""
        from roost.sdk.asking import url_outcome

        scope = {"request_id": self._incoming.id}
        return await url_outcome(self._link, self._link.connection.call, scope, message, url, answer_timeout)

    def complete_elicitation(self, elicitation_id: str) -> None:
        """What the user was sent to a web page for has been done (ELI-14)."""
        self._link.connection.notify(v2.CompleteElicitationNotification(elicitation_id=elicitation_id))


LoginHandler: TypeAlias = Callable[[LoginCall], Awaitable[None]]


class AuthMethods:
    """What an author registered about logging in."""

    def __init__(self, required: bool) -> None:
        self.required = required
        """Whether sessions need a login first (AUTH-8)."""
        self.methods: list[v2.AuthMethod] = []
        self.logins: dict[str, LoginHandler] = {}
        self.log_out: Callable[[], Awaitable[None] | None] | None = None
        self.known: Callable[[], bool] | None = None
        """Whether the user is logged in already, by what earlier runs have left."""

    def add(self, method: v2.AuthMethod, login: LoginHandler | None = None) -> None:
        """Offers one. LocalProtocolError: there is one of that id."""
        method_id = id_of(method)
        if any(id_of(known) == method_id for known in self.methods):
            raise LocalProtocolError(f"two login methods are called {method_id}")
        if isinstance(method, v2.AuthMethodTerminal):
            names = [variable.name for variable in method.env]
            if len(set(names)) < len(names):
                raise LocalProtocolError(f"login method {method_id} sets a variable twice (AUTH-6)")
        self.methods.append(method)
        if login is not None:
            self.logins[method_id] = login

    def offered_to(self, capabilities: v2.ClientCapabilities) -> list[v2.AuthMethod]:
        """Those this client can be offered: terminal ones only if it has a terminal (AUTH-5)."""
        terminal = capabilities.auth is not None and capabilities.auth.terminal is not None
        return [method for method in self.methods if terminal or not isinstance(method, v2.AuthMethodTerminal)]

    def serve(self, link: AgentLink) -> None:
        """Registers on one connection. Without a method on offer the gate lets nobody here (AUTH-1)."""
        if not self.methods:
            return

        async def login(request: v2.LoginAuthRequest, incoming: Incoming) -> v2.LoginAuthResponse:
            assert link.advertised is not None
            offered = {id_of(method): method for method in link.advertised.auth_methods}
            method, handler = offered.get(request.method_id), self.logins.get(request.method_id)
            if method is None or handler is None:  # AUTH-4; one that is not driven through here has no handler
                raise invalid_params("not a login method on offer here", "methodId")
            await handler(LoginCall(link, method, incoming, request.meta))
            link.logged_in = True
            return v2.LoginAuthResponse()

        async def logout(request: v2.LogoutAuthRequest, incoming: Incoming) -> v2.LogoutAuthResponse:
            if self.log_out is not None:
                done: Any = self.log_out()
                if inspect.isawaitable(done):
                    await done
            link.logged_in = False
            return v2.LogoutAuthResponse()

        link.connection.on_request("auth/login", login)
        link.connection.on_request("auth/logout", logout)


def id_of(method: v2.AuthMethod) -> str:
    """The id of a login method, of a kind that is not known too."""
    if isinstance(method, v2.Unknown):
        value = method.value().get("methodId")
        return value if isinstance(value, str) else ""
    return method.method_id
