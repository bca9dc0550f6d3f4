"""An agent on this library: streams what a prompt asks for, `COUNT SIZE`."""

from __future__ import annotations

from roost.sdk.agent import Agent
from roost.sdk.turn import Turn

ENVELOPE = 190  # bytes of an update that are not its text
WORDS = "I will look at the parser first, then fix the failing test. "

agent = Agent("bench", "1")


@agent.prompt
async def answer(turn: Turn) -> None:
    count, size = map(int, turn.text.split()[:2])
    room = max(1, size - ENVELOPE)
    text = (WORDS * (room // len(WORDS) + 1))[:room]
    for _ in range(count):
        await turn.say(text)


agent.run()
