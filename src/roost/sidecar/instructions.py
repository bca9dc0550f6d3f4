"""What an agent is told about where it runs, and the way each agent likes to be told."""

from __future__ import annotations

import hashlib

import msgspec

from roost.sidecar.launch import Launch

BASE_INSTRUCTIONS = """\
You are running inside Roost, a home for coding agents. A daemon started you, keeps a record of this session, and
may show it to several people at once.

- The working directory of the session is yours to read and change; stay inside it and inside any further root you
  were given.
- A person may be asked before you write files or run commands. A refusal is an answer: go on without it, or say why
  you cannot.
- Your process may be stopped and started again. Keep what matters in files, not in memory.
- Standard output carries the protocol. Anything a person should read in a log belongs on standard error.
"""

APPEND_VARIABLE = "ACP_APPEND_SYSTEM_PROMPT"
CONTEXT_PATHS_VARIABLE = "OPENCODE_CONTEXTPATHS"
OPENCODE_CONTEXT_PATHS = (
    ".github/copilot-instructions.md",
    ".cursorrules",
    ".cursor/rules/",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "opencode.md",
    "opencode.local.md",
    "OpenCode.md",
    "OpenCode.local.md",
    "OPENCODE.md",
    "OPENCODE.local.md",
)

_FLAGS = {
    "pi": "--append-system-prompt",
    "pi-cli": "--append-system-prompt",
    "claude": "--append-system-prompt",
    "codex": "--append-developer-instructions",
}


def instruction_text(*, skip_base: bool, additional: str | None) -> str | None:
    """The text to inject, or None when there is nothing to say."""
    parts = [] if skip_base else [BASE_INSTRUCTIONS.rstrip()]
    if additional:
        parts.append(additional)
    return "\n\n".join((*parts, "---")) if parts else None


def instruct(launch: Launch, text: str | None, folder: str) -> Launch:
    """The launch with the text put where this agent looks for it; `folder` is where files may be written."""
    if text is None:
        return launch
    agent = launch.agent_type
    flag = _FLAGS.get(agent)
    if flag is not None:
        return msgspec.structs.replace(launch, args=(*launch.args, flag, text))
    if agent == "opencode":
        if CONTEXT_PATHS_VARIABLE in launch.env:  # present, even empty: the caller has decided
            return launch
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        path = f"{folder}/agentos-system-prompt-{digest}.md"  # nobody else's text is ever written over
        paths = msgspec.json.encode([*OPENCODE_CONTEXT_PATHS, path]).decode()
        env = {**launch.env, CONTEXT_PATHS_VARIABLE: paths}
        return msgspec.structs.replace(launch, env=env, files=(*launch.files, (path, text)), instructions=text)
    if APPEND_VARIABLE in launch.env:
        return launch
    return msgspec.structs.replace(launch, env={**launch.env, APPEND_VARIABLE: text}, instructions=text)


def own_variable(launch: Launch) -> str | None:
    """The variable that tells the agent its instructions, where it is ours and nobody's choice."""
    if launch.instructions is None:
        return None
    return CONTEXT_PATHS_VARIABLE if launch.agent_type == "opencode" else APPEND_VARIABLE
