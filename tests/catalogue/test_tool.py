"""Running a tool: to its end, within bounds, with all it has started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from roost.catalogue import tool
from roost.catalogue.tool import TAIL_LINES, TAIL_WIDTH, Finished, run_tool
from roost.errors import CatalogueError, LimitError
from tests.cli.rig import ended

ENV = {"PATH": os.environ["PATH"], "A_TOKEN": "geheimnis"}


def run(script: str, cwd: Path, timeout: float = 30.0) -> Finished:
    return run_tool(["/bin/sh", "-c", script], cwd=cwd, env=ENV, timeout=timeout, setting="some.setting")


def test_a_tool_runs_where_it_is_told_with_the_environment_it_is_given(tmp_path: Path) -> None:
    done = run("pwd; env | grep -c . ; cat; echo err >&2; exit 3", tmp_path)
    assert done.status == 3
    assert done.stdout.startswith(f"{tmp_path}\n".encode())
    assert (done.stderr, done.tail) == (b"err\n", "err")


def test_a_tool_that_says_nothing_wrong_has_the_end_of_its_output_as_its_tail(tmp_path: Path) -> None:
    long = "x" * (TAIL_WIDTH + 50)
    done = run(f"for i in $(seq 100); do echo line $i; done; echo {long}; echo $A_TOKEN", tmp_path)
    lines = done.tail.splitlines()
    assert len(lines) == TAIL_LINES
    assert lines[-3:] == ["line 100", "x" * TAIL_WIDTH + "…", "***"]


def test_a_secret_at_the_edge_of_what_is_shown_is_hidden_whole(tmp_path: Path) -> None:
    done = run(f"echo {'x' * (TAIL_WIDTH - 3)}$A_TOKEN", tmp_path)
    assert "geh" not in done.tail


def test_a_tool_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"sh took more than 0\.5 s \(some\.setting\)") as caught:
        run("trap '' TERM; sleep 60 & echo $! > child; echo $$ > self; echo so far; wait; sleep 60", tmp_path, 0.5)
    assert (caught.value.code, caught.value.detail) == ("failed", "so far")
    for name in ("child", "self"):
        assert ended(int((tmp_path / name).read_text()))


def test_a_tool_that_says_too_much_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "MAX_OUTPUT_BYTES", 1000)
    with pytest.raises(LimitError):
        run("echo $$ > self; yes", tmp_path)
    assert ended(int((tmp_path / "self").read_text()))


@pytest.mark.parametrize("name", ["none", "plain"])
def test_what_cannot_be_run_is_unsuitable(tmp_path: Path, name: str) -> None:
    (tmp_path / "plain").write_text("")
    with pytest.raises(CatalogueError, match="cannot be run") as caught:
        run_tool([str(tmp_path / name)], cwd=tmp_path, env=ENV, timeout=5.0, setting="x")
    assert caught.value.code == "unsuitable"


def test_a_word_that_looks_like_an_option_of_python_is_the_tools(tmp_path: Path) -> None:
    done = run_tool(
        [sys.executable, "-c", "import sys; print(sys.argv[1:])", "-c", "x"],
        cwd=tmp_path,
        env=ENV,
        timeout=30.0,
        setting="x",
    )
    assert done.stdout == b"['-c', 'x']\n"
