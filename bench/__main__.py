"""`python -m bench [NAME …]`: runs the measurements and prints them; `--strict` exits 1 when an aim is missed."""

from __future__ import annotations

import sys
from importlib import import_module

BENCHES = ("engine", "relay", "sidecar", "sdk", "journal", "journal_relay", "bridge", "bridge_relay")
ON_REQUEST = ("agentos",)  # what needs more than this project installs


def main(arguments: list[str]) -> int:
    strict = "--strict" in arguments
    names = [name for name in arguments if not name.startswith("-")] or list(BENCHES)
    missed = []
    for name in names:
        if name not in (*BENCHES, *ON_REQUEST):
            print(f"no bench is called {name}; there are: {', '.join((*BENCHES, *ON_REQUEST))}", file=sys.stderr)
            return 1
        report = import_module(f"bench.{name}").main()
        report.show()
        missed += report.missed
    return 1 if strict and missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
