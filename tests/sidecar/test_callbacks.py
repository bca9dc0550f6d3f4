"""Questions of an agent: withdrawn, answered twice, asked of several, and told in what is remembered."""

from __future__ import annotations

import json

import pytest

from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpHostRequestCallbackResponse,
    AcpPermissionCallback,
    AcpPermissionCallbackResponse,
)
from roost.sidecar.journal import Kind
from tests.sidecar.rig import Rig, Shelf

ONCE = AcpPermissionCallbackResponse("permission", "once")
REJECT = AcpPermissionCallbackResponse("permission", "reject")


def opened(name: str | None = None) -> tuple[Rig, int, str]:
    rig = Rig()
    caller = rig.connect(name)
    return rig, caller, rig.create(caller).session_id


@pytest.mark.parametrize("method", ["session/request_permission", "fs/read_text_file", "elicitation/create"])
def test_a_question_that_is_withdrawn_is_answered_so_and_nobody_else_can_answer_it(method: str) -> None:
    """CAN-4."""
    rig, caller, _ = opened()
    rig.agent.ask(method, {}, 7)
    rig.agent.ask(method, {}, "7")
    rig.agent.notify("$/cancel_request", {"requestId": 7})
    (answer,) = rig.agent.answers()
    assert (answer["id"], answer["error"]["code"]) == (7, -32800)
    rig.answer(caller, 1, ONCE)
    assert len(rig.agent.answers()) == 1
    rig.answer(caller, 2, AcpHostRequestCallbackResponse(None))
    assert rig.agent.answers()[1]["id"] == "7"


def test_what_is_withdrawn_twice_or_was_never_asked_changes_nothing() -> None:
    """CAN-3."""
    rig, caller, _ = opened()
    rig.agent.ask("session/request_permission", {}, 7)
    rig.answer(caller, 1, ONCE)
    for number in (7, 8, None, [1]):
        rig.agent.notify("$/cancel_request", {"requestId": number})
    assert len(rig.agent.answers()) == 1


def test_the_first_answer_counts() -> None:
    rig, caller, _ = opened()
    rig.agent.ask("session/request_permission", {})
    rig.answer(caller, 1, REJECT)
    rig.answer(caller, 1, ONCE)
    assert [a["result"]["outcome"]["optionId"] for a in rig.agent.answers()] == ["reject_once"]


def test_of_several_connections_the_first_answer_counts_and_the_others_are_asked_no_more() -> None:
    rig, one, session = opened("me")
    two = rig.connect("me")
    rig.state(two, session)
    rig.agent.ask("session/request_permission", {})
    assert [connection for connection, _, _ in rig.asked] == [one, two]
    rig.answer(two, rig.asked[1][1], ONCE)
    rig.answer(one, rig.asked[0][1], REJECT)
    assert [a["result"]["outcome"]["optionId"] for a in rig.agent.answers()] == ["allow_once"]
    assert not any(connection.asks for connection in rig.engine._context.callers.connections.values())


def test_an_answer_with_a_number_of_another_connection_is_not_heard() -> None:
    rig, caller, _ = opened()
    other = rig.connect()
    rig.create(other)
    rig.agents["acp-agent-1"].ask("session/request_permission", {})
    rig.answer(other, 1, ONCE)
    rig.answer(caller, 2, ONCE)
    assert rig.agents["acp-agent-1"].answers() == []


def test_the_old_name_of_the_permission_method_is_one_too() -> None:
    rig, _, _ = opened()
    rig.agent.ask("request/permission", {})
    assert isinstance(rig.asked[0][2], AcpPermissionCallback)


def test_a_question_is_remembered_among_the_recent_activity() -> None:
    rig, caller, session = opened()
    rig.agent.hear = lambda agent, message: message.get("method") == "_slow"
    request = rig.request(caller, session, "_slow")
    update = b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"x"}}}\n'
    rig.agent.write(update + b"noise\n" + update + update)
    rig.agent.ask("fs/read_text_file", {}, "q")
    rig.advance(125)
    assert rig.rpc(caller, request)["error"]["data"]["recentActivity"][3:] == [
        "received notification session/update",
        "invalid_json_rpc code=-32700 Parse error",
        "received notification session/update",
        "received notification session/update",
        'received request fs/read_text_file id="q"',
    ]


def test_a_question_withdrawn_while_its_answer_is_being_kept_has_one_answer() -> None:
    """CAN-4: what the caller has decided counts."""
    shelf = Shelf()
    rig = Rig(journal=shelf)
    caller = rig.connect("me")
    rig.create(caller)
    rig.agent.ask("session/request_permission", {}, 7)
    shelf.stuck = True
    rig.answer(caller, 1, ONCE)
    rig.agent.notify("$/cancel_request", {"requestId": 7})
    assert rig.agent.answers() == []
    rig.store()
    assert [answer["result"]["outcome"]["optionId"] for answer in rig.agent.answers()] == ["allow_once"]


