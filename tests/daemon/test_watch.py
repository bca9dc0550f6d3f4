"""What the daemon makes of a store's troubles."""

from __future__ import annotations

import pytest

from roost.daemon.archivist import Watch
from roost.errors import LimitError, StoreError
from roost.sidecar import events

PRESSED, EASED = events.JournalPressed(), events.JournalEased()
SLOW, FULL = LimitError("queued_bytes", 1), StoreError("full", "full")


@pytest.mark.parametrize(
    ("story", "told"),
    [
        (["pressed", "eased"], [PRESSED, EASED]),
        (["pressed", FULL, "recovered", "eased"], [PRESSED, EASED, PRESSED, EASED]),
        (["pressed", FULL, "eased", "recovered"], [PRESSED, EASED]),
        ([FULL, "pressed", "eased", "recovered"], []),
        (["pressed", SLOW, "recovered", "eased"], [PRESSED, EASED]),
        ([FULL, SLOW, "pressed", "recovered"], [PRESSED]),
    ],
)
def test_agents_wait_for_a_disk_that_is_slow_and_not_for_one_that_fails(
    story: list[object], told: list[object]
) -> None:
    heard: list[object] = []
    watch = Watch(heard.append)
    for step in story:
        if isinstance(step, StoreError | LimitError):
            watch.store_failed(step)
        elif step == "recovered":
            watch.store_recovered()
        else:
            watch.store_pressed(step == "pressed")
    assert heard == told


def test_a_watch_that_tells_nobody_is_a_log(caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch()
    with caplog.at_level("ERROR", "roost.daemon"):
        watch.store_pressed(True)
        watch.store_failed(FULL)
    assert [record.message for record in caplog.records] == [f"the journal fails, and tries again: {FULL}"]
