"""The model endpoints of an agent, and where a client routes them (PRV-1 to PRV-5).

Routing holds for one connection and is kept nowhere: it would leak from one user to the next (PRV-4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, structs

from roost.acp import v2
from roost.errors import LocalProtocolError
from roost.sdk.handlers import invalid_params
from roost.sdk.incoming import Incoming

if TYPE_CHECKING:
    from roost.sdk.agent_link import AgentLink


class Provider(Struct, frozen=True, kw_only=True):
    """A model endpoint the agent can be pointed elsewhere with. Without a route of its own it starts switched off."""

    provider_id: str
    supported: list[str]
    """The APIs it can speak, see LlmProtocol."""
    required: bool = False
    api_type: str | None = None
    base_url: str | None = None


class Route(Struct, frozen=True, kw_only=True):
    """Where requests of one provider go. Headers may be secrets: they are never shown or stored (PRV-5)."""

    api_type: str
    base_url: str
    headers: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Route(api_type={self.api_type!r}, {len(self.headers)} headers)"


class ProviderTable:
    """The providers of one connection and their routes."""

    def __init__(self, providers: Iterable[Provider]) -> None:
        self._providers = {provider.provider_id: provider for provider in providers}
        self._routes: dict[str, Route] = {}
        for provider in self._providers.values():
            if provider.api_type is not None and provider.base_url is not None:
                route = Route(api_type=provider.api_type, base_url=provider.base_url)
                self._routes[provider.provider_id] = route
            elif provider.required:
                raise LocalProtocolError(f"provider {provider.provider_id} is required and has no route")

    def route(self, provider_id: str) -> Route | None:
        """Where a provider's requests go; None: it is off and must not be used (PRV-4)."""
        return self._routes.get(provider_id)

    def listed(self) -> list[v2.ProviderInfo]:
        """All of them, without headers (PRV-1)."""
        return [
            v2.ProviderInfo(
                provider_id=provider.provider_id,
                supported=list(provider.supported),
                required=provider.required,
                current=_shown(self._routes.get(provider.provider_id)),
            )
            for provider in self._providers.values()
        ]

    def set(self, request: v2.SetProviderRequest) -> None:
        """Replaces everything known about one provider's route (PRV-2)."""
        provider = self._providers.get(request.provider_id)
        if provider is None:
            raise invalid_params("no such provider", "providerId")
        if request.api_type not in provider.supported:
            raise invalid_params("this provider does not speak that API", "apiType")
        self._routes[request.provider_id] = Route(
            api_type=request.api_type, base_url=request.base_url, headers=dict(request.headers)
        )

    def disable(self, provider_id: str) -> None:
        """Switches one off; an unknown one is off already (PRV-3)."""
        provider = self._providers.get(provider_id)
        if provider is not None and provider.required:
            raise invalid_params("this provider is required", "providerId")
        self._routes.pop(provider_id, None)


def serve_providers(link: AgentLink, providers: list[Provider], changed: Callable[[str], Any] | None) -> None:
    """Registers on one connection. `changed(provider_id)` is told of a route that is another now."""
    table = link.providers = ProviderTable(providers)

    def listed(request: v2.ListProvidersRequest, incoming: Incoming) -> v2.ListProvidersResponse:
        return v2.ListProvidersResponse(providers=table.listed())

    def route(request: v2.SetProviderRequest, incoming: Incoming) -> v2.SetProviderResponse:
        table.set(request)
        if changed is not None:
            changed(request.provider_id)
        return v2.SetProviderResponse()

    def disable(request: v2.DisableProviderRequest, incoming: Incoming) -> v2.DisableProviderResponse:
        table.disable(request.provider_id)
        if changed is not None:
            changed(request.provider_id)
        return v2.DisableProviderResponse()

    link.connection.on_request("providers/list", listed)
    link.connection.on_request("providers/set", route)
    link.connection.on_request("providers/disable", disable)


def _shown(route: Route | None) -> v2.ProviderCurrentConfig | None:
    return None if route is None else v2.ProviderCurrentConfig(api_type=route.api_type, base_url=route.base_url)


def checked(provider: Provider, known: Iterable[Provider]) -> Provider:
    """LocalProtocolError: there is one of that id, or it starts with an API it does not support."""
    if any(other.provider_id == provider.provider_id for other in known):
        raise LocalProtocolError(f"two providers are called {provider.provider_id}")
    if provider.api_type is not None and provider.api_type not in provider.supported:
        raise LocalProtocolError(f"provider {provider.provider_id} does not support {provider.api_type}")
    return structs.replace(provider, supported=list(provider.supported))
