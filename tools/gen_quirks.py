"""Writes docs/quirks.md from the profiles of agents, or with --check says whether it is up to date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from roost.catalogue.profiles import LAUNCHER_TIMEOUT, Profile, known_profiles
from roost.daemon.settings_page import meanings_of
from roost.sidecar.quirks import Quirks

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path("docs/quirks.md")

HEAD = """\
# Quirks of agents

Agents differ from what the protocol says, and from each other. What Roost knows of them is data, `profiles.json` in
`roost.catalogue`, each quirk with the reason it is there for; this page is written from it by `python -m
tools.gen_quirks`.

A profile counts when an agent is started: by `roost run`, by the daemon, by `roost login`. The agent is recognised by
its package, as it was installed, or as its program lies in a `node_modules`, or as `npx` and `uvx` are given it; else
by its program's file; else by the name it tells at `initialize`. An agent nobody knows has no quirks.

What is known can be added to, or said otherwise, in the configuration: `[quirks.AGENT]`, see
[configuration.md](configuration.md).

## What a quirk does

| quirk | means |
| --- | --- |
"""
MIDDLE = """
Two things hold for every agent, so they are no quirks: a message is always a line of its own, never one of a batch,
because several agents end when they read one; and an agent is ended with all its descendants, because several leave
some behind.

What `npx`, `uvx` and the like are to run has {timeout:g} s for its first answer, because they may have to fetch it
first.

## What an agent needs

An agent whose package asks for another node than the one that would run it, or that is known to need another Python,
is not started: the error says what it needs, and what there is. `needs = "ignored"` starts it all the same. A key or a
login is another matter, since nobody can see from outside whether it is there: which one is known to do is said by
`roost agents`, and with the error when an agent asks for it.

## The agents
"""


def render(profiles: Sequence[Profile]) -> str:
    meanings = meanings_of(Quirks)
    rows = "".join(f"| `{name}` | {meanings[name]} |\n" for name in Quirks.__struct_fields__)
    return HEAD + rows + MIDDLE.format(timeout=LAUNCHER_TIMEOUT) + "".join(map(section, profiles))


def section(profile: Profile) -> str:
    return "\n" + "\n".join([f"### {profile.title}", "", *_known_by(profile), "", *_quirks(profile), *_notes(profile)])


def _known_by(profile: Profile) -> Iterator[str]:
    packages = [f"`npm:{name}`" for name in profile.npm] + [f"`pypi:{name}`" for name in profile.pypi]
    names = ", ".join(f"`{name}`" for name in (profile.id, *profile.names))
    yield f"{names}; {', '.join(packages)}; seen in version {profile.seen}."
    wants = [" and ".join(f"`{name}`" for name in key) for key in profile.keys]
    if profile.login or wants:
        login = f"a login (`{profile.login or f'roost login {profile.id}'}`)"
        yield f"Wants {', '.join(wants)}{' or ' if wants else ''}{login}."
    for title, wanted in (("node", profile.node), ("Python", profile.python)):
        if wanted:
            yield f"Needs {title} {wanted}."


def _quirks(profile: Profile) -> Iterator[str]:
    if profile.quirks:
        yield "| quirk | is | because |"
        yield "| --- | --- | --- |"
        for name, quirk in profile.quirks.items():
            yield f"| `{name}` | {shown(quirk.is_)} | {quirk.why} |"
        yield ""


def _notes(profile: Profile) -> Iterator[str]:
    for note in profile.notes:
        yield f"- {note}"
    if profile.notes:
        yield ""


def shown(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(
            f"`{method}` with {' and '.join(f'`{name}`' for name in names)}" for method, names in value.items()
        )
    return f"`{value:g}`" if isinstance(value, int | float) else f"`{value}`"


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Exit status: 0 all is well, 1 the page differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.gen_quirks", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page is out of date")
    options = parser.parse_args(arguments)
    path, text = root / TARGET, render(known_profiles())
    if not options.check:
        path.write_text(text, encoding="utf-8", newline="\n")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        print(f"{TARGET} is not what the profiles say: run `python -m tools.gen_quirks`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
