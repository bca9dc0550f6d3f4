"""A daemon for measurements: `python -m bench.journal_daemon SOCKET [JOURNAL]` says `ready` when it listens."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from roost.daemon.daemon import Daemon
from roost.store.base import Store


async def main(socket: str, journal: str | None = None) -> None:
    store: Store | None = None
    if journal is not None:
        from roost.store.sqlite import SqliteStore

        store = SqliteStore(Path(journal))
    daemon = Daemon(store=store)
    await daemon.open()
    await daemon.listen_unix(socket)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    print("ready", flush=True)
    await over.wait()
    await daemon.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
