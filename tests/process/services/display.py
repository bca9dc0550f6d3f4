"""Commands for terminals, and somebody who hears what the terminals do."""

from __future__ import annotations

import asyncio
import sys

from roost.process.services import (
    ClientServices,
    TerminalWrote,
)

PATIENCE = 15
# Writes its pid and its child's, each of a session of its own and deaf to SIGTERM, and stays.
FAMILY = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setsid()
    os.close(1)
    os.close(2)
    time.sleep(600)
print(os.getpid(), child, flush=True)
time.sleep(600)
"""


async def run(services: ClientServices, command: str, *args: str, **more) -> dict:
    """A terminal's output and exit status when it has ended."""
    async with asyncio.timeout(PATIENCE):
        made = await services.handle("terminal/create", {"command": command, "args": list(args), **more})
        await services.handle("terminal/wait_for_exit", made)
        output = await services.handle("terminal/output", made)
        assert await services.handle("terminal/release", made) == {}
    return output


def python(code: str) -> dict:
    return {"command": sys.executable, "args": ["-I", "-S", "-c", code]}


class Display:
    """Hears what terminals do and lets a test wait for it."""

    def __init__(self) -> None:
        self.events: list = []
        self._changed = asyncio.Event()

    def __call__(self, terminal_id, event) -> None:
        self.events.append((terminal_id, event))
        self._changed.set()

    def bytes(self, terminal_id: str = "acp-terminal-1") -> bytes:
        return b"".join(e.data for at, e in self.events if at == terminal_id and isinstance(e, TerminalWrote))

    def text(self, terminal_id: str = "acp-terminal-1") -> str:
        return self.bytes(terminal_id).decode()

    async def until(self, true) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                self._changed.clear()
                await self._changed.wait()


async def family(services: ClientServices, display: Display) -> tuple[dict, list[int]]:
    made = await services.handle("terminal/create", python(FAMILY))
    await display.until(lambda: "\n" in display.text(made["terminalId"]))
    return made, [int(word) for word in display.text(made["terminalId"]).split()]
