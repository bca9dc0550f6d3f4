"""The tree's own rules, which no linter knows: pinned schemas, file lengths, no machine's paths, no markers left."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 400
SOURCES = ("src", "tests", "tools", "bench", "examples")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home/[a-z]+)/")
LEFT_FOR_LATER = re.compile(r"\b(?:FIXME|XXX|NotImplementedError)\b|# *TODO")
DRAWER = re.compile(r"(?:^|/)(?:utils?|helpers?|common|shared|misc)(?:\.py|/)")


def main() -> int:
    problems = list(check())
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def check() -> Iterator[str]:
    yield from pinned_schemas()
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if DRAWER.search(name) and not name.startswith("examples/workspace"):
            yield f"{name}: a file is named after its one concept, not after a drawer"
        if path.suffix not in (".py", ".md", ".toml", ".sh", ".yml", "") or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if path != Path(__file__).resolve():
            for match in MACHINE_PATH.finditer(text):
                yield f"{name}: holds a path of one machine: {match[0]}"
        if path.suffix == ".py" and name.startswith(SOURCES) and "/gen/" not in name:
            count = text.count("\n")
            if count > MAX_LINES:
                yield f"{name}: {count} lines; split it by topic at {MAX_LINES}"
            if name.startswith("src") and (left := LEFT_FOR_LATER.search(text)):
                yield f"{name}: left for later: {left[0]}"


def pinned_schemas() -> Iterator[str]:
    pins = json.loads((ROOT / "schema" / "PINNED.json").read_text())
    for name, wanted in pins.items():
        found = hashlib.sha256((ROOT / "schema" / name).read_bytes()).hexdigest()
        if found != wanted:
            yield f"schema/{name}: sha256 is {found}, PINNED.json says {wanted}"


def tracked() -> list[Path]:
    output = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in output.split("\0") if name]


if __name__ == "__main__":
    sys.exit(main())
