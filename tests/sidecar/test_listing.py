"""An agent's own list of sessions names none of other callers', and what it has deleted is deleted here too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar import commands
from roost.sidecar.gen.messages import AcpCloseSessionRequest, AcpErrorResponse, AcpSessionRequest
from tests.sidecar.plain_agents import alive, another, answer
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import ended

INFO = {"name": "a", "version": "1"}


class Lister:
    """An agent that lists `rows`. It speaks v2, or v1 with a list of its own."""

    def __init__(self, *rows: Any, version: int = 2, **more: Any) -> None:
        self.rows: Any = list(rows)
        self.version = version
        self.more = more
        self.refuses: set[str] = set()

    def __call__(self, agent: Agent, message: Json) -> bool:
        method = message.get("method")
        if method in self.refuses:
            agent.error(message, -32603, f"no {method}")
        elif method == "initialize" and self.version == 2:
            capabilities = {"session": {"delete": {}}}
            agent.result(message, {"protocolVersion": 2, "info": INFO, "capabilities": capabilities})
        elif method == "initialize":
            capabilities = {"loadSession": True, "sessionCapabilities": {"list": {}, "delete": {}}}
            agent.result(message, {"protocolVersion": 1, "agentCapabilities": capabilities})
        elif method == "session/list":
            agent.result(message, {"sessions": self.rows, **self.more})
        else:
            return False
        return True


def row(session_id: Any, **more: Any) -> Json:
    return {"sessionId": session_id, "cwd": "/w", **more}


def two_callers(script: Lister, *, name: str | None = "you", **fields: Any) -> tuple[Rig, int, int, Shelf]:
    """`mine` is a session of `me`, `theirs` of somebody else, both of the same agent."""
    shelf = Shelf()
    rig = Rig(script, journal=shelf)
    me, other = rig.connect("me"), rig.connect(name)
    another(rig, me, "mine", **fields)
    another(rig, other, "theirs", **fields)
    return rig, me, other, shelf


def listed(rig: Rig, caller: int, session: str = "mine") -> list[Any]:
    rows = answer(rig, caller, session, "session/list")["result"]["sessions"]
    return [entry["sessionId"] for entry in rows]


ALL = [row("mine"), row("theirs"), row("of before")]


@pytest.mark.parametrize("name", ["you", None])
@pytest.mark.parametrize(("version", "protocol"), [(2, 2), (1, 2), (1, 1)])
def test_a_list_names_no_session_of_another_caller(version: int, protocol: int, name: str | None) -> None:
    script = Lister(*ALL, version=version)
    rig, me, other, _ = two_callers(script, name=name, protocol_version=protocol)
    assert listed(rig, me) == ["mine", "of before"]
    assert listed(rig, other, "theirs") == ["theirs", "of before"]
    rig.close(me, "mine")
    rig.leave(me)
    ended(rig, other, "theirs")


@pytest.mark.parametrize("rest", ["_roost/sleep", "close"])
def test_nor_of_one_that_is_at_rest(rest: str) -> None:
    rig, me, other, shelf = two_callers(Lister(*ALL))
    if rest == "close":
        rig.ask(other, AcpCloseSessionRequest("theirs"))
    else:
        rig.ask(other, AcpSessionRequest("theirs", rest, None))
    assert listed(rig, me) == ["mine", "of before"]  # its agent is being ended
    rig.advance(30)
    assert listed(rig, me) == ["mine", "of before"]
    assert "you/theirs" in shelf.sessions


def test_nor_what_its_agent_calls_one_that_goes_by_another_name() -> None:
    """A session that went on with a new agent has two ids."""
    rig, me, other, _ = two_callers(Lister(row("mine"), row("theirs"), row("live")))
    (theirs,) = [session for session in rig.engine._context.sessions if session.id == "theirs"]
    theirs.live_id = "live"
    assert listed(rig, me) == ["mine"]
    assert listed(rig, other, "theirs") == ["theirs", "live"]


def test_what_nobody_here_knows_is_the_agents_own() -> None:
    rig, me, _, _ = two_callers(Lister(row("mine"), row("a"), row("b", title="t")))
    assert listed(rig, me) == ["mine", "a", "b"]


def test_a_page_is_told_with_its_cursor_and_all_else_that_is_in_it() -> None:
    extra = {"title": "t", "_meta": {"deep": [1, {"a": None}]}}
    script = Lister(row("theirs"), row("mine", **extra), nextCursor="on", _meta={"total": 2}, future=[1])
    rig, me, _, _ = two_callers(script)
    told = answer(rig, me, "mine", "session/list", {"cursor": "c", "cwd": "/w"})
    assert told["result"] == {
        "sessions": [row("mine", **extra)],
        "nextCursor": "on",
        "_meta": {"total": 2},
        "future": [1],
    }
    (asked,) = rig.agents["acp-agent-1"].requests("session/list")
    assert (asked["params"]["cursor"], asked["params"]["cwd"]) == ("c", "/w")
    script.rows = [row("theirs")]
    assert answer(rig, me, "mine", "session/list")["result"]["nextCursor"] == "on"
    assert listed(rig, me) == []


def test_an_answer_that_was_cut_is_byte_for_byte_that_of_an_agent_that_never_knew() -> None:
    told = []
    for rows in ([row("mine"), row("theirs")], [row("mine")]):
        rig, me, _, _ = two_callers(Lister(*rows, nextCursor="on"))
        request = rig.request(me, "mine", "session/list")
        told.append(rig.reply(me, request))
    assert told[0] == told[1]
    spaced = json.dumps({"sessions": [row("mine")]})
    assert "mine" in spaced
    assert json.loads(told[0].response)["result"]["sessions"] == [row("mine")]


def test_an_id_that_two_callers_have_is_told_to_each_by_its_own_agent() -> None:
    """Agents that count their sessions give the same ids to everybody."""
    shelf = Shelf()
    rig = Rig(Lister(row("s1"), row("s2")), journal=shelf)
    me, other = rig.connect("me"), rig.connect("you")
    another(rig, me, "s1")
    another(rig, other, "s1")
    another(rig, other, "s2")
    assert listed(rig, me, "s1") == ["s1"]
    assert listed(rig, other, "s1") == ["s1", "s2"]
    rig.ask(me, AcpSessionRequest("s1", "_roost/sleep", None))
    rig.advance(30)
    rig.install("second")
    another(rig, me, "here", agent="second")
    assert listed(rig, me, "here") == []  # my own s1 is another agent's: this one means somebody else's


@pytest.mark.parametrize("rows", [None, {}, "x", 7])
def test_what_is_no_list_passes_as_it_is(rows: Any) -> None:
    script = Lister()
    rig, me, _, _ = two_callers(script)
    script.rows = rows
    assert answer(rig, me, "mine", "session/list")["result"] == {"sessions": rows}


def test_rows_without_an_id_say_nothing_of_anybody() -> None:
    odd: list[Any] = [row(7), {}, "theirs", None, ["theirs"], row({"sessionId": "theirs"}), row(None)]
    rig, me, _, _ = two_callers(Lister(*odd, row("theirs")))
    assert answer(rig, me, "mine", "session/list")["result"]["sessions"] == odd


def test_an_error_passes_as_it_is() -> None:
    script = Lister()
    rig, me, _, _ = two_callers(script)
    script.refuses.add("session/list")
    assert answer(rig, me, "mine", "session/list")["error"] == {"code": -32603, "message": "no session/list"}


def test_a_journal_that_cannot_be_read_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail closed: nobody knows then whose they are."""
    rig, me, _, _ = two_callers(Lister(*ALL))
    monkeypatch.setattr(rig, "look_up", lambda query: None)
    reply = rig.ask(me, AcpSessionRequest("mine", "session/list", None))
    assert reply == AcpErrorResponse("io", "the journal could not be read")


