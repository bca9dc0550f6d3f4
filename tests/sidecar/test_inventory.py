"""Histories are read and sessions deleted: the engine's inventory."""

from __future__ import annotations

from roost.sidecar.gen.messages import (
    AcpErrorResponse,
    AcpSessionRequest,
)
from tests.sidecar.kept_sessions import PROMPT, accepting, kept
from tests.sidecar.rig import Rig


def test_a_history_is_read_in_pages() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    numbers, after = [], 0
    while True:
        page = rig.rpc(me, rig.request(me, session, "_roost/history", {"after": after, "limit": 2}))["result"]
        if not page["entries"]:
            break
        numbers += [entry["number"] for entry in page["entries"]]
        after = numbers[-1]
    assert numbers == [entry.number for entry in shelf.entries[session]]
    assert page["last"] == numbers[-1]


def test_a_session_is_deleted_with_its_agent_and_its_history() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    assert rig.rpc(me, rig.request(me, session, "_roost/delete"))["result"] == {"deleted": True}
    assert rig.agent.exited
    assert shelf.sessions == {}
    rig.assert_nothing_left()


def test_a_busy_session_is_not_put_to_sleep() -> None:
    rig, _, me = kept(accepting)
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    rig.agent.update(sessionUpdate="state_update", state="running")
    reply = rig.ask(me, AcpSessionRequest(session, "_roost/sleep", None))
    assert isinstance(reply, AcpErrorResponse)
    assert reply.code == "conflict"


def test_without_a_journal_there_is_no_inventory() -> None:
    rig = Rig()
    reply = rig.ask(rig.connect("me"), AcpSessionRequest("", "_roost/sessions", None))
    assert reply == AcpErrorResponse("unsupported", "_roost/sessions: this daemon keeps no journal")
