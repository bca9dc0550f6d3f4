"""One thread for what may wait on a disk, so that a slow one holds up its own session and nothing else.

A thread of its own and not the loop's: a hostile agent can mount a file system whose reads never end, and the loop's
few threads also count the processes that have to be killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from roost.errors import LimitError
from roost.process.services import faults

Result = TypeVar("Result")


class Disk:
    """Runs one call after the other, in the order they were made. The thread is started by the first."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._closed = False

    async def run(self, path: str, call: Callable[[], Result]) -> Result:
        """What the call returns; what the system says about `path` and a bound that was reached, as RpcErrors."""
        if self._closed:
            raise faults.closed()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(1, "roost-files")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise faults.closed() from None  # the call was taken back, not the caller
        except LimitError as error:
            raise faults.limit_reached(error) from None
        except FileNotFoundError:
            raise faults.Missing(path) from None
        except OSError as error:
            raise faults.failed(path, error) from None

    def close(self) -> None:
        """Let the thread go when it has done what it is doing; calls that wait for it are cancelled."""
        self._closed = True
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
