"""`session/resume` of protocol 2 with a replay: the agent's where it has one, else the journal's; never kept twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar import events
from roost.sidecar.gen.messages import AcpCloseSessionRequest, AcpErrorResponse, AcpSessionRequest
from roost.sidecar.journal import gap
from tests.sidecar.plain_agents import Plain, answer, begun, prompt
from tests.sidecar.replays import REPLAY, RESUME_ONLY, Talker, slow, talked, told, view
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import LOAD, ended, say, stop_reason


@pytest.mark.parametrize("capabilities", [{}, RESUME_ONLY])
def test_what_an_agent_cannot_replay_comes_from_the_journal(capabilities: Json) -> None:
    """B-03"""
    shelf = Shelf()
    rig, caller, session = talked(Talker(capabilities), shelf)
    live, kept = told(rig, caller), shelf.sessions[session].last_number
    later = rig.connect("me")
    result = answer(rig, later, session, "session/resume", REPLAY)["result"]
    again = told(rig, later)
    assert view(again) == view(live)
    kinds = [line["params"]["update"]["sessionUpdate"] for line in again]
    assert kinds.count("user_message") == 2
    assert "state_update" not in kinds
    assert result["_meta"] == {"_bridge": {"replay": "journal"}}
    assert told(rig, caller) == live, "nobody else hears it"
    assert shelf.sessions[session].last_number == kept, "it is not kept again"
    assert len(rig.agent.requests("session/resume")) == (1 if capabilities else 0)
    rig.leave(later)
    ended(rig, caller, session)


def test_the_replay_is_told_before_the_answer() -> None:
    """SES-17"""
    rig, caller, session = talked(Talker())
    before = len(rig.told)
    request = rig.request(caller, session, "session/resume", REPLAY)
    rig.advance(1)
    order = [one for number, one in rig.told[before:] if number == caller]
    assert len(order) > 5
    assert order[-1] == (request, rig.reply(caller, request))


def test_a_session_of_an_earlier_daemon_is_replayed_and_its_new_agent_told_where_to_read() -> None:
    shelf = Shelf()
    script = Talker()
    first, caller, session = talked(script, shelf)
    live = told(first, caller)
    rig = Rig(script, journal=shelf)
    rig.session_id = "s-new"
    caller = rig.connect("me")
    answer(rig, caller, session, "session/resume", REPLAY)
    again = told(rig, caller)
    assert view(again) == view(live)
    assert {line["params"]["sessionId"] for line in again} == {session}
    answer(rig, caller, session, "session/prompt", prompt("third"))
    [asked] = rig.agent.requests("session/prompt")
    assert "earlier session" in asked["params"]["prompt"][0]["text"]
    assert stop_reason(rig, caller) == "end_turn"
    ended(rig, caller, session)


def test_messages_of_a_new_agent_are_not_taken_for_those_of_the_one_before() -> None:
    """SES-18"""
    shelf = Shelf()
    script = Talker()
    first, caller, session = talked(script, shelf)
    before = {line["params"]["update"].get("messageId") for line in told(first, caller)} - {None}
    rig = Rig(script, journal=shelf)
    caller = rig.connect("me")
    answer(rig, caller, session, "session/prompt", prompt("third"))
    after = {line["params"]["update"].get("messageId") for line in told(rig, caller)} - {None}
    assert len(before) > 3
    assert len(after) > 1
    assert not before & after


def test_what_is_no_longer_stored_is_said_to_be_missing() -> None:
    shelf = Shelf()
    rig, caller, session = talked(Talker(), shelf)
    shelf.entries[session] = [gap(session, 1, 4, "age"), *shelf.entries[session][4:]]
    result = answer(rig, caller, session, "session/resume", REPLAY)["result"]
    assert result["_meta"]["_bridge"] == {"replay": "journal", "incomplete": True}


def test_an_imported_history_is_told_under_the_sessions_id_and_other_things_stay_out() -> None:
    shelf = Shelf()
    rig, caller, session = begun(journal=shelf)
    update = {"sessionUpdate": "agent_message", "messageId": "x", "content": []}
    lines: list[Json | bytes] = [
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "before", "update": update}},
        {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": "s", "update": {"sessionUpdate": "notice"}},
        },
        {"jsonrpc": "2.0", "method": "_vendor/event", "params": {"sessionId": "s"}},
        b"nothing",
    ]
    journal = rig.engine._context.sessions.owned(
        session, rig.engine._context.callers.connections[caller].caller
    ).journal
    assert journal is not None
    for line in lines:
        journal.update(line if isinstance(line, bytes) else json.dumps(line).encode())
    answer(rig, caller, session, "session/resume", REPLAY)
    [line] = told(rig, caller)
    assert line["params"] == {"sessionId": session, "update": update}


# ---- while it goes on


def test_what_the_agent_says_meanwhile_is_told_behind_the_past() -> None:
    rig, shelf, caller, session = slow(Talker())
    answer(rig, caller, session, "session/prompt", prompt())
    before = len(told(rig, caller))
    shelf.waits = True
    request = rig.request(caller, session, "session/resume", REPLAY)
    assert rig.agent.paused
    rig.feed(events.AgentWrote(rig.agent.process, line_of("before the pause was heard of")))
    say(rig.agent, "from the pipe")
    assert len(told(rig, caller)) == before
    rig.give()
    while shelf.asked:
        rig.give()
    texts = [line["params"]["update"].get("content") for line in told(rig, caller)[before:]]
    assert texts[-2:] == [
        {"type": "text", "text": "before the pause was heard of"},
        {"type": "text", "text": "from the pipe"},
    ]
    assert rig.rpc(caller, request)["result"]
    assert not rig.agent.paused
    kept = b"".join(entry.body for entry in shelf.entries[session])
    assert kept.count(b"from the pipe") == kept.count(b"before the pause") == 1
    shelf.waits = False
    ended(rig, caller, session)


def line_of(text: str) -> bytes:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    params = {"sessionId": "s", "update": update}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode() + b"\n"


def test_a_prompt_waits_for_the_end_of_a_replay_and_a_second_replay_is_refused() -> None:
    rig, shelf, caller, session = slow(Talker())
    answer(rig, caller, session, "session/prompt", prompt())
    shelf.waits = True
    rig.request(caller, session, "session/resume", REPLAY)
    again = rig.request(caller, session, "session/resume", REPLAY)
    assert rig.rpc(caller, again)["error"]["code"] == -32600
    waiting = rig.prompt(caller, session)
    rig.advance(1)
    assert len(rig.agent.requests("session/prompt")) == 1
    while shelf.asked:
        rig.give()
    rig.advance(1)
    assert rig.rpc(caller, waiting)["result"] == {}
    assert len(rig.agent.requests("session/prompt")) == 2
    shelf.waits = False
    ended(rig, caller, session)


def test_a_session_at_work_is_not_replayed() -> None:
    for capabilities in ({}, LOAD):
        rig, caller, session = begun(Talker(capabilities))
        rig.script = Plain(capabilities, silent=True)
        rig.agent.hear = rig.script
        rig.prompt(caller, session)
        say(rig.agent, "working")
        error = answer(rig, caller, session, "session/resume", REPLAY)["error"]
        assert (error["code"], "at work" in error["message"]) == (-32600, True)


@pytest.mark.parametrize(
    "changes", [{"cwd": "/elsewhere"}, {"cwd": "here"}, {"cwd": None}, {"replayFrom": {"type": "_cursor", "at": 3}}]
)
def test_a_replay_that_cannot_be_is_refused_and_nothing_is_told(changes: Json) -> None:
    """SES-20, SES-21"""
    rig, caller, session = talked(Talker())
    before = len(rig.notifications(caller))
    error = answer(rig, caller, session, "session/resume", {**REPLAY, **changes})["error"]
    assert error["code"] == -32602
    assert len(rig.notifications(caller)) == before


@pytest.mark.parametrize("replay", [None, "start", 5, {"type": 5}, []])
def test_without_a_replay_nothing_is_told_again(replay: Any) -> None:
    """SES-17, SES-20"""
    rig, caller, session = talked(Talker())
    before = len(rig.notifications(caller))
    assert "result" in answer(rig, caller, session, "session/resume", {"cwd": "/w", "replayFrom": replay})
    assert len(rig.notifications(caller)) == before


def test_a_caller_that_does_not_read_is_not_told_faster_than_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.sidecar.replay.PAGE", 4)
    rig, caller, session = talked(Talker())
    later = rig.connect("me")
    rig.feed(events.CallerBlocked(later))
    request = rig.request(later, session, "session/resume", REPLAY)
    assert len(told(rig, later)) <= 4
    assert rig.reply(later, request) is None
    rig.feed(events.CallerUnblocked(later))
    rig.advance(1)
    assert len(told(rig, later)) > 8
    assert "result" in rig.rpc(later, request)
    rig.leave(later)
    ended(rig, caller, session)


def test_a_caller_that_leaves_in_the_middle_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.sidecar.replay.PAGE", 4)
    rig, caller, session = talked(Talker())
    later = rig.connect("me")
    rig.feed(events.CallerBlocked(later))
    rig.request(later, session, "session/resume", REPLAY)
    rig.leave(later)
    rig.advance(1)
    answer(rig, caller, session, "session/prompt", prompt())
    assert stop_reason(rig, caller) == "end_turn"
    assert not rig.agent.paused
    ended(rig, caller, session)


@pytest.mark.parametrize("how", ["crash", "close", "journal"])
def test_a_replay_that_breaks_off_is_an_error_and_the_session_as_it_would_be(how: str) -> None:
    rig, shelf, caller, session = slow(Talker(RESUME_ONLY))
    answer(rig, caller, session, "session/prompt", prompt())
    shelf.waits = True
    request = rig.request(caller, session, "session/resume", REPLAY)
    match how:
        case "crash":
            rig.agent.paused = False
            rig.agent.exit(1)
            rig.give()
        case "close":
            rig.send(caller, AcpCloseSessionRequest(session))
            rig.give()
        case "journal":
            rig.feed(events.RecordLoaded(shelf.asked.pop().ticket, None))
    rig.advance(60)
    reply = rig.reply(caller, request)
    assert isinstance(reply, AcpErrorResponse)
    assert reply.code == ("io" if how == "journal" else "invalid_state")
    shelf.waits = False
    if how != "close":
        answer(rig, caller, session, "session/prompt", prompt())
        assert stop_reason(rig, caller) == "end_turn"
        ended(rig, caller, session)
    rig.leave(caller)
    rig.assert_nothing_left()


# ---- by the agent


def test_what_an_agent_replays_is_told_and_not_kept_again() -> None:
    class Loader(Talker):
        def __call__(self, agent: Agent, message: Json) -> bool:
            if message.get("method") == "session/load":
                agent.update(sessionUpdate="user_message_chunk", content={"type": "text", "text": "first"})
                say(agent, "past")
                agent.update(sessionUpdate="session_info_update", title="Found again")
                agent.result(message, None)
                say(agent, "present")
                return True
            return super().__call__(agent, message)

    shelf = Shelf()
    rig, caller, session = talked(Loader(LOAD), shelf)
    before = len(told(rig, caller))
    assert "result" in answer(rig, caller, session, "session/resume", REPLAY)
    again = told(rig, caller)[before:]
    kinds = [line["params"]["update"]["sessionUpdate"] for line in again]
    assert kinds == ["user_message_chunk", "agent_message_chunk", "session_info_update", "agent_message_chunk"]
    kept = b"".join(entry.body for entry in shelf.entries[session])
    assert b'"past"' not in kept
    assert kept.count(b'"present"') == 1
    assert shelf.sessions[session].title == "Found again"
    ended(rig, caller, session)


def test_an_agent_of_v2_replays_by_itself_and_that_is_not_kept_again() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") != "session/resume":
            return False
        agent.update(sessionUpdate="agent_message", messageId="m", content=[{"type": "text", "text": "past"}])
        agent.result(message, {})
        return True

    shelf = Shelf()
    rig, caller, session = begun(script, journal=shelf)  # type: ignore[arg-type]
    answer(rig, caller, session, "session/prompt", prompt())
    kept = shelf.sessions[session].last_number
    assert answer(rig, caller, session, "session/resume", REPLAY)["result"] == {}
    assert told(rig, caller)[-1]["params"]["update"]["messageId"] == "m"
    assert shelf.sessions[session].last_number == kept
    assert rig.agent.requests("session/resume")[0]["params"]["replayFrom"] == {"type": "start"}
    ended(rig, caller, session)


def test_a_crash_while_the_agent_replays_is_a_crash_like_any_other() -> None:
    class Dying(Talker):
        def __call__(self, agent: Agent, message: Json) -> bool:
            if message.get("method") == "session/load" and agent.process == "acp-agent-2":
                say(agent, "past")
                agent.exit(1)
                return True
            return super().__call__(agent, message)

    shelf = Shelf()
    rig, caller, session = talked(Dying(LOAD), shelf)
    request = rig.request(caller, session, "session/resume", REPLAY)
    rig.advance(5)
    reply = rig.reply(caller, request)
    assert isinstance(reply, AcpErrorResponse)
    assert "auto-restarted" in reply.message
    answer(rig, caller, session, "session/prompt", prompt())
    assert stop_reason(rig, caller) == "end_turn"
    ended(rig, caller, session)


def test_a_session_that_is_not_kept_is_replayed_by_its_agent_or_not_at_all() -> None:
    rig = Rig(Talker())
    rig.session_id = "s"
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=2).session_id
    error = answer(rig, caller, session, "session/resume", REPLAY)["error"]
    assert error["code"] == -32602
    assert "cannot replay" in error["message"]
    assert not isinstance(
        rig.ask(caller, AcpSessionRequest(session, "session/resume", '{"cwd":"/w"}')), AcpErrorResponse
    )
    ended(rig, caller, session)
