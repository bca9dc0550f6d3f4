"""The death signal as a function from plan to plan."""

from __future__ import annotations

import pytest

from roost.process.base import SpawnPlan
from roost.process.sandboxes.death_signal import find_setpriv, with_death_signal

PLAN = SpawnPlan(("/bin/agent", "--", "-x"), {"A": "1"}, "/w")


def test_the_program_is_run_by_setpriv_and_nothing_else_changes():
    expected = ("/usr/bin/setpriv", "--pdeathsig", "KILL", "--", "/bin/agent", "--", "-x")
    assert with_death_signal(PLAN, "/usr/bin/setpriv") == SpawnPlan(expected, {"A": "1"}, "/w")


def test_without_setpriv_the_plan_stays_as_it_is():
    assert with_death_signal(PLAN, None) is PLAN


@pytest.mark.parametrize(("content", "found"), [(b"...pdeathsig...", True), (b"BusyBox", False), (None, False)])
def test_a_setpriv_that_knows_no_death_signal_is_none(tmp_path, monkeypatch, content, found):
    file = tmp_path / "setpriv"
    if content is not None:
        file.write_bytes(content)
        file.chmod(0o755)
    monkeypatch.setattr("roost.process.sandboxes.death_signal._TRUSTED_PATH", str(tmp_path))
    find_setpriv.cache_clear()
    try:
        assert find_setpriv() == (str(file) if found else None)
    finally:
        find_setpriv.cache_clear()
