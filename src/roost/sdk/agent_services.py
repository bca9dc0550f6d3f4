"""Files and terminals for an agent of v1, from whatever its client was given to serve them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from roost.acp.bridge.events import ServiceRequest, ServiceWithdrawn
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.errors import RpcError


class Services(Protocol):
    """`roost.process.services.ClientServices` is one. Who has made it closes it."""

    @property
    def capabilities(self) -> dict[str, Any]:
        """The `fs` and `terminal` of a v1 client's capabilities that it serves."""

    async def handle(self, method: str, params: object) -> Any:
        """The result of one request, as JSON data. Raises RpcError and nothing else."""

    async def release_terminals(self) -> None:
        """Ends every command: the agent that has started them is gone."""


class ServedAgent:
    """The requests of one connection that are under way. `answered` is called behind each answer."""

    def __init__(self, bridge: V1AgentBridge, services: Services, answered: Callable[[], None]) -> None:
        self._bridge = bridge
        self._services = services
        self._answered = answered
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def take(self, event: ServiceRequest | ServiceWithdrawn) -> None:
        if isinstance(event, ServiceRequest):
            serving = self._serve(event.token, event.method, event.params)
            self._tasks[event.token] = asyncio.get_running_loop().create_task(serving)
            return
        task = self._tasks.pop(event.token, None)
        if task is not None:
            task.cancel()

    async def _serve(self, token: int, method: str, params: dict[str, Any]) -> None:
        try:
            result = await self._services.handle(method, params)
        except RpcError as error:
            self._bridge.service_failed(token, error)
        else:
            self._bridge.service_answered(token, result)
        finally:
            self._tasks.pop(token, None)
        self._answered()

    def close(self) -> None:
        """The agent is gone."""
        for task in list(self._tasks.values()):
            task.cancel()
        ending = asyncio.get_running_loop().create_task(self._services.release_terminals())
        _endings.add(ending)
        ending.add_done_callback(_endings.discard)


# Held here until they are done: who closes the services waits for the same ends, and nobody else does.
_endings: set[asyncio.Task[None]] = set()
