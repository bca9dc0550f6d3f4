"""Our client: reads an agent's stream, then asks for its sessions; prints what that cost as JSON.

    python roost_client.py TYPED|FOLDED|ITERATED COUNT SIZE KIND TRIPS -- AGENT ARGUMENT...

TYPED: decoded and handed to a function, which is what the other SDKs do. FOLDED: a session's prompt, awaited.
ITERATED: the same, update by update.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time

from roost.acp import v2
from roost.sdk.connect import connect
from roost.sdk.connection import Connection
from roost.transport.child import Launch, start_child

HOW, COUNT, SIZE, KIND, TRIPS = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
AGENT = sys.argv[sys.argv.index("--") + 1 :]
WARM_UP = 1000


class Measured:
    def __init__(self) -> None:
        self.cpu = self.wall = 0.0

    def __enter__(self) -> Measured:
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu


async def typed() -> tuple[Measured, list[float]]:
    """Nothing but the connection: each update decoded to its type and given to a plain function."""
    connection = Connection(await start_child(Launch(argv=tuple(AGENT))))
    idle = asyncio.Event()
    seen = 0

    def updated(notification: v2.UpdateSessionNotification, size: int) -> None:
        nonlocal seen
        seen += 1
        if type(notification.update) is v2.IdleStateUpdate:
            idle.set()

    connection.on_stream("session/update", updated)
    connection.start()
    info = v2.Implementation(name="bench", version="1")
    await connection.call(v2.InitializeRequest(protocol_version=2, info=info, capabilities=v2.ClientCapabilities()))
    session = await connection.call(v2.NewSessionRequest(cwd="/"))

    async def stream(count: int) -> None:
        nonlocal seen
        seen = 0
        idle.clear()
        text = v2.TextContent(text=f"{count} {SIZE} {KIND}")
        await connection.call(v2.PromptRequest(session_id=session.session_id, prompt=[text]))
        await idle.wait()
        assert seen >= count, seen

    if COUNT:
        await stream(min(COUNT, WARM_UP))
    with Measured() as measured:
        await stream(COUNT)
    await connection.close()
    return measured, []


async def folded() -> tuple[Measured, list[float]]:
    async with connect(AGENT) as client:
        session = await client.new_session("/")
        if COUNT:
            await session.prompt(f"{min(COUNT, WARM_UP)} {SIZE} {KIND}")
        with Measured() as measured:
            turn = session.prompt(f"{COUNT} {SIZE} {KIND}")
            if HOW == "ITERATED":
                seen = 0
                async for _ in turn:
                    seen += 1
                assert seen >= COUNT, seen
            else:
                await turn
        trips = []
        for _ in range(TRIPS):
            start = time.perf_counter()
            await client.list_page()
            trips.append((time.perf_counter() - start) * 1e6)
    return measured, trips


measured, trips = asyncio.run(typed() if HOW == "TYPED" else folded())
told = max(COUNT, 1)
print(
    json.dumps(
        {"cpu": measured.cpu / told * 1e6, "rate": told / measured.wall, "trip": statistics.median(trips or [0])}
    )
)
