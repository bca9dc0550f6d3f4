"""By hand: what the schema does not say about methods. Sides, params and results come from the schema itself."""

from __future__ import annotations

from typing import Any, Final

# Where the right to call a method is advertised: (side that advertises it, path into its initialize message).
# A method that is not here needs nothing.
SESSION: Final = ("agent", "capabilities.session")
PROVIDERS: Final = ("agent", "capabilities.providers")
NES: Final = ("agent", "capabilities.nes")
AUTH: Final = ("agent", "authMethods")
MCP: Final = ("agent", "capabilities.session.mcp.acp")
ELICITATION: Final = ("client", "capabilities.elicitation")

GATES: Final[dict[str, tuple[str, str]]] = {
    "auth/login": AUTH,
    "auth/logout": AUTH,
    "session/new": SESSION,
    "session/list": SESSION,
    "session/resume": SESSION,
    "session/close": SESSION,
    "session/prompt": SESSION,
    "session/cancel": SESSION,
    "session/set_config_option": SESSION,
    "session/delete": ("agent", "capabilities.session.delete"),
    "session/fork": ("agent", "capabilities.session.fork"),
    "providers/list": PROVIDERS,
    "providers/set": PROVIDERS,
    "providers/disable": PROVIDERS,
    "nes/start": NES,
    "nes/suggest": NES,
    "nes/close": NES,
    "nes/accept": NES,
    "nes/reject": NES,
    "document/didOpen": ("agent", "capabilities.nes.events.document.didOpen"),
    "document/didChange": ("agent", "capabilities.nes.events.document.didChange"),
    "document/didClose": ("agent", "capabilities.nes.events.document.didClose"),
    "document/didSave": ("agent", "capabilities.nes.events.document.didSave"),
    "document/didFocus": ("agent", "capabilities.nes.events.document.didFocus"),
    "elicitation/create": ELICITATION,
    "elicitation/complete": ("client", "capabilities.elicitation.url"),
    "mcp/connect": MCP,
    "mcp/message": MCP,
    "mcp/disconnect": MCP,
}

# The schema calls the side of a message both sides may send "both" or "protocol".
SIDES: Final = {"agent": "agent", "client": "client", "both": "both", "protocol": "both"}

# In the order a reader expects; the schema's own order is that of its appearance.
ORDER: Final = [
    "initialize",
    "auth/login",
    "auth/logout",
    "session/new",
    "session/list",
    "session/resume",
    "session/fork",
    "session/close",
    "session/delete",
    "session/prompt",
    "session/cancel",
    "session/set_config_option",
    "session/update",
    "session/request_permission",
    "elicitation/create",
    "elicitation/complete",
    "providers/list",
    "providers/set",
    "providers/disable",
    "mcp/connect",
    "mcp/message",
    "mcp/disconnect",
    "nes/start",
    "nes/suggest",
    "nes/close",
    "nes/accept",
    "nes/reject",
    "document/didOpen",
    "document/didChange",
    "document/didClose",
    "document/didSave",
    "document/didFocus",
    "$/cancel_request",
]


class Methods:
    """What the schema does say about methods."""

    def __init__(self, definitions: dict[str, dict[str, Any]]) -> None:
        self.definitions = definitions
        known = {schema["x-method"] for schema in definitions.values() if "x-method" in schema}
        if known != set(ORDER) or not set(GATES) <= known:
            raise ValueError("methods.py and the schema disagree about the methods")

    def side_of(self, method: str) -> str:
        return next(str(schema["x-side"]) for schema in self.definitions.values() if schema.get("x-method") == method)

    def params_of(self, method: str, suffix: str) -> str | None:
        """The definition of its params as a request or notification, or of its result."""
        named = (name for name, schema in self.definitions.items() if schema.get("x-method") == method)
        return next((name for name in named if name.endswith(suffix)), None)

    def result_of(self, method: str) -> str:
        result = self.params_of(method, "Response")
        if result is None:
            raise ValueError(f"{method} has no result")
        return result
