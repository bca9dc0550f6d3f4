"""What a script may have the model do, step by step; and the reply that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

STREAM_PERIOD = 0.05  # seconds between two pieces: faster than people read, slow enough to be cancelled


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Think:
    """Reasoning, told apart from the answer where the API can."""

    text: str


@dataclass(frozen=True)
class Write:
    """Calls the agent's tool that writes a file; without one, its shell."""

    path: str
    text: str


@dataclass(frozen=True)
class Read:
    """Calls the agent's tool that reads a file; without one, its shell."""

    path: str


@dataclass(frozen=True)
class Run:
    """Calls the agent's tool that runs a shell command."""

    command: str


@dataclass(frozen=True)
class Call:
    """Calls the tool of this name with these arguments, as they are."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Stream:
    """Says `count` words, one each `period` seconds."""

    count: int
    period: float = STREAM_PERIOD


@dataclass(frozen=True)
class Hold:
    """Says a word, and no more until `ModelServer.release(name)`, or the agent hangs up."""

    name: str


@dataclass(frozen=True)
class Fail:
    """Answers with this HTTP status instead."""

    status: int
    message: str = "the model was told to fail"


@dataclass(frozen=True)
class Hang:
    """Takes the request and never answers."""


Step = Say | Think | Write | Read | Run | Call | Stream | Hold | Fail | Hang


@dataclass(frozen=True)
class Pause:
    """Within a reply: `seconds` pass before what comes after is sent."""

    seconds: float


@dataclass(frozen=True)
class Gate:
    """Within a reply: what comes after waits until the gate of this name is released."""

    name: str


@dataclass(frozen=True)
class Thought:
    text: str


@dataclass(frozen=True)
class Text:
    pieces: tuple[str | Pause | Gate, ...]

    @property
    def whole(self) -> str:
        return "".join(piece for piece in self.pieces if isinstance(piece, str))


@dataclass(frozen=True)
class ToolCall:
    """A call as the APIs tell it. `kind` and `namespace` are those of the tool."""

    name: str
    arguments: Mapping[str, Any]
    kind: str = "function"
    namespace: str | None = None


@dataclass(frozen=True)
class Reply:
    """The parts of one answer in their order; a call is the last. Nothing at all: the model hangs."""

    parts: tuple[Thought | Text | ToolCall, ...] = ()
    fault: Fail | None = None

    @property
    def call(self) -> ToolCall | None:
        return next((part for part in self.parts if isinstance(part, ToolCall)), None)
