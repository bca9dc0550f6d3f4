"""Nothing of an agent's tree is left: after a close, after it ended by itself, after it crashed."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest

from roost.errors import ProcessError
from roost.process import table
from roost.process.graces import Graces
from roost.process.local import LocalRunner

TREES = [
    (),
    ("setsid",),
    ("setsid", "detached"),
    ("setsid", "detached", "orphan"),
    ("detached", "forget"),
    ("setsid", "detached", "forget"),
]


def reads_environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("words", TREES, ids=" ".join)
async def test_a_close_leaves_nobody(runner, recorder, tools, words):
    process = runner.spawn(tools.program("tree.py", *words), recorder)
    pids = await recorder.line()
    if "forget" in words:
        await tools.until(lambda: reads_environment(pids["grandchild"]) == b"")
    assert all(tools.alive(pid) for pid in pids.values())
    await process.close(0.3)
    assert not [name for name, pid in pids.items() if tools.alive(pid)]
    assert recorder.exits == [0]  # it went by itself when its stdin ended


@pytest.mark.parametrize("words", TREES[:4], ids=" ".join)
async def test_a_crash_leaves_nobody(runner, recorder, tools, words):
    runner.spawn(tools.program("tree.py", *words), recorder)
    pids = await recorder.line()
    os.kill(pids["agent"], signal.SIGKILL)
    assert await recorder.exited() == -signal.SIGKILL
    await tools.dead(*pids.values())
    await tools.until(lambda: runner.processes == [])


async def test_an_agent_that_ends_by_itself_leaves_nobody(runner, recorder, tools):
    runner.spawn(tools.program("tree.py", "setsid", "detached", "quit"), recorder)
    pids = await recorder.line()
    assert await recorder.exited() == 7
    await tools.dead(*pids.values())


async def test_an_agent_that_ignores_everything_is_killed_when_the_grace_is_over(runner, recorder, tools):
    process = runner.spawn(tools.program("tree.py", "setsid", "stubborn"), recorder)
    pids = await recorder.line()
    began = asyncio.get_running_loop().time()
    await process.close(0.4)
    took = asyncio.get_running_loop().time() - began
    assert 0.4 <= took < 3.0
    assert recorder.exits == [-signal.SIGKILL]
    assert not [name for name, pid in pids.items() if tools.alive(pid)]


async def test_an_agent_that_does_not_leave_is_asked_by_sigterm_before_it_is_killed(runner, recorder, tools):
    code = (
        "import signal, sys, os\n"
        "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'asked\\n'), os._exit(5)))\n"
        "os.write(1, b'ready\\n')\n"
        "while True: signal.pause()"
    )
    process = runner.spawn(tools.python(code), recorder)
    await recorder.until(lambda: recorder.stdout == b"ready\n")
    await process.close(10.0)
    assert recorder.stdout == b"ready\nasked\n"
    assert recorder.exits == [5]


async def test_nobody_gets_sigterm_twice(runner, recorder, tools):
    code = (
        "import signal, sys, os\n"
        "signal.signal(signal.SIGTERM, lambda *_: os.write(1, f'{os.getpid()}\\n'.encode()))\n"
        "os.fork() or os.fork()\n"
        "os.write(1, b'ready\\n')\n"
        "while True: signal.pause()"
    )
    process = runner.spawn(tools.python(code), recorder)
    await recorder.until(lambda: recorder.stdout.count(b"ready\n") == 3)
    closing = asyncio.create_task(process.close(tools.patience))
    await recorder.until(lambda: recorder.stdout.count(b"\n") >= 6)
    await process.close(0.05)
    await closing
    told = [line for line in bytes(recorder.stdout).split() if line != b"ready"]
    assert len(told) == len(set(told)) == 3


async def test_a_stopped_tree_is_closed_like_any_other(runner, recorder, tools):
    process = runner.spawn(tools.python("import sys; print(1, flush=True); sys.stdin.read()"), recorder)
    await recorder.line()
    os.kill(process.pid, signal.SIGSTOP)
    await process.close(5.0)
    assert recorder.exits == [-signal.SIGTERM] or recorder.exits == [0]


async def test_a_close_returns_at_once_for_an_agent_that_is_gone(runner, recorder, tools):
    process = runner.spawn(tools.python("pass"), recorder)
    await recorder.exited()
    await tools.until(lambda: process.is_gone)
    await asyncio.wait_for(process.close(2 * tools.patience), tools.patience)


async def test_no_grace_means_kill(runner, recorder, tools):
    process = runner.spawn(tools.program("tree.py", "stubborn"), recorder)
    await recorder.line()
    await process.close(0.0)
    assert recorder.exits == [-signal.SIGKILL]


async def test_a_second_close_with_less_grace_hurries_the_first(runner, recorder, tools):
    code = (
        "import signal, os\n"
        "signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'asked\\n'))\n"
        "os.write(1, b'ready\\n')\n"
        "while True: signal.pause()"
    )
    process = runner.spawn(tools.python(code), recorder)
    await recorder.until(lambda: recorder.stdout == b"ready\n")
    patient = asyncio.create_task(process.close(60.0))
    await recorder.until(lambda: recorder.stdout == b"ready\nasked\n")
    async with asyncio.timeout(tools.patience):
        await process.close(0.05)
        await patient
    assert recorder.exits == [-signal.SIGKILL]


async def test_a_close_that_is_cancelled_goes_on(runner, recorder, tools):
    process = runner.spawn(tools.program("tree.py", "setsid", "stubborn"), recorder)
    pids = await recorder.line()
    closing = asyncio.create_task(process.close(0.2))
    await asyncio.sleep(0)
    closing.cancel()
    await tools.dead(*pids.values())


async def test_a_signal_reaches_those_who_left_the_group_too(runner, recorder, tools):
    process = runner.spawn(tools.program("tree.py", "setsid", "detached"), recorder)
    pids = await recorder.line()
    process.signal_tree(signal.SIGSTOP)
    await tools.until(lambda: all(state_of(pid) == "T" for pid in pids.values()))
    process.signal_tree(signal.SIGKILL)
    await tools.dead(*pids.values())
    assert await recorder.exited() == -signal.SIGKILL


async def test_the_dead_agent_keeps_its_number_until_its_tree_is_gone(runner, tools):
    class Witness(tools.Recorder):
        def agent_exited(self, exit_code):
            self.state = state_of(process.pid)
            super().agent_exited(exit_code)

    witness = Witness()
    process = runner.spawn(tools.program("tree.py", "setsid", "quit"), witness)
    assert await witness.exited() == 7
    assert witness.state == "Z"
    await process.close()
    with pytest.raises(FileNotFoundError):
        state_of(process.pid)


async def test_a_signal_to_an_agent_that_is_gone_does_nothing(runner, recorder, tools):
    process = runner.spawn(tools.python("pass"), recorder)
    await recorder.exited()
    await process.close()
    process.signal_tree(signal.SIGKILL)


# Ends when all of them were asked to: a number for each, in a folder of the test.
TOGETHER = """
import os, signal, sys
folder, number, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print(1, flush=True)
signal.sigwait([signal.SIGTERM])
open(os.path.join(folder, number), "w").close()
while len(os.listdir(folder)) < count:
    signal.sigtimedwait([signal.SIGINT], 0.01)
