"""The services an ACP v1 agent expects of its client: files in the session's roots, and terminals (sidecar 5.3)."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Literal

from roost.errors import ConfigError, LimitError, RpcError
from roost.process.base import Runner
from roost.process.environment import FORCED, agent_environment
from roost.process.local import LocalRunner
from roost.process.services import faults, files
from roost.process.services.disk import Disk
from roost.process.services.levels import Levels, Warn
from roost.process.services.limits import ServiceLimits
from roost.process.services.params import Params
from roost.process.services.policy import MayRun, MayWrite, is_allowed
from roost.process.services.roots import Roots
from roost.process.services.terminal import TerminalObserver
from roost.process.services.terminals import ID_PREFIX, Terminals
from roost.process.services.watchers import ServiceWatcher, Watchers

_log = logging.getLogger(__name__)

Operation = Callable[[Params], Awaitable[Any]]
MissingFile = Literal["error", "empty"]


class ClientServices:
    """Answers `fs/*` and `terminal/*` for one session. An async context manager; belongs to the running loop.

    Files are read, and listed, anywhere in `roots`; nothing is written without `may_write` and nothing run without
    `may_run` saying so each time (`allow_all` says so to everything). What may be read may be read through any link
    in the roots that stays in them.

    `env` is the whole environment of commands but for what the agent adds; None: as agents get it, without secrets
    of this program. `missing_file` "empty": reading a file that does not exist answers empty text, which some agents
    need before they write one. `runner` is shared with others and stays open; None: one of its own. `on_terminal`
    hears what every terminal does; `terminal_ids` is what their ids begin with. `durable`: a write is answered when it
    is on the disk. `terminal_input`: whether commands have an open stdin; None: those created with `cols` or `rows` do.
    `warn` hears of bounds that are 80 % full; None: the log does.

    ConfigError: no roots, one that is not absolute, or no such `missing_file`.
    """

    def __init__(
        self,
        roots: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        limits: ServiceLimits | None = None,
        missing_file: MissingFile = "error",
        runner: Runner | None = None,
        on_terminal: TerminalObserver | None = None,
        terminal_ids: str = ID_PREFIX,
        may_write: MayWrite | None = None,
        may_run: MayRun | None = None,
        durable: bool = False,
        terminal_input: bool | None = None,
        warn: Warn | None = None,
    ) -> None:
        if missing_file not in ("error", "empty"):
            raise ConfigError(f"missing_file has to be error or empty, not {missing_file!r}")
        self.limits: Final = limits or ServiceLimits()
        self._levels = Levels(self.limits, warn)
        self._roots = Roots(roots, self.limits)
        self._disk = Disk()
        self._runner = runner or LocalRunner()
        self._owns_runner = runner is None
        self._may_write = may_write
        self._may_run = may_run
        self._missing_is_empty = missing_file == "empty"
        self._durable = durable
        self._open_requests = 0
        self._waiting_bytes = 0
        self._closed = False
        self._watchers = Watchers(on_terminal, self.limits.shown_bytes)
        self._terminals = Terminals(
            self._roots,
            self._disk,
            command_environment() if env is None else dict(env),
            self.limits,
            self._levels,
            self._runner,
            may_run,
            self._watchers.terminal,
            terminal_input,
            terminal_ids,
        )
        self._operations = self._table()

    def _table(self) -> dict[str, Operation]:
        terminals = self._terminals
        return {
            "fs/read_text_file": self._read,
            "fs/read": self._read,
            "fs/write_text_file": self._write,
            "fs/write": self._write,
            "fs/read_dir": self._read_dir,
            "fs/readDir": self._read_dir,
            "terminal/create": terminals.create,
            "terminal/output": terminals.output,
            "terminal/read": terminals.output,
            "terminal/wait_for_exit": terminals.wait_for_exit,
            "terminal/waitForExit": terminals.wait_for_exit,
            "terminal/kill": terminals.kill,
            "terminal/release": terminals.release,
            "terminal/close": terminals.release,
            "terminal/write": terminals.write,
            "terminal/resize": terminals.resize,
        }

    async def __aenter__(self) -> ClientServices:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def methods(self) -> frozenset[str]:
        """The methods `handle` knows, in every spelling."""
        return frozenset(self._operations)

    @property
    def capabilities(self) -> dict[str, Any]:
        """The `clientCapabilities` of an ACP v1 client that has these services and this policy."""
        return {
            "fs": {"readTextFile": True, "writeTextFile": self._may_write is not None},
            "terminal": self._may_run is not None,
        }

    async def handle(self, method: str, params: object) -> Any:
        """The result of one request, as JSON values. RpcError is all it raises."""
        operation = self._operations.get(method)
        if operation is None:
            raise faults.unknown_method(method)
        if self._closed:
            raise faults.closed()
        if self._open_requests >= self.limits.open_requests:
            raise faults.limit_reached(LimitError("open_requests", self.limits.open_requests))
        self._open_requests += 1
        self._levels.watch("open_requests", self._open_requests)
        try:
            return await operation(Params(method, params))
        except RpcError:
            raise
        except LimitError as error:
            raise faults.limit_reached(error) from None
        except Exception:
            _log.exception("%s failed", method)
            raise faults.internal() from None
        finally:
            self._open_requests -= 1
            self._levels.watch("open_requests", self._open_requests)

    # ---- for the host

    def watch(self, watcher: ServiceWatcher, text_bytes: int) -> Callable[[], None]:
        """Shows it what is done here from now on, with what files held before if that is no more than `text_bytes`.

        Calling what is returned ends that.
        """
        return self._watchers.add(watcher, text_bytes)

    def plain(self, path: str) -> str:
        """The real path of an absolute one, should no symbolic link below the roots be on its way."""
        return self._roots.plain(path)

    async def text_before(self, path: str, most: int) -> tuple[bool, str | None]:
        """Whether a file is there, and the text it has; None when it is none, or more than `most` bytes as JSON.

        RpcError: it cannot be looked at.
        """
        bounded = replace(self.limits, read_bytes=most, scan_bytes=most)

        def read() -> tuple[bool, str | None]:
            with self._roots.find(path) as place:
                try:
                    return True, files.read(place, 1, None, False, bounded)
                except (faults.Missing, FileNotFoundError):
                    return False, None
                except (LimitError, RpcError):
                    return True, None

        return await self._disk.run(path, read)

    # ---- files

    async def _read(self, params: Params) -> dict[str, Any]:
        path, base64 = params.path(), params.in_base64()
        # Agents that count from 0 mean the first line as well.
        first, count = max(params.count("line") or 1, 1), params.count("limit")

        def read() -> str:
            with self._roots.find(path) as place:
                return files.read(place, first, count, base64, self.limits)

        try:
            content = await self._disk.run(path, read)
        except faults.Missing:
            if self._missing_is_empty:
                return {"content": ""}
            raise
        self._levels.watch("read_bytes", files.told_size(content, self.limits))
        return {"content": content}

    async def _write(self, params: Params) -> dict[str, Any]:
        path, content = params.path(), params.content("content")
        if len(content) > self.limits.write_bytes:
            raise LimitError("write_bytes", self.limits.write_bytes)
        if self._waiting_bytes + len(content) > self.limits.waiting_write_bytes:
            raise LimitError("waiting_write_bytes", self.limits.waiting_write_bytes)
        self._waiting_bytes += len(content)
        self._levels.watch("write_bytes", len(content))
        self._levels.watch("waiting_write_bytes", self._waiting_bytes)
        try:
            wanted = await self._disk.run(path, lambda: self._locate(path))
            if not await is_allowed(self._may_write, wanted):
                raise faults.denied(f"writing {wanted}")
            await self._announce(path, wanted)

            def write() -> None:
                with self._roots.find(path) as place:
                    # Asking took time, and the agent may have used it.
                    if place.path != wanted:
                        raise faults.changed(path)
                    files.write(place, content, durable=self._durable)

            await self._disk.run(path, write)
        finally:
            self._waiting_bytes -= len(content)
            self._levels.watch("waiting_write_bytes", self._waiting_bytes)
        return {}

    async def _announce(self, asked: str, path: str) -> None:
        most = self._watchers.text_bytes
        if most is None:
            return
        try:
            there, before = await self.text_before(asked, most)
        except RpcError:  # nor will it be written
            return
        self._watchers.writing(path, asked, plain=self.plain(asked) == path, is_new=not there, before=before)

    def _locate(self, path: str) -> str:
        with self._roots.find(path) as place:
            return place.path

    async def _read_dir(self, params: Params) -> dict[str, Any]:
        path = params.path()

        def read() -> list[dict[str, Any]]:
            with self._roots.find(path) as place:
                return files.entries(place, self.limits)

        return {"entries": await self._disk.run(path, read)}

    # ---- terminals

    def pause_terminal(self, terminal_id: str) -> None:
        """Stop reading a terminal's output: whoever it is shown to is slow."""
        self._terminals.pause(terminal_id)

    def resume_terminal(self, terminal_id: str) -> None:
        self._terminals.resume(terminal_id)

    async def release_terminals(self) -> None:
        """End every command: the agent that started them is gone. The services stay, and ids are not used again."""
        await self._terminals.release_all()

    async def close(self) -> None:
        """End every command and answer every open request. May be repeated."""
        self._closed = True
        try:
            await self._terminals.close()
        finally:
            self._disk.close()
            if self._owns_runner:
                await self._runner.shutdown()


def command_environment(own: Mapping[str, str] | None = None) -> dict[str, str]:
    """What commands get when nothing is said: the few variables of this program that agents get as well."""
    env = agent_environment(os.environ if own is None else own, {}, {})
    return {name: value for name, value in env.items() if name not in FORCED}
