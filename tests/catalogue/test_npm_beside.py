"""Packages whose own program a script would put in place: the one that came along for this machine is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.catalogue.entry import read_entry
from roost.catalogue.npm import npm_program
from roost.errors import CatalogueError, CodecError


def modules(folder: Path, *files: str) -> Path:
    for name in files:
        path = folder / "node_modules" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh")
    return folder


def test_the_first_that_fits_is_the_program(tmp_path: Path) -> None:
    folder = modules(tmp_path, "agent-linux/bin/agent", "agent-linux-old/bin/agent", "agent/bin/placeholder")
    assert npm_program(folder, "agent", "agent-*/bin/agent") == "node_modules/agent-linux/bin/agent"
    assert (folder / "node_modules/agent-linux/bin/agent").stat().st_mode & 0o111


def test_a_machine_for_which_nothing_came_along_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="nothing for this machine"):
        npm_program(modules(tmp_path, "agent/bin/placeholder"), "agent", "agent-*/bin/agent")


@pytest.mark.parametrize("pattern", ["../../agent", "a/../../../b", "/bin/sh"])
def test_it_does_not_lead_out(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(CatalogueError, match="leads out"):
        npm_program(modules(tmp_path), "agent", pattern)


def test_a_link_does_not_lead_out_either(tmp_path: Path) -> None:
    folder = modules(tmp_path)
    (folder / "node_modules" / "agent-linux").mkdir(parents=True)
    (folder / "node_modules" / "agent-linux" / "agent").symlink_to("/bin/sh")
    with pytest.raises(CatalogueError, match="no file of its own"):
        npm_program(folder, "agent", "agent-*/agent")


def entry(kind: str, cmd: str) -> object:
    return read_entry(
        {"id": "a", "name": "A", "version": "1", "distribution": {kind: {"package": "agent@1", "cmd": cmd}}}
    )


def test_only_npm_has_files_beside() -> None:
    entry("npx", "agent-*/bin/agent")
    with pytest.raises(CodecError):
        entry("uvx", "agent-*/bin/agent")
    with pytest.raises(CodecError):
        entry("npx", "../agent")
