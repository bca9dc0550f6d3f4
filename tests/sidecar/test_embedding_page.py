"""The program on docs/embedding.md runs as it stands, without a thread, a task or a process."""

from __future__ import annotations

import asyncio
import re
import subprocess
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "embedding.md"
MARK = r"<!-- run by tests/sidecar/test_embedding_page\.py -->\n+```python\n(.*?)```"


def program() -> str:
    blocks = re.findall(MARK, PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    return "\n".join(blocks)


def test_the_five_steps_run_without_a_thread_a_task_or_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("the page promises that this is not needed")

    for owner, name in (
        (threading.Thread, "start"),
        (subprocess.Popen, "__init__"),
        (asyncio, "new_event_loop"),
        (asyncio, "create_task"),
        (asyncio, "run"),
    ):
        monkeypatch.setattr(owner, name, forbidden)
    module = ModuleType("embedding_page")
    exec(compile(program(), str(PAGE), "exec"), module.__dict__)
    assert module.__dict__["heard"]
