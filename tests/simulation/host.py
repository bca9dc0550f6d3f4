"""Files and terminals without an operating system: the daemon's `ClientServices`, prompt, slow, failing or silent.

What it may do is decided elsewhere; what it does is told to the ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from roost.errors import ConfigError, RpcError
from roost.process.services import (
    MayRun,
    MayWrite,
    ServiceLimits,
    TerminalCommand,
    TerminalCreated,
    TerminalExited,
    TerminalObserver,
    TerminalWrote,
)

if TYPE_CHECKING:
    from tests.simulation.process import Runner
    from tests.simulation.world import World

MOODS = ("prompt", "prompt", "prompt", "slow", "slow", "failing", "silent")
IDS = "acp-terminal-"
REAP_TIMEOUT = 5.0  # how long a command that survives SIGKILL is waited for


class Terminal:
    """One command: it prints a numbered word now and then, and ends by itself, when it is told to, or never."""

    def __init__(self, world: World, terminal_id: str, tell: Callable[[Any], None]) -> None:
        self._world = world
        self._tell = tell
        self.id = terminal_id
        self.words = 0
        self.paused = False
        self.undead = world.random.random() < 0.03
        self.given_up = False
        self.ended = asyncio.Event()
        self.status: dict[str, Any] = {}

    @property
    def runs(self) -> bool:
        return not self.ended.is_set()

    def act(self) -> None:
        """It does something by itself, if it can: nobody reads it while it is paused."""
        random = self._world.random
        if random.random() < 0.3:
            self.end(TerminalExited(random.choice((0, 1, 127)), None))
        elif not self.paused:
            self.words += 1
            self._tell(TerminalWrote(b"<%b:%d>" % (self.id.encode(), self.words) * random.choice((1, 1, 30))))

    def end(self, how: TerminalExited) -> None:
        if self.runs:
            self.status = how.status()
            self.ended.set()
            self._tell(how)

    async def close(self, grace: float) -> None:
        """SIGTERM, and SIGKILL after the grace; returns when it has ended, or is given up."""
        random = self._world.random
        if self.undead:
            await asyncio.sleep(grace + REAP_TIMEOUT)
            self.given_up = True
            self.end(TerminalExited(None, None))
            return
        await asyncio.sleep(random.choice((0.0, 0.0, grace / 2, grace)))
        self.end(TerminalExited(None, "SIGTERM"))


class Host:
    """What is served in one place."""

    def __init__(
        self,
        roots: Sequence[str],
        *,
        env: Mapping[str, str] | None,
        limits: ServiceLimits,
        missing_file: str,
        runner: Runner,
        on_terminal: TerminalObserver,
        terminal_ids: str,
        may_write: MayWrite,
        may_run: MayRun,
        warn: object = None,
    ) -> None:
        self._world = world = runner.world
        if world.random.random() < 0.03:
            raise ConfigError("a root is not there")
        self.process = f"acp-agent-{terminal_ids.removeprefix(IDS).partition('.')[0]}"
        self.terminals: dict[str, Terminal] = {}  # every one there ever was
        self._open: dict[str, Terminal] = {}
        self._mood = world.random.choice(MOODS)
        self._limits = limits
        self._ids = terminal_ids
        self._tell = on_terminal
        self._may_write = may_write
        self._may_run = may_run
        self._closed = False
        self._operations: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
            "terminal/create": self._create,
            "terminal/output": self._output,
            "terminal/wait_for_exit": self._wait,
            "terminal/kill": self._kill,
            "terminal/release": self._release,
        }
        world.ledger.require(
            terminal_ids not in (host._ids for host in world.hosts), f"terminal ids begin with {terminal_ids} twice"
        )
        world.hosts.append(self)

    async def handle(self, method: str, params: dict[str, Any]) -> Any:
        self._world.trace("  the host is asked for %s %.200r", method, params)
        operation = self._operations.get(method)
        if operation is None:
            raise RpcError(-32601, f"Method not found: {method}")
        self._require_open()
        return await operation(params)

    def _require_open(self) -> None:
        if self._closed:
            raise RpcError(-32603, "the services are closed")

    async def _ponder(self) -> None:
        random = self._world.random
        match self._mood:
            case "slow":
                await asyncio.sleep(random.choice((0.0, 0.01, 0.5, 4.0, 40.0)))
            case "failing" if random.random() < 0.4:
                raise RpcError(-32603, "input/output error", {"code": "EIO"})
            case "silent" if random.random() < 0.3:
                await asyncio.Event().wait()

    # ---- files

    async def _read(self, params: dict[str, Any]) -> dict[str, Any]:
        _path(params)
        await self._ponder()
        return {"content": self._world.random.choice(("", "text", "é\u2028" * 90))}

    async def _write(self, params: dict[str, Any]) -> dict[str, Any]:
        path = self._real(_path(params))
        await self._ponder()
        if not await self._may_write(path):
            raise RpcError(-32603, f"not allowed: writing {path}")
        await self._ponder()
        self._world.ledger.serving.done(self.process, ("write", path))
        return {}

    def _real(self, path: str) -> str:
        return path.replace("/link/", "/there/")

    def plain(self, path: str) -> str:
        """As the real one: another path than what it stands for, when there is a link on the way."""
        return path if "/link/" not in path else "/nowhere"

    async def text_before(self, path: str, most: int) -> tuple[bool, str | None]:
        await self._ponder()
        return self._world.random.choice(((False, None), (True, None), (True, "before\n")))

    # ---- terminals

    async def _create(self, params: dict[str, Any]) -> dict[str, Any]:
        line, env, cwd = params.get("command"), params.get("env") or [], params.get("cwd") or "/w"
        if not isinstance(line, str) or not line:
            raise RpcError(-32602, "no command")
        if sum(1 for terminal in self.terminals.values() if terminal.runs) >= self._limits.terminals:
            raise RpcError(-32603, "limit terminals reached", {"limit": "terminals", "bound": self._limits.terminals})
        await self._ponder()
        added = {entry["name"]: entry["value"] for entry in env}
        if not await self._may_run(TerminalCommand("/bin/sh", ("-c", line), cwd, added, line)):
            raise RpcError(-32603, "not allowed")
        await self._ponder()
        self._require_open()
        self._world.ledger.serving.done(self.process, ("run", line))
        terminal_id = f"{self._ids}{len(self.terminals) + 1}"
        terminal = Terminal(self._world, terminal_id, lambda event: self._tell(terminal_id, event))
        self.terminals[terminal_id] = self._open[terminal_id] = terminal
        self._tell(terminal_id, TerminalCreated(line, cwd))
        return {"terminalId": terminal_id}

    def _find(self, params: dict[str, Any]) -> Terminal:
        terminal = self._open.get(str(params.get("terminalId")))
        if terminal is None:
            raise RpcError(-32602, "ACP terminal not found")
        return terminal

    async def _output(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"output": "word", "truncated": False, **self._find(params).status}

    async def _wait(self, params: dict[str, Any]) -> dict[str, Any]:
        terminal = self._find(params)
        await terminal.ended.wait()
        return terminal.status

    async def _kill(self, params: dict[str, Any]) -> dict[str, Any]:
        await self._find(params).close(self._limits.kill_grace)
        return {}

    async def _release(self, params: dict[str, Any]) -> dict[str, Any]:
        terminal = self._find(params)
        del self._open[terminal.id]
        await terminal.close(self._limits.kill_grace)
        return {}

    def pause_terminal(self, terminal_id: str) -> None:
        self.terminals[terminal_id].paused = True

    def resume_terminal(self, terminal_id: str) -> None:
        self.terminals[terminal_id].paused = False

    @property
    def running(self) -> list[Terminal]:
        return [terminal for terminal in self.terminals.values() if terminal.runs]

    async def close(self) -> None:
        self._closed = True
        await asyncio.gather(*(terminal.close(self._limits.kill_grace) for terminal in self.running))


def _path(params: dict[str, Any]) -> str:
    path = params.get("path")
    if not isinstance(path, str) or not path.startswith("/w/"):
        raise RpcError(-32602, "not an absolute path in the session's roots")
    return path
