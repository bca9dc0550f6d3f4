"""What the codec cases share: the schema's members by policy, and the table of its unions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from roost.acp import v2
from roost.wire.decode import decode
from tests.oracle.acp_reference import DEFS, DOE, PATCHES, SKIP

# union: tag, known tags, what an unknown variant needs beside its tag
UNIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "SessionUpdate": (
        "sessionUpdate",
        """user_message_chunk user_message agent_message_chunk agent_message agent_thought_chunk agent_thought
        state_update tool_call_content_chunk tool_call_update terminal_update terminal_output_chunk plan_update
        plan_removed available_commands_update config_option_update session_info_update usage_update""",
        {},
    ),
    "StateUpdate": ("state", "running idle requires_action", {}),
    "ContentBlock": ("type", "text image audio resource_link resource", {}),
    "ToolCallContent": ("type", "content diff terminal", {}),
    "DiffChange": ("operation", "add delete modify move copy", {}),
    "RequestPermissionSubject": ("type", "tool_call command", {}),
    "RequestPermissionOutcome": ("outcome", "cancelled selected", {}),
    "PlanUpdateContent": ("type", "items file markdown", {"planId": "p"}),
    "AuthMethod": ("type", "agent terminal env_var", {"methodId": "m", "name": "n"}),
    "McpServer": ("type", "http stdio acp", {}),
    "ReplayFrom": ("type", "start", {}),
    "SessionConfigOption": ("type", "select boolean", {"configId": "c", "name": "n"}),
    "SetSessionConfigOptionRequest": ("type", "id boolean", {"sessionId": "s", "configId": "c", "value": None}),
    "AvailableCommandInput": ("type", "text", {}),
    "CreateElicitationRequest": ("mode", "form url", {"message": "m", "sessionId": "s"}),
    "CreateElicitationResponse": ("action", "accept decline cancel", {}),
    "ElicitationPropertySchema": ("type", "string number integer boolean array", {}),
    "MultiSelectItems": ("type", "string", {}),
    "NesSuggestion": ("kind", "edit jump rename searchAndReplace", {"suggestionId": "i"}),
}


STRUCTURES = [
    name
    for name, schema in DEFS.items()
    if schema.get("properties") and "anyOf" not in schema and not schema.get("x-docs-ignore")
]


APART = {"SessionConfigSelect", "SessionConfigBoolean", "ElicitationAcceptAction"}


TYPES = [name for name in STRUCTURES if name not in APART]


INIT = {"protocolVersion": 2, "info": {"name": "n", "version": "1"}}


def load(kind: Any, value: Any, losses: list[Any] | None = None) -> Any:
    on_loss = None if losses is None else lambda path, what: losses.append((path, what))
    return decode(kind, json.dumps(value).encode(), on_loss=on_loss)


def attribute(wire: str) -> str:
    return "meta" if wire == "_meta" else "".join(f"_{c.lower()}" if c.isupper() else c for c in wire)


def members(*kinds: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(definition, member, its schema) of the policies asked for."""
    for name in TYPES:
        required = DEFS[name].get("required", ())
        for wire, schema in DEFS[name]["properties"].items():
            lenient, skip = bool(schema.get(DOE)), bool(schema.get(SKIP))
            kind = "required" if wire in required else "optional"
            kind += " lenient" if lenient else " strict"
            kind += " skip" if skip else ""
            kind = f"patch{' skip' if skip else ''}" if name in PATCHES and lenient else kind
            if kind in kinds:
                yield name, wire, schema


def cases(*kinds: str) -> Any:
    rows = list(members(*kinds))
    return pytest.mark.parametrize(("name", "wire", "schema"), rows, ids=[f"{name}.{wire}" for name, wire, _ in rows])


def admits_anything(schema: dict[str, Any]) -> bool:
    return "type" not in schema and "anyOf" not in schema and "allOf" not in schema


def wrong_for(schema: dict[str, Any]) -> Any:
    """A value of a JSON type the member does not take."""
    text = json.dumps(schema)
    if "$ref" in text:
        target = DEFS[text.partition("#/$defs/")[2].partition('"')[0]]
        if "RequestId" in text or "ErrorCode" in text:
            return 5.5
        return 5 if target.get("type") != "integer" else "x"
    return "wrong" if '"string"' not in json.dumps(schema.get("type")) else 5


def default_of(name: str, wire: str) -> Any:
    kind = getattr(v2, name)
    field = next(field for field in msgspec.structs.fields(kind) if field.encode_name == wire)
    return field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
