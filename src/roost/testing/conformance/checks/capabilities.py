"""Capability gates: what the agent has not advertised does not exist, and is never accepted in silence."""

from __future__ import annotations

from typing import Any

from roost.testing.conformance.bench import (
    AUTH_REQUIRED,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MUST,
    SHOULD,
    Bench,
    Skip,
    initialize_params,
    result_of,
)
from roost.testing.conformance.peer import Json
from roost.testing.conformance.registry import check

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

# Capability, a method behind it, params.
_GATED: tuple[tuple[str, str, Json], ...] = (
    ("session", "session/new", {"cwd": "/"}),
    ("session", "session/list", {}),
    ("session.delete", "session/delete", {"sessionId": "none"}),
    ("session.fork", "session/fork", {"sessionId": "none", "cwd": "/"}),
    ("providers", "providers/list", {}),
    ("providers", "providers/disable", {"providerId": "none"}),
    ("nes", "nes/start", {}),
)


@check("capabilities.methods", "ERR-4", "INI-15", "S-32", "O-16")
async def methods(bench: Bench) -> None:
    """A method that was not advertised is answered method-not-found."""
    gated = [row for row in _GATED if not bench.profile.has(row[0])]
    if not gated:
        raise Skip("the agent advertises everything")
    peer = await bench.ready()
    for path, method, params in gated:
        answer = await peer.call(method, params)
        error = bench.expect_error("ERR-4", f"{method} without {path}", answer, METHOD_NOT_FOUND, code_level=SHOULD)
        if error is not None and error.get("code") == AUTH_REQUIRED:
            bench.fail("ERR-2", f"{method} without {path} not to ask for a login", answer)


@check("capabilities.auth", "AUTH-1", "I-18")
async def auth(bench: Bench) -> None:
    """Without login methods there is no login and no logout."""
    if bench.profile.auth_methods:
        raise Skip("the agent has login methods")
    peer = await bench.ready()
    for method, params in (("auth/login", {"methodId": "none"}), ("auth/logout", {})):
        answer = await peer.call(method, params)
        bench.expect_error("AUTH-1", f"{method} without login methods", answer, METHOD_NOT_FOUND, code_level=SHOULD)


@check("capabilities.terminal-auth", "AUTH-5", "I-21")
async def terminal_auth(bench: Bench) -> None:
    """A terminal login is shown only to a client that can do it."""
    poor: list[Json] = [{}, {"auth": {}}, {"auth": {"terminal": True}}]
    for capabilities in poor:
        peer = await bench.start()
        result = result_of(await peer.call("initialize", initialize_params(2, capabilities)))
        listed = result.get("authMethods")
        for method in listed if isinstance(listed, list) else ():
            if isinstance(method, dict) and method.get("type") == "terminal":
                bench.fail("AUTH-5", f"no terminal login for a client with {capabilities}", method)


def _content(path: str, block: Json) -> Any:
    async def run(bench: Bench) -> None:
        if bench.profile.has(path):
            raise Skip(f"the agent advertises {path}")
        peer, session = await bench.with_session()
        since = peer.mark
        kind = block["type"]
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "Look:"}, block]}
        answer = await peer.call("session/prompt", params)
        error = bench.expect_error(
            "PRM-1", f"a prompt with {kind}, not advertised,", answer, INVALID_PARAMS, code_level=SHOULD
        )
        await peer.barrier()
        told = peer.updates(session, "user_message", since) + peer.updates(session, "user_message_chunk", since)
        if error is not None and told:
            bench.fail("PRM-3", "no user_message for a prompt that was refused", told[0], MUST)

    return run


_BLOCKS: tuple[tuple[str, str, Json], ...] = (
    ("image", "session.prompt.image", {"type": "image", "data": _PIXEL, "mimeType": "image/png"}),
    ("audio", "session.prompt.audio", {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}),
    (
        "resource",
        "session.prompt.embeddedContext",
        {"type": "resource", "resource": {"uri": "file:///x.txt", "text": "x"}},
    ),
)
for _name, _path, _block in _BLOCKS:
    _run = _content(_path, _block)
    _run.__doc__ = f"A prompt with {_name} is refused when {_path} is not advertised."
    check(f"capabilities.{_name}", "PRM-1", "P-04", level=SHOULD)(_run)


@check("capabilities.directories", "SES-8", "S-03")
async def directories(bench: Bench) -> None:
    """Additional directories that were not advertised are not accepted in silence."""
    if bench.profile.has("session.additionalDirectories"):
        raise Skip("the agent advertises session.additionalDirectories")
    bench.need_sessions()
    peer = await bench.ready()
    params = {"cwd": str(bench.workspace), "additionalDirectories": [str(bench.workspace.parent)]}
    answer = await peer.call("session/new", params)
    bench.expect_error("SES-8", "session/new with directories, not advertised,", answer, INVALID_PARAMS)


@check("capabilities.mcp", "SES-10", "S-08", level=SHOULD)
async def mcp_servers(bench: Bench) -> None:
    """MCP servers of a kind that was not advertised, or that nobody knows, are refused."""
    bench.need_sessions()
    servers: list[tuple[str, Json]] = [
        ("stdio", {"type": "stdio", "name": "probe", "command": "/bin/false"}),
        ("http", {"type": "http", "name": "probe", "url": "http://127.0.0.1:9/mcp"}),
        ("acp", {"type": "acp", "name": "probe", "serverId": "probe"}),
        ("sse", {"type": "sse", "name": "probe", "url": "http://127.0.0.1:9/sse"}),
    ]
    peer = await bench.ready()
    for kind, server in servers:
        if not bench.profile.has(f"session.mcp.{kind}"):
            answer = await peer.call("session/new", {"cwd": str(bench.workspace), "mcpServers": [server]})
            bench.expect_error(
                "SES-10", f"session/new with an MCP server over {kind}, not advertised,", answer, INVALID_PARAMS,
                code_level=SHOULD,
            )  # fmt: skip


@check("capabilities.nothing-asked", "INI-19", "ELI-1", "R-16")
async def nothing_of_a_poor_client(bench: Bench) -> None:
    """An agent asks nothing of a client that offers nothing."""
    bench.need_sessions()
    peer = await bench.ready({"elicitation": {}})
    session = await bench.new_session(peer)
    since = peer.mark
    for text in bench.prompts.texts[:1]:
        answer = await peer.call(
            "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]},
            bench.patience.turn_timeout,
        )  # fmt: skip
        if "result" in answer:
            await peer.until(
                lambda: peer.idles(session, since), "the turn to end with idle", bench.patience.turn_timeout
            )
    for part in peer.came(since):
        method = part.get("method") if isinstance(part, dict) else None
        if method in ("elicitation/create", "elicitation/complete"):
            bench.fail("ELI-1", "no elicitation for a client that has not advertised its mode", part, MUST)
