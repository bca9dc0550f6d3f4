"""Agents from PyPI, each in a venv of its own."""

from __future__ import annotations

import json
from typing import Any

from tools.interop.agents.javascript import openai_env
from tools.interop.pins import PyPI
from tools.interop.spec import Agent, Place, Quirk

OPENAI_SETUP = "`OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`, for any provider of that API."

AGENTAO = Agent(
    name="agentao",
    title="Agentao",
    pin=PyPI("agentao", "0.5.17"),
    program="agentao",
    args=("--acp", "--stdio"),
    env=openai_env,
    setup=OPENAI_SETUP,
    unasked=frozenset(("write",)),
    quirks=(
        Quirk("it writes files without asking; for commands it asks", "write"),
        Quirk("it notices that it was cancelled at the next word of its model", "cancel"),
        Quirk("the ids of its requests are strings"),
        Quirk("it writes hundreds of lines to stderr in each session"),
        Quirk("it refuses a prompt while one runs"),
    ),
)


def _vibe_files(place: Place) -> dict[str, Any]:
    config = f"""\
active_model = "scripted"
enable_update_checks = false
enable_auto_update = false
enable_telemetry = false

[[providers]]
name = "local"
api_base = {json.dumps(place.openai_url)}
api_key_env_var = "SCRIPTED_API_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "scripted"
provider = "local"
alias = "scripted"
temperature = 0.2
input_price = 0.0
output_price = 0.0
"""
    trusted = f"trusted = [{json.dumps(str(place.cwd))}]\nuntrusted = []\n"
    return {".vibe/config.toml": config, ".vibe/trusted_folders.toml": trusted}


def _vibe_env(place: Place) -> dict[str, str]:
    return {"SCRIPTED_API_KEY": "none", "MISTRAL_API_KEY": "none", "VIBE_HOME": str(place.home / ".vibe")}


VIBE = Agent(
    name="mistral-vibe",
    title="Mistral Vibe",
    pin=PyPI("mistral-vibe", "3.0.2", python=(3, 12)),
    program="vibe-acp",
    env=_vibe_env,
    files=_vibe_files,
    setup="`MISTRAL_API_KEY`, or `vibe` once by hand. Needs Python 3.12.",
    slow=2.0,
    unasked=frozenset(("write",)),
    quirks=(
        Quirk("it writes files in its folder without asking; for commands it asks", "write"),
        Quirk("it tells updates of a session before it has answered session/new"),
        Quirk("it repeats the prompt as the user's message"),
        Quirk("two options of its permissions are of the same kind"),
    ),
)


def _fast_env(place: Place) -> dict[str, str]:
    return {**openai_env(place), "GENERIC_API_KEY": "none", "GENERIC_BASE_URL": place.openai_url}


FAST_AGENT = Agent(
    name="fast-agent",
    title="fast-agent",
    pin=PyPI("fast-agent-mcp", "0.10.48", python=(3, 12)),
    program="fast-agent",
    args=("acp", "--shell", "--model", "generic.scripted"),
    env=_fast_env,
    setup="A key of the provider that `--model` names; without `--shell` it runs no commands. Needs Python 3.12.",
    slow=2.0,
    lacks={
        "thinking": "it passes on no reasoning of its generic provider",
        "switch": "it has one mode and no other options",
    },
    quirks=(Quirk("it echoes the version it is asked for, and speaks v1: that is known, so it is asked for 1"),),
)


def _hermes_files(place: Place) -> dict[str, Any]:
    model = {
        "default": "scripted",
        "provider": "custom",
        "base_url": place.openai_url,
        "api_key": "none",
        "context_length": 131_072,
    }
    # YAML takes JSON as it is.
    return {".hermes/config.yaml": {"model": model, "approvals": {"mode": "manual"}}}


def _hermes_env(place: Place) -> dict[str, str]:
    return {**openai_env(place), "HERMES_HOME": str(place.home / ".hermes")}


HERMES = Agent(
    name="hermes",
    title="Hermes Agent",
    pin=PyPI("hermes-agent", "0.19.0", extra="acp"),
    program="hermes",
    args=("acp",),
    env=_hermes_env,
    files=_hermes_files,
    setup="`hermes model` once by hand.",
    slow=1.5,
    unasked=frozenset(("run",)),
    spoils=frozenset(("cancel_asking", "cancel_running")),
    quirks=(
        Quirk("it runs commands without asking, unless it finds them dangerous; for files it asks", "run"),
        Quirk(
            "it takes a turn that was cancelled at a permission or in a command for one that runs, and queues what "
            "comes after: the session has to be closed and resumed",
            "cancel_asking",
        ),
        Quirk("it announces tool calls without a status"),
    ),
)

KIMI = Agent(
    name="kimi",
    title="Kimi CLI, as left on PyPI",
    pin=PyPI("kimi-cli", "1.52.0", python=(3, 12)),
    program="kimi",
    args=("acp",),
    setup="Not from here: this package only prints where its successor is.",
    refused="exited",
    quirks=(Quirk("it prints a line of text and exits"),),
)
