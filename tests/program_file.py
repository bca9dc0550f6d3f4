"""A program of a test, as a file."""

from __future__ import annotations

from pathlib import Path


def program(path: Path, text: str) -> Path:
    """Writes an executable file, in folders that need not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path
