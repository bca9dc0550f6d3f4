"""The transcript: what was said, in sections nobody can forge, within its bound."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.sidecar.journal import Entry, Kind, gap
from roost.sidecar.transcript import fenced, one_line, transcript


def update(**members: Any) -> tuple[Kind, dict[str, Any]]:
    return Kind.UPDATE, {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": members}}


def said(kind: str, text: str, message: str | None = None) -> tuple[Kind, dict[str, Any]]:
    members = {} if message is None else {"messageId": message}
    return update(sessionUpdate=f"{kind}_chunk", content={"type": "text", "text": text}, **members)


def prompt(text: str) -> tuple[Kind, dict[str, Any]]:
    return Kind.PROMPT, {"params": {"prompt": [{"type": "text", "text": text}]}, "call": 1, "key": None}


def page(*history: tuple[Kind, Any], bound: int = 100_000) -> str:
    entries = [Entry("s1", number, kind, json.dumps(body).encode()) for number, (kind, body) in enumerate(history, 1)]
    return transcript("s1", entries, bound)


def sections(text: str) -> list[tuple[str, str]]:
    """Headings and fenced texts, as a Markdown reader tells them apart (CommonMark, fenced code blocks)."""
    found: list[tuple[str, str]] = []
    fence = ""
    inside: list[str] = []
    for line in text.split("\n"):
        if fence:
            if re.fullmatch(r" {0,3}(`{3,})[ \t]*", line) and line.count("`") >= len(fence):
                found[-1] = (found[-1][0], "\n".join(inside))
                fence, inside = "", []
            else:
                inside.append(line)
        elif mark := re.match(r" {0,3}(`{3,})", line):
            fence = mark[1]
        elif line.startswith("#"):
            found.append((line, ""))
    assert not fence
    return found


def test_a_conversation_becomes_sections_in_order() -> None:
    text = page(
        prompt("What is it?"),
        said("agent_thought", "Let me see.", "t"),
        said("agent_message", "It is ", "m"),
        update(sessionUpdate="tool_call_update", toolCallId="c", title="Read a.txt", status="in_progress"),
        said("agent_message", "a file.", "m"),
        update(
            sessionUpdate="tool_call_update",
            toolCallId="c",
            status="completed",
            content=[{"type": "content", "content": {"type": "text", "text": "hello"}}],
        ),
    )
    assert sections(text) == [
        ("# Session transcript: s1", ""),
        ("## User", "What is it?"),
        ("## Assistant (thinking)", "Let me see."),
        ("## Assistant", "It is a file."),
        ("## Tool call: Read a.txt (completed)", "hello"),
    ]


def test_v1_text_belongs_together_until_something_else_comes() -> None:
    text = page(
        prompt("go"),
        said("agent_message", "a"),
        said("agent_message", "b"),
        update(sessionUpdate="tool_call", toolCallId="c", title="Run", status="pending"),
        said("agent_message", "c"),
    )
    assert [body for heading, body in sections(text) if heading == "## Assistant"] == ["ab", "c"]


def test_a_prompt_the_agent_reports_back_is_shown_once() -> None:
    whole = update(sessionUpdate="user_message", messageId="u", content=[{"type": "text", "text": "do it"}])
    pieces = [said("user_message", "do ", "u"), said("user_message", "it", "u")]
    bare = update(sessionUpdate="user_message", messageId="u")
    for report in ([whole], pieces, [*pieces, whole], [whole, bare]):
        text = page(prompt("do it"), *report, said("agent_message", "done", "m"))
        assert [body for heading, body in sections(text) if heading == "## User"] == ["do it"]


def test_what_a_user_said_elsewhere_is_shown() -> None:
    assert ("## User", "older words") in sections(page(said("user_message", "older words", "u")))


def test_a_v2_upsert_replaces_what_its_chunks_said() -> None:
    whole = update(sessionUpdate="agent_message", messageId="m", content=[{"type": "text", "text": "new"}])
    assert ("## Assistant", "new") in sections(page(said("agent_message", "old", "m"), whole))


def test_output_of_a_terminal_is_shown_where_a_tool_call_refers_to_it() -> None:
    data = base64.b64encode(b"\x1b[31mred\x1b[0m\n").decode()
    call = update(
        sessionUpdate="tool_call_update", toolCallId="c", title="Run", content=[{"type": "terminal", "terminalId": "t"}]
    )
    output = update(sessionUpdate="terminal_output_chunk", terminalId="t", data=data)
    for order in ([call, output], [output, call]):
        assert ("## Tool call: Run (pending)", "red\n") in sections(page(*order))


def test_diffs_links_and_media_are_named() -> None:
    changes = [{"operation": "add", "path": "/n"}]
    diff = {"type": "diff", "changes": changes, "patch": {"format": "git_patch", "text": "+x"}}
    old = {"type": "diff", "path": "/o", "newText": "y"}
    text = page(
        update(sessionUpdate="tool_call_update", toolCallId="c", title="Edit", content=[diff, old, {"type": "_z"}]),
        (
            Kind.PROMPT,
            {"params": {"prompt": [{"type": "image", "data": "QQ=="}, {"type": "resource_link", "uri": "u:"}]}},
        ),
    )
    shown = dict(sections(text))
    assert shown["## Tool call: Edit (pending)"] == "add /n\n+x\n/o\ny\n[_z]"
    assert shown["## User"] == "[image]\n[link: u:]"


def test_raw_output_is_shown_when_there_is_nothing_else() -> None:
    text = page(update(sessionUpdate="tool_call_update", toolCallId="c", title="Ask", rawOutput={"answer": 42}))
    assert ("## Tool call: Ask (pending)", '{"answer":42}') in sections(text)


@given(st.text(alphabet="`~#\n ab", max_size=40), st.text(alphabet="`#\n (x", max_size=20))
@settings(max_examples=300, deadline=None)
def test_no_text_gets_out_of_its_fence(words: str, title: str) -> None:
    text = page(
        said("agent_message", words, "m"),
        update(sessionUpdate="tool_call_update", toolCallId="c", title=title, status=title),
        prompt("after"),
    )
    headings = [heading for heading, _ in sections(text)]
    assert headings[:2] == ["# Session transcript: s1", "## Assistant"]
    assert headings[2].startswith("## Tool call: ")
    assert headings[3:] == ["## User"]
    body = words[:-1] if words.endswith("\n") else words
    assert sections(text)[1][1] == body


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert fenced("a ```` b").startswith("`````\n")


def test_a_title_is_one_short_line_and_hides_nothing() -> None:
    assert one_line("a\n## User\n\u202eb") == "a ## User <U+202E>b"
    assert len(one_line("x" * 10_000)) <= 200


def test_the_newest_sections_are_whole_and_a_line_tells_what_is_missing() -> None:
    text = page(*(prompt(f"{number} " + "x" * 100) for number in range(100)), bound=3_000)
    bodies = [body for _, body in sections(text)[1:]]
    assert len(text.encode()) <= 3_000
    assert bodies == [f"{number} " + "x" * 100 for number in range(100 - len(bodies), 100)]
    assert f"*Left out here: {100 - len(bodies)} earlier sections.*" in text


def test_a_newest_section_too_long_by_itself_shows_its_end() -> None:
    text = page(prompt("first"), said("agent_message", "y" * 50_000 + "the end", "m"), bound=3_000)
    assert len(text.encode()) <= 3_000
    [(_, body)] = sections(text)[1:]
    assert body.startswith("[the beginning is left out]")
    assert body.endswith("the end")


def test_a_gap_is_told() -> None:
    assert "*Parts of this session are no longer stored.*" in transcript("s", [gap("s", 1, 9, "age")])


def test_an_interrupted_turn_is_told() -> None:
    assert "## Interrupted" in page(prompt("x"), (Kind.INTERRUPTED, {"call": 1}))


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "content", "x"]), inner)
    ),
    max_leaves=8,
)
tags = st.one_of(
    st.sampled_from(["agent_message_chunk", "user_message", "agent_thought", "tool_call", "tool_call_update", "plan"]),
    st.sampled_from(["terminal_update", "terminal_output_chunk", "tool_call_content_chunk"]),
)
hostile = st.fixed_dictionaries(
    {"sessionUpdate": st.one_of(tags, anything)},
    optional={
        "messageId": anything,
        "toolCallId": st.one_of(st.sampled_from("ab"), anything),
        "terminalId": anything,
        "content": anything,
        "title": anything,
        "status": anything,
        "output": anything,
        "data": anything,
        "rawOutput": anything,
    },
)


@given(st.lists(st.one_of(hostile.map(lambda members: update(**members)), st.tuples(st.sampled_from(Kind), anything))))
@settings(max_examples=300, deadline=None)
def test_nothing_an_agent_says_breaks_the_page_or_its_bound(history: list[tuple[Kind, Any]]) -> None:
    text = page(*history, bound=2_000)
    assert len(text.encode("utf-8", "replace")) <= 2_000
    sections(text)


def test_a_body_that_is_no_json_is_skipped() -> None:
    assert transcript("s", [Entry("s", 1, Kind.UPDATE, b"\xff{"), Entry("s", 2, Kind.PROMPT, b"[" * 9999)])


def test_a_new_agent_may_use_the_ids_of_the_one_before_again() -> None:
    def entry(number: int, kind: Kind, body: dict[str, Any]) -> Entry:
        return Entry("s", number, kind, json.dumps(body).encode())

    def page(tier: str) -> str:
        first, second = said("agent_message", "first", "m"), said("agent_message", "second", "m")
        resumed = entry(2, Kind.RESUMED, {"tier": tier, "liveId": "t"})
        return transcript("s", [entry(1, *first), resumed, entry(3, *second)])

    assert page("fallback").count("## Assistant") == 2
    assert page("native").count("## Assistant") == 1
