"""Identifiers and other plain strings and numbers with a name of their own.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import TypeAlias

from roost.wire.model import Int64, Uint16

SessionId: TypeAlias = str
"""Names a session; the agent chooses it and nobody else reads anything into it.

Stable. Schema: #/$defs/SessionId.
"""

MessageId: TypeAlias = str
"""Names a message within its session; the agent chooses it.

Stable. Schema: #/$defs/MessageId.
"""

ToolCallId: TypeAlias = str
"""Names a tool call within its session.

Stable. Schema: #/$defs/ToolCallId.
"""

TerminalId: TypeAlias = str
"""Names a terminal within its session.

Stable. Schema: #/$defs/TerminalId.
"""

PlanId: TypeAlias = str
"""Names a plan within its session.

Stable. Schema: #/$defs/PlanId.
"""

PermissionOptionId: TypeAlias = str
"""Names one choice of one permission request.

Stable. Schema: #/$defs/PermissionOptionId.
"""

ElicitationId: TypeAlias = str
"""Names a URL elicitation until it is complete.

Unstable. Schema: #/$defs/ElicitationId.
"""

SessionConfigId: TypeAlias = str
"""Names a setting of a session.

Stable. Schema: #/$defs/SessionConfigId.
"""

SessionConfigValueId: TypeAlias = str
"""Names a value a select setting can take.

Stable. Schema: #/$defs/SessionConfigValueId.
"""

SessionConfigGroupId: TypeAlias = str
"""Names a group of values of a select setting.

Stable. Schema: #/$defs/SessionConfigGroupId.
"""

SessionListCursor: TypeAlias = str
"""Where the next page of sessions starts; never parsed and never kept.

Stable. Schema: #/$defs/SessionListCursor.
"""

AuthMethodId: TypeAlias = str
"""Names a way to log in.

Stable. Schema: #/$defs/AuthMethodId.
"""

ProviderId: TypeAlias = str
"""Names a model endpoint of an agent.

Unstable. Schema: #/$defs/ProviderId.
"""

McpServerAcpId: TypeAlias = str
"""Names an MCP server the client hosts and reaches over ACP.

Unstable. Schema: #/$defs/McpServerAcpId.
"""

McpConnectionId: TypeAlias = str
"""Names one open MCP channel over ACP.

Unstable. Schema: #/$defs/McpConnectionId.
"""

NesSuggestionId: TypeAlias = str
"""Names one edit suggestion.

Unstable. Schema: #/$defs/NesSuggestionId.
"""

AbsolutePath: TypeAlias = str
"""A path that starts at the root of the agent's machine; the codec does not check that.

Stable. Schema: #/$defs/AbsolutePath.
"""

MediaType: TypeAlias = str
"""A MIME type.

Stable. Schema: #/$defs/MediaType.
"""

ProtocolVersion: TypeAlias = Uint16
"""The number of a protocol version.

Stable. Schema: #/$defs/ProtocolVersion.
"""

RequestId: TypeAlias = Int64 | str | None
"""A JSON-RPC id: null, an integer or a string, all distinct (ID-1).

Stable. Schema: #/$defs/RequestId.
"""