def test_a_question_and_what_came_of_it_are_kept_without_its_secrets() -> None:
    shelf = Shelf()
    rig = Rig(journal=shelf)
    caller = rig.connect("me")
    session = rig.create(caller).session_id
    rig.agent.ask("session/request_permission", {"options": [], "toolCall": {"title": "rm"}}, 1)
    rig.agent.ask("terminal/create", {"command": "ls", "env": [{"name": "KEY", "value": "secret"}]}, 2)
    rig.agent.ask("fs/read_text_file", None, 3)
    for number in (1, 2):
        rig.agent.notify("$/cancel_request", {"requestId": number})
    rig.answer(caller, 3, AcpHostRequestCallbackResponse(None))
    kept = [(entry.kind, json.loads(entry.body)) for entry in shelf.entries[session]]
    assert [kind for kind, _ in kept] == [Kind.PERMISSION, Kind.REQUEST, Kind.REQUEST] + [Kind.DECISION] * 3
    bodies = [body for _, body in kept]
    assert bodies[0]["params"] == {"options": [], "toolCall": {"title": "rm"}}
    assert bodies[1]["method"] == "terminal/create"
    assert bodies[1]["params"]["command"] == "ls"
    assert "secret" not in json.dumps(bodies)
    assert bodies[2]["params"] is None
    assert [(body["by"], body.get("withdrawn"), body.get("answered")) for body in bodies[3:]] == [
        ("agent", True, None),
        ("agent", True, None),
        ("caller", None, False),
    ]
    assert [body["id"] for body in bodies[3:]] == [body["id"] for body in bodies[:3]]


def test_of_an_agent_that_asks_and_asks_only_the_first_refusals_are_told_in_the_log() -> None:
    rig = Rig()
    caller = rig.connect("me")
    session = rig.create(caller).session_id
    rig.leave(caller)
    for number in range(20):
        rig.agent.ask("fs/read_text_file", {}, number)
    levels = [note.level for note in rig.notes if "refused" in note.text]
    assert levels == ["info"] * 16 + ["debug"] * 4
    assert len(rig.agent.answers()) == 20
    assert rig.state(rig.connect("me"), session).session_id == session


def test_a_host_that_answers_nonsense_is_told_of_in_the_log() -> None:
    rig, caller, _ = opened()
    rig.agent.ask("fs/read_text_file", {})
    rig.answer(caller, 1, AcpHostRequestCallbackResponse("nonsense"))
    (note,) = [note for note in rig.notes if note.level == "warning"]
    assert note.text.startswith("acp-agent-1: invalid ACP host request response JSON: ")


REJECTABLE = {"options": [{"optionId": "no", "name": "No", "kind": "reject_once"}]}


def test_a_question_is_cancelled_and_not_rejected_when_its_session_closes_and_so_is_a_later_one() -> None:
    """CAN-13: nobody has said no."""
    rig, caller, session = opened()
    agent = rig.agent
    agent.exits_on_eof = False
    agent.ask("session/request_permission", REJECTABLE, 1)
    agent.ask("fs/read_text_file", {}, 2)
    rig.send(caller, AcpCloseSessionRequest(session))
    agent.ask("session/request_permission", REJECTABLE, 3)
    agent.ask("fs/read_text_file", {}, 4)
    first, second, third, fourth = agent.answers()
    assert first["result"] == third["result"] == {"outcome": {"outcome": "cancelled"}}
    assert second["error"] == fourth["error"] == {"code": -32800, "message": "fs/read_text_file: the session is closed"}
    assert len(rig.asked) == 2


def test_what_an_agent_calls_its_method_is_cut_where_it_is_remembered() -> None:
    shelf = Shelf()
    rig = Rig(journal=shelf)
    caller = rig.connect("me")
    session = rig.create(caller).session_id
    rig.agent.ask("_" + "x" * 5000, {})
    rig.answer(caller, 1, AcpHostRequestCallbackResponse('{"id":"' + "y" * 5000 + '","result":1}'))
    assert len(rig.agent.answers()[0]["error"]["message"]) < 500
    rig.leave(caller)
    rig.agent.ask("_" + "x" * 5000, {})
    assert all(len(note.text) < 500 for note in rig.notes)
    assert len(json.loads(shelf.entries[session][0].body)["method"]) == 200


@pytest.mark.parametrize("code", [-(2**31), 2**31 - 1])
def test_an_error_of_a_host_may_have_any_code_there_is_and_no_data(code: int) -> None:
    rig, caller, _ = opened()
    rig.agent.ask("fs/read_text_file", {}, 1)
    rig.answer(caller, 1, AcpHostRequestCallbackResponse(f'{{"id":1,"error":{{"code":{code},"message":"m"}}}}'))
    assert rig.agent.answers()[0]["error"] == {"code": code, "message": "m"}
    for number, beyond in enumerate((-(2**31) - 1, 2**31), 2):
        rig.agent.ask("fs/read_text_file", {}, number)
        text = f'{{"id":{number},"error":{{"code":{beyond},"message":"m"}}}}'
        rig.answer(caller, number, AcpHostRequestCallbackResponse(text))
        assert rig.agent.answers()[-1]["error"]["code"] == -32603
