"""What a program decides about its client, once: who it is, who answers the agent's questions, and its bounds.

What is advertised follows from what is there: a form handler is the capability to show forms, and so on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from roost.acp import v2
from roost.acp.dialect import V2
from roost.sdk.client_limits import DEFAULT_CLIENT_LIMITS, ClientLimits
from roost.sdk.client_permissions import PermissionHandler, deny
from roost.transport.child import Launch
from roost.wire.model import JsonObject

if TYPE_CHECKING:
    from roost.sdk.agent_services import Services
    from roost.sdk.client_elicitation import FormHandler, UrlHandler, UrlQuestion

LoginHandler: TypeAlias = Callable[[list[v2.AuthMethod]], str | Awaitable[str | None] | None]
EnvHandler: TypeAlias = Callable[[v2.AuthMethodEnvVar], Mapping[str, str] | Awaitable[Mapping[str, str] | None] | None]
TerminalLogin: TypeAlias = Callable[[Launch], Awaitable[int]]
RequestHandler: TypeAlias = Callable[[Any], Any]
NotificationHandler: TypeAlias = Callable[[Any], Any]


class ClientOptions(Struct, frozen=True, kw_only=True):
    """The options of `connect`, which has a word on each."""

    info: v2.Implementation
    on_permission: PermissionHandler = deny
    on_form: FormHandler | None = None
    on_url: UrlHandler | None = None
    on_url_done: Callable[[UrlQuestion], Any] | None = None
    on_login: LoginHandler | None = None
    on_env_vars: EnvHandler | None = None
    terminal_login: TerminalLogin | None = None
    nes: v2.ClientNesCapabilities | None = None
    position_encodings: Sequence[v2.PositionEncodingKind] = ()
    requests: Mapping[str, RequestHandler] = {}
    notifications: Mapping[str, NotificationHandler] = {}
    meta: JsonObject | None = None
    services: Services | None = None
    limits: ClientLimits = DEFAULT_CLIENT_LIMITS

    def capabilities(self) -> v2.ClientCapabilities:
        """What the handlers amount to (INI-19, AUTH-5, ELI-1)."""
        terminal = None if self.terminal_login is None else v2.TerminalAuthCapabilities()
        form = None if self.on_form is None else v2.ElicitationFormCapabilities()
        url = None if self.on_url is None else v2.ElicitationUrlCapabilities()
        return v2.ClientCapabilities(
            auth=None if terminal is None else v2.AuthCapabilities(terminal=terminal),
            elicitation=None if form is None and url is None else v2.ElicitationCapabilities(form=form, url=url),
            nes=self.nes,
            position_encodings=list(self.position_encodings),
        )

    def initialize(self) -> v2.InitializeRequest:
        return v2.InitializeRequest(
            protocol_version=V2.version, info=self.info, capabilities=self.capabilities(), meta=self.meta
        )
