"""The list of sessions of a v1 agent that has none, out of the journal (B-04)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.acp import v2
from roost.acp.dialect import V2
from roost.sidecar import emulation
from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpErrorResponse,
    AcpRuntimeKind,
    AcpSessionRequest,
)
from roost.sidecar.journal import StoredLaunch, StoredSession
from roost.sidecar.naming import key_of
from roost.wire.decode import decode
from tests.sidecar.plain_agents import Plain, alive, another, answer, begun
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Json
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import ended


def listed(rig: Rig, caller: int, session: str, **params: Any) -> list[str]:
    result = answer(rig, caller, session, "session/list", params)["result"]
    return [row["sessionId"] for row in result["sessions"]]


def test_the_list_of_an_agent_that_has_none_is_that_of_the_callers_stored_sessions() -> None:
    rig, caller, first = begun()
    second = another(rig, caller, "second", cwd="/elsewhere")
    third = another(rig, caller, "third")
    another(rig, caller, "another agent", agent="other")
    another(rig, caller, "another version", protocol_version=1)
    stranger = rig.connect("you")
    foreign = another(rig, stranger, "foreign")
    rig.ask(caller, AcpCloseSessionRequest(third))
    assert listed(rig, caller, first) == [third, second, first]
    assert listed(rig, caller, first, cwd="/w") == [third, first]
    assert listed(rig, caller, first, cwd="/w/") == []
    assert listed(rig, stranger, foreign) == [foreign]
    rig.ask(caller, AcpSessionRequest(second, "_roost/delete", None))
    assert listed(rig, caller, first) == [third, first]
    assert not any(agent.requests("session/list") for agent in rig.agents.values())


def test_a_row_of_the_list_is_a_session_as_v2_shows_it() -> None:
    shelf = Shelf()
    rig, caller, session = begun(journal=shelf)
    rig.agent.update(sessionUpdate="session_info_update", title="A title")
    result = answer(rig, caller, session, "session/list")["result"]
    assert result == {
        "sessions": [
            {"sessionId": session, "cwd": "/w", "title": "A title", "updatedAt": "1970-01-01T00:00:01.000+00:00"}
        ],
        "_meta": {"_bridge": {"sessions": "journal"}},
    }
    losses: list[Any] = []
    decode(v2.ListSessionsResponse, json.dumps(result).encode(), on_loss=lambda path, what: losses.append(path))
    assert not losses


def fill(shelf: Shelf, count: int, agent_type: str, base: float) -> list[str]:
    """Stored sessions, the newest first."""
    names = []
    for index in range(count):
        launch = StoredLaunch(
            agent_type=agent_type,
            runtime=AcpRuntimeKind.PYTHON,
            cwd="/w",
            args=(),
            env_names=(),
            protocol_version=V2.version,
            client_capabilities="{}",
            mcp_servers="[]",
        )
        name = f"{agent_type}-{index:04}"
        when = base + index // 2  # two at the same moment
        shelf.sessions[key_of("me", name)] = StoredSession(
            session_id=key_of("me", name), live_id=name, owner="me", launch=launch, created_at=when, updated_at=when
        )
        shelf.entries[name] = []
        names.append(name)
    return names[::-1]


def test_a_long_list_comes_in_pages_without_a_hole_or_a_repetition() -> None:
    shelf = Shelf()
    names = fill(shelf, 120, "echo", -1000.0)
    rig, caller, session = begun(journal=shelf)
    found: list[str] = []
    sizes, params = [], {}
    while True:
        result = answer(rig, caller, session, "session/list", params)["result"]
        rows = [row["sessionId"] for row in result["sessions"]]
        found += rows
        sizes.append(len(rows))
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    assert found == [session, *names]
    assert sizes == [emulation.ROWS, emulation.ROWS, 21]


def test_whoever_has_very_many_sessions_of_other_agents_gets_a_short_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulation, "SCAN", 10)
    monkeypatch.setattr(emulation, "SCANS", 3)
    shelf = Shelf()
    [oldest] = fill(shelf, 1, "echo", -9000.0)
    fill(shelf, 50, "other", -1000.0)
    rig, caller, session = begun(journal=shelf)
    first = answer(rig, caller, session, "session/list")["result"]
    assert [row["sessionId"] for row in first["sessions"]] == [session]
    second = answer(rig, caller, session, "session/list", {"cursor": first["nextCursor"]})["result"]
    assert [row["sessionId"] for row in second["sessions"]] == [oldest]
    assert "nextCursor" not in second


@pytest.mark.parametrize(
    "params", [{"cursor": "nonsense"}, {"cursor": "W10="}, {"cursor": "é"}, {"cursor": 7}, {"cwd": "here"}, {"cwd": 1}]
)
def test_a_cursor_of_nobody_and_a_relative_folder_are_invalid(params: Json) -> None:
    """SES-1, SES-13, SES-16"""
    rig, caller, session = begun()
    assert answer(rig, caller, session, "session/list", params)["error"]["code"] == -32602


def test_an_agent_that_has_a_list_answers_itself() -> None:
    rig, caller, session = begun(Plain({"sessionCapabilities": {"list": {}}}))
    assert listed(rig, caller, session) == ["the agent's own"]


def test_an_agent_of_v2_answers_itself() -> None:
    rig, caller, session = begun(script=lambda agent, message: False)  # type: ignore[arg-type]
    assert answer(rig, caller, session, "session/list")["result"] == {}
    assert rig.agent.requests("session/list")


def test_protocol_1_is_not_touched() -> None:
    rig = Rig(Plain(), journal=Shelf())
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=1).session_id
    assert listed(rig, caller, session) == ["the agent's own"]
    assert answer(rig, caller, session, "session/close")["result"] == {}
    assert len(alive(rig)) == 1


@pytest.mark.parametrize("journal", [True, False])
def test_a_session_that_is_not_kept_has_the_bridge_alone(journal: bool) -> None:
    rig = Rig(Plain(), journal=Shelf() if journal else None)
    rig.session_id = "s"
    caller = rig.connect(None if journal else "me")
    session = rig.create(caller, protocol_version=2).session_id
    assert listed(rig, caller, session) == ["s"]
    assert answer(rig, caller, session, "session/close")["result"] == {}
    assert len(alive(rig)) == 1
    ended(rig, caller, session)


@pytest.mark.parametrize("method", ["session/list", "session/close", "session/resume", "auth/logout"])
@pytest.mark.parametrize("name", ["you", None])
def test_a_foreign_session_and_a_missing_one_look_alike(method: str, name: str | None) -> None:
    rig, _, session = begun()
    stranger = rig.connect(name)
    replies = [rig.ask(stranger, AcpSessionRequest(one, method, None)) for one in (session, "missing")]
    assert replies == [AcpErrorResponse("invalid_state", f"unknown ACP session {one}") for one in (session, "missing")]
