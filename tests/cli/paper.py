"""An output of a test."""

from __future__ import annotations


class Paper:
    """Takes what is written."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None: ...
