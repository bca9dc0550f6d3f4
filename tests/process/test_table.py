"""Who belongs to whom, and that nobody else is ever hit."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.process import table
from roost.process.table import Process, families, mark_for

TOKEN = "token"


def made(*rows: tuple[int, int, int, str]) -> table.Table:
    """Rows of pid, parent, session and mark; everybody started at 100 + pid."""
    return {
        pid: Process(pid, parent, session, session, 100 + pid, False, tuple(mark.split(",")) if mark else ())
        for pid, parent, session, mark in rows
    }


def members(found: dict[str, list[Process]]) -> dict[str, list[int]]:
    return {name: sorted(process.pid for process in group) for name, group in found.items()}


@pytest.mark.parametrize(
    ("rows", "roots", "expected"),
    [
        pytest.param([(1, 0, 1, ""), (50, 1, 50, "token:a")], {}, {"a": [50]}, id="the mark alone"),
        pytest.param([(1, 0, 1, ""), (50, 1, 50, "other:a")], {}, {}, id="another daemon's mark"),
        pytest.param([(50, 1, 50, "other:x,token:a")], {}, {"a": [50]}, id="a daemon under a daemon"),
        pytest.param([(50, 1, 50, "token:a"), (51, 1, 51, "token:b")], {}, {"a": [50], "b": [51]}, id="two agents"),
        pytest.param(
            [(50, 1, 50, "token:a"), (51, 50, 51, "token:b"), (52, 51, 52, "")],
            {},
            {"a": [50, 51, 52], "b": [51, 52]},
            id="a mark does not lead out of the tree it was born in",
        ),
        pytest.param([(50, 1, 50, "")], {"a": (50, 150)}, {"a": [50]}, id="the root by pid and start"),
        pytest.param([(50, 1, 50, "")], {"a": (50, 149)}, {}, id="a recycled root"),
        pytest.param(
            [(50, 1, 50, "token:a"), (51, 50, 51, ""), (52, 51, 52, "")], {}, {"a": [50, 51, 52]}, id="by birth"
        ),
        pytest.param([(50, 1, 50, "token:a"), (52, 1, 50, "")], {}, {"a": [50, 52]}, id="by session"),
        pytest.param([(51, 1, 50, "token:a"), (52, 1, 50, "")], {}, {"a": [51, 52]}, id="session of a dead leader"),
        pytest.param(
            [(50, 1, 50, ""), (51, 50, 50, "token:a"), (52, 50, 50, "")], {}, {"a": [51]}, id="foreign session"
        ),
        pytest.param(
            [(50, 1, 50, "token:a"), (51, 50, 50, ""), (60, 51, 60, ""), (61, 1, 60, "")],
            {},
            {"a": [50, 51, 60, 61]},
            id="a session opened by a member",
        ),
        pytest.param([(2, 0, 0, ""), (3, 2, 0, ""), (50, 1, 0, "token:a")], {}, {"a": [50]}, id="the kernel's session"),
    ],
)
def test_members_are_found_by_mark_by_birth_and_by_session(rows, roots, expected):
    assert members(families(made(*rows), TOKEN, roots)) == expected


def test_this_process_and_its_ancestors_are_never_members():
    me, parent = os.getpid(), os.getppid()
    found = families(
        made((parent, 1, parent, "token:a"), (me, parent, parent, "token:a"), (7, parent, 7, "")), TOKEN, {}
    )
    assert members(found) == {}


def test_children_of_a_marked_daemon_are_not_members_for_its_sake():
    me = os.getpid()
    found = families(made((me, 1, me, "token:a"), (7, me, me, "")), TOKEN, {"b": (me, 100 + me)})
    assert found == {}


def test_the_dead_count_for_their_kin_and_not_for_themselves():
    rows = made((50, 1, 50, ""), (51, 1, 50, ""))
    rows[50].zombie = True
    assert members(families(rows, TOKEN, {"a": (50, 150)})) == {"a": [51]}


processes = st.dictionaries(
    st.integers(2, 40), st.tuples(st.integers(0, 40), st.integers(0, 40), st.sampled_from(["", "", "token:a", "o:b"]))
)


@given(processes)
def test_a_family_is_closed_under_birth_and_holds_no_stranger(drawn):
    rows = made(*((pid, *rest) for pid, rest in drawn.items()))
    spared = {os.getpid(), os.getppid()}
    found = {process.pid for group in families(rows, TOKEN, {}).values() for process in group}
    assert {pid for pid, process in rows.items() if "token:a" in process.marks} - spared <= found
    for process in rows.values():
        if process.parent in found:
            assert process.pid in found
    for pid in found:
        process = rows[pid]
        kin = process.parent in found or "token:a" in process.marks
        assert kin or any(rows[other].session == process.session for other in found - {pid})


def test_a_mark_is_appended_to_an_inherited_one():
    assert mark_for("t", "1") == "t:1"
    assert mark_for("t", "1", "outer:3") == "outer:3,t:1"


# What is done with a real token is done on the whole machine, where other tests may run.
REAL_TOKEN = secrets.token_hex(8)


@pytest.fixture
def sleeper():
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "import sys; print(1, flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"A": "x" * 70000, "ROOST_PROCESS": f"outer:9,{REAL_TOKEN}:a (b) c", "B": "1"},
        start_new_session=True,
    )
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child
        child.kill()


def test_the_table_tells_a_real_process_with_its_mark(sleeper):
    found = table.process_table()[sleeper.pid]
    assert found.parent == os.getpid()
    assert found.session == found.group == sleeper.pid
    assert found.marks == ("outer:9", f"{REAL_TOKEN}:a (b) c")
    assert not found.zombie
    assert found.start == table.start_of(sleeper.pid)
    assert found.start >= (table.start_of(os.getpid()) or 0)


def test_marks_of_those_who_started_earlier_are_not_read(sleeper):
    start = table.start_of(sleeper.pid)
    assert start is not None
    assert table.process_table(start)[sleeper.pid].marks
    assert not table.process_table(start + 1)[sleeper.pid].marks


def test_the_table_of_ps_agrees_about_parents_and_groups(sleeper):
    found = table._table_from_ps()[sleeper.pid]
    assert (found.parent, found.group, found.zombie) == (os.getpid(), sleeper.pid, False)
    assert table._table_from_ps(sleeper.pid)[sleeper.pid].start == found.start


def test_a_signal_goes_to_the_process_that_was_meant_and_to_no_successor(sleeper):
    start = table.start_of(sleeper.pid)
    assert start is not None
    assert not table.signal_process(sleeper.pid, start - 1, signal.SIGKILL)
    assert sleeper.poll() is None
    assert table.open_handle(sleeper.pid, start - 1) is None
    assert table.signal_process(sleeper.pid, start, signal.SIGKILL)
    assert sleeper.wait(10) == -signal.SIGKILL
    assert not table.signal_process(sleeper.pid, start, signal.SIGKILL)


def test_the_same_holds_without_process_descriptors(sleeper, monkeypatch):
    def none(*_args):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", none)
    start = table.start_of(sleeper.pid)
    assert start is not None
    assert not table.signal_process(sleeper.pid, start - 1, signal.SIGKILL)
    assert sleeper.poll() is None
    assert table.signal_process(sleeper.pid, start, signal.SIGKILL)
    assert sleeper.wait(10) == -signal.SIGKILL


def test_somebody_who_is_dead_is_told_apart_from_somebody_who_runs(sleeper):
    start = table.start_of(sleeper.pid)
    assert start is not None
    assert table.is_alive(sleeper.pid, start)
    assert not table.is_alive(sleeper.pid, start + 1)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert table.process_table()[sleeper.pid].zombie
    assert not table.is_alive(sleeper.pid, start)
    sleeper.wait()
    assert table.start_of(sleeper.pid) is None


def test_exterminate_kills_whoever_carries_the_token_and_nobody_else(sleeper):
    assert table.exterminate(REAL_TOKEN[:-1], {}, confirmations=()) == []
    assert sleeper.poll() is None
    assert table.exterminate(REAL_TOKEN, {}, confirmations=()) == [sleeper.pid]
    assert sleeper.wait(10) == -signal.SIGKILL


def test_exterminate_gives_up_when_its_patience_is_over(sleeper, monkeypatch):
    monkeypatch.setattr(table, "signal_process", lambda *_: False)
    assert table.exterminate(REAL_TOKEN, {}, patience=0.0, confirmations=()) == []


def test_a_table_that_cannot_be_read_is_not_an_empty_one(monkeypatch):
    def none_left(*_args, **_more):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "open", none_left)
    with pytest.raises(OSError, match="Too many"):
        table.read_process(os.getpid())
