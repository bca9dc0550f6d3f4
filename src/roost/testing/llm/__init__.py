"""A language model for tests: an HTTP server on loopback that says what the prompt tells it to.

Coding agents are pointed at it in place of their vendor's. It speaks four APIs (OpenAI chat completions and responses,
Anthropic messages, Gemini generateContent), each whole or as a stream, and finds in the tools an agent offers the one
that writes a file, reads one or runs a command, so that one script serves every agent.

```python
async with ModelServer() as model:
    env = {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "none"}
    ...  # start the agent, and prompt it: "[[write notes.txt: hello]] [[say Written.]]"
    assert model.asks[0].offers("write_file")
```

What can stand in a prompt is listed in `roost.testing.llm.directives`. A program that decides by itself passes a
function from `Ask` to steps: `ModelServer(lambda ask: [Say("no")])`.
"""

from roost.testing.llm.asks import Ask, Line, Tool
from roost.testing.llm.directives import Directives, steps_in
from roost.testing.llm.server import ModelServer
from roost.testing.llm.steps import Call, Fail, Hang, Hold, Read, Run, Say, Step, Stream, Think, Write

__all__ = [
    "Ask",
    "Call",
    "Directives",
    "Fail",
    "Hang",
    "Hold",
    "Line",
    "ModelServer",
    "Read",
    "Run",
    "Say",
    "Step",
    "Stream",
    "Think",
    "Tool",
    "Write",
    "steps_in",
]
