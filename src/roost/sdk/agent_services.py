"""Files and terminals for an agent of v1, from whatever its client was given to serve them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final, Protocol

from roost.acp.bridge.events import FileWrite, ServiceRequest, ServiceWithdrawn
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.errors import RpcError
from roost.rpc.messages import INTERNAL_ERROR

_RELEASES: Final = ("terminal/release", "terminal/close")


class Services(Protocol):
    """`roost.process.services.ClientServices` is one. Who has made it closes it."""

    @property
    def capabilities(self) -> dict[str, Any]:
        """The `fs` and `terminal` of a v1 client's capabilities that it serves."""

    async def handle(self, method: str, params: object) -> Any:
        """The result of one request, as JSON data. Raises RpcError and nothing else."""

    def watch(self, watcher: ServedAgent, text_bytes: int) -> Callable[[], None]:
        """Tells what is done here, what begins in the task of its request, until what is returned is called.

        It calls `terminal_created`, `terminal_wrote`, `terminal_exited` and `file_writing`; the latter with what the
        file holds, where that is text of at most so many bytes.
        """

    def pause_terminal(self, terminal_id: str) -> None:
        """Reads no more of its output: whoever it is shown to is slow. One that has ended is passed over."""

    def resume_terminal(self, terminal_id: str) -> None: ...

    async def release_terminals(self) -> None:
        """Ends every command: the agent that has started them is gone."""


class ServedAgent:
    """The requests of one connection that are under way, and what is shown of them. `happened` is called when the
    bridge has something to say about one; behind an answer at once, else in a later turn of the loop."""

    def __init__(self, bridge: V1AgentBridge, services: Services, happened: Callable[[], None]) -> None:
        self._bridge = bridge
        self._services = services
        self._happened = happened
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, tuple[str, asyncio.Task[None]]] = {}  # with the session of each
        self._terminals: dict[str, str] = {}  # those that run, and the session of each
        self._unreleased: dict[str, str] = {}  # those the agent has, ended or not
        self._paused = False
        self._scheduled = False
        self._unwatch = services.watch(self, bridge.limits.diff_bytes)

    def take(self, event: ServiceRequest | ServiceWithdrawn) -> None:
        if isinstance(event, ServiceRequest):
            self._tasks[event.token] = (event.session_id, self._loop.create_task(self._serve(event)))
            return
        found = self._tasks.pop(event.token, None)
        if found is not None:
            found[1].cancel()

    def session_closed(self, session_id: str) -> None:
        """What was started for it ends with it, and what is asked for it is refused."""
        for token, (owner, task) in list(self._tasks.items()):
            if owner == session_id:
                task.cancel()
                self._bridge.service_failed(token, RpcError(INTERNAL_ERROR, "the session is closed"))
        for terminal_id, owner in list(self._unreleased.items()):
            if owner == session_id:
                del self._unreleased[terminal_id]
                _see_to(self._release(terminal_id))

    async def _release(self, terminal_id: str) -> None:
        with suppress(RpcError):  # it is gone already
            await self._services.handle("terminal/release", {"terminalId": terminal_id})

    async def _serve(self, request: ServiceRequest) -> None:
        _served.set((self, request))
        try:
            result = await self._services.handle(request.method, request.params)
        except RpcError as error:
            self._bridge.service_failed(request.token, error)
        else:
            self._bridge.service_answered(request.token, result)
            if request.method in _RELEASES:
                self._unreleased.pop(str(request.params.get("terminalId")), None)
        finally:
            self._tasks.pop(request.token, None)
        self._happened()

    # ---- what is shown

    def terminal_created(self, terminal_id: str, command: str, cwd: str) -> None:
        request = self._request()
        if request is None:  # these services serve others, too
            return
        self._terminals[terminal_id] = self._unreleased[terminal_id] = request.session_id
        self._bridge.terminal_created(request.session_id, terminal_id, command, cwd)
        if self._paused:
            self._services.pause_terminal(terminal_id)
        self._happen_soon()

    def terminal_wrote(self, terminal_id: str, data: bytes) -> None:
        session_id = self._terminals.get(terminal_id)
        if session_id is not None:
            self._bridge.terminal_wrote(session_id, terminal_id, data)
            self._happen_soon()

    def terminal_exited(self, terminal_id: str, exit_code: int | None, signal: str | None) -> None:
        session_id = self._terminals.pop(terminal_id, None)
        if session_id is not None:
            self._bridge.terminal_exited(session_id, terminal_id, exit_code, signal)
            self._happen_soon()

    def file_writing(self, path: str, asked: str, *, plain: bool, is_new: bool, before: str | None) -> None:
        request = self._request()
        if request is not None:
            self._bridge.service_writes(request.token, FileWrite(path, asked, plain, is_new, before))

    def _request(self) -> ServiceRequest | None:
        """What the running task serves, if it is a request of this agent."""
        owner, request = _served.get()
        return request if owner is self else None

    def _happen_soon(self) -> None:
        # A terminal may speak from within any call, that of a listener who reads on included.
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._happen)

    def _happen(self) -> None:
        self._scheduled = False
        self._happened()

    # ---- back-pressure

    def pause(self) -> None:
        """Nobody takes what is shown: the commands wait."""
        self._paused = True
        for terminal_id in self._terminals:
            self._services.pause_terminal(terminal_id)

    def resume(self) -> None:
        self._paused = False
        for terminal_id in self._terminals:
            self._services.resume_terminal(terminal_id)

    def close(self) -> None:
        """The agent is gone."""
        self._unwatch()
        for _, task in list(self._tasks.values()):
            task.cancel()
        self.resume()  # what is stuck writing does not see its end
        _see_to(self._services.release_terminals())


# The request that a task serves, and for whom.
_served: ContextVar[tuple[ServedAgent | None, ServiceRequest | None]] = ContextVar("served", default=(None, None))

# Held here until they are done: who closes the services waits for the same ends, and nobody else does.
_endings: set[asyncio.Task[None]] = set()


def _see_to(work: Coroutine[Any, Any, None]) -> None:
    ending = asyncio.get_running_loop().create_task(work)
    _endings.add(ending)
    ending.add_done_callback(_endings.discard)
