"""`session/update` of a v1 agent as v2 has it: one function for each kind, payload in, payloads out (4.5).

What needs to remember something is in `agent_session`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from roost.acp.bridge.diffs import diff_from_texts
from roost.acp.bridge.losses import Losses
from roost.acp.bridge.payload import Json, as_text, objects, picked, with_meta
from roost.acp.paths import is_absolute

PLAN: Final = "plan"
"""The planId of the one plan a v1 session has."""

_TOOL_TEXTS: Final = ("name", "title", "kind", "status")


class Shaper:
    """Knows what the shapes of one session depend on: its directory, and how long a diff may be."""

    def __init__(self, cwd: str, diff_bytes: int, losses: Losses) -> None:
        self._cwd = cwd
        self._diff_bytes = diff_bytes
        self._losses = losses

    def tool_call(self, update: Json, is_new: bool) -> Json:
        """A `tool_call`, a `tool_call_update` or a permission's tool call as the patch it is.

        In v1 null means unmentioned, so it is left out: in v2 it would clear.
        """
        v2 = picked(update, "toolCallId", *_TOOL_TEXTS, "rawInput", "rawOutput")
        for name, shaped in (("content", self._contents), ("locations", self._locations)):
            values = update.get(name)
            if isinstance(values, list) and (values or not is_new):
                v2[name] = shaped(values)
        return with_meta(v2, update)

    def _contents(self, contents: list[Any]) -> list[Json]:
        return [self._content(content) for content in objects(contents)]

    def _content(self, content: Json) -> Json:
        if content.get("type") != "diff" or not isinstance(content.get("path"), str):
            return content
        return diff_from_texts(content, self._path(content["path"]), self._diff_bytes, self._losses)

    def _locations(self, locations: list[Any]) -> list[Json]:
        out = []
        for location in objects(locations):
            if isinstance(location.get("path"), str):
                location = {**location, "path": self._path(location["path"])}
            out.append(location)
        return out

    def _path(self, path: str) -> str:
        return path if is_absolute(path) else f"{self._cwd.rstrip('/')}/{path}"  # SES-1


def plan(update: Json) -> Json:
    """`plan` becomes the one plan of the session; an unstable `plan_update` has its v2 form already."""
    entries = [
        with_meta({"content": as_text(entry.get("content")), **_graded(entry)}, entry)
        for entry in objects(update.get("entries"))
    ]
    return with_meta(
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": PLAN, "entries": entries}}, update
    )


def _graded(entry: Json) -> Json:
    return {"priority": as_text(entry.get("priority"), "medium"), "status": as_text(entry.get("status"), "pending")}


def commands(update: Json) -> Json:
    listed = []
    for command in objects(update.get("availableCommands")):
        v2 = {"name": command.get("name"), "description": as_text(command.get("description"))}
        hint = command.get("input")
        if isinstance(hint, dict):
            v2["input"] = {"type": "text", **hint} if isinstance(hint.get("hint"), str) else hint
        listed.append(with_meta(v2, command))
    return with_meta({"sessionUpdate": "available_commands_update", "availableCommands": listed}, update)


def _members(*names: str) -> Callable[[Json], Json]:
    def copied(update: Json) -> Json:
        return {name: update[name] for name in ("sessionUpdate", *names, "_meta") if name in update}

    return copied


SAME: Final[dict[str, Callable[[Json], Json]]] = {
    # By tag: what both versions have, so that null keeps its meaning (MSC-5).
    "session_info_update": _members("title", "updatedAt"),
    "usage_update": _members("used", "size", "cost"),
    "plan": plan,
    "available_commands_update": commands,
}
