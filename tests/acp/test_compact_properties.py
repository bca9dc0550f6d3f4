"""Compaction of any stream: fewer lines, the same view, from wherever a reader reads on."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.acp.compact import Line, compact
from tests.acp.compact_lines import TEXT, chunk, compacted, line_of, lines_of, output, shown
from tests.acp.test_fold_properties import updates


def subjects_of(lines: list[Line]) -> set[str]:
    return set(compact(lines, lambda subject: False).subjects)


def inside(lines: list[Line]) -> set[int]:
    """The numbers after which a reader cannot just read on."""
    return {number for line in lines if line.first for number in range(line.first, line.number)}


streams = st.lists(updates, max_size=25)
odd = st.sampled_from(
    [
        {"sessionUpdate": "agent_message", "messageId": "a", "content": "no list"},
        {
            "sessionUpdate": "agent_message_chunk",
            "messageId": "a",
            "content": {"type": "text", "text": "x"},
            "_meta": 1,
        },
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "nobody's"}},
        {"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": 5, "title": "kept"},
        {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "a", "content": {"type": "_x"}, "title": "not mine"},
        {"sessionUpdate": "agent_message_chunk", "messageId": "b", "content": {"type": "_y"}, "later": True},
        {"sessionUpdate": "terminal_update", "terminalId": "a", "cwd": 7, "command": "make"},
        {"sessionUpdate": "session_info_update", "title": 9, "updatedAt": "now"},
        {"sessionUpdate": "usage_update", "used": -1, "size": 2},
        {"sessionUpdate": "plan_update", "plan": {"type": "_tree"}},
        {"sessionUpdate": "config_option_update", "configOptions": 3},
        {"sessionUpdate": 1},
    ]
)
odd_streams = st.lists(st.one_of(updates, updates, odd), max_size=25)


@given(odd_streams, odd_streams, st.sampled_from([200, 1_000, 10_000_000]))
@settings(max_examples=400, deadline=None)
def test_any_interleaving_shows_the_same_after_compaction(
    before: list[dict[str, Any]], turn: list[dict[str, Any]], merged_bytes: int
) -> None:
    early = lines_of(*before)
    late = lines_of(*turn, start=len(early) + 1)
    fewer = compacted(late, subjects_of(early), merged_bytes=merged_bytes)
    assert shown(early + fewer) == shown(early + late)
    assert len(fewer) <= len(late)


@given(odd_streams, odd_streams, st.integers(0, 25))
@settings(max_examples=300, deadline=None)
def test_a_reader_who_stopped_anywhere_reads_on_to_the_same_view(
    before: list[dict[str, Any]], turn: list[dict[str, Any]], stop: int
) -> None:
    early = lines_of(*before)
    late = lines_of(*turn, start=len(early) + 1)
    fewer = compacted(late, subjects_of(early))
    stopped_at = len(early) + min(stop, len(late))
    if stopped_at in inside(fewer):
        return
    read = early + [line for line in late if line.number <= stopped_at]
    rest = [line for line in fewer if line.number > stopped_at]
    seen, whole = shown(read + rest), shown(early + late)
    for view in (seen, whole):
        del view["counted"], view["malformed"]  # a snapshot counts anew
    assert seen == whole


@given(odd_streams, st.lists(st.integers(0, 25), max_size=3))
@settings(max_examples=200, deadline=None)
def test_stretches_compacted_one_after_the_other_show_the_same(stream: list[dict[str, Any]], cuts: list[int]) -> None:
    lines = lines_of(*stream)
    edges = sorted({0, len(lines), *(min(cut, len(lines)) for cut in cuts)})
    known: set[str] = set()
    fewer: list[Line] = []
    for start, end in itertools.pairwise(edges):
        done = compact(lines[start:end], known.__contains__)
        known |= set(done.subjects)
        fewer += done.apply(lines[start:end])
    assert shown(fewer) == shown(lines)


@given(streams)
@settings(max_examples=100, deadline=None)
def test_compacting_what_is_compact_changes_nothing_that_shows(stream: list[dict[str, Any]]) -> None:
    once = compacted(lines_of(*stream))
    assert shown(compacted(once)) == shown(once)


@given(st.lists(updates, max_size=12), st.lists(updates, max_size=12))
@settings(max_examples=100, deadline=None)
def test_compacting_stretches_again_together_shows_the_same(
    one: list[dict[str, Any]], two: list[dict[str, Any]]
) -> None:
    lines = lines_of(*one, *two)
    begun = {f"terminal_update\0{name}" for name in "abc"}
    once = compacted(lines[: len(one)], begun)
    once += compacted(lines[len(one) :], begun | subjects_of(lines[: len(one)]))
    assert shown(compacted(once, begun)) == shown(lines)


def test_output_that_is_joined_again_says_from_the_very_first() -> None:
    known = {"terminal_update\0t"}
    lines = lines_of(*(output(b"x") for _ in range(4)))
    once = compacted(lines[:2], known) + compacted(lines[2:], known)
    assert [(line.number, line.first) for line in compacted(once, known)] == [(4, 1)]


@given(st.lists(st.tuples(updates, st.sampled_from(["one", "two"])), max_size=25))
@settings(max_examples=200, deadline=None)
def test_lines_of_several_agent_sessions_show_the_same_together_and_apart(
    stream: list[tuple[dict[str, Any], str]],
) -> None:
    lines = [line_of(number, update, session) for number, (update, session) in enumerate(stream, 1)]
    fewer = compacted(lines)
    assert shown(fewer) == shown(lines)
    for name in ("one", "two"):

        def of(lines: list[Line], name: str = name) -> list[Line]:
            return [line for line in lines if json.loads(line.body)["params"]["sessionId"] == name]

        assert shown(of(fewer)) == shown(of(lines))


CALL = {"toolCallId": "t"}
BLOCK = {"type": "content", "content": TEXT}
ABOUT_ONE_THING = {
    "message": [
        chunk("a"),
        chunk("b"),
        {"sessionUpdate": "agent_message", "messageId": "m"},
        {"sessionUpdate": "agent_message", "messageId": "m", "content": None},
        {"sessionUpdate": "agent_message", "messageId": "m", "content": [TEXT], "_meta": {}},
        {"sessionUpdate": "agent_message", "messageId": "m", "content": "malformed"},
        chunk("of another", "n"),
    ],
    "tool call": [
        {"sessionUpdate": "tool_call_content_chunk", **CALL, "content": BLOCK},
        {"sessionUpdate": "tool_call_update", **CALL, "content": [BLOCK], "title": "a", "rawInput": 1},
        {"sessionUpdate": "tool_call_update", **CALL, "content": [], "title": None, "status": "completed"},
        {"sessionUpdate": "tool_call_update", **CALL, "locations": [{"path": "/a"}], "rawInput": None},
        {"sessionUpdate": "tool_call_update", **CALL, "title": "b", "kind": 5},
    ],
    "terminal": [
        output(b"a"),
        {**output(b""), "data": "!"},
        {"sessionUpdate": "terminal_update", "terminalId": "t", "output": {"data": "eHk="}, "command": "c"},
        {"sessionUpdate": "terminal_update", "terminalId": "t", "output": None, "exitStatus": {}},
        {"sessionUpdate": "terminal_update", "terminalId": "t", "output": {"data": "!"}, "cwd": "/"},
        {"sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": None, "command": 4},
    ],
    "plan": [
        {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p", "content": "x"}},
        {"sessionUpdate": "plan_update", "plan": {"type": "_p", "planId": "p"}},
        {"sessionUpdate": "plan_removed", "planId": "p"},
        {"sessionUpdate": "notice"},
    ],
    "session": [
        {"sessionUpdate": "session_info_update", "title": "a"},
        {"sessionUpdate": "session_info_update", "title": None, "updatedAt": "b"},
        {"sessionUpdate": "session_info_update", "title": 4, "_meta": {}},
        {"sessionUpdate": "state_update", "state": "running"},
        {"sessionUpdate": "state_update", "state": "_asleep"},
        {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"},
    ],
}


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("thing", ABOUT_ONE_THING)
def test_every_short_sequence_about_one_thing_shows_the_same_from_every_place(thing: str, before: bool) -> None:
    about = ABOUT_ONE_THING[thing]
    early = lines_of(about[0]) if before else []
    known = subjects_of(early)
    for stream in itertools.product(about, repeat=3):
        late = lines_of(*stream, start=len(early) + 1)
        fewer = compacted(late, known)
        whole = shown(early + late)
        assert shown(early + fewer) == whole, stream
        del whole["counted"], whole["malformed"]
        for stop in {line.number for line in early + late} - inside(fewer):
            read = early + [line for line in late if line.number <= stop]
            seen = shown(read + [line for line in fewer if line.number > stop])
            del seen["counted"], seen["malformed"]
            assert seen == whole, (stream, stop)
