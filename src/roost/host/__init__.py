"""Talking to the sidecar from Python: over the daemon's socket, or with a daemon inside this program.

```python
async with roost.host.embedded() as host:
    session = await host.create_session("wren", cwd="/path/to/work")
    turn = await session.prompt("todo")
    async for update in turn:
        print(update)
    print(turn.stop_reason)
```
"""

from roost.host.connect import connect, default_socket, embedded
from roost.host.events import AgentExited, HostEvent, HostRequest, Notification, PermissionRequest, Stderr
from roost.host.host import Host
from roost.host.session import Session
from roost.host.turn import AgentCrashed, Turn, TurnOutcome

__all__ = [
    "AgentCrashed",
    "AgentExited",
    "Host",
    "HostEvent",
    "HostRequest",
    "Notification",
    "PermissionRequest",
    "Session",
    "Stderr",
    "Turn",
    "TurnOutcome",
    "connect",
    "default_socket",
    "embedded",
]
