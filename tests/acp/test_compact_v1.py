"""Compaction of the updates of version 1."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.acp.compact import Line
from roost.acp.dialect import V1
from tests.acp.compact_lines import compacted, line_of, lines_of, updates_in


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
