"""The faults an agent has, and the errors it answers with."""

from __future__ import annotations

import sys

FAULTS = set(sys.argv[1:])
BLOCKS = {"text": "text", "resource_link": "uri"}
MODES = ["careful", "bold"]
ANSWERED = object()


class Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        self.error = {"code": code, "message": message}


def faulty(name: str) -> bool:
    return name in FAULTS


def invalid(message: str) -> Refused:
    return Refused(-32602, message)
