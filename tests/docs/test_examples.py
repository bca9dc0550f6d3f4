"""Every marked Python example in README and docs runs as it stands.

A block after `<!-- run by tests/docs/test_examples.py -->` is executed as a module; when it defines
`async def main(workspace)`, that is awaited with a copy of the example workspace.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
MARK = r"<!-- run by tests/docs/test_examples\.py -->\n+```python\n(.*?)```"
EXAMPLE_TIMEOUT = 30


def examples() -> list[tuple[str, str]]:
    found = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for index, match in enumerate(re.finditer(MARK, path.read_text(encoding="utf-8"), re.DOTALL)):
            found.append((f"{path.relative_to(ROOT)}-{index + 1}", match[1]))
    return found


@pytest.mark.parametrize(("name", "code"), examples(), ids=[name for name, _ in examples()])
def test_an_example_of_the_docs_runs(name: str, code: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(ROOT / "examples" / "workspace", workspace)
    module = ModuleType("example")
    exec(compile(code, name, "exec"), module.__dict__)
    main = getattr(module, "main", None)
    if main is not None:
        assert inspect.iscoroutinefunction(main)
        asyncio.run(asyncio.wait_for(main(str(workspace)), EXAMPLE_TIMEOUT))


def test_there_are_examples_to_run() -> None:
    assert len(examples()) >= 2
