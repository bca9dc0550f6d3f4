"""Agents from npm whose vendor's model is swapped for the scripted one by environment or settings."""

from __future__ import annotations

import json
from typing import Any

from tools.interop.pins import Npm
from tools.interop.spec import Agent, Place, Quirk

# Any value does: the scripted model looks at no key.
KEY = "none"


def _gemini_files(place: Place) -> dict[str, Any]:
    return {
        ".gemini/settings.json": {
            "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        }
    }


def _gemini_env(place: Place) -> dict[str, str]:
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": place.model_url, "GEMINI_CLI_NO_RELAUNCH": "true"}


GEMINI = Agent(
    name="gemini",
    title="Gemini CLI",
    pin=Npm("@google/gemini-cli", "0.61.0"),
    program="gemini",
    args=("--acp",),
    env=_gemini_env,
    files=_gemini_files,
    setup="`GEMINI_API_KEY`, or `gemini` once by hand to sign in.",
    quirks=(
        Quirk("it has to be logged in over ACP before it opens a session: Roost does it, with the key that is there"),
        Quirk("it announces a tool call only in the permission that it asks for, or in an update"),
        Quirk("it tells a change of mode as a message, outside any turn", "switch"),
        Quirk("it does not exit at the end of its input while a tool runs: it is ended by a signal", "end"),
    ),
)


def openai_env(place: Place) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": place.openai_url, "OPENAI_MODEL": "scripted"}


QWEN = Agent(
    name="qwen",
    title="Qwen Code",
    pin=Npm("@qwen-code/qwen-code", "0.15.10"),
    program="qwen",
    args=("--acp", "--auth-type", "openai"),
    env=openai_env,
    setup="`OPENAI_API_KEY`, `OPENAI_BASE_URL` and `OPENAI_MODEL`, or `qwen` once by hand to sign in. "
    "Newer versions need node 22.",
    slow=2.0,
    quirks=(
        Quirk("it takes seconds to start, and the memory of a browser"),
        Quirk("it says that it can resume a session and knows no `session/resume`: it is loaded", "crash"),
        Quirk(
            "it keeps a turn after it has told its end: it gets a second before it is ended, else it forgets", "resume"
        ),
    ),
)


def _copilot_env(place: Place) -> dict[str, str]:
    return {
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_BASE_URL": place.openai_url,
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "scripted",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }


COPILOT = Agent(
    name="copilot",
    title="GitHub Copilot CLI",
    pin=Npm("@github/copilot", "1.0.102"),
    program="copilot",
    args=("--acp",),
    env=_copilot_env,
    setup="`copilot` once by hand to sign in, or `COPILOT_PROVIDER_*` for a provider of your own.",
    quirks=(
        Quirk("it tells updates of a session before it has answered session/new"),
        Quirk("its modes are named by URLs", "switch"),
        Quirk("it takes a prompt in mid-turn for the end of the turn before"),
    ),
)


def _opencode_env(place: Place) -> dict[str, str]:
    model = {"name": "Scripted", "tool_call": True, "limit": {"context": 131_072, "output": 8_192}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": place.openai_url, "apiKey": KEY},
        "models": {"scripted": model},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": "local/scripted",
        "small_model": "local/scripted",
        "enabled_providers": ["local"],
        "permission": {"edit": "ask", "bash": "ask"},
        "provider": {"local": provider},
    }
    switches = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        **{f"OPENCODE_DISABLE_{switch}": "1" for switch in switches},
    }


OPENCODE = Agent(
    name="opencode",
    title="OpenCode",
    pin=Npm("opencode-ai", "1.18.33"),
    program="opencode-*/bin/opencode",  # what its install script would put in place of its own
    args=("acp",),
    env=_opencode_env,
    setup="`opencode auth login`; it asks for no permission unless its configuration says `ask`.",
    quirks=(Quirk("its permissions are off by default"),),
)

AUGGIE = Agent(
    name="auggie",
    title="Auggie",
    pin=Npm("@augmentcode/auggie", "0.36.0"),
    program="auggie",
    args=("--acp",),
    setup="`auggie login`; without it no session is opened.",
    refused="uthentication",
    quirks=(Quirk("it names no way to log in over ACP"),),
)
