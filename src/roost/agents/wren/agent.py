"""Wren itself: takes a prompt apart, does one thing after the other, and says what it could not do."""

from __future__ import annotations

import asyncio
import os
from typing import Final

from roost import __version__
from roost.acp.v2 import AvailableCommand, SessionConfigSelect, TextCommandInput, Usage
from roost.agents.wren.instructions import Instruction, Misunderstood, instructions_in
from roost.agents.wren.skills import SKILLS
from roost.agents.wren.workspace import Problem, Workspace
from roost.sdk.agent import Agent, Refusal
from roost.sdk.agent_config import select
from roost.sdk.agent_session import AgentSession
from roost.sdk.store import SessionStore
from roost.sdk.turn import Turn

HELP: Final = """I am Wren. I follow plain instructions, one on a line:

- `todo` collects the TODO comments of the workspace into a plan
- `find TEXT` finds a text in its files
- `read PATH` reads a file
- `write PATH`, and the text between fences (```) below it, writes a file
- `replace PATH "old" "new"` replaces a text in a file
- `run COMMAND` runs a command in a terminal
- `say TEXT`, `think TEXT` and `ask QUESTION` do what they say

I ask before I write or run anything.
"""

_COMMANDS: Final = {
    "todo": ("Collect the TODO comments of the workspace into a plan", None),
    "find": ("Find a text in the workspace", "TEXT"),
    "read": ("Read a file", "PATH"),
    "run": ("Run a command in a terminal", "COMMAND"),
    "help": ("What Wren can do", None),
}
_TITLE: Final = 60  # characters of a title
_MEMORY: Final = 1_000_000  # characters Wren says it can hold; it counts them as others count tokens


def new_wren(store: SessionStore | None = None) -> Agent:
    """Wren, ready to run; `store` keeps its sessions."""
    wren = Agent("wren", __version__, title="Wren", roots=True, fork=True, config=[_detail()], store=store)

    @wren.session_hook
    async def settle_in(session: AgentSession, origin: str) -> None:
        for root in session.roots:
            if not await asyncio.to_thread(os.path.isdir, root):
                raise Refusal(f"{root} is not a directory.")
        session.offer(
            AvailableCommand(
                name=name, description=description, input=None if hint is None else TextCommandInput(hint=hint)
            )
            for name, (description, hint) in _COMMANDS.items()
        )

    @wren.prompt
    async def answer(turn: Turn) -> None:
        if turn.session.title is None:
            await turn.session_info(title=turn.text.strip().partition("\n")[0][:_TITLE] or "Nothing in particular")
        before = _characters(turn)
        try:
            await follow(turn)
        finally:
            heard, spoken = len(turn.text), _characters(turn) - before
            turn.spent = Usage(total_tokens=heard + spoken, input_tokens=heard, output_tokens=spoken)
        await turn.usage(_characters(turn), _MEMORY)

    return wren


async def follow(turn: Turn) -> None:
    """Does what the prompt says, in order; what goes wrong is said, and the next thing is done."""
    workspace = Workspace(turn.session.roots)
    explained = False
    for wanted in instructions_in(turn.text) or [Misunderstood("")]:
        if isinstance(wanted, Instruction):
            try:
                await SKILLS[wanted.verb](turn, workspace, wanted)
            except Problem as problem:
                await turn.say(f"{problem}\n")
        elif wanted.needs is not None:
            await turn.say(f"{wanted.needs}.\n")
        elif not explained:
            explained = True
            await turn.say(HELP)


def _detail() -> SessionConfigSelect:
    return select(
        "detail", "Detail", {"full": "Show the lines around each TODO", "brief": "Only where it is"}, value="full"
    )


def _characters(turn: Turn) -> int:
    return sum(len(message.text) for message in turn.session.history.messages)
