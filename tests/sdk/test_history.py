"""SES-17 to SES-19: what a session remembers of itself."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.acp import v2
from roost.acp.view import ViewLimits
from roost.sdk.history import History, joined_texts

LIMITS = ViewLimits()


def say(text: str, message_id: str = "m") -> v2.AgentMessageChunk:
    return v2.AgentMessageChunk(message_id=message_id, content=v2.TextContent(text=text))


def test_chunks_become_one_message_with_one_text() -> None:
    history = History(LIMITS)
    for text in ("a", "b", "c"):
        history.record(say(text))
    history.settle()
    assert history.updates() == [v2.AgentMessage(message_id="m", content=[v2.TextContent(text="abc")])]


def test_blocks_that_are_not_plain_text_stay_what_they_are() -> None:
    link = v2.ResourceLink(name="a", uri="file:///a")
    noted = v2.TextContent(text="x", meta={"k": 1})
    blocks = [v2.TextContent(text="a"), v2.TextContent(text="b"), link, noted, v2.TextContent(text="c")]
    assert joined_texts(blocks) == [v2.TextContent(text="ab"), link, noted, v2.TextContent(text="c")]


@given(st.lists(st.sampled_from(["one", "two"]).flatmap(lambda m: st.tuples(st.just(m), st.text(max_size=3)))))
def test_a_stored_history_is_the_same_history(pieces: list[tuple[str, str]]) -> None:
    history = History(LIMITS)
    for message_id, text in pieces:
        history.record(say(text, message_id))
    again = History.of(history.stored(), LIMITS)
    assert [(m.message_id, m.text) for m in again.view.messages] == [
        (m.message_id, m.text) for m in history.view.messages
    ]
    assert again.stored() == history.stored()


def test_states_and_unknown_variants_are_not_replayed_ses_19() -> None:
    history = History(LIMITS)
    history.record(v2.RunningStateUpdate())
    history.record(v2.Unknown.of({"sessionUpdate": "notice", "title": "x"}, "sessionUpdate"))
    history.record(v2.IdleStateUpdate())
    assert history.updates() == []


def test_a_terminal_without_output_or_end_says_nothing_of_them_trm_3() -> None:
    history = History(LIMITS)
    history.record(v2.TerminalUpdate(terminal_id="t", command="make"))
    assert history.updates() == [v2.TerminalUpdate(terminal_id="t", command="make")]
    history.record(v2.TerminalUpdate(terminal_id="t", exit_status=v2.TerminalExitStatus()))
    assert history.updates()[0].exit_status == v2.TerminalExitStatus()  # type: ignore[union-attr]


def test_what_cannot_be_read_in_a_stored_history_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    history = History.of([b"{", b'{"sessionUpdate":"agent_message","messageId":"m"}', b'{"no":"tag"}'], LIMITS)
    assert [m.message_id for m in history.view.messages] == ["m"]
    assert "left out" in caplog.text


def test_a_history_over_its_limit_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    history = History(ViewLimits(total_bytes=5000, entries=3))
    for n in range(10):
        history.record(say("x", str(n)))
        history.settle()
    assert len(history.updates()) == 3
    assert caplog.text.count("over its limit") == 1


def test_recording_is_linear_in_the_length_of_a_message() -> None:
    def cost(count: int) -> float:
        history = History()
        update = say("x" * 200)
        started = time.process_time()
        for _ in range(count):
            history.record(update)
        history.settle()
        return time.process_time() - started

    cost(1000)
    assert min(cost(40_000) for _ in range(2)) < 12 * min(cost(5_000) for _ in range(3))
