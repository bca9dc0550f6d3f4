"""Anthropic's agent behind two adapters: the one in use, and the older one that asks its client for terminals."""

from __future__ import annotations

from typing import Any

from tools.interop.pins import Npm
from tools.interop.spec import Agent, Place, Quirk

KEY = "sk-none"
SETUP = "`ANTHROPIC_API_KEY`, or `claude` once by hand to sign in."


def _env(place: Place) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": place.model_url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",  # it refuses to run as root otherwise
    }


def _env_with_reasoning(place: Place) -> dict[str, str]:
    return {**_env(place), "MAX_THINKING_TOKENS": "2048"}  # it asks for none by itself


def _files(place: Place) -> dict[str, Any]:
    known = {"approved": [KEY[-20:]], "rejected": []}
    return {".claude.json": {"hasCompletedOnboarding": True, "customApiKeyResponses": known}}


CLAUDE_AGENT = Agent(
    name="claude-acp",
    title="Claude Agent",
    pin=Npm("@agentclientprotocol/claude-agent-acp", "0.49.0"),
    program="claude-agent-acp",
    env=_env,
    files=_files,
    setup=SETUP,
    slow=1.5,
)

CLAUDE_CODE = Agent(
    name="claude-zed",
    title="Claude Code, the older adapter",
    pin=Npm("@zed-industries/claude-code-acp", "0.16.2"),
    program="claude-code-acp",
    env=_env_with_reasoning,
    files=_files,
    setup=SETUP,
    slow=2.0,
    quirks=(
        Quirk("it announces a tool call twice"),
        Quirk("it does not exit at the end of its input: it is ended by a signal", "end"),
    ),
)
