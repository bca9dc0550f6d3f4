"""A program as a channel: its pipes, its stderr, its end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from roost.errors import ProcessError
from roost.transport.child import ChildChannel, ChildLimits, Launch, command_line, run_in_terminal, start_child

QUICK = ChildLimits(exit_grace=0.2, kill_grace=5.0, drain_grace=0.2)


class Listener:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.overflows = 0
        self.errors: list[Exception | None] = []
        self.news = asyncio.Event()
        self.over = asyncio.Event()
        self.is_ended = self.is_congested = False

    def received(self, messages: list[bytes]) -> None:
        assert not self.is_ended
        self.messages += messages
        self.news.set()

    def overflowed(self, count: int, limit: int) -> None:
        self.overflows += count
        self.news.set()

    def congested(self) -> None:
        self.is_congested = True
        self.news.set()

    def eased(self) -> None:
        self.is_congested = False
        self.news.set()

    def ended(self) -> None:
        assert not self.is_ended
        self.is_ended = True
        self.news.set()

    def closed(self, error: Exception | None) -> None:
        self.errors.append(error)
        self.over.set()

    async def until(self, count: int) -> None:
        while len(self.messages) < count:
            self.news.clear()
            await self.news.wait()


async def start(program: str, *args: str, limits: ChildLimits = QUICK) -> tuple[ChildChannel, Listener]:
    channel = await start_child(Launch(argv=(sys.executable, "-S", "-c", program, *args)), limits=limits)
    listener = Listener()
    channel.open(listener)
    return channel, listener


ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"


async def ended(channel: ChildChannel) -> int:
    channel.close()
    return await channel.wait_exited()


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


async def gone(pid: int) -> None:
    while is_alive(pid):  # noqa: ASYNC110 - somebody else's process: there is nothing to wait on
        await asyncio.sleep(0.01)


async def test_messages_go_there_and_come_back_and_it_ends_with_its_input() -> None:
    channel, listener = await start(ECHO)
    channel.send([b'{"a":1}', b'{"b":2}'])
    channel.send([b'{"c":3}'])
    await listener.until(3)
    assert listener.messages == [b'{"a":1}', b'{"b":2}', b'{"c":3}']
    assert await ended(channel) == 0
    assert (listener.is_ended, listener.errors) == (True, [None])


async def test_what_is_queued_is_written_before_its_input_is_closed() -> None:
    channel, listener = await start("import sys; print(len(sys.stdin.read()))", limits=ChildLimits(exit_grace=30))
    channel.send([b"x" * 3_000_000])
    assert channel.queued > 0
    assert await ended(channel) == 0
    assert listener.messages == [b"3000001"]


async def test_the_last_line_counts_without_its_newline_and_so_does_output_that_came_before_anybody_listened() -> None:
    channel = await start_child(Launch(argv=(sys.executable, "-S", "-c", "print('one'); print('two', end='')")))
    await channel.wait_exited()
    listener = Listener()
    channel.open(listener)
    await listener.over.wait()
    assert listener.messages == [b"one", b"two"]
    assert (channel.exit_code, listener.errors) == (0, [None])


async def test_output_that_came_while_the_listener_got_ready_stays_in_front() -> None:
    for _ in range(20):
        channel = await start_child(Launch(argv=("/bin/sh", "-c", "echo one; echo two")))
        listener = Listener()
        channel.open(listener)
        await listener.over.wait()
        assert listener.messages == [b"one", b"two"]


async def test_output_nobody_listens_to_yet_is_bounded() -> None:
    limits = ChildLimits(high_water=100_000)
    channel = await start_child(
        Launch(argv=(sys.executable, "-S", "-c", "for _ in range(3_000): print('x' * 999)")), limits=limits
    )
    for _ in range(100):
        await asyncio.sleep(0.01)
        if not channel._reading:
            break
    assert channel._early_bytes < 1_000_000
    listener = Listener()
    channel.open(listener)
    await listener.over.wait()
    assert len(listener.messages) == 3_000


async def test_users_a_a_600_kB_flood_on_stderr_does_not_stop_it() -> None:
    """STD-2, H-06."""
    channel, listener = await start("import sys; sys.stderr.write('e' * 600_000 + 'last'); print('done')")
    await listener.over.wait()
    assert listener.messages == [b"done"]
    assert channel.stderr.received == 600_004
    assert len(channel.stderr.text) == 64 * 1024
    assert channel.stderr.text.endswith("elast")


async def test_the_exit_code_and_the_last_words_are_there_when_it_is_told_closed() -> None:
    channel, listener = await start("import sys; sys.stderr.write('no key\\n'); sys.exit(3)")
    await listener.over.wait()
    assert channel.exit_code == 3
    assert channel.stderr.last_lines() == "no key"


async def test_a_signal_is_a_negative_exit_code() -> None:
    channel, listener = await start("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    await listener.over.wait()
    assert channel.exit_code == -signal.SIGKILL


async def test_output_still_in_the_pipe_is_read_after_the_program_is_gone() -> None:
    channel, listener = await start("import sys; sys.stdin.readline(); print('x' * 30_000); print('y')")
    channel.pause_reading()
    channel.send([b"go"])
    while channel.exit_code is None:  # noqa: ASYNC110 - told to the channel, not to us
        await asyncio.sleep(0.01)
    await asyncio.sleep(2 * QUICK.drain_grace)  # longer than the grace, which stands still meanwhile
    assert not listener.over.is_set()
    channel.resume_reading()
    await listener.over.wait()
    assert listener.messages[-1] == b"y"


async def test_a_program_that_ignores_the_end_of_its_input_is_terminated() -> None:
    channel, listener = await start("import time; print('up', flush=True); time.sleep(60)")
    await listener.until(1)
    assert await ended(channel) == -signal.SIGTERM


async def test_a_program_that_ignores_that_too_is_killed() -> None:
    """STD-5, H-05."""
    limits = ChildLimits(exit_grace=0.1, kill_grace=0.2, drain_grace=0.2)
    program = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    channel, listener = await start(program, limits=limits)
    await listener.until(1)
    assert await ended(channel) == -signal.SIGKILL


async def test_users_i_what_it_started_ends_with_it() -> None:
    program = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True); time.sleep(60)"
    )
    channel, listener = await start(program)
    await listener.until(1)
    grandchild = int(listener.messages[0])
    assert is_alive(grandchild)
    await ended(channel)
    await gone(grandchild)


async def test_what_it_leaves_behind_ends_too_and_does_not_hold_the_end_up() -> None:
    program = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)"
    )
    channel, listener = await start(program)
    await listener.over.wait()
    assert channel.exit_code == 0
    await gone(int(listener.messages[0]))


async def test_it_leads_a_group_of_its_own() -> None:
    channel, _listener = await start(ECHO)
    assert os.getpgid(channel.pid) == channel.pid != os.getpgid(0)
    await ended(channel)


async def test_abort_ends_a_program_that_does_not_read() -> None:
    channel, listener = await start("import time; print('up', flush=True); time.sleep(60)")
    await listener.until(1)
    channel.send([b"x" * 1_000_000])
    assert listener.is_congested
    channel.abort()
    assert listener.errors == [None]
    assert await channel.wait_exited() == -signal.SIGTERM


async def test_a_program_that_reads_slowly_congests_and_eases() -> None:
    channel, listener = await start(
        "import sys; sys.stdin.readline(); print('go', flush=True); sys.stdin.read()",
        limits=ChildLimits(high_water=100_000),
    )
    channel.send([b"x" * 2_000_000])
    assert listener.is_congested
    await listener.until(1)
    while listener.is_congested:
        listener.news.clear()
        await listener.news.wait()
    assert channel.queued <= 25_000
    await ended(channel)


async def test_users_e_a_line_over_the_limit_is_lost_and_the_next_is_not() -> None:
    _channel, listener = await start("print('x' * 5_000); print('y')", limits=ChildLimits(line_bytes=1_000))
    await listener.over.wait()
    assert (listener.messages, listener.overflows) == ([b"y"], 1)


async def test_the_environment_is_ours_with_more_on_top(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_TEST_OURS", "ours")
    monkeypatch.setenv("ROOST_TEST_BOTH", "ours")
    program = "import os; print(os.environ.get('ROOST_TEST_OURS'), os.environ.get('ROOST_TEST_BOTH'))"
    launch = Launch(argv=(sys.executable, "-S", "-c", program), env={"ROOST_TEST_BOTH": "more"})
    for given, expected in ((launch, b"ours more"), (Launch(argv=launch.argv, inherit_env=False), b"None None")):
        channel, listener = await start_child(given), Listener()
        channel.open(listener)
        await listener.over.wait()
        assert listener.messages == [expected]


async def test_the_working_directory_is_the_one_asked_for(tmp_path: Path) -> None:
    launch = Launch(argv=(sys.executable, "-S", "-c", "import os; print(os.getcwd())"), cwd=str(tmp_path))
    channel, listener = await start_child(launch), Listener()
    channel.open(listener)
    await listener.over.wait()
    assert listener.messages == [os.fsencode(tmp_path)]


@pytest.mark.parametrize("argv", [(), ("",), ("/no/such/agent",), ("/",), ("a\0b",)])
async def test_what_cannot_be_started_says_why(argv: tuple[str, ...]) -> None:
    with pytest.raises(ProcessError):
        await start_child(Launch(argv=argv))


def test_a_command_is_split_like_a_shell_does_and_run_by_none() -> None:
    assert command_line("agent --flag 'two words' $HOME") == ("agent", "--flag", "two words", "$HOME")
    assert command_line(["a b", "c"]) == ("a b", "c")


def test_a_launch_shows_no_secrets() -> None:
    assert "secret" not in repr(Launch(argv=("agent", "--key=secret"), env={"KEY": "secret"}))


async def test_a_terminal_login_gives_its_exit_code() -> None:
    for code in (0, 7):
        program = f"import sys; sys.exit({code})"
        assert await run_in_terminal(Launch(argv=(sys.executable, "-S", "-c", program))) == code
    with pytest.raises(ProcessError):
        await run_in_terminal(Launch(argv=("/no/such/agent",)))
