"""Compaction, case by case: what is merged, what stays, and where it stands."""

from __future__ import annotations

import time
from typing import Any

import pytest

from roost.acp.compact import Line
from roost.acp.dialect import V1
from tests.acp.compact_lines import TEXT, chunk, compacted, line_of, lines_of, output, shown, updates_in


def test_what_a_whole_replaces_is_not_kept() -> None:
    whole = {"sessionUpdate": "agent_message", "messageId": "m", "content": [TEXT]}
    snapshot = {"sessionUpdate": "terminal_update", "terminalId": "t", "output": {"data": "eHk="}}
    stream = [chunk("a"), chunk("b"), whole, output(b"a"), output(b"b"), snapshot]
    assert updates_in(compacted(lines_of(*stream), {"agent_message\0m", "terminal_update\0t"})) == [whole, snapshot]


def test_a_state_that_is_over_is_not_kept_even_when_nobody_knows_it() -> None:
    states = [{"sessionUpdate": "state_update", "state": s} for s in ("_asleep", "running")]
    assert updates_in(compacted(lines_of(*states))) == [states[1]]


def test_twenty_thousand_chunks_become_a_few_hundred_lines() -> None:
    stream: list[dict[str, Any]] = []
    for turn in range(100):
        stream += [chunk("x" * 200, f"m{turn}") for _ in range(150)]
        stream += [
            {"sessionUpdate": "tool_call_update", "toolCallId": f"t{turn}", "status": s} for s in ("a", "b", "c")
        ]
        stream += [output(b"y" * 50, f"p{turn}") for _ in range(47)]
    lines = lines_of(*stream)
    fewer = compacted(lines)
    assert len(lines) == 20_000
    assert len(fewer) == 300
    assert shown(fewer) == shown(lines)


def test_time_is_linear_in_the_number_of_lines() -> None:
    def cost(count: int) -> float:
        lines = lines_of(*(chunk("x" * 20, f"m{number % 7}") for number in range(count)))
        start = time.process_time()
        compacted(lines)
        return time.process_time() - start

    small = min(cost(2_000) for _ in range(3))
    large = min(cost(16_000) for _ in range(3))
    assert large < small * 8 * 2.5


def test_what_a_run_comes_to_stands_where_its_last_line_was() -> None:
    fewer = compacted(lines_of(chunk("a"), chunk("b"), chunk("c")))
    assert [line.number for line in fewer] == [3]
    [update] = updates_in(fewer)
    assert update["sessionUpdate"] == "agent_message"
    assert [block["text"] for block in update["content"]] == ["a", "b", "c"]


def test_a_message_that_something_else_interrupted_keeps_its_place() -> None:
    fewer = compacted(lines_of(chunk("a"), {"sessionUpdate": "tool_call_update", "toolCallId": "t"}, chunk("b")))
    assert updates_in(fewer) == [
        {"sessionUpdate": "agent_message", "messageId": "m"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "t"},
        {
            "sessionUpdate": "agent_message",
            "messageId": "m",
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        },
    ]


def test_chunks_of_a_message_that_began_before_stay_chunks() -> None:
    lines = lines_of(chunk("a"), chunk("b"))
    assert compacted(lines, {"agent_message\0m"}) == lines


def test_output_of_a_terminal_that_began_before_is_joined_and_says_from_where() -> None:
    fewer = compacted(lines_of(output(b"\xe2"), output(b"\x82\xac"), start=5), {"terminal_update\0t"})
    assert [(line.number, line.first) for line in fewer] == [(6, 5)]
    assert updates_in(fewer) == [output(b"\xe2\x82\xac")]


def test_output_of_a_new_terminal_becomes_one_snapshot() -> None:
    done = {"sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": {"exitCode": 0}}
    [line] = compacted(lines_of(output(b"a"), output(b"b"), done))
    assert line.first == 0
    [update] = updates_in([line])
    assert update == {**done, "output": {"data": "YWI="}}


def test_no_merged_line_is_longer_than_the_bound() -> None:
    lines = lines_of(*(chunk("x" * 90) for _ in range(100)), *(output(b"y" * 90) for _ in range(100)))
    fewer = compacted(lines, merged_bytes=2_000)
    assert max(len(line.body) for line in fewer) < 2_500
    assert shown(fewer) == shown(lines)


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","method":"_x/progress","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":'
        b'"state_update","state":"running"}}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"usage_update"}}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"notice"}}}',
        b"[]",
        b"{",
        b"\xff",
        b"[" * 50_000,
    ],
)
def test_a_line_that_is_not_understood_stays_as_it_is_where_it_is(body: bytes) -> None:
    running = {"sessionUpdate": "state_update", "state": "running"}
    lines = [line_of(1, chunk("a")), Line(2, body), line_of(3, chunk("b")), line_of(4, running)]
    assert Line(2, body) in compacted(lines)
    assert Line(2, body) in compacted(lines, dialect=V1)


def test_nothing_is_merged_across_a_malformed_line_about_the_same_thing() -> None:
    title = {"sessionUpdate": "tool_call_update", "toolCallId": "t"}
    lines = lines_of({**title, "title": "a"}, {**title, "title": "b", "kind": 5}, {**title, "status": "completed"})
    assert compacted(lines) == lines
    lines = lines_of(chunk("a"), {**chunk("b"), "_meta": 5}, chunk("c"))
    assert compacted(lines) == lines


def test_the_last_of_what_is_replaced_as_a_whole_stays() -> None:
    usage = [{"sessionUpdate": "usage_update", "used": used, "size": 9} for used in range(5)]
    assert updates_in(compacted(lines_of(*usage))) == [usage[-1]]


def test_every_idle_stays_and_what_came_before_it_goes() -> None:
    states = [{"sessionUpdate": "state_update", "state": s} for s in ("running", "idle", "running", "idle", "running")]
    assert updates_in(compacted(lines_of(*states))) == [states[1], states[3], states[4]]


def test_a_plan_that_comes_and_goes_leaves_one_line() -> None:
    plan = {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p", "content": "x"}}
    gone = {"sessionUpdate": "plan_removed", "planId": "p"}
    assert updates_in(compacted(lines_of(*[plan, plan, gone] * 50))) == [gone]


def test_a_member_nobody_knows_is_carried_over_from_chunk_to_message() -> None:
    [update] = updates_in(compacted(lines_of({**chunk("a"), "later": 1}, {**chunk("b"), "later": 2})))
    assert update["later"] == 2
