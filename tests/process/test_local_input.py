"""What is written to an agent: whole, in order, queued up to a limit."""

from __future__ import annotations

import hashlib
import os
import signal

import pytest

from roost.errors import LimitError, ProcessError
from roost.process.graces import Graces
from roost.process.local import LocalRunner
from tests.process.children import ECHO


async def test_a_line_of_sixteen_mebibytes_passes(runner, recorder, tools):
    line = b"x" * (16 * 1024 * 1024 - 1) + b"\n"
    process = runner.spawn(tools.python(ECHO), recorder)
    process.write(line)
    await recorder.until(lambda: len(recorder.stdout) >= len(line))
    assert recorder.stdout == line
    assert process.queued_bytes == 0
    assert recorder.largest_chunk <= 256 * 1024


async def test_input_that_is_not_read_is_queued_up_to_the_limit_and_then_refused(recorder, tools):
    runner = LocalRunner(python=None, graces=Graces(close_grace=0.0), queued_input_limit=1_000_000)
    process = runner.spawn(tools.python("import sys, time; sys.stdin.buffer.readline(); time.sleep(100)"), recorder)
    process.write(b"x" * 600_000)
    waiting = process.queued_bytes
    assert 0 < waiting <= 600_000
    with pytest.raises(LimitError) as refused:
        process.write(b"y" * 600_000)
    assert refused.value.limit == "agent_queued_bytes"
    assert refused.value.bound == 1_000_000
    assert process.queued_bytes == waiting
    process.write(b"z" * 100)
    assert process.queued_bytes == waiting + 100
    await runner.shutdown()


async def test_it_is_told_when_queued_input_is_through(runner, recorder, tools):
    process = runner.spawn(
        tools.python("import sys; sys.stdin.buffer.read(1_000_001)\nwhile True: sys.stdin.read(1)"), recorder
    )
    process.write(b"x")
    assert recorder.drained == 0
    process.write(b"x" * 1_000_000)
    assert process.queued_bytes > 0
    await recorder.until(lambda: recorder.drained > 0)
    assert process.queued_bytes == 0
    assert recorder.drained == 1


async def test_queued_input_arrives_whole_and_in_order_before_the_end(runner, recorder, tools):
    code = "import sys, hashlib; sys.stdin.buffer.read(1); print(1, flush=True); b = sys.stdin.buffer.read(); " + (
        "sys.stdout.write(hashlib.sha256(b).hexdigest())"
    )
    process = runner.spawn(tools.python(code), recorder)
    pieces = [bytes([65 + n % 26]) * (n * 331) for n in range(1, 200)]
    for piece in pieces:
        process.write(piece)
    process.close_input()
    assert process.queued_bytes > 0
    assert await recorder.exited() == 0
    assert recorder.stdout.split(b"\n")[1].decode() == hashlib.sha256(b"".join(pieces)[1:]).hexdigest()


async def test_writing_to_a_closed_input_says_so(runner, recorder, tools):
    process = runner.spawn(
        tools.python("import os, sys; os.close(0); print(1, flush=True); __import__('time').sleep(100)"), recorder
    )
    await recorder.line()
    with pytest.raises(ProcessError, match="closed its standard input"):
        process.write(b"x")
    with pytest.raises(ProcessError, match="is closed"):
        process.write(b"x")
    other = runner.spawn(tools.python(ECHO), tools.Recorder())
    other.close_input()
    with pytest.raises(ProcessError, match="is closed"):
        other.write(b"x")


async def test_queued_input_of_an_agent_that_dies_is_dropped(runner, recorder, tools):
    process = runner.spawn(tools.python("import time; time.sleep(100)"), recorder)
    process.write(b"x" * 1_000_000)
    os.kill(process.pid, signal.SIGKILL)
    await recorder.exited()
    assert process.queued_bytes == 0
