"""A recorded agent as a program: plays its side over its pipes, in pieces.

Its `main` is called by a script, with the name of a run and a seed.
"""

from __future__ import annotations

import json
import os
import sys
from random import Random

from tests.replay.recorded_agent import RecordedAgent, is_same
from tests.replay.recording import Json, run_named


def main(name: str, seed: str) -> None:
    agent = RecordedAgent(run_named(name), Random(seed))
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "cwd" in message.get("params", {}):
            message["params"]["cwd"] = "/workspace"  # where it was recorded
        if "id" in message and "method" in message:
            pass_over(agent, message)
        agent.hears(message)
        for piece in agent.says():
            os.write(1, piece)


def pass_over(agent: RecordedAgent, message: Json) -> None:
    """What this client does not do, and the recorded one did before it asked this."""
    while (line := agent.awaits) is not None and not (line.message and is_same(line.message, message)):
        agent.skip()
        for piece in agent.says():
            os.write(1, piece)
