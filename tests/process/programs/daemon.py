"""Something like a daemon: runs one agent, tells who is who on its stdout, and goes on until it is killed.

    daemon.py OPTIONS-AS-JSON PROGRAM [ARGUMENT ...]

Prints one JSON line with what the agent printed first and the guard's pid, and another one for each new guard.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from roost.process.base import SpawnPlan
from roost.process.local import LocalRunner


class Listener:
    def __init__(self):
        self.line = asyncio.get_running_loop().create_future()
        self.text = b""

    def agent_wrote(self, chunk):
        self.text += chunk
        if b"\n" in self.text and not self.line.done():
            self.line.set_result(json.loads(self.text.split(b"\n")[0]))

    def agent_wrote_stderr(self, chunk):
        sys.stderr.buffer.write(chunk)

    def agent_took_input(self):
        pass

    def agent_exited(self, exit_code):
        if not self.line.done():
            self.line.set_exception(RuntimeError(f"agent exited with {exit_code}"))


async def main():
    options = json.loads(sys.argv[1])
    if "state_dir" in options:
        options["state_dir"] = Path(options["state_dir"])
    runner = LocalRunner(**options)
    listener = Listener()
    plan = SpawnPlan((sys.executable, "-I", "-S", *sys.argv[2:]), {"PATH": os.environ["PATH"]}, "/")
    runner.spawn(plan, listener)
    pids = await listener.line
    guard = runner.guard_pid
    print(json.dumps({**pids, "guard": guard}), flush=True)
    while True:
        await asyncio.sleep(0.01)
        if runner.guard_pid not in (None, guard):
            guard = runner.guard_pid
            print(json.dumps({"guard": guard}), flush=True)


asyncio.run(asyncio.wait_for(main(), 120))
