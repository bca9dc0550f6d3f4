"""The model endpoints of an agent: which there are, and routing them elsewhere (PRV-1 to PRV-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.acp import v2
from roost.wire.model import JsonObject

if TYPE_CHECKING:
    from roost.sdk.client_link import ClientLink


class Providers:
    """`Client.providers`. CapabilityError: the agent does not let its endpoints be routed.

    What is set holds for sessions made or resumed afterwards, in this process of the agent (PRV-4).
    """

    def __init__(self, link: ClientLink) -> None:
        self._link = link

    async def list(self) -> list[v2.ProviderInfo]:
        """All of them, those that are off included; never their secrets."""
        return (await self._link.call(v2.ListProvidersRequest())).providers

    async def set(
        self,
        provider_id: str,
        api_type: str,
        base_url: str,
        headers: dict[str, str] | None = None,
        *,
        meta: JsonObject | None = None,
    ) -> None:
        """Routes one elsewhere. All of it is replaced; without `headers` there are none (PRV-2)."""
        request = v2.SetProviderRequest(
            provider_id=provider_id, api_type=api_type, base_url=base_url, headers=headers or {}, meta=meta
        )
        await self._link.call(request)

    async def disable(self, provider_id: str, *, meta: JsonObject | None = None) -> None:
        """Switches one off; the agent refuses for one it needs (PRV-3)."""
        await self._link.call(v2.DisableProviderRequest(provider_id=provider_id, meta=meta))
