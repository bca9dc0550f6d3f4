"""Wren keeps every rule that can be checked from outside."""

from __future__ import annotations

import sys

import pytest

from roost.testing.conformance import Launch, Patience, check_agent


@pytest.mark.timeout(240)
async def test_nothing_is_found_on_wren() -> None:
    launch = Launch(argv=(sys.executable, "-P", "-m", "roost.agents.wren"))
    report = await check_agent(launch, patience=Patience(answer_timeout=30.0, turn_timeout=60.0))
    assert report.trouble is None
    assert report.findings == ()
    assert report.name == "wren"
    skipped = {result.id for result in report.results if result.status == "skipped"}
    # It has no logins, providers or suggestions, and it does advertise directories.
    assert {name.partition(".")[0] for name in skipped} <= {"auth", "capabilities", "providers", "nes"}
