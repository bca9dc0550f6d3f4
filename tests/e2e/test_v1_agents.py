"""`roost run` with agents that speak v1 only: they are found out and bridged."""

from __future__ import annotations

from tests.cli.rig import roost, scripted


def test_an_agent_of_v1_is_run_like_any_other() -> None:
    result = roost("run", "--allow", scripted("--v1"), "story")
    assert result.exit_code == 0, result.stderr
    assert "You chose yes-1." in result.stdout
