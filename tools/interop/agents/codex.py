"""OpenAI's Codex behind two adapters: one in Rust that speaks v1, one for node that speaks v2."""

from __future__ import annotations

import json
from typing import Any

from tools.interop.pins import Npm
from tools.interop.spec import Agent, Place, Quirk

SETUP = "`OPENAI_API_KEY` or `CODEX_API_KEY`, or `codex login` once by hand."

UNASKED = "its own sandbox and reviewer decide: it asks for no permission"


def _env(place: Place) -> dict[str, str]:
    return {"SCRIPTED_API_KEY": "none", "OPENAI_API_KEY": "none", "NO_BROWSER": "1"}


def _files(place: Place) -> dict[str, Any]:
    return {".codex/config.toml": _config(place, "untrusted")}  # what it does not trust it asks for


def _files_on_request(place: Place) -> dict[str, Any]:
    return {".codex/config.toml": _config(place, "on-request")}


def _config(place: Place, approval: str) -> str:
    top = {
        "model": "scripted",
        "model_provider": "local",
        "approval_policy": approval,
        "sandbox_mode": "danger-full-access",  # its own sandbox needs rights that a container may not have
        "check_for_update_on_startup": False,
    }
    provider = {
        "name": "Scripted",
        "base_url": place.openai_url,
        "wire_api": "responses",
        "env_key": "SCRIPTED_API_KEY",
        "requires_openai_auth": False,
        "request_max_retries": 0,
        "stream_max_retries": 0,
    }
    tables: dict[str, dict[str, Any]] = {
        "analytics": {"enabled": False},
        "model_providers.local": provider,
        f"projects.{json.dumps(str(place.cwd))}": {"trust_level": "trusted"},
    }
    lines = _table(top)
    for name, members in tables.items():
        lines += [f"[{name}]", *_table(members)]
    return "\n".join(lines) + "\n"


def _table(members: dict[str, Any]) -> list[str]:
    """TOML's strings, numbers and booleans are written as JSON's."""
    return [f"{name} = {json.dumps(value)}" for name, value in members.items()]


CODEX_RUST = Agent(
    name="codex-zed",
    title="Codex, the adapter in Rust",
    pin=Npm("@zed-industries/codex-acp", "0.16.0"),
    program="codex-acp",
    env=_env,
    files=_files,
    setup=SETUP,
    quirks=(
        Quirk("it does not exit at the end of its input, and its wrapper leaves the program alive: the tree is killed"),
    ),
)

CODEX = Agent(
    name="codex-acp",
    title="Codex",
    pin=Npm("@agentclientprotocol/codex-acp", "2.6.0"),
    program="codex-acp",
    env=_env,
    files=_files_on_request,
    setup=SETUP,
    unasked=frozenset(("write", "run")),
    lacks={"deny": UNASKED, "cancel_asking": UNASKED},
    own_updates=frozenset(("notice",)),
    quirks=(Quirk("it speaks v2 itself, and has an update `notice` that the pinned schema does not know"),),
)
