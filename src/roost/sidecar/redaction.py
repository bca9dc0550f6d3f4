"""What must not reach the disk: the values of environment variables and headers. Their names do, to be asked for again.

Values are taken out by where they stand, never guessed by how they look: a prompt is kept as it was written.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from roost.sidecar.instructions import own_variable
from roost.sidecar.journal import StoredLaunch
from roost.sidecar.launch import KEEP_STDIN_OPEN, Launch

# Where ACP and the callers' MCP entries keep what may be secret (SEC-2): lists of {name, value}, or objects by name.
_SECRET_MEMBERS: Final = ("env", "headers")

# Of an MCP server, what is needed to tell it again and is not meant to hold secrets; whatever else it has is left out.
_SERVER_MEMBERS: Final = ("type", "name", "command", "args", "url", "serverId", "id")


def stored_launch(launch: Launch) -> StoredLaunch:
    """A launch as it may be stored. Arguments are kept: without them the agent could not be started again."""
    own = (KEEP_STDIN_OPEN, own_variable(launch))
    return StoredLaunch(
        agent_type=launch.agent_type,
        runtime=launch.runtime,
        cwd=launch.cwd,
        args=launch.args,
        env_names=tuple(sorted(name for name in launch.env if name not in own)),
        protocol_version=launch.protocol_version,
        client_capabilities=launch.client_capabilities,
        mcp_servers=redact_servers(launch.mcp_servers),
        instructions=launch.instructions,
    )


def redact_servers(mcp_servers: str) -> str:
    """MCP servers, a JSON list, with the values of `env` and `headers` and the user part of URLs taken out."""
    servers = _decoded(mcp_servers.encode())
    if not isinstance(servers, list):
        return "[]"
    return msgspec.json.encode([_server(server) for server in servers if isinstance(server, dict)]).decode()


def redact_params(params: bytes) -> bytes:
    """Params of a request as they may be stored: without the values of `env` and `headers`, at any depth.

    What is no JSON becomes null.
    """
    if b'"env' not in params and b'"headers' not in params and b"\\u" not in params:
        return params
    value = _decoded(params)
    waiting: list[Any] = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            for member in _SECRET_MEMBERS:
                if member in inner:
                    inner[member] = _names(inner[member])
            waiting.extend(inner.values())
        elif isinstance(inner, list):
            waiting.extend(inner)
    return msgspec.json.encode(value)


def _server(server: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {member: server[member] for member in _SERVER_MEMBERS if member in server}
    if isinstance(kept.get("url"), str):
        kept["url"] = _without_user(kept["url"])
    kept.update({member: _names(server[member]) for member in _SECRET_MEMBERS if member in server})
    return kept


def _names(values: Any) -> Any:
    if isinstance(values, dict):
        return dict.fromkeys(values)
    if isinstance(values, list):
        names = [value.get("name") for value in values if isinstance(value, dict)]
        return [{"name": name} for name in names if isinstance(name, str)]
    return None


def _without_user(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url
    end = min([place for place in (rest.find(c) for c in "/?#\\") if place >= 0], default=len(rest))
    return f"{scheme}://{rest[:end].rpartition('@')[2]}{rest[end:]}"


def _decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