"""


async def test_a_shutdown_closes_all_of_them_together(tools, tmp_path):
    runner = LocalRunner(python=None, graces=Graces(close_grace=tools.patience))
    heard = [tools.Recorder() for _ in range(4)]
    for number, one in enumerate(heard):
        runner.spawn(tools.python(TOGETHER, str(tmp_path), str(number), "4"), one)
        await one.line()
    await runner.shutdown()
    assert [one.exits for one in heard] == [[0]] * 4


@pytest.mark.parametrize("pipes", ["detached", "kept"])
async def test_what_even_sigkill_does_not_end_is_named(recorder, tools, monkeypatch, pipes):
    # With its pipes kept open the agent's exit is told only when the attempt is given up; that begins no other one.
    runner = LocalRunner(python=None, graces=Graces(kill_grace=0.5, output_grace=2 * tools.patience))
    process = runner.spawn(tools.program("tree.py", "setsid", pipes), recorder)
    pids = await recorder.line()
    with monkeypatch.context() as immortal:
        immortal.setattr(table, "signal_process", lambda *_: False)
        with pytest.raises(ProcessError, match=str(pids["grandchild"])):
            await process.close(0.0)
    assert runner.processes == [process]
    await process.close(0.0)  # the next attempt is not spoiled by the last
    assert runner.processes == []
    assert not tools.alive(pids["grandchild"])


async def test_a_count_that_fails_is_not_taken_for_nobody(runner, recorder, tools, monkeypatch):
    monkeypatch.setattr("roost.process.child.COUNT_INTERVAL", 0.01)
    process = runner.spawn(tools.program("tree.py", "setsid", "detached"), recorder)
    pids = await recorder.line()
    failures = iter([OSError(24, "Too many open files")] * 3)
    real = table.process_table

    def sometimes(since: int = 0) -> table.Table:
        for failure in failures:
            raise failure
        return real(since)

    monkeypatch.setattr(table, "process_table", sometimes)
    await process.close(0.3)
    assert not [name for name, pid in pids.items() if tools.alive(pid)]


async def test_a_count_that_never_comes_does_not_hold_up_a_close_for_ever(recorder, tools, monkeypatch):
    runner = LocalRunner(python=None, graces=Graces(kill_grace=1.0))
    process = runner.spawn(tools.program("tree.py", "stubborn"), recorder)
    pids = await recorder.line()
    hung = threading.Event()
    with monkeypatch.context() as broken:
        broken.setattr("roost.process.child.COUNT_TIMEOUT", 0.02)
        broken.setattr("roost.process.child.COUNT_INTERVAL", 0.01)
        broken.setattr(table, "process_table", lambda _since: hung.wait(tools.patience) and {})
        with pytest.raises(ProcessError, match="it cannot be told which"):
            await process.close(0.1)
        # Its group was killed all the same.
        await tools.dead(*pids.values())
        assert recorder.exits == [-signal.SIGKILL]
        assert runner.processes == [process]
        hung.set()
    await process.close(0.0)
    assert runner.processes == []


# A child that nothing connects with the agent but that it was born there: no mark, no group, no session, no pipe.
ESTRANGED = """
import os, signal, sys
ready, tell = os.pipe()
child = os.fork()
if child == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.execve("/bin/sleep", ["sleep", "120"], {})
os.close(tell)
os.read(ready, 1)
print(child, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("step_by_step", [False, True], ids=["by a close", "step by step"])
async def test_a_child_without_any_trace_is_found_while_its_parent_lives(runner, recorder, tools, step_by_step):
    process = runner.spawn(tools.python(ESTRANGED), recorder)
    child = await recorder.line()
    if step_by_step:
        process.close_input()
    else:
        await process.close(0.3)
    assert await recorder.exited() == 0
    await tools.dead(child)


def test_a_loop_that_is_torn_down_leaves_nobody(tools):
    async def forgetful() -> dict[str, int]:
        runner, recorder = LocalRunner(python=None), tools.Recorder()
        process = runner.spawn(tools.program("tree.py", "setsid", "stubborn"), recorder)
        pids = await recorder.line()
        tearing.append(asyncio.create_task(process.close(60.0)))
        await tools.until(lambda: process.queued_bytes == 0 and bool(process._members.alive))
        return pids

    tearing: list[asyncio.Task[None]] = []
    pids = asyncio.run(forgetful())
    asyncio.run(tools.dead(*pids.values()))
