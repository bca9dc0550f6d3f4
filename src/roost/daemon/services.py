"""Files and terminals of bridged agents: what the engine wants served, done with ClientServices.

One ClientServices for each place, made with the first request there; the engine decides what it may change. What only
serving needs is imported then: most daemons serve nobody.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from roost.errors import ConfigError, RpcError
from roost.process.base import Runner
from roost.rpc.messages import INTERNAL_ERROR
from roost.sidecar import commands, events
from roost.sidecar.commands import ServicePlace
from roost.sidecar.limits import Limits

if TYPE_CHECKING:
    from roost.acp.bridge.events import Wish
    from roost.process.services import ClientServices, ServiceLimits, TerminalCommand, TerminalEvent
    from roost.process.services.shown import ShownOutput

log = logging.getLogger("roost.daemon")

# Requests that wait for a disk when their place ends: they are answered without it after so long. Seconds.
_DISK_PATIENCE: Final = 1.0
# As many of the largest writes wait for permission or the disk.
_WAITING_WRITES: Final = 4
_CLOSED: Final = "the session's services are closed"
# A bound of ServiceLimits -> the setting it comes from, which is what errors name.
_SETTINGS: Final[Mapping[str, str]] = {
    "open_requests": "service_requests",
    "read_bytes": "service_read_bytes",
    "write_bytes": "service_write_bytes",
    "terminals": "terminals_per_session",
}

Tell = Callable[[events.Event], None]

# The request that a task serves: its token, and its params.
_request: contextvars.ContextVar[tuple[int, dict[str, Any]]] = contextvars.ContextVar("service request")


class AgentServices:
    """Carries out ServeAgent and its kin. `files` and `terminals` say what agents are offered.

    `env` is what commands get besides what agents add; None: what agents get of this program's own.
    """

    def __init__(
        self,
        runner: Runner,
        limits: Limits,
        *,
        files: bool = True,
        terminals: bool = True,
        own_env: Mapping[str, str] | None = None,
    ) -> None:
        self.runner = runner
        self.limits = limits
        self.capabilities: dict[str, Any] = {
            "fs": {"readTextFile": files, "writeTextFile": files},
            "terminal": terminals,
        }
        self.own_env = own_env
        self.tell: Tell = lambda event: None
        self._places: dict[str, dict[ServicePlace, _Place]] = {}  # by process
        self._paused: set[str] = set()
        self._endings: set[asyncio.Task[None]] = set()
        self.commands: Mapping[type, Callable[[Any], None]] = {
            commands.ServeAgent: self._serve,
            commands.DecideService: self._decide,
            commands.WithdrawService: self._withdraw,
            commands.EndServices: self._end,
        }

    def _serve(self, command: commands.ServeAgent) -> None:
        places = self._places.setdefault(command.process, {})
        place = places.get(command.place)
        if place is None:
            place = places[command.place] = _Place(self, command.process, command.place)
        place.serve(command)

    def _of(self, process: str) -> Collection[_Place]:
        return self._places.get(process, {}).values()

    def _decide(self, command: commands.DecideService) -> None:
        for place in self._of(command.process):
            place.decide(command.token, command.allowed)

    def _withdraw(self, command: commands.WithdrawService) -> None:
        for place in self._of(command.process):
            place.withdraw(command.token)

    def _end(self, command: commands.EndServices) -> None:
        process, place = command.process, command.place
        ending = asyncio.get_running_loop().create_task(self._ended(process, place))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    async def _ended(self, process: str, place: ServicePlace | None) -> None:
        places = self._places.get(process, {})
        ended = [key for key in places if place in (None, key)]
        await asyncio.gather(*(places[key].close() for key in ended))
        for key in ended:
            places.pop(key, None)
        if place is None:
            self._places.pop(process, None)
            self._paused.discard(process)
            self.tell(events.ServicesEnded(process))

    # ---- back-pressure

    def pause(self, process: str) -> None:
        """Reads no terminal of that agent; its commands block."""
        self._paused.add(process)
        for place in self._of(process):
            place.pause()

    def resume(self, process: str) -> None:
        self._paused.discard(process)
        for place in self._of(process):
            place.resume()

    def is_paused(self, process: str) -> bool:
        return process in self._paused

    async def close(self) -> None:
        """Ends whatever still runs."""
        left = [place for places in self._places.values() for place in places.values()]
        await asyncio.gather(*(place.close() for place in left), *self._endings)
        self._places.clear()


class _Place:
    """The services of one session of one agent."""

    def __init__(self, owner: AgentServices, process: str, place: ServicePlace) -> None:
        self._owner = owner
        self._process = process
        self._place = place
        self._session_id = place.session_id
        self._services: ClientServices | None = None
        self._opening = asyncio.get_running_loop().create_task(self._open(place))
        self._opening.add_done_callback(_hear)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._wishes: dict[int, asyncio.Future[bool]] = {}
        self._shown: dict[str, ShownOutput] = {}
        self._closing: asyncio.Task[None] | None = None

    async def _open(self, place: ServicePlace) -> ClientServices:
        """Raises RpcError: the roots cannot be."""
        from concurrent.futures import ThreadPoolExecutor

        from roost.process.services import ClientServices, command_environment

        def make() -> ClientServices:
            return ClientServices(
                place.roots,
                env=command_environment(self._owner.own_env),
                limits=_service_limits(self._owner.limits),
                missing_file=place.missing_file,
                runner=self._owner.runner,
                on_terminal=self._terminal,
                terminal_ids=place.terminals,
                may_write=self._may_write,
                may_run=self._may_run,
                warn=self._warn,
            )

        # It looks where the roots really are, and what an agent has mounted there may never answer.
        thread = ThreadPoolExecutor(1, "roost-roots")
        try:
            self._services = await asyncio.get_running_loop().run_in_executor(thread, make)
        except ConfigError as error:
            raise RpcError(INTERNAL_ERROR, f"the session's directories cannot be served: {error}") from error
        finally:
            thread.shutdown(wait=False)
        return self._services

    def _warn(self, limit: str, observed: int, bound: int) -> None:
        setting = _SETTINGS.get(limit)
        if setting is not None:  # else a bound that follows from the others
            percent = observed * 100 // bound
            log.warning("%s: %s is %d %% full: %d of %d", self._process, setting, percent, observed, bound)

    async def _opened(self) -> ClientServices:
        try:
            return await asyncio.shield(self._opening)
        except asyncio.CancelledError:
            if not self._opening.cancelled():
                raise
            raise RpcError(INTERNAL_ERROR, _CLOSED) from None

    # ---- requests

    def serve(self, command: commands.ServeAgent) -> None:
        loop = asyncio.get_running_loop()
        self._tasks[command.token] = loop.create_task(self._serve(command.token, command.method, command.params))

    async def _serve(self, token: int, method: str, params: dict[str, Any]) -> None:
        _request.set((token, params))
        result, error = None, None
        try:
            services = await self._opened()
            result = await services.handle(method, params)
        except RpcError as fault:
            error = _with_setting(fault)
        finally:
            self._tasks.pop(token, None)
            self._wishes.pop(token, None)
        self._owner.tell(events.ServiceAnswered(self._process, token, result, error))

    def withdraw(self, token: int) -> None:
        task = self._tasks.pop(token, None)
        if task is not None:
            task.cancel()

    # ---- wishes

    def decide(self, token: int, allowed: bool) -> None:
        wish = self._wishes.pop(token, None)
        if wish is not None and not wish.done():
            wish.set_result(allowed)

    async def _may(self, token: int, wish: Wish) -> bool:
        if self._closing is not None:
            return False
        decided: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._wishes[token] = decided
        self._owner.tell(events.ServiceWished(self._process, token, wish))
        return await decided

    async def _may_write(self, path: str) -> bool:
        from roost.acp.bridge.events import FileWrite
        from roost.acp.bridge.limits import DEFAULT_LIMITS

        token, params = _request.get()
        asked: str = params["path"]
        services = await self._opened()
        try:
            there, before = await services.text_before(path, DEFAULT_LIMITS.diff_bytes)
        except RpcError:  # it is no longer what it was a moment ago
            return False
        plain = services.plain(asked) == path
        return await self._may(token, FileWrite(path, asked, plain, not there, before))

    async def _may_run(self, command: TerminalCommand) -> bool:
        from roost.acp.bridge.events import CommandRun

        token, params = _request.get()
        asked: str = params.get("cwd") or self._place.roots[0]
        if (await self._opened()).plain(asked) != command.cwd:
            asked = command.cwd
        return await self._may(token, CommandRun(command.line, command.cwd, dict(command.env), asked))

    # ---- terminals

    def _terminal(self, terminal_id: str, event: TerminalEvent) -> None:
        from roost.process.services import TerminalCreated, TerminalWrote
        from roost.process.services.shown import ShownOutput

        tell, process, session_id = self._owner.tell, self._process, self._session_id
        if isinstance(event, TerminalCreated):
            room = self._owner.limits.terminal_shown_bytes
            self._shown[terminal_id] = ShownOutput(room, "terminal_shown_bytes")
            if self._owner.is_paused(process) and self._services is not None:
                self._services.pause_terminal(terminal_id)
            tell(events.TerminalStarted(process, session_id, terminal_id, event.command, event.cwd))
        elif isinstance(event, TerminalWrote):
            part = self._shown[terminal_id].part(event.data)
            if part:
                tell(events.TerminalPrinted(process, session_id, terminal_id, part))
        else:
            end = self._shown.pop(terminal_id).end()
            if end:
                tell(events.TerminalPrinted(process, session_id, terminal_id, end))
            tell(events.TerminalEnded(process, session_id, terminal_id, event.exit_code, event.signal))

    def pause(self) -> None:
        if self._services is not None:
            for terminal_id in self._shown:
                self._services.pause_terminal(terminal_id)

    def resume(self) -> None:
        if self._services is not None:
            for terminal_id in self._shown:
                self._services.resume_terminal(terminal_id)

    # ---- the end

    async def close(self) -> None:
        """Every request is answered, and every terminal's whole tree has ended, when this returns. May be repeated."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        for wish in self._wishes.values():
            if not wish.done():
                wish.set_result(False)
        self._opening.cancel()
        try:
            if self._services is not None:
                await self._services.close()
        except Exception:
            log.exception("%s: its files and terminals could not be closed", self._process)
        open_tasks = dict(self._tasks)
        if open_tasks:
            await asyncio.wait(open_tasks.values(), timeout=_DISK_PATIENCE)
        for token, task in open_tasks.items():
            if not task.done():
                task.cancel()
                fault = RpcError(INTERNAL_ERROR, _CLOSED)
                self._owner.tell(events.ServiceAnswered(self._process, token, None, fault))


def _hear(opening: asyncio.Task[ClientServices]) -> None:
    """Every request may have been withdrawn, and nobody be left to hear why it failed."""
    if not opening.cancelled():
        opening.exception()


def _service_limits(limits: Limits) -> ServiceLimits:
    from roost.process.services import ServiceLimits

    return ServiceLimits(
        open_requests=limits.service_requests,
        read_bytes=limits.service_read_bytes,
        write_bytes=limits.service_write_bytes,
        waiting_write_bytes=_WAITING_WRITES * limits.service_write_bytes,
        terminals=limits.terminals_per_session,
        output_bytes=limits.terminal_output_bytes,
        max_output_bytes=limits.terminal_output_bytes,
        kill_grace=limits.terminal_kill_grace,
    )


def _with_setting(error: RpcError) -> RpcError:
    """The same error, a bound in it by the name it is configured by."""
    data = error.data
    name = data.get("limit") if isinstance(data, dict) else None
    setting = _SETTINGS.get(name) if isinstance(name, str) else None
    if setting is None:
        return error
    return RpcError(error.code, error.message.replace(f"limit {name}", f"limit {setting}"), {**data, "limit": setting})
