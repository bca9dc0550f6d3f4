"""How much memory a tree takes."""

from __future__ import annotations

import mmap
import os

from roost.process.table import Process
from roost.process.tree import _rss_from_ps, members, tree_rss


async def test_the_memory_of_a_tree_holds_that_of_everybody_in_it(runner, recorder, tools):
    process = runner.spawn(tools.program("tree.py", "setsid"), recorder)
    pids = await recorder.line()
    whole = tree_rss(process.pid)
    assert whole > tree_rss(pids["child"]) > tree_rss(pids["grandchild"]) > 1_000_000
    await process.close(0.0)
    assert tree_rss(process.pid) == 0


def test_memory_that_was_touched_is_counted():
    with mmap.mmap(-1, 50_000_000) as fresh:  # pages of its own: what is allocated may be memory that was free again
        before = tree_rss(os.getpid())
        fresh.write(b"x" * 50_000_000)
        assert tree_rss(os.getpid()) - before > 45_000_000


def test_ps_tells_about_the_same():
    assert abs(_rss_from_ps(os.getpid()) - tree_rss(os.getpid())) < 200_000_000
    assert _rss_from_ps(os.getpid()) > 1_000_000


def test_members_are_found_by_birth_and_by_the_session_they_were_born_in():
    rows = [(50, 1, 50), (51, 50, 50), (52, 51, 52), (60, 1, 50), (61, 60, 61), (70, 1, 70)]
    table = {pid: Process(pid, parent, session, session, 1, False) for pid, parent, session in rows}
    assert sorted(process.pid for process in members(table, 50)) == [50, 51, 52, 60, 61]
    assert members(table, 99) == []
