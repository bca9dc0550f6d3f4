"""The recorded conversations: who said what, line for line (see tools/take_recordings.py for how they are kept)."""

from __future__ import annotations

import json
import lzma
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "recordings"

Json = dict[str, Any]


class Line(NamedTuple):
    """One line of the wire. `message` is None when it holds no JSON object."""

    from_agent: bool
    text: str
    message: Json | None


class Run(NamedTuple):
    """One process of the agent, from its start to its end."""

    name: str
    lines: tuple[Line, ...]

    @property
    def initialized(self) -> Json | None:
        """The first result of an `initialize`."""
        asked = {repr(line.message["id"]) for line in self.requests("initialize") if line.message}
        for line in self.lines:
            message = line.message
            if line.from_agent and message and "result" in message and repr(message["id"]) in asked:
                return dict(message["result"])
        return None

    @property
    def dialect(self) -> int:
        """The version it speaks, by the shape of its answer; 0 when it never answers an `initialize` with a result."""
        result = self.initialized
        if result is None:
            return 0
        return 2 if "info" in result else 1

    @property
    def answered_version(self) -> int:
        """The version it names."""
        return 0 if self.initialized is None else int(self.initialized["protocolVersion"])

    @property
    def opens_a_session(self) -> bool:
        asked = {repr(line.message["id"]) for line in self.requests("session/new") if line.message}
        answers = [line.message for line in self.lines if line.from_agent and line.message and "result" in line.message]
        return any(repr(answer["id"]) in asked for answer in answers)

    def requests(self, *methods: str) -> list[Line]:
        """Those of the client."""
        return [
            line
            for line in self.lines
            if not line.from_agent and line.message and "id" in line.message and line.message.get("method") in methods
        ]


@cache
def text_of(agent: str) -> str:
    return lzma.decompress((FOLDER / f"{agent}.wire.xz").read_bytes()).decode()


def agents() -> list[str]:
    return sorted(path.name.split(".")[0] for path in FOLDER.glob("*.wire.xz"))


@cache
def runs() -> tuple[Run, ...]:
    """All of them, by name: `gemini-tools`, and `gemini-persist.2` for the second process of a conversation."""
    found: list[Run] = []
    for agent in agents():
        for conversation in re.split("^= ", text_of(agent), flags=re.MULTILINE)[1:]:
            scenario, _, rest = conversation.partition("\n")
            for number, part in enumerate(re.split(r"^\+$", rest, flags=re.MULTILINE)[1:], 1):
                name = f"{agent}-{scenario}" + (f".{number}" if number > 1 else "")
                found.append(Run(name, tuple(map(_line, filter(_is_said, part.split("\n"))))))
    return tuple(found)


def run_named(name: str) -> Run:
    [found] = [run for run in runs() if run.name == name]
    return found


def _is_said(text: str) -> bool:
    return text[:2] in ("< ", "> ")


def _line(text: str) -> Line:
    return Line(text[0] == "<", text[2:], _object(text[2:]))


def _object(text: str) -> Json | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
