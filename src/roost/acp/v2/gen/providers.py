"""Which model endpoints an agent uses, and how to route them elsewhere.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import ClassVar, Final

from roost.acp.calls import Request
from roost.acp.v2.gen.ids import ProviderId
from roost.wire.model import Items, JsonObject, Lenient, Model


class LlmProtocol:
    """The API a model endpoint speaks.

    Names for some values; fields hold any str. Unstable. Schema: #/$defs/LlmProtocol.
    """

    ANTHROPIC: Final = "anthropic"
    OPENAI: Final = "openai"
    AZURE: Final = "azure"
    VERTEX: Final = "vertex"
    BEDROCK: Final = "bedrock"


class ProviderCurrentConfig(Model, frozen=True, kw_only=True):
    """Where a provider's requests go now.

    Unstable. Schema: #/$defs/ProviderCurrentConfig.
    """

    api_type: str  # LlmProtocol
    base_url: str
    meta: Lenient[JsonObject | None] = None


class ProviderInfo(Model, frozen=True, kw_only=True):
    """A model endpoint of the agent; without a current configuration it is off.

    Unstable. Schema: #/$defs/ProviderInfo.
    """

    provider_id: ProviderId
    supported: Lenient[Items[str]]  # LlmProtocol
    required: bool
    current: ProviderCurrentConfig | None = None
    meta: Lenient[JsonObject | None] = None


class ListProvidersRequest(Request["ListProvidersResponse"], frozen=True, kw_only=True):
    """Asks for the agent's model endpoints.

    To the agent: request `providers/list`. Unstable. Schema: #/$defs/ListProvidersRequest.
    """

    METHOD: ClassVar[str] = "providers/list"

    meta: Lenient[JsonObject | None] = None


class ListProvidersResponse(Model, frozen=True, kw_only=True):
    """The agent's model endpoints.

    Unstable. Schema: #/$defs/ListProvidersResponse.
    """

    providers: list[ProviderInfo]
    meta: Lenient[JsonObject | None] = None


class SetProviderRequest(Request["SetProviderResponse"], frozen=True, kw_only=True):
    """Routes a provider elsewhere, replacing all it had; headers may be secrets (SEC-2).

    To the agent: request `providers/set`. Unstable. Schema: #/$defs/SetProviderRequest.
    """

    METHOD: ClassVar[str] = "providers/set"

    provider_id: ProviderId
    api_type: str  # LlmProtocol
    base_url: str
    headers: dict[str, str] = {}
    meta: Lenient[JsonObject | None] = None


class SetProviderResponse(Model, frozen=True, kw_only=True):
    """The provider is routed.

    Unstable. Schema: #/$defs/SetProviderResponse.
    """

    meta: Lenient[JsonObject | None] = None


class DisableProviderRequest(Request["DisableProviderResponse"], frozen=True, kw_only=True):
    """Turns a provider off.

    To the agent: request `providers/disable`. Unstable. Schema: #/$defs/DisableProviderRequest.
    """

    METHOD: ClassVar[str] = "providers/disable"

    provider_id: ProviderId
    meta: Lenient[JsonObject | None] = None


class DisableProviderResponse(Model, frozen=True, kw_only=True):
    """The provider is off.

    Unstable. Schema: #/$defs/DisableProviderResponse.
    """

    meta: Lenient[JsonObject | None] = None
