"""`roost run` with agents that speak v1 only: they are found out and bridged."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.rig import roost, scripted

ASKING = f"{sys.executable} -m roost.testing.scripted --v1"


def test_an_agent_of_v1_is_run_like_any_other() -> None:
    result = roost("run", "--allow", scripted("--v1"), "story")
    assert result.exit_code == 0, result.stderr
    assert "You chose yes-1." in result.stdout


@pytest.mark.parametrize(("flag", "is_written"), [("--allow", True), ("--deny", False), (None, False)])
def test_what_an_agent_of_v1_wants_written_and_run_is_up_to_the_users_policy(
    tmp_path: Path, flag: str | None, is_written: bool
) -> None:
    place = tmp_path / "work"
    place.mkdir()
    steps = [
        f"request fs/write_text_file {json.dumps({'path': f'{place}/written', 'content': 'x'})}",
        f"request terminal/create {json.dumps({'command': 'touch ran; echo done'})}",
        f"request terminal/wait_for_exit {json.dumps({'terminalId': '$terminal'})}",
    ]
    result = roost("run", "--cwd", str(place), *([flag] if flag else []), ASKING, "\n".join(steps))
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in place.iterdir()) == (["ran", "written"] if is_written else [])
    assert ("EACCES" in result.stdout) is not is_written
    if is_written:
        assert "touch ran; echo done" in result.stdout
        assert "+x" in result.stdout
