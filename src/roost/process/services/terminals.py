"""The terminals of one session: made after the host has agreed, found by their ids, ended with the session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from roost.errors import LimitError, ProcessError, RpcError
from roost.process.base import Runner
from roost.process.services import commands, faults
from roost.process.services.disk import Disk
from roost.process.services.levels import Levels
from roost.process.services.limits import ServiceLimits
from roost.process.services.params import Params
from roost.process.services.policy import MayRun, TerminalCommand, is_allowed
from roost.process.services.roots import Roots
from roost.process.services.terminal import Terminal, TerminalObserver

_log = logging.getLogger(__name__)

ID_PREFIX = "acp-terminal-"  # sidecar 5.3


class Terminals:
    """Answers `terminal/*`. Ids are never used twice (TRM-2)."""

    def __init__(
        self,
        roots: Roots,
        disk: Disk,
        env: Mapping[str, str],
        limits: ServiceLimits,
        levels: Levels,
        runner: Runner,
        may_run: MayRun | None,
        observer: TerminalObserver | None,
        takes_input: bool | None,
        ids: str = ID_PREFIX,
    ) -> None:
        self._roots = roots
        self._disk = disk
        self._env = env
        self._limits = limits
        self._levels = levels
        self._runner = runner
        self._may_run = may_run
        self._observer = observer
        self._takes_input = takes_input
        self._ids = ids
        self._open: dict[str, Terminal] = {}
        self._leaving: set[Terminal] = set()
        self._coming = 0
        self._last = 0
        self._closed = False

    async def create(self, params: Params) -> dict[str, Any]:
        command, args = params.word("command"), params.words("args")
        env = params.environment("env")
        columns, rows = params.count("cols", 1), params.count("rows", 1)
        if columns is not None:
            env.setdefault("COLUMNS", str(columns))
        if rows is not None:
            env.setdefault("LINES", str(rows))
        wanted = params.count("outputByteLimit")
        output_bytes = self._limits.output_bytes if wanted is None else min(wanted, self._limits.max_output_bytes)
        asked_cwd = params.optional_path("cwd") or self._roots.paths[0]
        self._leaving = {terminal for terminal in self._leaving if not terminal.is_gone}
        if len(self._open) + len(self._leaving) + self._coming >= self._limits.terminals:
            raise LimitError("terminals", self._limits.terminals)
        self._coming += 1
        self._watch()
        try:
            resolved = await self._disk.run(asked_cwd, lambda: self._resolve(command, args, asked_cwd, env))
            if not await is_allowed(self._may_run, resolved):
                raise faults.denied(resolved.line)
            # Somebody may have thought about it for a while.
            cwd = await self._disk.run(asked_cwd, lambda: self._directory(asked_cwd))
            if cwd != resolved.cwd:
                raise faults.changed(asked_cwd)
            takes_input = self._takes_input
            if takes_input is None:
                # Only whoever has a window to type in says how large it is.
                takes_input = columns is not None or rows is not None
            return {"terminalId": self._start(resolved, output_bytes, takes_input).id}
        finally:
            self._coming -= 1
            self._watch()

    def _watch(self) -> None:
        self._levels.watch("terminals", len(self._open) + len(self._leaving) + self._coming)

    def _resolve(self, command: str, args: tuple[str, ...], cwd: str, env: Mapping[str, str]) -> TerminalCommand:
        return commands.resolve(command, args, cwd=self._directory(cwd), base_env=self._env, env=env)

    def _directory(self, path: str) -> str:
        """Where a directory in the roots really is."""
        with self._roots.find(path) as place:
            if place.rest:
                raise faults.Missing(path)
            return place.path

    def _start(self, command: TerminalCommand, output_bytes: int, takes_input: bool) -> Terminal:
        if self._closed:
            raise faults.closed()
        terminal = Terminal(f"{self._ids}{self._last + 1}", output_bytes, takes_input, self._observer)
        plan = commands.plan(command, self._env, takes_input=takes_input)
        try:
            process = self._runner.spawn(plan, terminal)
        except ProcessError as error:
            # The error's own text holds the command, and commands hold secrets.
            _log.warning("a terminal's command could not be started: %s", error.__cause__ or "it cannot be run")
            raise RpcError(faults.INTERNAL_ERROR, "the command could not be started") from error
        self._last += 1
        self._open[terminal.id] = terminal
        terminal.started(process, command.line, command.cwd)
        return terminal

    async def output(self, params: Params) -> dict[str, Any]:
        return self._find(params).output()

    async def wait_for_exit(self, params: Params) -> dict[str, Any]:
        return await self._find(params).wait()

    async def kill(self, params: Params) -> dict[str, Any]:
        """With a signal: sends it. Without: ends the command, whatever it does about SIGTERM."""
        terminal, number = self._find(params), params.signal("signal")
        if number is None:
            await terminal.end(self._limits.kill_grace)
        else:
            terminal.signal(number)
        return {}

    async def release(self, params: Params) -> dict[str, Any]:
        await self._release(self._find(params))
        return {}

    async def write(self, params: Params) -> dict[str, Any]:
        self._find(params).write(params.content("data"), self._limits)
        return {}

    async def resize(self, params: Params) -> dict[str, Any]:
        """Accepted and without effect: there is no pseudo-terminal whose size could change."""
        terminal, columns, rows = self._find(params), params.count("cols", 1), params.count("rows", 1)
        _log.debug("terminal %s has no size to change to %s by %s", terminal.id, columns, rows)
        return {}

    def _find(self, params: Params) -> Terminal:
        terminal_id = params.string("terminalId")
        terminal = self._open.get(terminal_id)
        if terminal is None:
            raise faults.unknown_terminal(terminal_id)
        return terminal

    def pause(self, terminal_id: str) -> None:
        """Stop reading a command's output, so that it blocks; an id that means nothing any more is passed over."""
        if terminal_id in self._open:
            self._open[terminal_id].pause()

    def resume(self, terminal_id: str) -> None:
        if terminal_id in self._open:
            self._open[terminal_id].resume()

    async def _release(self, terminal: Terminal) -> None:
        # It counts until all it started is gone, whether or not somebody waits for that.
        self._open.pop(terminal.id, None)
        self._leaving.add(terminal)
        await terminal.end(self._limits.kill_grace)
        self._leaving.discard(terminal)
        self._watch()

    async def release_all(self) -> None:
        """End every command, together; what could not be ended is in the log."""
        leaving = [*self._open.values(), *self._leaving]
        await asyncio.gather(*(self._release(terminal) for terminal in leaving), return_exceptions=True)

    async def close(self) -> None:
        """As `release_all`, and none is made from now on."""
        self._closed = True
        await self.release_all()
