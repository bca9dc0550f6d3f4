"""What there is to know about an agent before it is tried: how it is installed, started, configured, and its ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.interop.pins import Pin

# What is tried, in the order the page shows it; each with what it proves.
SCENARIOS: Mapping[str, str] = {
    "text": "a prompt is answered with text, and its turn ends",
    "thinking": "reasoning is told apart from the answer",
    "write": "a file is written, after a permission where the agent asks for one",
    "deny": "a denied permission leaves no file, and the session goes on",
    "run": "a shell command is run, and its output gets to the model",
    "cancel": "a turn is cancelled while the model speaks",
    "cancel_asking": "a turn is cancelled while a permission is open",
    "cancel_running": "a turn is cancelled while a command runs",
    "switch": "a mode, a model or another option is changed",
    "crash": "an agent that is killed in mid-turn is started again, and its session goes on",
    "resume": "a session is resumed after the daemon was restarted",
    "two": "two sessions of one agent are prompted at once",
    "end": "a session is closed in mid-turn, and nothing of it is left",
    "refusal": "what cannot work is refused with the reason, and nothing is left",
}
CONVERSATION = tuple(name for name in SCENARIOS if name != "refusal")


@dataclass(frozen=True)
class Place:
    """Where one run of an agent happens: a home and a workspace of its own, and the model's address."""

    home: Path
    cwd: Path
    model_url: str

    @property
    def openai_url(self) -> str:
        return f"{self.model_url}/v1"


def nothing(place: Place) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Quirk:
    """Something the agent does its own way. `scenario`: where it shows; `text`: what it is, for readers."""

    text: str
    scenario: str = ""


@dataclass(frozen=True)
class Agent:
    """`env` and `files` (paths in HOME; text, or JSON) point it at the scripted model. `setup` is for people."""

    name: str
    title: str
    pin: Pin
    program: str
    setup: str
    args: tuple[str, ...] = ()
    env: Callable[[Place], dict[str, str]] = nothing
    files: Callable[[Place], dict[str, Any]] = nothing
    scripted: bool = True  # it asks a model, and so does what the directives in a prompt say
    lacks: Mapping[str, str] = field(default_factory=dict)  # scenario: why it cannot be tried
    unasked: frozenset[str] = frozenset()  # of "write" and "run", what it does without asking
    own_updates: frozenset[str] = frozenset()  # kinds of updates that the pinned schema does not have
    spoils: frozenset[str] = frozenset()  # scenarios after which a session of it is no more use
    option: tuple[str, str] | None = None  # what `switch` changes, and to what; else the first thing that can be
    quirks: tuple[Quirk, ...] = ()
    refused: str | None = None  # a negative case: the text its refusal has to hold
    slow: float = 1.0  # by how much its turns take longer than is usual

    @property
    def scenarios(self) -> tuple[str, ...]:
        return ("refusal",) if self.refused is not None else CONVERSATION

    @property
    def command(self) -> list[str]:
        """Absolute paths; a JavaScript file of a package is run by node."""
        program = str(self.pin.program(self.program))
        return ["node", program, *self.args] if self.is_file else [program, *self.args]

    @property
    def is_file(self) -> bool:
        return self.program.endswith(".js")
