"""Files and terminals for an ACP v1 agent, served by this program: a RequestHandler around ClientServices.

```python
services = ClientServices([cwd], may_write=allow_all)
async with SessionServices(services) as served:
    session = await host.create_session(
        "some-agent", cwd=cwd, protocol_version=1, client_capabilities=served.capabilities, on_request=served
    )
```
"""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Any

from roost.errors import RpcError
from roost.host.events import HostRequest
from roost.host.session import RequestHandler
from roost.process.services import ClientServices

log = logging.getLogger("roost.host")


class SessionServices:
    """`on_request` of one session. What the services do not know goes to `otherwise`, or is not served.

    A second session is refused: its agent would find the terminals of the first, and be bound by the wrong roots.
    """

    def __init__(self, services: ClientServices, otherwise: RequestHandler | None = None) -> None:
        self.services = services
        self._methods = services.methods
        self._otherwise = otherwise
        self._session_id = ""

    async def __aenter__(self) -> SessionServices:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def capabilities(self) -> dict[str, Any]:
        """For `client_capabilities` of an ACP v1 session."""
        return self.services.capabilities

    async def __call__(self, request: HostRequest) -> Any:
        if request.method not in self._methods:
            return None if self._otherwise is None else await self._otherwise(request)
        if not self._session_id:
            self._session_id = request.session_id
        if request.session_id != self._session_id:
            log.warning("the services of session %s were asked by session %s", self._session_id, request.session_id)
            raise RpcError(-32603, "these services belong to another session")
        return await self.services.handle(request.method, request.message.get("params"))

    async def close(self) -> None:
        """Ends the terminals. The session's own end does not: close both."""
        await self.services.close()
