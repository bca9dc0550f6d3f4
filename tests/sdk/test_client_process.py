"""Agents as processes: started by a command line, noisy, mortal (users.md a, e, i; STD-4, STD-5)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from roost.errors import AgentExited, ConnectionClosed, ProcessError, TransportError, UnsupportedVersion
from roost.sdk.client import Client
from roost.sdk.client_limits import ClientLimits
from roost.sdk.connect import connect
from roost.transport.child import ChildLimits, Launch, run_in_terminal

AGENT = (sys.executable, "-S", str(Path(__file__).parent / "programs" / "plain_agent.py"))
QUICK = ChildLimits(exit_grace=0.2, kill_grace=5.0)


def pid_of(client: Client) -> int:
    channel: Any = client.link.channel
    return int(channel.pid)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("command", [AGENT, list(AGENT), " ".join(AGENT), Launch(argv=AGENT)])
async def test_an_agent_is_started_prompted_and_ended(command: object, tmp_path: Path) -> None:
    """STD-1, STD-3, STD-5."""
    async with connect(command) as client:  # type: ignore[arg-type]
        pid = pid_of(client)
        session = await client.new_session(str(tmp_path))
        assert (await session.prompt("say hello")).text == "hello"
        assert is_alive(pid)
    assert not is_alive(pid)


async def test_users_a_a_flood_on_stderr_holds_no_prompt_up() -> None:
    heard: list[str] = []
    async with connect(AGENT, on_stderr=heard.append) as client:
        session = await client.new_session("/work")
        for _ in range(3):
            assert (await session.prompt("flood")).text.endswith("flooded")
        assert client.stderr.endswith("eee")
        assert heard


async def test_std_4_noise_between_messages_is_skipped_and_counted() -> None:
    """H-02, H-03."""
    async with connect(AGENT) as client:
        session = await client.new_session("/work")
        assert (await session.prompt("noise")).text == "noisy"
        assert client.noise == 4


async def test_an_agent_that_dies_fails_its_prompt_with_its_code_and_last_words() -> None:
    async with connect(AGENT) as client:
        session = await client.new_session("/work")
        stream = session.updates()
        with pytest.raises(AgentExited) as caught:
            await session.prompt("die")
        assert (caught.value.exit_code, caught.value.stderr) == (3, "no key: set API_KEY")
        assert "exit code 3" in str(caught.value)
        assert "set API_KEY" in str(caught.value)
        with pytest.raises(AgentExited):
            async for _ in stream:
                pass
        with pytest.raises(AgentExited):
            await client.new_session("/work")


async def test_an_agent_that_is_killed_says_by_what() -> None:
    async with connect(AGENT) as client:
        session = await client.new_session("/work")
        turn = session.prompt("hang").send()
        await turn.accepted()
        os.kill(pid_of(client), signal.SIGKILL)
        with pytest.raises(AgentExited) as caught:
            await turn
        assert caught.value.exit_code == -signal.SIGKILL


async def test_an_agent_that_closes_its_output_and_lives_on_is_ended() -> None:
    limits = ClientLimits(exit_grace=0.1)
    async with connect(AGENT, limits=limits, child_limits=QUICK) as client:
        pid = pid_of(client)
        session = await client.new_session("/work")
        with pytest.raises(ConnectionClosed):
            await session.prompt("closed")
    assert not is_alive(pid)


async def test_cancel_is_confirmed_by_a_process_too() -> None:
    async with connect(AGENT) as client:
        session = await client.new_session("/work")
        turn = session.prompt("hang").send()
        await turn.accepted()
        await session.cancel()
        assert (await turn).was_cancelled


async def test_users_e_a_line_over_the_limit_is_lost_and_the_session_goes_on() -> None:
    async with connect(AGENT, child_limits=ChildLimits(line_bytes=1_000_000)) as client:
        session = await client.new_session("/work")
        assert (await session.prompt("big")).text == "small"
        assert client.link.overflows == 1


async def test_the_environment_reaches_the_agent() -> None:
    async with connect(AGENT, env={"ROOST_TEST_VALUE": "yes"}) as client:
        session = await client.new_session("/work")
        assert (await session.prompt("env ROOST_TEST_VALUE")).text == "yes"


async def test_a_command_that_is_not_there_says_so() -> None:
    with pytest.raises(ProcessError, match=r"/no/such/agent.*No such file"):
        await connect("/no/such/agent --acp")


async def test_an_agent_that_never_answers_is_ended() -> None:
    client = connect([*AGENT, "--mute"], limits=ClientLimits(start_timeout=0.2), child_limits=QUICK)
    with pytest.raises(TransportError, match="did not answer initialize"):
        await client
    assert not client.is_open


async def test_an_agent_that_ends_at_once_says_how() -> None:
    program = "import sys; sys.exit('usage: agent --acp')"
    with pytest.raises(AgentExited, match="usage: agent --acp") as caught:
        await connect([sys.executable, "-S", "-c", program])
    assert caught.value.exit_code == 1


async def test_i_10_an_agent_of_another_version_is_ended() -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        await connect([*AGENT, "--v9"])
    assert caught.value.answered == 9


async def test_i_25_a_login_in_a_terminal_runs_the_agents_own_command() -> None:
    async with connect(AGENT, terminal_login=run_in_terminal) as client:
        pid = pid_of(client)
        await client.login("tty")
        assert pid_of(client) != pid
        assert not is_alive(pid)
        session = await client.new_session("/work")
        assert (await session.prompt("say again")).text == "again"


async def test_the_example_runs() -> None:
    example = Path(__file__).parents[2] / "examples" / "client.py"
    lines = [line for line in example.read_text().splitlines() if line.strip() and not line.lstrip().startswith("#")]
    body = [line for line in lines if not line.startswith('"""')]
    assert len(body) <= 15
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(example),
        *AGENT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(30):
        out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert out
