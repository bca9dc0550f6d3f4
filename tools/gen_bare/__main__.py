"""Writes the generated modules, or with --check says which of them differ and exits 1."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.gen_bare.module import render
from tools.gen_bare.prose import FRAMES, MESSAGES
from tools.gen_bare.schema import SchemaError, parse

ROOT = Path(__file__).resolve().parents[2]
TARGETS: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("agentos_acp.v1.bare", "src/roost/sidecar/gen/messages.py", MESSAGES),
    ("roost_frames.v1.bare", "src/roost/sidecar/gen/frames.py", FRAMES),
)


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Exit status: 0 all is well, 1 a file differs, a schema is not the pinned one, or cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m tools.gen_bare", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when a generated file is out of date"
    )
    options = parser.parse_args(arguments)
    status = 0
    try:
        for schema, target, prose in TARGETS:
            text = render(parse(_pinned(root, schema), schema), prose)
            path = root / target
            if not options.check:
                path.write_text(text, encoding="utf-8", newline="\n")
            elif not path.exists() or path.read_bytes() != text.encode():
                print(f"{target} is not what schema/{schema} generates: run `make gen`", file=sys.stderr)
                status = 1
    except SchemaError as error:
        print(error, file=sys.stderr)
        return 1
    return status


def _pinned(root: Path, schema: str) -> str:
    """The schema's text, once its hash is the one in PINNED.json."""
    pins = json.loads((root / "schema/PINNED.json").read_bytes())
    data = (root / "schema" / schema).read_bytes()
    if pins.get(schema) != hashlib.sha256(data).hexdigest():
        raise SchemaError(f"schema/{schema} is not the one pinned in schema/PINNED.json")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SchemaError(f"schema/{schema} is not UTF-8: {error}") from None


if __name__ == "__main__":
    sys.exit(main())
