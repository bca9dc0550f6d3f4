"""The program: `python -m roost.agents.wren`."""

from __future__ import annotations

import sys

from roost.agents.wren.agent import new_wren

_USAGE = "usage: python -m roost.agents.wren [--sessions DIR]"


def main(arguments: list[str]) -> int:
    """Runs wren on standard input and output. `--sessions`: the directory that keeps its sessions; else memory does."""
    match arguments:
        case []:
            new_wren().run()
        case ["--sessions", directory]:
            from roost.sdk.store_directory import DirectorySessionStore

            new_wren(DirectorySessionStore(directory)).run()
        case ["-h" | "--help"]:
            print(_USAGE)
        case _:
            print(_USAGE, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