def test_without_a_journal_those_that_live_are_known() -> None:
    rig = Rig(Lister(*ALL))
    me, other = rig.connect("me"), rig.connect("you")
    another(rig, me, "mine")
    another(rig, other, "theirs")
    assert listed(rig, me) == ["mine", "of before"]


def test_one_question_is_asked_for_a_whole_page(monkeypatch: pytest.MonkeyPatch) -> None:
    rig, me, _, _ = two_callers(Lister(*[row(f"x{number}") for number in range(3000)], row("theirs")))
    asked: list[Any] = []
    look_up = rig.look_up

    def counted(query: commands.Query) -> Any:
        asked.append(query)
        return look_up(query)

    monkeypatch.setattr(rig, "look_up", counted)
    assert len(listed(rig, me)) == 3000
    assert [type(query) for query in asked] == [commands.HoldersQuery]


# ---- delete


@pytest.mark.parametrize("version", [1, 2])
def test_what_the_agent_has_deleted_is_forgotten(version: int) -> None:
    rig, me, other, shelf = two_callers(Lister(version=version))
    assert answer(rig, me, "mine", "session/delete")["result"] == {}
    assert alive(rig) == ["acp-agent-2" if version == 2 else "acp-agent-3"]
    assert set(shelf.sessions) == {"you/theirs"}
    after = rig.ask(me, AcpSessionRequest("mine", "session/prompt", None))
    assert after == AcpErrorResponse("invalid_state", "unknown ACP session mine")
    assert answer(rig, other, "theirs", "session/list")["result"]["sessions"] == []
    rig.leave(me)
    ended(rig, other, "theirs")


def test_a_delete_the_agent_refuses_changes_nothing() -> None:
    script = Lister()
    rig, me, _, shelf = two_callers(script)
    script.refuses.add("session/delete")
    assert answer(rig, me, "mine", "session/delete")["error"]["code"] == -32603
    assert "mine" in shelf.sessions
    assert listed(rig, me) == []  # it lives


def test_a_sleeping_session_is_woken_to_be_deleted_by_its_agent() -> None:
    rig, me, _, shelf = two_callers(Lister())
    rig.ask(me, AcpSessionRequest("mine", "_roost/sleep", None))
    rig.advance(30)
    assert answer(rig, me, "mine", "session/delete")["result"] == {}
    assert len(rig.agent.requests("session/delete")) == 1
    assert "mine" not in shelf.sessions


def test_a_close_is_the_agents_own_and_its_record_stays() -> None:
    """An agent of v2 may go on with it at a resume."""
    rig, me, _, shelf = two_callers(Lister())
    assert answer(rig, me, "mine", "session/close")["result"] == {}
    assert not shelf.sessions["mine"].closed
