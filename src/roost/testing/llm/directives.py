"""The script that the prompt carries: directives in double brackets, done one after the other.

| directive | the model |
| --- | --- |
| `[[say TEXT]]` | says it |
| `[[think TEXT]]` | reasons so first, where the API has reasoning |
| `[[write PATH: TEXT]]` | calls the tool that writes a file |
| `[[read PATH]]` | calls the tool that reads a file |
| `[[run COMMAND]]` | calls the tool that runs a shell command |
| `[[call TOOL {JSON}]]` | calls this very tool |
| `[[stream N]]` | says N words, one each 50 ms |
| `[[hold NAME]]` | says a word and waits for `ModelServer.release(NAME)` |
| `[[fail STATUS]]` | answers with this HTTP status |
| `[[hang]]` | never answers |

The last text of the user that holds any is the script. A call ends an answer; the next one, which comes with the
call's result, goes on behind it. When nothing is left the model tells the last result; without directives it greets.
The server keeps no place in the script: it is counted from the results, so that agents may ask twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from roost.testing.llm.asks import Ask
from roost.testing.llm.steps import Call, Fail, Hang, Hold, Read, Run, Say, Step, Stream, Think, Write

GREETING = "Hello, this is a scripted model."
DEFAULT_WORDS = 20
RESULT_EXCERPT = 200

_DIRECTIVE = re.compile(r"\[\[\s*(say|think|write|read|run|call|stream|hold|fail|hang)\b[ \t]*(.*?)\s*\]\]", re.DOTALL)


def steps_in(text: str) -> list[Step]:
    """The directives of a text, in order. ValueError for one that cannot be understood."""
    return [_step(verb, rest) for verb, rest in _DIRECTIVE.findall(text)]


def _step(verb: str, rest: str) -> Step:
    match verb:
        case "say":
            return Say(rest)
        case "think":
            return Think(rest or "Let me see.")
        case "write":
            path, colon, text = rest.partition(":")
            if not colon:
                raise ValueError(f"[[write {rest}]] lacks the colon before what is to be written")
            return Write(path.strip(), text.strip() + "\n")
        case "read":
            return Read(rest)
        case "run":
            return Run(rest)
        case "call":
            tool, _, arguments = rest.partition(" ")
            return Call(tool, json.loads(arguments or "{}"))
        case "stream":
            return Stream(int(rest or DEFAULT_WORDS))
        case "hold":
            return Hold(rest or "held")
        case "fail":
            return Fail(int(rest or 500))
    return Hang()


@dataclass(frozen=True)
class Directives:
    """The default script. `aside`: what asks that offer no tools are answered, for agents that ask for titles so."""

    aside: str | None = None

    def __call__(self, ask: Ask) -> Sequence[Step]:
        steps: list[Step] = []
        results: list[str] = []
        for line in ask.lines:
            if line.role == "user" and (found := steps_in(line.text)):
                steps, results = found, []
            elif line.role == "tool":
                results.append(line.text)
        if self.aside is not None and not ask.tools:
            return [Say(self.aside)]
        if not steps:
            return [Say(GREETING)]
        calls = [place for place, step in enumerate(steps) if isinstance(step, Write | Read | Run | Call)]
        done = min(len(results), len(calls))
        left = steps[calls[done - 1] + 1 :] if done else steps
        if not left:
            return [Say("Done: " + " ".join(results[-1].split())[:RESULT_EXCERPT])]
        return left
