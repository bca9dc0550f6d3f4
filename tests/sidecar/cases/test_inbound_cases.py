"""Cases 66 to 74: what an agent asks. Files (72) are in tests/process/services: the sidecar itself touches none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar.gen.messages import (
    AcpCallbackResponse,
    AcpHostRequestCallback,
    AcpHostRequestCallbackResponse,
    AcpPermissionCallback,
    AcpPermissionCallbackResponse,
)
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json

OPTIONS = [
    {"optionId": "yes-1", "name": "Yes", "kind": "allow_once"},
    {"optionId": "yes-2", "name": "Always", "kind": "allow_always"},
    {"optionId": "no-1", "name": "No", "kind": "reject_once"},
    {"optionId": "no-2", "name": "Never", "kind": "reject_always"},
]


def asked(method: str, params: Any, id: Any = "q") -> tuple[Rig, int]:
    """A session whose agent has put a question."""
    rig = Rig()
    caller = rig.connect()
    rig.create(caller)
    rig.agent.ask(method, params, id)
    return rig, caller


def permission(reply: str, params: Any) -> Json:
    """The outcome an agent hears."""
    rig, caller = asked("session/request_permission", params)
    rig.answer(caller, 1, AcpPermissionCallbackResponse("permission", reply))
    (answer,) = rig.agent.answers()
    assert answer["id"] == "q"
    outcome: Json = answer["result"]["outcome"]
    return outcome


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("once", "yes-1"),
        ("allow_once", "yes-1"),
        ("always", "yes-2"),
        ("allow_always", "yes-2"),
        ("reject", "no-1"),
        ("reject_once", "no-1"),
        ("reject_always", "no-2"),
    ],
)
def test_case_066_a_reply_selects_the_option_of_its_kind(reply: str, chosen: str) -> None:
    """Ours: `reject_always` too."""
    assert permission(reply, {"options": OPTIONS}) == {"outcome": "selected", "optionId": chosen}


@pytest.mark.parametrize("reply", ["", "cancel", "ALLOW", "yes"])
def test_case_066_any_other_reply_is_cancelled(reply: str) -> None:
    assert permission(reply, {"options": OPTIONS}) == {"outcome": "cancelled"}


def test_case_067_the_agents_own_option_id_is_what_it_gets() -> None:
    params = {"options": [{"optionId": "yes", "kind": "allow_once"}]}
    assert permission("once", params) == {"outcome": "selected", "optionId": "yes"}


@pytest.mark.parametrize("params", [{}, {"options": []}, {"options": None}, {"options": "x"}, None])
def test_case_067_without_options_the_plain_word_is_meant(params: Any) -> None:
    assert permission("once", params) == {"outcome": "selected", "optionId": "allow_once"}
    assert permission("reject", params) == {"outcome": "selected", "optionId": "reject_once"}


@pytest.mark.parametrize(
    ("params", "label"),
    [
        ({"permissionId": "p-7"}, "p-7"),
        ({}, "permission"),
        ({"permissionId": 7}, "permission"),
        ({"permissionId": "x" * 1024}, "x" * 1024),
        ({"permissionId": "x" * 1025}, "permission"),
        (None, "permission"),
    ],
)
def test_case_068_a_permission_without_an_id_is_called_permission(params: Any, label: str) -> None:
    rig, _ = asked("session/request_permission", params)
    callback = rig.asked[0][2]
    assert isinstance(callback, AcpPermissionCallback)
    assert callback.permission_id == label
    assert json.loads(callback.params) == params


def test_case_069_several_questions_are_open_at_once_and_ids_are_echoed_as_they_were() -> None:
    """Ours: answered in any order."""
    rig = Rig()
    caller = rig.connect()
    rig.create(caller)
    ids = ["text", 7, None, "7"]
    for number in ids:
        rig.agent.ask("session/request_permission", {"options": OPTIONS}, number)
    assert len(rig.asked) == 4
    for callback in (2, 4, 1, 3):
        rig.answer(caller, callback, AcpPermissionCallbackResponse("permission", "once"))
    assert [answer["id"] for answer in rig.agent.answers()] == [7, "7", "text", None]


@pytest.mark.parametrize("method", ["fs/read_text_file", "terminal/create", "_vendor/x", "session/update"])
def test_case_070_without_a_handler_the_method_is_not_found(method: str) -> None:
    rig, caller = asked(method, {"path": "/w/x"})
    callback = rig.asked[0][2]
    assert isinstance(callback, AcpHostRequestCallback)
    assert json.loads(callback.request) == {
        "jsonrpc": "2.0",
        "id": "q",
        "method": method,
        "params": {"path": "/w/x"},
    }
    rig.answer(caller, 1, AcpHostRequestCallbackResponse(None))
    assert rig.agent.answers() == [
        {
            "jsonrpc": "2.0",
            "id": "q",
            "error": {"code": -32601, "message": f"method not found: {method}", "data": {"method": method}},
        }
    ]


@pytest.mark.parametrize("answer", [{"content": "x"}, None, [1], 10**30])
def test_case_071_a_hosts_answer_is_passed_on(answer: Any) -> None:
    rig, caller = asked("fs/read_text_file", {})
    text = json.dumps({"jsonrpc": "2.0", "id": "q", "result": answer}, indent=2)
    rig.answer(caller, 1, AcpHostRequestCallbackResponse(text))
    assert rig.agent.answers() == [{"jsonrpc": "2.0", "id": "q", "result": answer}]


def test_case_071_a_hosts_error_is_passed_on() -> None:
    rig, caller = asked("fs/read_text_file", {})
    error = {"code": -32002, "message": "no such file", "data": {"n": 10**30}}
    rig.answer(caller, 1, AcpHostRequestCallbackResponse(json.dumps({"id": "q", "error": error})))
    assert rig.agent.answers()[0]["error"] == error


def test_case_071_an_error_of_null_beside_a_result_is_none() -> None:
    rig, caller = asked("fs/read_text_file", {})
    rig.answer(caller, 1, AcpHostRequestCallbackResponse('{"id":"q","error":null,"result":1}'))
    assert rig.agent.answers() == [{"jsonrpc": "2.0", "id": "q", "result": 1}]


@pytest.mark.parametrize(("id", "answered"), [(1, '"1"'), ("1", "1"), (1, "2"), (1, "1.0"), (None, "0"), ("a", "null")])
def test_case_071_an_answer_with_another_id_is_an_error_for_the_agent(id: Any, answered: str) -> None:
    """Ours: the agent is answered, and the request under way goes on."""
    rig, caller = asked("fs/read_text_file", {}, id)
    rig.answer(caller, 1, AcpHostRequestCallbackResponse(f'{{"id":{answered},"result":{{}}}}'))
    (answer,) = rig.agent.answers()
    assert answer["error"]["code"] == -32603
    shown = json.dumps(id)
    assert answer["error"]["message"] == (f"ACP host request response id {answered} did not match request id {shown}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "5",
        '{"id":"q"}',
        '{"result":1}',
        '{"id":true,"result":1}',
        '{"id":{"q":1},"result":1}',
        '{"id":1e400,"result":1}',
        '{"id":"q","error":{"code":"x","message":"y"}}',
        '{"id":"q","error":{"code":99999999999,"message":"y"}}',
        '{"id":"q","error":5}',
        '{"id":"\\ud800","result":1}',
        '{"id":' + "[" * 5000,
    ],
)
def test_case_071_an_answer_that_is_none_is_an_error_for_the_agent(text: str) -> None:
    rig, caller = asked("fs/read_text_file", {})
    rig.answer(caller, 1, AcpHostRequestCallbackResponse(text))
    (answer,) = rig.agent.answers()
    assert answer["error"]["code"] == -32603
    assert (
        answer["error"]["message"].startswith("invalid ACP host request response JSON: ")
        or "did not match" in (answer["error"]["message"])
    )


@pytest.mark.parametrize(
    ("method", "wrong", "heard"),
    [
        (
            "session/request_permission",
            AcpHostRequestCallbackResponse("{}"),
            {"result": {"outcome": {"outcome": "selected", "optionId": "no-1"}}},
        ),
        (
            "fs/read_text_file",
            AcpPermissionCallbackResponse("permission", "once"),
            {
                "error": {
                    "code": -32601,
                    "message": "method not found: fs/read_text_file",
                    "data": {"method": "fs/read_text_file"},
                }
            },
        ),
    ],
)
def test_an_answer_of_the_wrong_kind_is_a_refusal(method: str, wrong: AcpCallbackResponse, heard: Json) -> None:
    """No case of its own; section 5.1 and 5.2."""
    rig, caller = asked(method, {"options": OPTIONS})
    rig.answer(caller, 1, wrong)
    assert rig.agent.answers() == [{"jsonrpc": "2.0", "id": "q", **heard}]


def test_case_073_a_permission_nobody_answers_in_time_is_refused_and_the_turn_goes_on() -> None:
    """Ours: fail closed, with an answer."""
    rig = Rig(lambda agent, message: message.get("method") == "session/prompt")
    caller = rig.connect()
    session = rig.create(caller).session_id
    prompt = rig.prompt(caller, session)
    rig.agent.ask("session/request_permission", {"options": OPTIONS}, 1)
    rig.agent.ask("session/request_permission", {"options": OPTIONS[:2]}, 2)
    rig.agent.ask("fs/read_text_file", {}, 3)
    rig.agent.ask("elicitation/create", {}, 4)
    rig.advance(119.9)
    assert rig.agent.answers() == []
    rig.advance(0.2)
    heard = {answer["id"]: answer.get("result", answer.get("error")) for answer in rig.agent.answers()}
    assert heard[1] == {"outcome": {"outcome": "selected", "optionId": "no-1"}}
    assert heard[2] == {"outcome": {"outcome": "cancelled"}}
    assert heard[3]["code"] == -32601
    assert heard[4] == {"action": "cancel"}
    rig.answer(caller, 1, AcpPermissionCallbackResponse("permission", "once"))  # too late
    assert len(rig.agent.answers()) == 4
    rig.agent.result({"id": 3}, {"stopReason": "end_turn"})
    assert rig.rpc(caller, prompt)["result"] == {"stopReason": "end_turn"}


def test_case_074_a_question_in_the_handshake_is_put_to_the_caller_and_answered() -> None:
    """Ours: the reference's later -32601 is what an unhandled one gets."""

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "initialize":
            agent.ask("session/request_permission", {"options": OPTIONS}, "early")
            agent.ask("fs/read_text_file", {}, "file")
            return True
        if message.get("id") == "file":
            agent.answer(agent.requests("initialize")[0])
        return False

    rig = Rig(script)
    caller = rig.connect()
    request = rig.send(caller, create_request())
    assert [callback.session_id for _, _, callback in rig.asked] == ["", ""]
    rig.answer(caller, 1, AcpPermissionCallbackResponse("permission", "once"))
    rig.answer(caller, 2, AcpHostRequestCallbackResponse(None))
    assert rig.reply(caller, request).session_id == "s-acp-agent-1"
    assert [answer["id"] for answer in rig.agent.answers()] == ["early", "file"]
