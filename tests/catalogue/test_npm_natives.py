"""What of an npm package is for this machine, by what its lock says."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

import pytest

from roost.catalogue.npm_natives import missing_natives

SYSTEM = "darwin" if sys.platform == "darwin" else "linux"


@pytest.fixture(autouse=True)
def on_a_usual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))


def missing(folder: Path, node: str = "20.1.0", **packages: Any) -> list[str]:
    (folder / "package-lock.json").write_text(json.dumps({"packages": {"": {}, **packages}}))
    return missing_natives(folder, node)


@pytest.mark.parametrize(
    "entry",
    [
        {"os": [SYSTEM]},
        {"cpu": ["x64"]},
        {"os": [SYSTEM, "other"], "cpu": ["arm64", "x64"], "libc": ["glibc"]},
        {"os": ["!win32"]},
        {"cpu": ["x64"], "libc": ["!musl"], "engines": {"node": ">=18"}},
        {"cpu": ["x64"], "engines": ["node 18"]},
    ],
)
def test_what_is_for_this_machine_is_missed(tmp_path: Path, entry: dict[str, Any]) -> None:
    path = "node_modules/a/node_modules/@scope/native"
    assert missing(tmp_path, **{path: {"optional": True, **entry}}) == ["@scope/native"]
    (tmp_path / path).mkdir(parents=True)
    assert missing(tmp_path, **{path: {"optional": True, **entry}}) == []


@pytest.mark.parametrize(
    "entry",
    [
        {"os": [SYSTEM], "optional": False},
        {"os": [SYSTEM], "optional": "x"},
        {},
        {"os": [], "cpu": []},
        {"libc": ["glibc"]},
        {"os": ["win32"]},
        {"os": [f"!{SYSTEM}"]},
        {"os": ["!win32", f"!{SYSTEM}"]},
        {"os": [SYSTEM], "cpu": ["arm64"]},
        {"os": [SYSTEM], "libc": ["musl"]},
        {"os": [SYSTEM], "engines": {"node": ">=22"}},
    ],
)
def test_what_is_for_another_machine_or_may_be_left_out_is_not_missed(tmp_path: Path, entry: dict[str, Any]) -> None:
    assert missing(tmp_path, **{"node_modules/native": {"optional": True, **entry}}) == []


def test_a_node_that_is_not_known_is_no_reason(tmp_path: Path) -> None:
    entry = {"optional": True, "os": [SYSTEM], "engines": {"node": ">=22"}}
    assert missing(tmp_path, node="", **{"node_modules/native": entry}) == ["native"]


@pytest.mark.parametrize("lock", [None, "", "[", "[]", "7", '{"packages": []}', '{"packages": {"node_modules/a": 7}}'])
def test_a_lock_that_cannot_be_read_says_nothing(tmp_path: Path, lock: str | None) -> None:
    if lock is not None:
        (tmp_path / "package-lock.json").write_text(lock)
    assert missing_natives(tmp_path, "20.1.0") == []
