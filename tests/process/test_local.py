"""One agent at a time: what it sees, what is heard of it, and how its end is told."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from roost.errors import ProcessError
from roost.process.base import AgentProcess, Runner, SpawnPlan
from roost.process.exits import ExitWatch
from roost.process.graces import Graces
from roost.process.local import LocalRunner
from tests.process.children import ECHO, collect


def start(*argv: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, stdin=subprocess.PIPE)


async def test_what_is_written_arrives_and_what_the_agent_writes_comes_back(runner, recorder, tools):
    process = runner.spawn(tools.python(ECHO), recorder)
    process.write(b"one\n")
    process.write("zwölf\n".encode())
    await recorder.until(lambda: recorder.stdout.count(b"\n") == 2)
    process.close_input()
    assert await recorder.exited() == 0
    assert recorder.stdout == "one\nzwölf\n".encode()


async def test_runner_and_process_keep_their_protocols(runner, recorder, tools):
    process = runner.spawn(tools.python(ECHO), recorder)
    assert isinstance(runner, Runner)
    assert isinstance(process, AgentProcess)
    assert tools.alive(process.pid)


async def test_the_agent_sees_its_plan_and_nothing_else(runner, recorder, tools, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_DAEMON", "x")
    code = "import json,os; print(json.dumps([dict(os.environ), os.getcwd(), os.getsid(0) == os.getpid()]))"
    runner.spawn(SpawnPlan((sys.executable, "-I", "-S", "-c", code), {"GREETING": "grüß"}, str(tmp_path)), recorder)
    env, cwd, leads_session = await recorder.line()
    assert env.pop("ROOST_PROCESS").startswith(runner.token + ":")
    env.pop("LC_CTYPE", None)  # set by Python itself in a C locale
    assert env == {"GREETING": "grüß"}
    assert cwd == str(tmp_path)
    assert leads_session


async def test_no_descriptor_of_the_daemon_reaches_the_agent(runner, recorder, tools):
    runner.spawn(tools.python(ECHO), tools.Recorder())
    ours, theirs = socket.socketpair()
    ours.set_inheritable(True)
    runner.spawn(tools.python("import os, json; print(json.dumps(len(os.listdir('/proc/self/fd'))))"), recorder)
    ours.close()
    theirs.close()
    assert await recorder.line() == 4  # the three pipes and the folder that is listed


async def test_everything_in_the_pipe_comes_before_the_exit(runner, recorder, tools):
    for _ in range(10):
        heard = tools.Recorder()
        runner.spawn(
            tools.python("import os; os.write(1, b'x' * 65536); os.write(2, b'y' * 65536); os._exit(3)"), heard
        )
        assert await heard.exited() == 3
        assert len(heard.stdout) == 65536
        assert heard.stderr_bytes == 65536
        assert heard.after_exit == 0


async def test_a_signal_is_told_as_a_negative_number(runner, recorder, tools):
    runner.spawn(tools.python("import os; os.kill(os.getpid(), 9)"), recorder)
    assert await recorder.exited() == -signal.SIGKILL


async def test_the_exit_is_told_once_and_nothing_after_it(runner, recorder, tools):
    process = runner.spawn(tools.python("print(1)"), recorder)
    await recorder.exited()
    await process.close()
    await process.close()
    assert recorder.exits == [0]
    assert recorder.after_exit == 0


async def test_a_grandchild_that_holds_the_pipe_does_not_hold_back_the_exit(runner, recorder, tools):
    process = runner.spawn(tools.program("tree.py", "setsid", "quit"), recorder)
    assert await recorder.exited() == 7
    await process.close()
    assert recorder.after_exit == 0


async def test_a_paused_agent_blocks_and_goes_on_when_resumed(runner, recorder, tools):
    # It counts on stderr what it got rid of, so that the test sees where it stands.
    code = "import os\nfor n in range(64):\n os.write(1, b'x' * 65536)\n os.write(2, b'.')\nos.write(2, b'!')"
    process = runner.spawn(tools.python(code), recorder)
    process.pause()
    await recorder.until(lambda: recorder.stderr_bytes >= 1)
    assert recorder.stdout == b""
    assert recorder.stderr_bytes < 3  # one pipe full, and one that is being written
    process.resume()
    assert await recorder.exited() == 0
    assert len(recorder.stdout) == 64 * 65536
    assert recorder.stderr_tail.endswith(b"!")


async def test_the_end_of_a_paused_agent_is_told_with_its_last_words(runner, recorder, tools):
    process = runner.spawn(tools.python("import os; os.write(1, b'x' * 1000); os.write(2, b'e')"), recorder)
    process.pause()
    assert await recorder.exited() == 0
    assert len(recorder.stdout) == 1000
    assert recorder.stderr_bytes == 1


async def test_a_listener_may_pause_write_and_close_from_within_a_call(runner, tools):
    class Meddler(tools.Recorder):
        process = None

        def agent_wrote(self, chunk):
            super().agent_wrote(chunk)
            self.process.pause()
            self.process.write(b"more\n")
            self.process.close_input()
            self.process.resume()

    meddler = Meddler()
    meddler.process = runner.spawn(tools.python("print(1, flush=True); import sys; print(sys.stdin.read())"), meddler)
    # The second chunk meets a closed input, which is an error of the listener: told to the loop, harmless to the rest.
    failures = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context["exception"]))
    assert await meddler.exited() == 0
    assert meddler.stdout.startswith(b"1\nmore\n")
    assert all(isinstance(failure, ProcessError) for failure in failures)


async def test_a_listener_that_fails_is_told_of_the_exit_all_the_same(runner, tools):
    class Broken(tools.Recorder):
        def agent_wrote(self, chunk):
            raise RuntimeError("broken")

    failures = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    broken = Broken()
    process = runner.spawn(tools.python("print(1)"), broken)
    assert await broken.exited() == 0
    await process.close()
    assert len(failures) == 1


async def test_a_flood_on_stderr_neither_blocks_the_agent_nor_stays_in_memory(runner, recorder, tools):
    code = "import os\nb = b'e' * 65536\nfor _ in range(1600): os.write(2, b)\nos.write(1, b'done')"
    process = runner.spawn(tools.python(code), recorder)
    process.pause()  # stderr is drained on
    await recorder.until(lambda: recorder.stderr_bytes == 1600 * 65536)
    process.resume()
    assert await recorder.exited() == 0
    assert recorder.stdout == b"done"
    assert recorder.largest_chunk <= 256 * 1024


async def test_an_agent_that_floods_does_not_starve_another(runner, recorder, tools):
    flood = tools.Recorder()
    runner.spawn(tools.python("import os\nb = b'x' * 65536\nwhile True: os.write(1, b)"), flood)
    flood.agent_wrote = lambda chunk: None
    process = runner.spawn(tools.python(ECHO), recorder)
    loop = asyncio.get_running_loop()
    slowest = 0.0
    for n in range(1, 51):
        asked = loop.time()
        process.write(b"ping\n")
        await recorder.until(lambda n=n: recorder.stdout.count(b"\n") == n)
        slowest = max(slowest, loop.time() - asked)
    assert slowest < 2.0


async def test_an_agent_that_has_closed_its_stdout_is_ended(recorder, tools):
    runner = LocalRunner(python=None, graces=Graces(mute_grace=0.01, leave_grace=0.05))
    runner.spawn(tools.python("import os, time; os.close(1); time.sleep(100)"), recorder)
    assert await recorder.exited() == -signal.SIGTERM
    await runner.shutdown()


async def test_a_hundred_agents_leave_no_descriptor_and_no_zombie(tools):
    runner = LocalRunner(graces=Graces(close_grace=5.0))
    heard = [tools.Recorder() for _ in range(100)]
    before = set(os.listdir("/proc/self/fd"))
    processes = [runner.spawn(tools.plan("cat"), one) for one in heard]
    await runner.shutdown()
    assert [one.exits for one in heard] == [[0]] * 100
    assert all(process.is_gone for process in processes)
    assert runner.processes == []
    assert set(os.listdir("/proc/self/fd")) <= before
    with pytest.raises(ChildProcessError):
        collect(-1)
    gc.collect()


async def test_nothing_starts_after_a_shutdown(recorder, tools):
    runner = LocalRunner(python=None)
    await runner.shutdown()
    with pytest.raises(ProcessError, match="was shut down"):
        runner.spawn(tools.python(ECHO), recorder)


async def test_an_exit_status_that_somebody_else_collected_is_unknown_but_told(runner, recorder, tools):
    process = runner.spawn(tools.python("import sys; sys.stdin.read()"), recorder)
    os.kill(process.pid, signal.SIGTERM)
    collect(process.pid)
    assert await recorder.exited() is None
    await process.close()


def test_runners_work_in_several_loops_at_once(tools):
    async def talk(word: bytes) -> bytes:
        runner, recorder = LocalRunner(python=None), tools.Recorder()
        process = runner.spawn(tools.python(ECHO), recorder)
        process.write(word + b"\n")
        await recorder.until(lambda: b"\n" in recorder.stdout)
        await runner.shutdown()
        return bytes(recorder.stdout)

    results = {}
    threads = [
        threading.Thread(target=lambda word=word: results.update({word: asyncio.run(talk(word))}))
        for word in (b"a", b"b", b"c")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(tools.patience)
    assert results == {b"a": b"a\n", b"b": b"b\n", b"c": b"c\n"}


def test_a_runner_belongs_to_one_loop(tools):
    runner = LocalRunner(python=None)

    async def use() -> None:
        process = runner.spawn(tools.python(ECHO), tools.Recorder())
        await process.close(0.0)

    asyncio.run(use())
    with pytest.raises(ProcessError, match="belongs to one event loop"):
        asyncio.run(use())


async def test_without_process_descriptors_a_thread_notices_the_exit(runner, recorder, tools, monkeypatch):
    def none(*_args: object) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", none)
    process = runner.spawn(tools.program("tree.py", "setsid"), recorder)
    pids = await recorder.line()
    await process.close(0.2)
    assert recorder.exits == [0]
    assert not any(tools.alive(pid) for pid in pids.values())


async def test_a_watch_that_was_closed_tells_nothing():
    child = start("cat")
    told = []
    watch = ExitWatch(asyncio.get_running_loop(), child, told.append)
    watch.close()
    assert child.stdin is not None
    child.stdin.close()
    child.wait()
    await asyncio.sleep(0)
    assert told == []
