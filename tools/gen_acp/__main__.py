"""`python -m tools.gen_acp [--check]`: writes the generated types, or compares them with what is there."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from tools.gen_acp.render import Renderer
from tools.gen_acp.schema import read

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "schema" / "acp.v2.json"
PINNED = ROOT / "schema" / "PINNED.json"
TARGET = ROOT / "src" / "roost" / "acp" / "v2" / "gen"


def generate(schema: bytes) -> dict[str, str]:
    """File names and their text."""
    document = json.loads(schema)
    return Renderer(read(document), document["$defs"]).files()


def verify_pin(schema: bytes) -> str | None:
    """What is wrong with the schema's hash, if anything."""
    pinned = json.loads(PINNED.read_text())[SCHEMA.name]
    found = hashlib.sha256(schema).hexdigest()
    return None if found == pinned else f"{SCHEMA.name}: sha256 is {found}, PINNED.json says {pinned}"


def differences(files: dict[str, str]) -> list[str]:
    """Files that are missing, differ, or should not be there."""
    present = {path.name for path in TARGET.glob("*.py")}
    wrong = [name for name, text in files.items() if name not in present or (TARGET / name).read_text() != text]
    return sorted([*wrong, *(present - set(files))])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.gen_acp", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 naming the files that differ")
    check = parser.parse_args(arguments).check
    schema = SCHEMA.read_bytes()
    fault = verify_pin(schema)
    if fault is not None:
        print(fault, file=sys.stderr)
        return 1
    files = generate(schema)
    wrong = differences(files)
    if check:
        for name in wrong:
            print(f"src/roost/acp/v2/gen/{name} differs from what the schema gives; run `make gen`", file=sys.stderr)
        return 1 if wrong else 0
    TARGET.mkdir(parents=True, exist_ok=True)
    for name in wrong:
        if name in files:
            (TARGET / name).write_text(files[name])
        else:
            (TARGET / name).unlink()
    print(f"gen_acp: {len(files)} files, {len(wrong)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
