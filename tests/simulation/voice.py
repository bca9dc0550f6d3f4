"""How a simulated agent writes: what it prints is numbered, and each message is written in one of the ways it can be.

`count` is the number of its last notification that a caller has to be told; answers carry it too, so that whoever
receives one can say what must have come before it.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tests.simulation.process import Process
    from tests.simulation.world import World

Json = dict[str, Any]

TEXTS = ("word", "é", "\u2028 ", "日本", "a\tb", '"quoted"', "\\n", "🪶", "x" * 90)


class Question(NamedTuple):
    """One it asks."""

    key: Any  # of its id
    name: str


class TurnOver(NamedTuple):
    """It has answered a prompt."""


class Voice:
    """Its stdout and its stderr."""

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._random = world.random
        self._process = process
        self._vices = process.temper.vices
        self._annotates = process.temper.version == 1 and world.random.random() < 0.5  # the bridge passes that on
        self._end = b"\n"
        self.count = 0
        self.marks: deque[tuple[int, int | Question | TurnOver]] = deque()  # what ends at that offset in stdout
        self.printed = 0
        self.session_id = ""

    @property
    def place(self) -> Json:
        """Where in its output it is."""
        return {"p": self._process.name, "n": self.count}

    def update(self, update: Json | None = None) -> None:
        """A session/update, numbered."""
        if update is None:
            text = self._random.choice(TEXTS)
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self.tell("session/update", {"sessionId": self.session_id[:40], "update": update})

    def notice(self) -> None:
        """A notification, numbered: an update, or one of another kind."""
        if self._random.random() < 0.7:
            self.update()
        else:
            self.tell("vendor/event", {})

    def tell(self, method: str, params: Json) -> None:
        self.count += 1
        params = {**params, "_meta": self.place} if self._annotates else {**params, **self.place}
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.say(message, number=self.count)

    def complain(self) -> None:
        text = self._random.choice((b"warning\n", b"\xff\xfe", b"Traceback\n" * 9, "é".encode()[:1]))
        self._process.stderr += text

    def say(self, message: Any, *, number: int | None = None, question: str | None = None) -> None:
        """One message on a line of its own, in one of the ways it can be written."""
        random = self._random
        style = random.randrange(8)
        if style == 0:
            line = json.dumps(message).encode()
        elif style == 1:
            line = b"  " + json.dumps(message, ensure_ascii=False).encode() + b" \r"
        else:
            line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
        in_a_batch = "batching" in self._vices and random.random() < 0.3
        batch = b"[" + line.strip() + b"]" if in_a_batch else line
        if len(batch) > self.line_bytes:
            if number is not None:  # nobody will hear of it: the number was not used
                self.count -= 1
        elif question is not None:
            self.marks.append((self.printed + len(batch) + 1, Question(key_of(message["id"]), question)))
        elif number is not None:
            self.marks.append((self.printed + len(batch) + 1, number))
            self._world.ledger.lines[self._process.name, number] = line.strip().decode()
        self.print(batch + self._end)

    def print(self, data: bytes) -> None:
        """Raw bytes."""
        self._process.stdout += data
        self.printed += len(data)

    @property
    def line_bytes(self) -> int:
        return self._world.limits.line_bytes


def key_of(identifier: Any) -> tuple[str, Any]:
    """Equal for equal ids: 1, "1" and 1.0 stay apart."""
    return type(identifier).__name__, identifier
