"""Cases 41 to 53 and 59 to 65: session requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from roost.sidecar.gen.messages import (
    AcpAgentStderrEvent,
    AcpCloseSessionRequest,
    AcpErrorResponse,
    AcpGetSessionStateRequest,
    AcpRequest,
    AcpSessionRequest,
    AcpSessionRpcResponse,
    encode_acp_response,
)
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json


def opened(rig: Rig | None = None, **fields: Any) -> tuple[Rig, int, str]:
    rig = rig or Rig()
    caller = rig.connect()
    return rig, caller, rig.create(caller, **fields).session_id


def silent(*methods: str) -> Rig:
    """Agents that leave requests of these methods unanswered."""
    return Rig(lambda agent, message: message.get("method") in methods)


def updates(rig: Rig, caller: int) -> list[Json]:
    return [message["params"]["update"] for message in rig.notifications(caller)]


def test_case_041_ids_count_from_3_and_the_session_id_is_forced() -> None:
    rig, caller, session = opened()
    rig.request(caller, session, "session/prompt", {"sessionId": "another", "prompt": []})
    rig.request(caller, session, "_vendor/x")
    assert [(message["id"], message["params"]["sessionId"]) for message in rig.agent.heard[2:]] == [
        (3, session),
        (4, session),
    ]


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        (None, {}),
        ("null", {}),
        (" null ", {}),
        ("{}", {}),
        ("5", {"value": 5}),
        ('"x"', {"value": "x"}),
        ("[1, 2]", {"value": [1, 2]}),
        ("false", {"value": False}),
        ('{"a" :\n1}', {"a": 1}),
    ],
)
def test_case_042_params_become_an_object(text: str | None, sent: Json) -> None:
    rig, caller, session = opened()
    rig.ask(caller, AcpSessionRequest(session, "_x", text))
    assert rig.agent.heard[-1]["params"] == {**sent, "sessionId": session}


@pytest.mark.parametrize("text", ["", "{", "nope", "{}x", "[" * 100_000])
def test_case_042_params_that_are_no_json_fail_and_consume_no_id(text: str) -> None:
    rig, caller, session = opened()
    error = rig.ask(caller, AcpSessionRequest(session, "_x", text))
    assert error.code == "invalid_state"
    assert error.message.startswith("invalid session request params JSON: ")
    # This is checked before the session is looked up.
    assert rig.ask(caller, AcpSessionRequest("missing", "_x", text)).message == error.message
    rig.request(caller, session, "_y")
    assert rig.agent.heard[-1]["id"] == 3


def test_case_042_numbers_of_any_size_reach_the_agent_as_they_were_written() -> None:
    rig, caller, session = opened()
    written: list[bytes] = []
    rig.agent.hears = written.append  # type: ignore[method-assign]
    rig.send(caller, AcpSessionRequest(session, "_x", '{"a":1.0,"b":1e999,"c":123456789012345678901234567890}'))
    assert b'"a":1.0,"b":1e999,"c":123456789012345678901234567890' in written[0]


ABOUT_A_SESSION: dict[str, Callable[[str], AcpRequest]] = {
    "read": AcpGetSessionStateRequest,
    "close": AcpCloseSessionRequest,
    **{
        method: lambda session, method=method: AcpSessionRequest(session, method, "{}")  # type: ignore[misc]
        for method in (
            "session/prompt",
            "session/cancel",
            "session/set_mode",
            "session/close",
            "_x",
            "document/didOpen",
        )
    },
}


@pytest.mark.parametrize("kind", ABOUT_A_SESSION)
def test_case_043_another_callers_session_is_unknown_and_untouched(kind: str) -> None:
    rig, caller, session = opened()
    other = rig.connect()
    heard = len(rig.agent.heard)
    foreign = rig.ask(other, ABOUT_A_SESSION[kind](session))
    assert foreign == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    missing = rig.ask(other, ABOUT_A_SESSION[kind]("x" * len(session)))
    assert encode_acp_response(missing) == encode_acp_response(foreign).replace(session.encode(), b"x" * len(session))
    assert (len(rig.agent.heard), rig.agent.exited) == (heard, False)
    rig.request(caller, session, "_y")
    assert rig.agent.heard[-1]["id"] == 3


def test_case_044_notifications_before_the_answer_arrive_before_it_in_order_and_unchanged() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/prompt":
            agent.write(b'{"jsonrpc":"2.0", "method":"session/update","params":{"update":{"sessionUpdate":"a"}}}\n')
            agent.notify("_vendor/b", [1])
            agent.notify("_vendor/c", {"x": "\u00e9"})
        return False

    rig, caller, session = opened(Rig(script))
    rig.told.clear()
    rig.prompt(caller, session)
    told = [told for _, told in rig.told]
    assert told[0].notification == (
        '{"jsonrpc":"2.0", "method":"session/update","params":{"update":{"sessionUpdate":"a"}}}'
    )
    assert json.loads(told[1].notification)["method"] == "_vendor/c"
    assert isinstance(told[2], tuple)  # the answer; positional params are no ACP (ENV-4)


def test_case_045_an_agents_error_is_an_rpc_response() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") != "session/prompt":
            return False
        agent.error(message, -32000, "log in", {"x": 10**30})
        return True

    rig, caller, session = opened(Rig(script))
    answer = rig.reply(caller, rig.prompt(caller, session))
    assert isinstance(answer, AcpSessionRpcResponse)
    assert json.loads(answer.response)["error"] == {"code": -32000, "message": "log in", "data": {"x": 10**30}}


@pytest.mark.parametrize("number", ["3", "3.0", 99, 2, None, [3], {"id": 3}])
def test_cases_046_and_047_an_answer_to_another_id_completes_nothing(number: Any) -> None:
    rig, caller, session = opened(silent("_x"))
    request = rig.request(caller, session, "_x")
    rig.agent.say({"jsonrpc": "2.0", "id": number, "result": {}})
    assert rig.reply(caller, request) is None
    rig.agent.say({"jsonrpc": "2.0", "id": 3, "result": {"ok": True}})
    assert rig.rpc(caller, request)["result"] == {"ok": True}


def test_case_048_lines_and_characters_may_be_cut_anywhere() -> None:
    rig, caller, session = opened(silent("session/prompt"))
    request = rig.prompt(caller, session)
    text = "grüße 🐦"
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"update": update}}
    line = json.dumps(message, ensure_ascii=False).encode() + b"\n"
    answer = b'{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}\n'
    for byte in line + answer:
        rig.agent.write(bytes([byte]))
    assert updates(rig, caller)[0]["content"]["text"] == text
    assert rig.rpc(caller, request)["result"] == {"stopReason": "end_turn"}


def test_case_049_carriage_returns_blank_lines_and_leading_spaces_are_fine() -> None:
    rig, caller, session = opened(silent("_x"))
    request = rig.request(caller, session, "_x")
    rig.agent.write(b'\r\n\n   \n  {"jsonrpc":"2.0","id":3,"result":{}}\r\n')
    assert rig.rpc(caller, request)["result"] == {}


LIMIT = 400


def line_of(size: int) -> bytes:
    head, tail = b'{"jsonrpc":"2.0","id":3,"result":{"x":"', b'"}}'
    return head + b"x" * (size - len(head) - len(tail)) + tail


@pytest.mark.parametrize("newline", [b"\n", b""])
def test_case_050_a_line_over_the_limit_fails_what_is_in_flight_and_the_session_lives(newline: bytes) -> None:
    """Ours: code `limit_exceeded`, and the setting is named."""
    rig, caller, session = opened(Rig(lambda a, m: m.get("method") == "_x", line_bytes=LIMIT))
    one, two = rig.request(caller, session, "_x"), rig.request(caller, session, "_x")
    rig.agent.write(line_of(LIMIT + 1) + newline)
    error = AcpErrorResponse(
        "limit_exceeded", f"ACP adapter emitted a line longer than {LIMIT} bytes (limit line_bytes)"
    )
    assert rig.reply(caller, one) == rig.reply(caller, two) == error
    rig.agent.write(b"" if newline else b"the rest of it\n")
    assert rig.rpc(caller, rig.prompt(caller, session))["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize(("size", "answered"), [(LIMIT - 1, True), (LIMIT, True), (LIMIT + 1, False)])
def test_case_051_a_line_of_exactly_the_limit_is_fine(size: int, answered: bool) -> None:
    rig, caller, session = opened(Rig(lambda a, m: m.get("method") == "_x", line_bytes=LIMIT))
    request = rig.request(caller, session, "_x")
    rig.agent.write(line_of(size) + b"\n")
    assert isinstance(rig.reply(caller, request), AcpSessionRpcResponse) is answered


def test_case_052_a_request_that_times_out_is_an_rpc_error_and_the_agent_is_told() -> None:
    rig, caller, session = opened(silent("_slow"))
    request = rig.request(caller, session, "_slow")
    rig.advance(119.9)
    assert rig.reply(caller, request) is None
    rig.advance(0.2)
    activity = ["sent request initialize id=1", "sent request session/new id=2", "sent request _slow id=3"]
    assert rig.rpc(caller, request) == {
        "jsonrpc": "2.0",
        "id": 3,
        "error": {
            "code": -32000,
            "message": "ACP request _slow (id=3) timed out after 120000ms. adapter process acp-agent-1. sent "
            f"session/cancel notification. Recent ACP activity: {' | '.join(activity)}",
            "data": {
                "kind": "acp_timeout",
                "method": "_slow",
                "id": 3,
                "timeoutMs": 120000,
                "transportState": "sent session/cancel notification",
                "recentActivity": activity,
            },
        },
    }
    assert rig.agent.requests("session/cancel") == [
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}
    ]
    rig.agent.result({"id": 3}, {"late": True})
    assert rig.rpc(caller, rig.prompt(caller, session))["id"] == 4


def test_case_052_a_request_that_times_out_beside_a_turn_does_not_cancel_the_turn() -> None:
    """Ours: sessions have several requests in flight."""
    rig, caller, session = opened(silent("_slow", "session/prompt"))
    prompt = rig.prompt(caller, session)
    request = rig.request(caller, session, "_slow")
    rig.advance(121)
    assert rig.rpc(caller, request)["error"]["data"]["transportState"] == "sent $/cancel_request notification"
    assert rig.agent.requests("session/cancel") == []
    assert rig.agent.requests("$/cancel_request")[0]["params"] == {"requestId": 4}
    rig.agent.result({"id": 3}, {"stopReason": "end_turn"})
    assert rig.rpc(caller, prompt)["result"] == {"stopReason": "end_turn"}


def test_case_053_of_recent_activity_the_last_16_are_told() -> None:
    rig, caller, session = opened(silent("_slow"))
    request = rig.request(caller, session, "_slow")
    rig.agent.update(sessionUpdate="a")
    rig.agent.write(b"noise\n")
    for number in range(15):
        rig.agent.notify(f"_n/{number}", {})
    rig.advance(121)
    recent = rig.rpc(caller, request)["error"]["data"]["recentActivity"]
    assert recent == ["invalid_json_rpc code=-32700 Parse error"] + [
        f"received notification _n/{number}" for number in range(15)
    ]


@pytest.mark.parametrize("running", [True, False])
def test_case_059_cancel_is_always_the_notification_it_is(running: bool) -> None:
    """Ours: never a request, so no agent can answer -32601 and there is nothing to fall back to."""

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/cancel" and running:
            agent.result({"id": 3}, {"stopReason": "cancelled"})
        return message.get("method") == "session/prompt"

    rig, caller, session = opened(Rig(script))
    if running:
        rig.prompt(caller, session)
    answer = rig.rpc(caller, rig.request(caller, session, "session/cancel", {"extra": 1}))
    assert answer == {
        "jsonrpc": "2.0",
        "id": None,
        "result": {"cancelled": running, "requested": True, "via": "notification"},
    }
    assert rig.agent.requests("session/cancel") == [
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"extra": 1, "sessionId": session}}
    ]


@pytest.mark.parametrize("method", ["_vendor/x", "", "initialize", "session/new", "session/load", "grüße\n"])
def test_case_060_any_method_is_forwarded_as_it_is(method: str) -> None:
    rig, caller, session = opened(Rig(lambda agent, message: message["id"] == 3))
    rig.request(caller, session, method, {"a": 1})
    assert rig.agent.heard[-1]["method"] == method
    assert rig.agent.heard[-1]["params"] == {"a": 1, "sessionId": session}


def test_case_060_a_notification_of_the_agents_dialect_is_sent_as_one_and_answered_at_once() -> None:
    """Ours."""
    rig, caller, session = opened(protocol_version=2)
    answer = rig.rpc(caller, rig.request(caller, session, "nes/accept", {"suggestionId": "x"}))
    assert answer == {"jsonrpc": "2.0", "id": None, "result": {}}
    assert "id" not in rig.agent.heard[-1]


def test_case_061_stderr_comes_as_the_bytes_it_was() -> None:
    rig, caller, session = opened(silent("session/prompt"))
    rig.prompt(caller, session)
    rig.agent.stderr(b"\xff\x00half \xc3")
    assert rig.events(caller) == [AcpAgentStderrEvent(session, "echo", "acp-agent-1", b"\xff\x00half \xc3")]


def test_case_062_a_cancelled_prompt_has_the_agents_own_outcome_and_the_next_one_works() -> None:
    """Ours: the agent is told, and both answers wait for it."""
    rig, caller, session = opened(silent("session/prompt"))
    prompt = rig.prompt(caller, session)
    cancel = rig.request(caller, session, "session/cancel")
    assert rig.reply(caller, prompt) is rig.reply(caller, cancel) is None
    rig.agent.update(sessionUpdate="agent_message_chunk")
    rig.agent.result({"id": 3}, {"stopReason": "cancelled"})
    assert rig.rpc(caller, prompt)["result"] == {"stopReason": "cancelled"}
    assert rig.rpc(caller, cancel)["result"]["cancelled"] is True
    following = rig.prompt(caller, session)
    rig.agent.result({"id": 4}, {"stopReason": "end_turn"})
    assert rig.rpc(caller, following)["result"] == {"stopReason": "end_turn"}


def test_case_063_close_during_a_prompt_answers_the_prompt_first() -> None:
    rig, caller, session = opened(silent("session/prompt"))
    prompt = rig.prompt(caller, session)
    rig.told.clear()
    close = rig.close(caller, session)
    assert [told[0] for _, told in rig.told] == [prompt, close]
    assert rig.rpc(caller, prompt) == {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "cancelled"}}
    rig.assert_nothing_left()


def test_case_064_a_cancel_concerns_its_own_session_only() -> None:
    rig, caller, session = opened(silent("session/prompt"))
    other = rig.create(caller).session_id
    stranger = rig.connect()
    prompt = rig.prompt(caller, session)
    assert rig.rpc(caller, rig.request(caller, other, "session/cancel"))["result"]["cancelled"] is False
    assert rig.reply(stranger, rig.request(stranger, session, "session/cancel")).code == "invalid_state"
    assert rig.reply(caller, prompt) is None
    assert rig.agents["acp-agent-1"].requests("session/cancel") == []


def test_case_065_a_partial_line_is_completed_later() -> None:
    rig, caller, session = opened()
    rig.agent.write(b'{"jsonrpc":"2.0","method":"_la')
    rig.prompt(caller, session)
    rig.agent.write(b'te","params":{}}\n')
    assert "_late" not in [message["method"] for message in rig.notifications(caller)]
    rig.agent.write(b'{"jsonrpc":"2.0","method":"_early","params":{}}\n{"jsonrpc":')
    rig.agent.write(b'"2.0","method":"_split","params":{}}\n')
    assert [message["method"] for message in rig.notifications(caller)][-2:] == ["_early", "_split"]
