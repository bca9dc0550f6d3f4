"""The program; its options and steps are described in the package."""

from __future__ import annotations

import json
import os
import sys

from roost.testing.scripted.agent import ScriptedAgent

FLAGS = ("v1", "v2", "load", "resume", "ignore-term", "gated")
VALUES = ("claim", "store", "split", "capabilities", "auth", "info")


def options_in(arguments: list[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The options and the script of a command line. SystemExit when there is no such option."""
    options: dict[str, str] = {}
    script: dict[str, list[str]] = {}
    words = iter(arguments)
    for word in words:
        name = word.removeprefix("--")
        if word.startswith("--") and name in FLAGS:
            options[name] = ""
        elif word.startswith("--") and name in VALUES:
            options[name] = next(words)
        elif word.startswith("--"):
            sys.exit(f"scripted: no option {word}")
        elif word.lstrip().startswith("{"):
            script = json.loads(word)
        else:
            with open(word) as file:
                script = json.load(file)
    return options, script


def main() -> int:
    """Runs the agent on standard input and output."""
    os.set_inheritable(0, False)
    return ScriptedAgent(*options_in(sys.argv[1:])).run()


if __name__ == "__main__":
    sys.exit(main())
