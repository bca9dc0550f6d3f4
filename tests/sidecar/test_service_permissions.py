"""What a bridged agent may do to files and with commands: decided by its caller, kept, and no without a clear yes."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp.bridge.events import CommandRun
from roost.errors import RpcError
from roost.sidecar.gen.messages import AcpCloseSessionRequest, AcpPermissionCallback, AcpPermissionCallbackResponse
from tests.sidecar.served import NOTE, WRITE, answered, finish, served, wish
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import ended

RUN = CommandRun("make test", "/w", {})


@pytest.mark.parametrize(("reply", "allowed"), [("once", True), ("always", True), ("reject", False), ("other", False)])
@pytest.mark.parametrize("what", [WRITE, RUN])
def test_what_changes_something_is_a_permission_like_any_other(reply: str, allowed: bool, what: Any) -> None:
    rig, caller, session = served()
    command = wish(rig, what)
    [(connection, callback, payload)] = rig.asked
    assert isinstance(payload, AcpPermissionCallback)
    assert payload.session_id == session
    assert not rig.decided
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", reply))
    assert rig.decided == {command.token: allowed}
    answered(rig, command, {})
    finish(rig, caller, session)


def test_always_is_asked_once() -> None:
    rig, caller, session = served()
    first = wish(rig)
    [(connection, callback, _)] = rig.asked
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "always"))
    second = wish(rig, id="w2")
    assert rig.decided == {first.token: True, second.token: True}
    assert len(rig.asked) == 1
    finish(rig, caller, session)


def test_what_the_agent_asked_for_itself_is_not_asked_again() -> None:
    rig, caller, session = served()
    call = {"toolCallId": "t", "title": "Edit", "kind": "edit", "locations": [{"path": NOTE}]}
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    rig.agent.ask("session/request_permission", {"sessionId": "s", "toolCall": call, "options": options}, "p")
    [(connection, callback, _)] = rig.asked
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "once"))
    command = wish(rig)
    assert rig.decided == {command.token: True}
    assert len(rig.asked) == 1
    finish(rig, caller, session)


def test_no_answer_in_time_is_a_no() -> None:
    rig, caller, session = served(callback_timeout=5.0)
    command = wish(rig)
    rig.advance(4)
    assert not rig.decided
    rig.advance(2)
    assert rig.decided == {command.token: False}
    answered(rig, command, error=RpcError(-32603, "not allowed"))
    finish(rig, caller, session)


def test_a_caller_that_leaves_says_no() -> None:
    rig, caller, session = served()
    command = wish(rig)
    rig.leave(caller)
    assert rig.decided == {command.token: False}
    answered(rig, command, error=RpcError(-32603, "not allowed"))
    later = wish(rig, id="w2")
    assert rig.decided[later.token] is False
    ended(rig, rig.connect("me"), session)


def test_a_cancel_says_no() -> None:
    rig, caller, session = served()
    command = wish(rig)
    rig.request(caller, session, "session/cancel")
    assert rig.decided == {command.token: False}
    answered(rig, command, error=RpcError(-32603, "not allowed"))
    later = wish(rig, id="w2")
    assert rig.decided[later.token] is False
    finish(rig, caller, session)


def test_a_close_says_no() -> None:
    rig, caller, session = served()
    rig.agent.exits_on_eof = False
    command = wish(rig)
    rig.close(caller, session)
    assert rig.decided == {command.token: False}
    rig.advance(30)
    rig.leave(caller)
    rig.assert_nothing_left()


def test_too_many_questions_are_a_no() -> None:
    rig, caller, session = served(callbacks_per_session=1)
    wish(rig)
    second = wish(rig, id="w2")
    assert rig.decided == {second.token: False}
    finish(rig, caller, session)


def test_a_question_that_is_too_long_for_a_line_is_a_no() -> None:
    rig, caller, session = served(line_bytes=2000)
    command = wish(rig, CommandRun("x" * 1500, "/w", {"A": "y" * 500}))
    assert not rig.asked
    assert rig.decided == {command.token: False}
    answered(rig, command, error=RpcError(-32603, "not allowed"))
    finish(rig, caller, session)


def test_a_decision_is_kept_before_it_is_passed_on() -> None:
    shelf = Shelf()
    rig, caller, session = served(journal=shelf)
    command = wish(rig)
    [(connection, callback, _)] = rig.asked
    shelf.stuck = True
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "once"))
    assert not rig.decided
    shelf.stuck = False
    rig.store()
    assert rig.decided == {command.token: True}
    assert {"permission", "decision"} <= set(shelf.kinds(session))
    finish(rig, caller, session)


def test_a_decision_that_is_kept_after_the_end_of_the_session_is_a_no() -> None:
    """Found by the simulation: the yes came to a host that was ending what it served."""
    shelf = Shelf()
    rig, caller, session = served(journal=shelf)
    rig.agent.exits_on_eof = False
    command = wish(rig)
    [(connection, callback, _)] = rig.asked
    shelf.stuck = True
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "once"))
    rig.send(caller, AcpCloseSessionRequest(session))
    assert rig.services_ended
    shelf.stuck = False
    rig.store()
    assert rig.decided == {command.token: False}
    rig.advance(30)
    rig.leave(caller)
    rig.assert_nothing_left()


def test_a_decision_that_cannot_be_kept_is_a_no() -> None:
    shelf = Shelf()
    rig, caller, session = served(journal=shelf)
    command = wish(rig)
    [(connection, callback, _)] = rig.asked
    shelf.stuck = True
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "once"))
    shelf.stuck = False
    rig.store("full")
    assert rig.decided == {command.token: False}
    finish(rig, caller, session)
