from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def nobody_elses_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No daemon and no packages of whoever runs the tests."""
    monkeypatch.delenv("ROOST_SOCKET", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
