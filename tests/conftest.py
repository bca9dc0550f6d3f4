"""What every test run has: folders of its own instead of the user's, and one profile of random tests for CI.

In CI the random tests draw the same examples every time, so that red means changed. How long an example takes says
something about the machine only; each test has a time-out.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("people", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("people"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "people")

HOMES = ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")


@pytest.fixture(autouse=True, scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test, and nothing a test starts, reads or writes what belongs to whoever runs it."""
    root: Path = tmp_path_factory.mktemp("homes")
    for name in HOMES:
        (root / name).mkdir(mode=0o700)
        os.environ[name] = str(root / name)
    for name in ("ROOST_SOCKET", "ROOST_CONFIG"):
        os.environ.pop(name, None)
