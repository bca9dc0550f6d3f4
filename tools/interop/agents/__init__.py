"""The agents Roost is tried on. `DEFAULT` is what `make test` tries; `make interop` tries all."""

from __future__ import annotations

from tools.interop.agents.claude import CLAUDE_AGENT, CLAUDE_CODE
from tools.interop.agents.codex import CODEX, CODEX_RUST
from tools.interop.agents.javascript import AUGGIE, COPILOT, GEMINI, OPENCODE, QWEN
from tools.interop.agents.python import AGENTAO, FAST_AGENT, HERMES, KIMI, VIBE
from tools.interop.agents.sdk import SDK_DUAL, SDK_V1
from tools.interop.spec import Agent

DEFAULT = ("sdk-example", "sdk-dual-version", "gemini", "agentao")

AGENTS: dict[str, Agent] = {
    agent.name: agent
    for agent in (
        SDK_V1,
        SDK_DUAL,
        GEMINI,
        AGENTAO,
        CLAUDE_AGENT,
        CLAUDE_CODE,
        CODEX,
        CODEX_RUST,
        COPILOT,
        OPENCODE,
        QWEN,
        VIBE,
        FAST_AGENT,
        HERMES,
        KIMI,
        AUGGIE,
    )
}
