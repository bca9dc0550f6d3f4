"""A flood that goes on while its session is closed, to a caller that does not read: the daemon's memory is bounded."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.sidecar.gen import frames
from roost.sidecar.gen.messages import AcpCloseSessionRequest, AcpSessionRequest, encode_acp_request
from tests.chaos.caller import Caller
from tests.chaos.scene import Scene, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory and processes are looked up in /proc")

# caller_output_bytes (8 MiB) and closing_output_bytes (1 MiB), each some times over for what holds them; the flood is
# read at 100 MB/s and more where nothing stops it, for a second.
MOST = 60 * 2**20
FLOODER = Path(__file__).with_name("flooder.py")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    config = tmp_path / "config" / "roost" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[limits]\nkill_grace = 1.0\nstuck_caller_timeout = 3.0\n")
    scene = Scene(tmp_path)
    yield scene
    scene.clear()


def peak(pid: int) -> int:
    """Bytes, at most, that the process had in memory so far."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


@pytest.mark.parametrize("name", ["alice", None], ids=["kept", "not kept"])
async def test_an_agent_that_floods_at_its_end_does_not_fill_the_daemon(scene: Scene, name: str | None) -> None:
    await scene.start_daemon()
    assert scene.daemon is not None
    caller = await Caller.connect(scene.socket, name)
    session = await caller.create(scene.agent_env, agent=FLOODER)
    before, agents = peak(scene.daemon.pid), {*scene.left()} - {scene.daemon.pid}
    assert agents
    for number, request in enumerate(
        (AcpSessionRequest(session, "session/prompt", '{"prompt":[]}'), AcpCloseSessionRequest(session)), 100
    ):
        caller.send(frames.Request(number, encode_acp_request(request)))
    caller.read_no_more()
    await until(lambda: not agents & {*scene.left()}, "the agent is still there")
    assert peak(scene.daemon.pid) - before < MOST
    await caller.close()
    assert "entries are lost" not in scene.log
