"""A descendant that leaves the process group between being counted and being killed."""

from __future__ import annotations

import asyncio

# The child leaves when it hears SIGTERM, which is after it was counted as a member of the group.
DODGER = """
import os, signal, time
def dodge(*_):
    os.setsid()
    os.write(1, b"dodged\\n")
child = os.fork()
if child == 0:
    signal.signal(signal.SIGTERM, dodge)
    os.write(1, b"ready\\n")
    while True:
        time.sleep(600)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b"%d\\n" % child)
time.sleep(600)
"""


async def test_who_leaves_the_group_after_being_counted_is_killed_all_the_same(runner, recorder, tools):
    process = runner.spawn(tools.python(DODGER), recorder)
    await recorder.until(lambda: recorder.stdout.count(b"\n") == 2)
    child = next(int(line) for line in recorder.stdout.split() if line.isdigit())
    async with asyncio.timeout(tools.patience):
        closing = asyncio.create_task(process.close(1.0))
        await recorder.until(lambda: b"dodged" in recorder.stdout)
        await process.close(0)
        await closing
    assert not tools.alive(child)
