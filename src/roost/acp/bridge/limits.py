"""The bounds and the waits of one bridge."""

from __future__ import annotations

from msgspec import Struct


class BridgeLimits(Struct, frozen=True, kw_only=True):
    """What either side may make a bridge keep, and how long it waits. All values are ours.

    Reaching a bound is an error response with code LIMIT_EXCEEDED that names it, or a counted loss.
    """

    acceptance_grace: float = 0.05  # seconds: a prompt a v1 agent refuses this soon is refused, not begun and failed
    settle_grace: float = 0.02  # seconds: `idle` waits this long for updates a v1 agent sends behind its answer
    cancel_timeout: float = 10.0  # seconds: a v1 agent that has not ended its turn by then is taken as cancelled
    resend_interval: float = 0.1  # seconds: grown tool content goes to a v1 client again no more often than this
    resend_bytes: int = 65_536  # ... and this much of it costs one interval more, so that work stays linear
    sessions: int = 4096  # sessions known on one connection, closed ones included
    queued_prompts: int = 16  # prompts of one session that wait for their turn
    held_messages: int = 1024  # messages of sessions whose answer has not come yet
    held_bytes: int = 16 << 20  # ... and all of their bytes
    tool_calls: int = 4096  # tool calls of one session whose title and content are remembered, the newest
    tool_facts: int = 64  # tool calls of one turn whose files are remembered, the newest
    grants: int = 64  # permissions of one turn that were given and not used yet, the newest
    messages: int = 256  # streamed messages of one session that a later upsert is compared with, the newest
    title_characters: int = 1024  # of a tool call's title that are remembered
    tool_content_bytes: int = 1 << 20  # content of one tool call kept to be sent again, the newest
    session_content_bytes: int = 8 << 20  # ... and of all tool calls of a session
    terminals: int = 256  # display terminals of one session shown to a v1 client, the newest
    terminal_bytes: int = 32_768  # output of one display terminal shown to a v1 client, the newest
    mcp_relays: int = 256  # MCP servers of the client that an agent reaches through a program, on one connection
    mcp_connections: int = 64  # programs connected for them at once
    mcp_requests: int = 256  # requests open on one of these connections, in either direction
    mcp_early_bytes: int = 1 << 20  # of messages that wait for the client's answer to mcp/connect
    diff_bytes: int = 1 << 20  # texts of one diff: beyond, no patch is made of them


DEFAULT_LIMITS = BridgeLimits()
