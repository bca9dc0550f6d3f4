"""The recorded side of a conversation as an agent: it says what was recorded, when it hears what was recorded."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.replay.recording import Json, Line, Run

# What stands for another method toward an agent that has both.
ALIASES = {"session/set_config_option": ("session/set_mode", "session/set_model")}


class RecordedAgent:
    """Pure. `hears` takes one message of the client, `says` gives what follows it, in pieces cut at random.

    Its answers carry the ids of the requests that came, everything else is as it was recorded. A recorded line of the
    client that does not come has to be `skip`ped: what was answered to it is not said, or said once it has come late.
    """

    def __init__(self, run: Run, random: Random) -> None:
        self._lines = run.lines
        self._at = 0
        self._random = random
        self._ids: dict[str, Any] = {}  # by recorded id, the one that came
        self._missing: dict[int, Line] = {}  # skipped requests, which may still come
        self._dropped: set[str] = set()  # ids of those that will not
        self._early: set[int] = set()  # lines that came before their turn
        self._late: dict[str, Line] = {}  # answers to what has not come yet
        self._out: list[Line] = []
        self.log: list[tuple[str, Json]] = []
        """What was said and heard, as it was recorded and in the order it happened."""
        self.is_in_order = True
        """False when a request came later than recorded, and what was said of it before."""
        self.unexpected: list[Json] = []
        """What came and is not in the recording."""

    # ---- what comes

    @property
    def awaits(self) -> Line | None:
        """The recorded line of the client that is next; None at the end, or while there is something to say."""
        while self._at in self._early:
            self._at += 1
        if self._at < len(self._lines) and not self._lines[self._at].from_agent:
            return self._lines[self._at]
        return None

    @property
    def is_over(self) -> bool:
        return self._at >= len(self._lines) and not self._out

    @property
    def has_said_all(self) -> bool:
        """Whether it has heard something, and says nothing more whatever it hears."""
        return bool(self.log) and not self._out and not any(line.from_agent for line in self._lines[self._at :])

    def hears(self, message: Json) -> bool:
        """Whether it is what was recorded, now or later."""
        for index in [*self._missing, *range(self._at, len(self._lines))]:
            line = self._lines[index]
            if line.from_agent or index in self._early or line.message is None or not is_same(line.message, message):
                continue
            self._heard(index, line.message, message)
            return True
        self.unexpected.append(message)
        return False

    def _heard(self, index: int, recorded: Json, message: Json) -> None:
        self.log.append((">", {**recorded, "came": message}))
        if "method" in recorded and "id" in recorded:
            self._ids[repr(recorded["id"])] = message["id"]
        if index in self._missing:
            self.is_in_order = False
            del self._missing[index]
            answer = self._late.pop(repr(recorded.get("id")), None)
            if answer is not None:
                self._out.append(answer)
        else:
            self._early.add(index)

    def skip(self, *, may_come: bool = False) -> None:
        """The client does not send the line that is next."""
        line = self._lines[self._at]
        assert not line.from_agent
        if line.message is not None and "method" in line.message and "id" in line.message:
            if may_come:
                self.is_in_order = False
                self._missing[self._at] = line
            else:
                self._dropped.add(repr(line.message["id"]))
        self._at += 1

    # ---- what it says

    def says(self) -> list[bytes]:
        """Everything up to the next line of the client."""
        while self._at < len(self._lines) and (self._lines[self._at].from_agent or self._at in self._early):
            line = self._lines[self._at]
            self._at += 1
            if line.from_agent and self._is_due(line):
                self._out.append(line)
        out, self._out = self._out, []
        return cut(b"".join(self._said(line) for line in out), self._random)

    def _is_due(self, line: Line) -> bool:
        message = line.message
        if message is None or "method" in message or message.get("id") is None:
            return True
        identifier = repr(message["id"])
        if identifier in self._ids:
            return True
        if any(missing.message and repr(missing.message["id"]) == identifier for missing in self._missing.values()):
            self._late[identifier] = line
        return False

    def _said(self, line: Line) -> bytes:
        message = line.message
        if message is None:
            return line.text.encode() + b"\n"
        self.log.append(("<", message))
        if "method" in message or message.get("id") is None:
            return line.text.encode() + b"\n"
        came = self._ids[repr(message["id"])]
        if came == message["id"]:
            return line.text.encode() + b"\n"
        return json.dumps({**message, "id": came}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def is_same(recorded: Json, message: Json) -> bool:
    if "method" not in recorded or "method" not in message:
        return "method" not in recorded and "method" not in message and recorded.get("id") == message.get("id")
    if ("id" in recorded) != ("id" in message):
        return False
    came = message["method"]
    if recorded["method"] != came and recorded["method"] not in ALIASES.get(came, ()):
        return False
    params, theirs = recorded.get("params") or {}, message.get("params") or {}
    return all(params.get(name) == theirs.get(name) for name in ("sessionId", "prompt", "cwd") if name in theirs)


def cut(data: bytes, random: Random) -> list[bytes]:
    """The same bytes in pieces: now few, now many, anywhere."""
    pieces: list[bytes] = []
    longest = random.choice((7, 64, 1000, 65_536))
    while data:
        size = random.randint(1, longest)
        pieces.append(data[:size])
        data = data[size:]
    return pieces
