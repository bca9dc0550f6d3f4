"""Fixtures of tests that run the command: no daemon, no packages and no journal but the test's own."""

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
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ROOST_CONFIG", raising=False)


@pytest.fixture(autouse=True)
def no_journal(request: pytest.FixtureRequest, nobody_elses_daemon: None, tmp_path: Path) -> None:
    """Most of the tests are about one run; those that want the journal are marked so."""
    if "journal" not in request.fixturenames:
        folder = tmp_path / "config" / "roost"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text("[store]\nenabled = false\n")


@pytest.fixture
def journal(nobody_elses_daemon: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What happens is kept here, and is not put in order while a test looks; agents work in a folder of the test."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "config" / "roost"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[store.limits]\nidle_grace = 3600\n")
    return tmp_path / "data" / "roost" / "journal.db"
