"""Prompts for agents we know, so that a check of them sees everything they can do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from roost.testing.conformance.bench import Prompts


def _asked_is_done(workspace: Path) -> bool:
    return (workspace / "asked.txt").exists()


PROMPTS: Final[Mapping[str, Prompts]] = {
    "wren": Prompts(
        texts=(
            "say Hello.",
            "think Hm.\nsay Done.",
            "todo",
            "read notes.txt",
            'replace notes.txt "two" "2"',
            "write made.txt\n```\na\nb\n```",
            "run printf 'a\\n\\303\\274\\n'",
            "ask How are you?",
        ),
        slow="run sleep 20",
        asks="write asked.txt\n```\ndone\n```",
        done=_asked_is_done,
    ),
}
"""By the name an agent gives in its `info`. The texts are sent in a workspace that holds `notes.txt`."""
