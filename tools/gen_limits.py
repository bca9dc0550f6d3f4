"""Writes docs/limits.md from the settings in roost.sidecar.limits, or with --check says whether it is up to date."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from roost.sidecar.limits import Limits

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("src/roost/sidecar/limits.py")
TARGET = Path("docs/limits.md")
ARROW = " -> "

HEAD = """\
# Limits

Every bound and every wait of the sidecar has a name, a default, and an end that says which one it was. What is refused
is answered with code `limit_exceeded` and a text that names the setting; what takes too long with the text of its
request. A bound that fills up is noted in the log once at 80 %, and again only after it has fallen
below 50 %.

This page is written by `python -m tools.gen_limits` from the comments in `src/roost/sidecar/limits.py`.
"""
BOUNDS = """
## Bounds

| setting | default | unit | what is bounded | when it is reached |
| --- | --: | --- | --- | --- |
"""
WAITS = """
## Waits

| setting | default | unit | what is waited for | when it is over |
| --- | --: | --- | --- | --- |
"""


class Setting(NamedTuple):
    name: str
    default: float
    meaning: str
    consequence: str

    @property
    def unit(self) -> str:
        if isinstance(self.default, float):
            return "seconds"
        for ending, unit in (("_bytes", "bytes"), ("_tail", "characters")):
            if self.name.endswith(ending):
                return unit
        return "count"

    @property
    def row(self) -> str:
        columns = (f"`{self.name}`", self._shown(), self.unit, self.meaning, self.consequence)
        return f"| {' | '.join(columns)} |\n"

    def _shown(self) -> str:
        mebibytes, rest = divmod(self.default, 1024 * 1024)
        if self.unit == "bytes" and mebibytes and not rest:
            return f"{mebibytes:g} Mi"
        return f"{self.default:,g}" if isinstance(self.default, float) else f"{self.default:,}"


class UndocumentedSetting(Exception):
    """A setting whose comment does not say what it means and what happens."""


def settings(source: str) -> Iterator[Setting]:
    """The settings in the order of the class, each with the two halves of its comment."""
    defaults = msgspec.structs.asdict(Limits())
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.ClassDef) and node.name == Limits.__name__):
            continue
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                name = statement.target.id
                comment = lines[statement.lineno - 1].partition("  # ")[2]
                meaning, arrow, consequence = comment.partition(ARROW)
                if not (meaning and arrow and consequence):
                    raise UndocumentedSetting(f"{name}: its comment has to read `meaning{ARROW}what happens`")
                yield Setting(name, defaults[name], meaning, consequence)


def render(source: str) -> str:
    found = list(settings(source))
    bounds = "".join(setting.row for setting in found if isinstance(setting.default, int))
    waits = "".join(setting.row for setting in found if isinstance(setting.default, float))
    return HEAD + BOUNDS + bounds + WAITS + waits


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Exit status: 0 all is well, 1 the page differs or a setting is not documented."""
    parser = argparse.ArgumentParser(prog="python -m tools.gen_limits", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page is out of date")
    options = parser.parse_args(arguments)
    try:
        text = render((root / SOURCE).read_text(encoding="utf-8"))
    except UndocumentedSetting as error:
        print(error, file=sys.stderr)
        return 1
    path = root / TARGET
    if not options.check:
        path.write_text(text, encoding="utf-8", newline="\n")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        print(f"{TARGET} is not what {SOURCE} says: run `python -m tools.gen_limits`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
