"""A whole agent in a dozen lines: it answers with what it was told, in capitals.

roost run "python examples/agent.py" "hello"
"""

from roost.sdk.agent import Agent
from roost.sdk.turn import Turn

agent = Agent("shout", "1.0")


@agent.prompt
async def answer(turn: Turn) -> None:
    await turn.say(turn.text.upper())


if __name__ == "__main__":
    agent.run()
