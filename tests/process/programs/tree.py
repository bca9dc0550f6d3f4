"""An agent with a process tree three deep: itself, a child, and a grandchild that ignores SIGTERM.

It prints one JSON object with the three pids once all are in place. Words as arguments change how they live:

    setsid    the grandchild opens a session of its own
    detached  the grandchild lets go of the pipes
    orphan    the child ends, so that the grandchild is nobody's
    forget    the grandchild becomes a program with an empty environment
    bare      the agent itself becomes a program with an empty environment, before anything else
    stubborn  the agent ignores SIGTERM and the end of its stdin
    quit      the agent ends by itself with status 7 when it has printed

Everything ends by itself after two minutes, so that a failing test leaves nothing behind.
"""

import json
import os
import signal
import sys

words = set(sys.argv[1:])
if "bare" in words:
    again = [word for word in sys.argv[1:] if word != "bare"]
    os.execve(sys.executable, [sys.executable, "-I", "-S", sys.argv[0], *again], {})
reports, report = os.pipe()


def wait_forever():
    signal.alarm(120)
    while True:
        signal.pause()


if os.fork() == 0:
    os.write(report, f"child {os.getpid()}\n".encode())
    if os.fork() == 0:
        if "setsid" in words:
            os.setsid()
        if "detached" in words:
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(report, f"grandchild {os.getpid()}\n".encode())
        if "forget" in words:
            os.execve("/bin/sleep", ["sleep", "120"], {})
        wait_forever()
    if "orphan" in words:
        os._exit(0)
    wait_forever()

os.close(report)
text = b""
while text.count(b"\n") < 2:
    text += os.read(reports, 100)
pids = {name: int(pid) for name, pid in (line.split() for line in text.decode().splitlines())}
if "orphan" in words:
    os.waitpid(pids["child"], 0)
    del pids["child"]
if "stubborn" in words:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(json.dumps({"agent": os.getpid(), **pids}), flush=True)
if "quit" in words:
    os._exit(7)
signal.alarm(120)
while sys.stdin.buffer.read(4096):
    pass
if "stubborn" in words:
    wait_forever()
