"""Compaction: fewer lines, the same view, from wherever a reader reads on."""

from __future__ import annotations

import base64
import itertools
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.acp.compact import Line, compact
from roost.acp.dialect import V1
from roost.acp.fold import fold
from roost.acp.view import SessionView
from roost.errors import CodecError
from tests.acp.test_fold_properties import updates
from tests.acp.views import plain_view, update_of


def line_of(number: int, update: dict[str, Any], session: str = "s") -> Line:
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}
    return Line(number, json.dumps(message).encode())


def lines_of(*stream: dict[str, Any], start: int = 1) -> list[Line]:
    return [line_of(number, update) for number, update in enumerate(stream, start)]


def shown(lines: list[Line]) -> dict[str, Any]:
    """What a client shows after them, with what it counted."""
    view = SessionView()
    for line in lines:
        message = json.loads(line.body)
        if message.get("method") != "session/update":
            continue
        try:
            update = update_of(message["params"]["update"])
        except CodecError:
            continue
        fold(view, update)
    counted = {t.terminal_id: (t.received, t.rejected) for t in view.terminals.values()}
    return {**plain_view(view), "counted": counted, "malformed": view.dropped.malformed}


def subjects_of(lines: list[Line]) -> set[str]:
    return set(compact(lines, lambda subject: False).subjects)


def compacted(lines: list[Line], known: set[str] | None = None, **options: Any) -> list[Line]:
    return compact(lines, (known or set()).__contains__, **options).apply(lines)


def inside(lines: list[Line]) -> set[int]:
    """The numbers after which a reader cannot just read on."""
    return {number for line in lines if line.first for number in range(line.first, line.number)}


def chunk(text: str, message: str = "m", kind: str = "agent_message") -> dict[str, Any]:
    return {"sessionUpdate": f"{kind}_chunk", "messageId": message, "content": {"type": "text", "text": text}}


def output(data: bytes, terminal: str = "t") -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return {"sessionUpdate": "terminal_output_chunk", "terminalId": terminal, "data": encoded}


def updates_in(lines: list[Line]) -> list[dict[str, Any]]:
    return [json.loads(line.body)["params"]["update"] for line in lines]


# --- v2 ---

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


TEXT = {"type": "text", "text": "x"}
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


# --- v1 ---


def v1_text(lines: list[Line]) -> list[Any]:
    """What a v1 client shows: text that follows text of the same kind and message is joined."""
    out: list[Any] = []
    for line in lines:
        update = json.loads(line.body)["params"]["update"]
        tag, content = update["sessionUpdate"], update.get("content", {})
        if set(update) <= {"sessionUpdate", "content", "messageId"} and set(content) == {"type", "text"}:
            key = [tag, update.get("messageId")]
            if out and out[-1][0] == key:
                out[-1][1] += content["text"]
            else:
                out.append([key, content["text"]])
        else:
            out.append([update, ""])
    return out


v1_updates = st.one_of(
    st.fixed_dictionaries(
        {
            "sessionUpdate": st.sampled_from(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]),
            "content": st.fixed_dictionaries(
                {"type": st.just("text"), "text": st.text(max_size=4)}, optional={"annotations": st.just({})}
            ),
        },
        optional={"messageId": st.sampled_from(["a", "b", None]), "_meta": st.just({})},
    ),
    st.fixed_dictionaries({"sessionUpdate": st.just("tool_call"), "toolCallId": st.just("t")}),
)


@given(st.lists(v1_updates, max_size=30), st.sampled_from([300, 10_000_000]))
@settings(max_examples=200, deadline=None)
def test_v1_text_reads_the_same_after_compaction(stream: list[dict[str, Any]], merged_bytes: int) -> None:
    lines = lines_of(*stream)
    fewer = compacted(lines, dialect=V1, merged_bytes=merged_bytes)
    assert v1_text(fewer) == v1_text(lines)
    stands_for = [number for line in fewer for number in range(line.first or line.number, line.number + 1)]
    assert stands_for == [line.number for line in lines]


def test_v1_chunks_of_one_message_become_one_chunk_that_says_from_where() -> None:
    chunks = [{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": t}} for t in "abc"]
    [line] = compacted(lines_of(*chunks), dialect=V1)
    assert (line.number, line.first) == (3, 1)
    assert updates_in([line]) == [{**chunks[0], "content": {"type": "text", "text": "abc"}}]


def test_v1_chunks_that_were_merged_before_are_merged_again_with_what_follows() -> None:
    chunks = [{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": t}} for t in "abcd"]
    lines = lines_of(*chunks)
    once = compacted(lines[:2], dialect=V1) + compacted(lines[2:], dialect=V1)
    [line] = compacted(once, dialect=V1)
    assert (line.number, line.first) == (4, 1)
    assert v1_text([line]) == v1_text(lines)


def test_v1_chunks_with_something_between_their_numbers_stay_apart() -> None:
    chunks = [{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": t}} for t in "ab"]
    lines = [line_of(1, chunks[0]), line_of(3, chunks[1])]
    assert compacted(lines, dialect=V1) == lines
