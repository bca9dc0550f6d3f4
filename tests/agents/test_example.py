"""The example agent is a whole agent, and short."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.sdk.raw_client import started

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent.py"


async def test_the_example_answers_in_capitals() -> None:
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(EXAMPLE.read_text(), str(EXAMPLE), "exec"), names)
    client = await started(names["agent"])  # type: ignore[arg-type]
    client.prompt(await client.new_session(), "hello")
    await client.idle()
    assert client.said() == "HELLO"
    assert client.states() == ["running", "idle:end_turn"]


def test_the_example_is_a_program() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], input=b"", capture_output=True, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
