"""A session that its agent calls something else than its owner does: each hears the name it knows."""

from __future__ import annotations

import json
from typing import Any

from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpHostRequestCallback,
    AcpHostRequestCallbackResponse,
    AcpPermissionCallback,
    AcpPermissionCallbackResponse,
    AcpResumeSessionRequest,
)
from roost.sidecar.journal import Kind
from tests.sidecar.rig import Agent, Json, Rig, Shelf, create_request

OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
QUESTION = {"sessionId": "s", "toolCall": {"sessionId": "s"}, "options": OPTIONS}


def asking(*methods: str) -> Any:
    """Agents that put both kinds of question before they answer one of these methods."""

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") in methods:
            put(agent)
        return False

    return script


def put(agent: Agent) -> None:
    agent.ask("session/request_permission", QUESTION, "permission")
    agent.ask("fs/read_text_file", {"sessionId": "s", "path": "/w/x"}, "file")


def renamed(script: Any = None, **limits: Any) -> tuple[Rig, Shelf, int, str]:
    """A kept session that goes by `s~2`, and by `s` at its agent, who counts its sessions anew."""
    shelf = Shelf()
    rig = Rig(script, journal=shelf, **limits)
    rig.session_id, rig.capabilities = "s", {"loadSession": True}
    me = rig.connect("me")
    rig.ask(me, AcpCloseSessionRequest(rig.create(me).session_id))
    session = rig.create(me).session_id
    assert session == "s~2"
    return rig, shelf, me, session


def assert_asked_by_name(rig: Rig, session: str) -> None:
    (_, _, permission), (_, _, request) = rig.asked[-2:]
    assert isinstance(permission, AcpPermissionCallback)
    assert isinstance(request, AcpHostRequestCallback)
    assert permission.session_id == request.session_id == session
    assert json.loads(permission.params) == {**QUESTION, "sessionId": session}
    assert json.loads(request.request)["params"] == {"sessionId": session, "path": "/w/x"}


def test_a_question_names_the_session_as_its_owner_does_and_is_answered_as_it_was_put() -> None:
    rig, shelf, me, session = renamed()
    put(rig.agent)
    assert_asked_by_name(rig, session)
    kept = [entry for entry in shelf.entries[session] if entry.kind in (Kind.PERMISSION, Kind.REQUEST)]
    assert [json.loads(entry.body)["params"]["sessionId"] for entry in kept] == [session, session]
    rig.answer(me, rig.asked[0][1], AcpPermissionCallbackResponse("permission", "once"))
    rig.answer(me, rig.asked[1][1], AcpHostRequestCallbackResponse('{"id":"file","result":{"content":"x"}}'))
    assert [(answer["id"], answer["result"]) for answer in rig.agent.answers()] == [
        ("permission", {"outcome": {"outcome": "selected", "optionId": "yes"}}),
        ("file", {"content": "x"}),
    ]


def test_a_question_about_another_session_or_none_is_put_as_it_came() -> None:
    rig, _, _, _ = renamed()
    for params in ({"sessionId": "t"}, {"x": 1}):
        rig.agent.ask("session/request_permission", params)
        assert json.loads(rig.asked[-1][2].params) == params


def test_a_question_names_the_session_as_its_owner_does_while_it_wakes() -> None:
    rig, _, me, session = renamed(asking("session/load"), sleep_after=10.0)
    rig.advance(60)
    assert rig.state(me, session).process_id == ""
    rig.prompt(me, session)
    assert_asked_by_name(rig, session)


def test_a_question_names_the_session_as_its_owner_does_while_it_is_resumed() -> None:
    rig, _, me, session = renamed(asking("session/load"))
    rig.ask(me, AcpCloseSessionRequest(session))
    rig.ask(me, AcpResumeSessionRequest(session, "", None, "", {}))
    assert_asked_by_name(rig, session)


def test_a_question_names_the_session_as_its_owner_does_while_and_after_its_agent_is_started_again() -> None:
    rig, _, _, session = renamed(asking("session/load"))
    rig.agent.exit(1)
    assert len(rig.asked) == 2
    assert_asked_by_name(rig, session)
    put(rig.agent)
    assert len(rig.asked) == 4
    assert_asked_by_name(rig, session)


def test_a_question_names_the_session_as_its_owner_does_after_it_has_begun_anew() -> None:
    rig, _, me, session = renamed(sleep_after=10.0)
    rig.advance(60)
    rig.capabilities = {}
    rig.session_id = "s"
    rig.prompt(me, session)
    put(rig.agent)
    assert_asked_by_name(rig, session)


def test_before_a_session_has_a_name_a_question_is_put_as_it_came() -> None:
    shelf = Shelf()
    rig = Rig(asking("session/new"), journal=shelf)
    rig.session_id = "s"
    me = rig.connect("me")
    shelf.stuck = True
    rig.send(me, create_request())
    put(rig.agent)  # its session is open, and waits for the journal
    assert len(rig.asked) == 4
    for _, _, callback in rig.asked[::2]:
        assert isinstance(callback, AcpPermissionCallback)
        assert callback.session_id == ""
        assert json.loads(callback.params) == QUESTION
