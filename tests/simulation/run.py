"""Runs schedules: `python -m tests.simulation.run SEED [-v]` one of them, `--count N [--from SEED]` many."""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.world import run

ABOUT = ("anything", "replays", "services")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.run", description=__doc__)
    parser.add_argument("seed", nargs="?", type=int, help="one schedule")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what happens")
    parser.add_argument("--steps", type=int, help="this many, whatever the seed says")
    parser.add_argument("--about", default="", choices=ABOUT, help="whatever the seed says")
    parser.add_argument("--count", type=int, help="that many schedules")
    parser.add_argument("--for", type=float, dest="seconds", help="no more than that many seconds of them")
    parser.add_argument("--first", action="store_true", help="end with the first that fails")
    parser.add_argument("--from", type=int, dest="begin", help="from this seed on; otherwise from one nobody has seen")
    options = parser.parse_args()
    if options.seed is not None:
        world = run(options.seed, steps=options.steps, tracing=options.verbose, about=options.about)
        print("\n".join(world.log))
        print(f"seed {options.seed}: all is well after {world.taken} steps")
        return 0
    first = time.time_ns() if options.begin is None else options.begin
    begun = time.monotonic()
    failures = done = 0
    count = options.count or 1000
    for seed in range(first, first + count):
        if options.seconds is not None and time.monotonic() - begun > options.seconds:
            break
        done += 1
        try:
            run(seed, about=options.about)
        except Exception as error:
            failures += 1
            print(f"seed {seed}: {type(error).__name__}: {error}", file=sys.stderr)
            if options.first:
                break
    took = time.monotonic() - begun
    print(f"{done} schedules from {first} on in {took:.1f} s, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
