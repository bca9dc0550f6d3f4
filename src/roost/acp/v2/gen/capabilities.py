"""What each side says it can do. Omitted and null mean no, an empty object means yes.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from roost.acp.v2.gen.nes_capabilities import ClientNesCapabilities, NesCapabilities, PositionEncodingKind
from roost.wire.model import Items, JsonObject, Lenient, Model


class PromptImageCapabilities(Model, frozen=True, kw_only=True):
    """Prompts may hold images.

    Stable. Schema: #/$defs/PromptImageCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class PromptAudioCapabilities(Model, frozen=True, kw_only=True):
    """Prompts may hold sound.

    Stable. Schema: #/$defs/PromptAudioCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class PromptEmbeddedContextCapabilities(Model, frozen=True, kw_only=True):
    """Prompts may hold embedded resources.

    Stable. Schema: #/$defs/PromptEmbeddedContextCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class PromptCapabilities(Model, frozen=True, kw_only=True):
    """What prompts may hold beyond text and links.

    Stable. Schema: #/$defs/PromptCapabilities.
    """

    image: Lenient[PromptImageCapabilities | None] = None
    audio: Lenient[PromptAudioCapabilities | None] = None
    embedded_context: Lenient[PromptEmbeddedContextCapabilities | None] = None
    meta: Lenient[JsonObject | None] = None


class McpStdioCapabilities(Model, frozen=True, kw_only=True):
    """Sessions may use MCP servers over stdio.

    Stable. Schema: #/$defs/McpStdioCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class McpHttpCapabilities(Model, frozen=True, kw_only=True):
    """Sessions may use MCP servers over HTTP.

    Stable. Schema: #/$defs/McpHttpCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class McpAcpCapabilities(Model, frozen=True, kw_only=True):
    """Sessions may use MCP servers the client hosts.

    Unstable. Schema: #/$defs/McpAcpCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class McpCapabilities(Model, frozen=True, kw_only=True):
    """The MCP servers sessions may use.

    Stable. Schema: #/$defs/McpCapabilities.
    """

    stdio: Lenient[McpStdioCapabilities | None] = None
    http: Lenient[McpHttpCapabilities | None] = None
    acp: Lenient[McpAcpCapabilities | None] = None  # unstable
    meta: Lenient[JsonObject | None] = None


class SessionDeleteCapabilities(Model, frozen=True, kw_only=True):
    """Sessions can be deleted.

    Stable. Schema: #/$defs/SessionDeleteCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class SessionAdditionalDirectoriesCapabilities(Model, frozen=True, kw_only=True):
    """Sessions can have more roots than their directory.

    Stable. Schema: #/$defs/SessionAdditionalDirectoriesCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class SessionForkCapabilities(Model, frozen=True, kw_only=True):
    """Sessions can be forked.

    Unstable. Schema: #/$defs/SessionForkCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class SessionCapabilities(Model, frozen=True, kw_only=True):
    """The agent has sessions; an empty object is the whole baseline (INI-15).

    Stable. Schema: #/$defs/SessionCapabilities.
    """

    prompt: Lenient[PromptCapabilities | None] = None
    mcp: Lenient[McpCapabilities | None] = None
    delete: Lenient[SessionDeleteCapabilities | None] = None
    additional_directories: Lenient[SessionAdditionalDirectoriesCapabilities | None] = None
    fork: Lenient[SessionForkCapabilities | None] = None  # unstable
    meta: Lenient[JsonObject | None] = None


class AgentAuthCapabilities(Model, frozen=True, kw_only=True):
    """Room for extensions; whether a login exists is told by the auth methods (AUTH-2).

    Stable. Schema: #/$defs/AgentAuthCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class ProvidersCapabilities(Model, frozen=True, kw_only=True):
    """The agent's model endpoints can be listed and routed elsewhere.

    Unstable. Schema: #/$defs/ProvidersCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class AgentCapabilities(Model, frozen=True, kw_only=True):
    """What an agent can do.

    Stable. Schema: #/$defs/AgentCapabilities.
    """

    session: Lenient[SessionCapabilities | None] = None
    auth: Lenient[AgentAuthCapabilities | None] = None
    providers: Lenient[ProvidersCapabilities | None] = None  # unstable
    nes: Lenient[NesCapabilities | None] = None  # unstable
    position_encoding: Lenient[PositionEncodingKind | None] = None  # unstable
    meta: Lenient[JsonObject | None] = None


class TerminalAuthCapabilities(Model, frozen=True, kw_only=True):
    """The client can run a login in a terminal.

    Unstable. Schema: #/$defs/TerminalAuthCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class AuthCapabilities(Model, frozen=True, kw_only=True):
    """The logins the client can carry out.

    Unstable. Schema: #/$defs/AuthCapabilities.
    """

    terminal: Lenient[TerminalAuthCapabilities | None] = None
    meta: Lenient[JsonObject | None] = None


class ElicitationFormCapabilities(Model, frozen=True, kw_only=True):
    """The client can show forms.

    Unstable. Schema: #/$defs/ElicitationFormCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class ElicitationUrlCapabilities(Model, frozen=True, kw_only=True):
    """The client can open URLs.

    Unstable. Schema: #/$defs/ElicitationUrlCapabilities.
    """

    meta: Lenient[JsonObject | None] = None


class ElicitationCapabilities(Model, frozen=True, kw_only=True):
    """How the client can ask the user; an empty object is no way at all.

    Unstable. Schema: #/$defs/ElicitationCapabilities.
    """

    form: Lenient[ElicitationFormCapabilities | None] = None
    url: Lenient[ElicitationUrlCapabilities | None] = None
    meta: Lenient[JsonObject | None] = None


class ClientCapabilities(Model, frozen=True, kw_only=True):
    """What a client can do.

    Stable. Schema: #/$defs/ClientCapabilities.
    """

    auth: Lenient[AuthCapabilities | None] = None  # unstable
    elicitation: Lenient[ElicitationCapabilities | None] = None  # unstable
    nes: Lenient[ClientNesCapabilities | None] = None  # unstable
    position_encodings: Lenient[Items[PositionEncodingKind]] = []  # unstable
    meta: Lenient[JsonObject | None] = None
