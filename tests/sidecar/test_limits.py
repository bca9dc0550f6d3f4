"""Every bound: reached once, with an error that names it; warned of at 80 %, and again after it fell below 50 %."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from roost.errors import ConfigError, SidecarError
from roost.sidecar import events
from roost.sidecar.gate import Gate
from roost.sidecar.gen.frames import Hello, Request, encode_frame
from roost.sidecar.gen.messages import AcpErrorResponse, AcpListAgentsRequest
from roost.sidecar.limits import MAY_BE_ZERO, Gauge, Limits
from tests.sidecar.rig import Agent, Json, Rig, create_request


def silent(agent: Agent, message: Json) -> bool:
    return message.get("method") in ("session/prompt", "_slow")


def opened(**limits: Any) -> tuple[Rig, int, str]:
    rig = Rig(silent, **limits)
    rig.capabilities = {"loadSession": True}
    caller = rig.connect()
    return rig, caller, rig.create(caller).session_id


def warnings(rig: Rig, limit: str) -> list[str]:
    return [note.text for note in rig.notes if note.level == "warning" and note.text.startswith(f"{limit} is ")]


def refused(answer: Any, limit: str, bound: int) -> None:
    assert isinstance(answer, AcpErrorResponse), answer
    assert answer.code == "limit_exceeded"
    assert f"limit {limit} of {bound} reached" in answer.message
    assert f"raise {limit}" in answer.message


# ---- the gauge


def test_a_gauge_warns_once_at_80_percent_and_again_after_falling_below_half() -> None:
    warned: list[tuple[str, int, int]] = []
    gauge = Gauge("sessions", 10, lambda *what: warned.append(what))
    for level in (7, 8, 9, 10, 5, 8, 4, 7, 8):
        gauge.watch(level)
    assert warned == [("sessions", 8, 10), ("sessions", 8, 10)]


def test_a_gauge_admits_up_to_its_bound_and_says_what_to_raise() -> None:
    gauge = Gauge("sessions", 3, lambda *what: None)
    gauge.admit(3, "x")
    with pytest.raises(
        SidecarError, match="no more: limit sessions of 3 reached; raise sessions to allow more"
    ) as told:
        gauge.admit(4, "no more")
    assert told.value.code == "limit_exceeded"


# ---- the settings


@pytest.mark.parametrize("field", msgspec.structs.fields(Limits), ids=lambda field: field.name)
def test_a_setting_that_cannot_work_is_refused_by_name(field: Any) -> None:
    for bad in (-1, float("nan"), float("inf")) if field.type is float else (-1,):
        with pytest.raises(ConfigError, match=field.name):
            Limits(**{field.name: bad})
    if field.type is int and field.name not in MAY_BE_ZERO:
        with pytest.raises(ConfigError, match=field.name):
            Limits(**{field.name: 0})
    else:
        Limits(**{field.name: 0})


def test_a_line_has_to_fit_in_a_frame() -> None:
    with pytest.raises(ConfigError, match="line_bytes"):
        Limits(line_bytes=2000, max_frame_bytes=1999)
    Limits(line_bytes=2000, max_frame_bytes=2000)


def test_an_engine_with_everything_at_its_smallest_still_answers() -> None:
    zero = dict.fromkeys(MAY_BE_ZERO, 0)
    ones = {f.name: 1 for f in msgspec.structs.fields(Limits) if f.type is int and f.name not in MAY_BE_ZERO}
    rig = Rig(**{**ones, **zero})
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.advance(100)
    assert isinstance(rig.reply(caller, request), AcpErrorResponse)
    rig.assert_nothing_left()


# ---- each bound, reached


def test_requests_per_connection() -> None:
    rig, caller, session = opened(requests_per_connection=10)
    waiting = [rig.request(caller, session, "_slow") for _ in range(10)]
    assert len(warnings(rig, "requests_per_connection")) == 1
    refused(rig.ask(caller, AcpListAgentsRequest(False)), "requests_per_connection", 10)
    other = rig.connect()
    assert not isinstance(rig.ask(other, AcpListAgentsRequest(False)), AcpErrorResponse)
    rig.agent.result({"id": 3}, {})
    assert rig.reply(caller, waiting[0]) is not None
    assert not isinstance(rig.ask(caller, AcpListAgentsRequest(False)), AcpErrorResponse)
    for number in range(4, 10):
        rig.agent.result({"id": number}, {})
    for _ in range(6):
        rig.request(caller, session, "_slow")
    assert len(warnings(rig, "requests_per_connection")) == 2


def test_requests_per_session() -> None:
    rig = Rig(silent, requests_per_session=5)
    one, two = rig.connect("me"), rig.connect("me")
    session = rig.create(one).session_id
    for caller in (one, two, one, two, one):
        assert rig.reply(caller, rig.request(caller, session, "_slow")) is None
    assert len(warnings(rig, "requests_per_session")) == 1
    refused(rig.reply(two, rig.request(two, session, "_slow")), "requests_per_session", 5)
    assert len(rig.agent.requests("_slow")) == 5
    rig.agent.result({"id": 3}, {})
    assert rig.reply(two, rig.request(two, session, "_slow")) is None
    cancelled = rig.request(one, session, "session/cancel")  # no request of the agent's
    assert rig.reply(one, cancelled).session_id == session
    for number in range(4, 9):
        rig.agent.result({"id": number}, {})
    for _ in range(4):
        rig.request(one, session, "_slow")
    assert len(warnings(rig, "requests_per_session")) == 2


def test_a_request_that_timed_out_does_not_count_any_more() -> None:
    rig, caller, session = opened(requests_per_session=1, line_bytes=1000)
    for _ in range(10):
        rig.request(caller, session, "_slow")
        rig.advance(121)
        rig.request(caller, session, "_slow")
        rig.agent.write(b"x" * 1001 + b"\n")  # nor does one that failed
    assert rig.rpc(caller, rig.request(caller, session, "_x"))["result"] == {}


def test_a_prompt_over_the_limit_keeps_the_preamble_for_the_next_one() -> None:
    rig, caller, session = opened(requests_per_session=1)
    found = rig.session(session)
    assert found is not None
    found.preamble = "remember"
    rig.request(caller, session, "_slow")
    refused(rig.reply(caller, rig.prompt(caller, session)), "requests_per_session", 1)
    assert found.preamble == "remember"


def test_sessions_per_caller() -> None:
    rig = Rig(sessions_per_caller=5)
    caller = rig.connect()
    sessions = [rig.create(caller).session_id for _ in range(5)]
    assert len(warnings(rig, "sessions_per_caller")) == 1
    refused(rig.ask(caller, create_request()), "sessions_per_caller", 5)
    assert len(rig.spawned) == 5
    rig.create(rig.connect())
    rig.close(caller, sessions[0])
    rig.create(caller)


def test_sessions_being_opened_count() -> None:
    rig = Rig(lambda agent, message: True, sessions_per_caller=2)
    caller = rig.connect()
    rig.send(caller, create_request())
    rig.send(caller, create_request())
    refused(rig.ask(caller, create_request()), "sessions_per_caller", 2)
    rig.advance(60)
    rig.script = lambda agent, message: False
    rig.create(caller)


def test_processes() -> None:
    rig = Rig(processes=5)
    one, two = rig.connect(), rig.connect()
    session = rig.create(one).session_id
    for _ in range(4):
        rig.create(two)
    assert len(warnings(rig, "processes")) == 1
    refused(rig.ask(two, create_request()), "processes", 5)
    rig.close(one, session)
    rig.create(two)
    rig.leave(two)
    for _ in range(4):
        rig.create(one)
    assert len(warnings(rig, "processes")) == 2


def test_callbacks_per_session() -> None:
    options = [{"optionId": "n", "kind": "reject_once"}]
    rig, caller, _ = opened(callbacks_per_session=5)
    for number in range(5):
        rig.agent.ask("session/request_permission", {"options": options}, number)
    assert len(rig.asked) == 5
    assert len(warnings(rig, "callbacks_per_session")) == 1
    rig.agent.ask("session/request_permission", {"options": options}, "more")
    rig.agent.ask("fs/read_text_file", {}, "file")
    assert len(rig.asked) == 5
    permission, file = rig.agent.answers()
    assert permission["result"] == {"outcome": {"outcome": "selected", "optionId": "n"}}
    assert file["error"]["code"] == -32601
    assert any("limit callbacks_per_session of 5 reached; raise callbacks_per_session" in n.text for n in rig.notes)
    other = rig.create(caller).session_id
    assert other
    rig.agent.ask("session/request_permission", {}, 1)
    assert len(rig.asked) == 6


def test_agent_batches() -> None:
    rig, _, _ = opened(agent_batches=5)
    ask = {"jsonrpc": "2.0", "method": "session/request_permission", "params": {}}
    for number in range(5):
        rig.agent.say([{**ask, "id": number}])  # type: ignore[arg-type]
    assert len(warnings(rig, "agent_batches")) == 1
    assert len(rig.asked) == 5
    rig.agent.say([{**ask, "id": 5}])  # type: ignore[arg-type]
    assert len(rig.asked) == 5
    assert rig.agent.heard[-1]["error"]["data"] == {"limit": "open_batches", "bound": 5}
    assert any("limit agent_batches of 5 reached" in note.text for note in rig.notes)


def test_agent_batch_items() -> None:
    rig, caller, _ = opened(agent_batch_items=5)
    update = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {"x": 1}}}
    rig.agent.say([update] * 3)  # type: ignore[arg-type]
    assert warnings(rig, "agent_batch_items") == []
    rig.agent.say([update] * 4)  # type: ignore[arg-type]
    assert len(warnings(rig, "agent_batch_items")) == 1
    told = len(rig.notifications(caller))
    for _ in range(3):
        rig.agent.say([update] * 6)  # type: ignore[arg-type]
    assert len(rig.notifications(caller)) == told == 7
    levels = [note.level for note in rig.notes if "limit agent_batch_items of 5 reached" in note.text]
    assert levels == ["warning", "debug", "debug"]


def test_agent_request_id_bytes() -> None:
    rig, _, _ = opened(agent_request_id_bytes=100)
    rig.agent.ask("session/request_permission", {}, id="x" * 78)
    assert len(warnings(rig, "agent_request_id_bytes")) == 1
    rig.agent.ask("session/request_permission", {}, id="x" * 99)
    assert len(rig.asked) == 1
    assert any("limit agent_request_id_bytes of 100 reached" in note.text for note in rig.notes)


def test_agent_error_data_bytes() -> None:
    """It is passed on either way."""
    for size in (10, 1000):
        rig, caller, session = opened(agent_error_data_bytes=100)
        request = rig.request(caller, session, "_slow")
        rig.agent.error({"id": 3}, -32000, "no", {"detail": "x" * size})
        assert rig.rpc(caller, request)["error"]["data"] == {"detail": "x" * size}


def test_bootstrap_notifications() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message["method"] == "session/new":
            for _ in range(count):
                agent.update(sessionUpdate="x")
        return False

    count = 10
    rig = Rig(script, bootstrap_notifications=10)
    caller = rig.connect()
    rig.create(caller)
    assert len(rig.notifications(caller)) == 10
    assert len(warnings(rig, "bootstrap_notifications")) == 1
    count = 11
    refused(rig.ask(caller, create_request()), "bootstrap_notifications", 10)
    assert len(rig.notifications(caller)) == 10


def test_bootstrap_bytes() -> None:
    def script(agent: Agent, message: Json) -> bool:
        agent.notify("_x", {"x": "y" * 400})
        agent.notify("_x", {"x": "y" * size})
        return False

    size = 300
    rig = Rig(script, bootstrap_bytes=2000)
    rig.create(rig.connect())
    assert len(warnings(rig, "bootstrap_bytes")) == 1
    size = 700
    refused(rig.ask(rig.connect(), create_request()), "bootstrap_bytes", 2000)


def test_what_is_told_in_a_restart_is_not_kept_and_not_counted() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/load":
            for _ in range(1000):
                agent.update(sessionUpdate="x")
        return False

    rig = Rig(script, bootstrap_notifications=10)
    rig.capabilities = {"loadSession": True}
    caller = rig.connect()
    session = rig.create(caller).session_id
    rig.agent.exit(1)
    assert rig.state(caller, session).process_id == "acp-agent-2"


@pytest.mark.parametrize("id", ["x" * 100, "é" * 50])
def test_session_id_bytes(id: str) -> None:
    rig = Rig(session_id_bytes=100)
    rig.session_id = id
    assert rig.create(rig.connect()).session_id == id
    assert len(warnings(rig, "session_id_bytes")) == 1
    rig.session_id = id + "y"
    refused(rig.ask(rig.connect(), create_request()), "session_id_bytes", 100)


def test_agent_input_bytes() -> None:
    rig, caller, session = opened(agent_input_bytes=1000)
    rig.feed(events.AgentInputQueued("acp-agent-1", 800))
    rig.feed(events.AgentInputQueued("acp-agent-1", 900))
    assert len(warnings(rig, "agent_input_bytes")) == 1
    refused(rig.reply(caller, rig.request(caller, session, "_x", {"x": "y" * 200})), "agent_input_bytes", 1000)
    rig.feed(events.AgentInputQueued("acp-agent-1", 0))
    rig.feed(events.AgentInputQueued("acp-agent-1", 800))
    assert len(warnings(rig, "agent_input_bytes")) == 2


def test_line_bytes() -> None:
    rig, caller, session = opened(line_bytes=1000)
    request = rig.request(caller, session, "_slow")
    rig.agent.notify("_x", {"x": "y" * 700})
    assert warnings(rig, "line_bytes") == []
    rig.agent.notify("_x", {"x": "y" * 800})
    rig.agent.notify("_x", {"x": "y" * 800})
    assert len(warnings(rig, "line_bytes")) == 1
    rig.agent.notify("_x", {"x": "y" * 1000})
    error = rig.reply(caller, request)
    assert error.code == "limit_exceeded"
    assert "limit line_bytes" in error.message
    assert any("line_bytes (1000) was dropped" in note.text for note in rig.notes)


def test_line_bytes_in_the_handshake() -> None:
    def script(agent: Agent, message: Json) -> bool:
        agent.write(b"x" * 1001)
        return True

    rig = Rig(script, line_bytes=1000)
    error = rig.ask(rig.connect(), create_request())
    assert (error.code, "limit line_bytes" in error.message) == ("limit_exceeded", True)
    rig.assert_nothing_left()


def test_a_synthetic_update_over_line_bytes_is_noted_and_not_sent() -> None:
    rig, caller, session = opened(line_bytes=1000)
    answer = rig.rpc(caller, rig.request(caller, session, "session/set_mode", {"modeId": "m" * 2000}))
    assert answer["result"] == {}
    assert rig.events(caller) == []
    assert any("line_bytes" in note.text for note in rig.notes)


def test_an_answer_that_would_not_fit_in_a_frame_opens_no_session() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message["method"] == "initialize":
            agent.result(message, {"protocolVersion": 1, "agentInfo": {"x": "y" * 700}})
        else:
            agent.result(message, {"sessionId": "s", "modes": {"x": "y" * 700}})
        return True

    rig = Rig(script, line_bytes=1000, max_frame_bytes=1000)
    error = rig.ask(rig.connect(), create_request())
    refused(error, "max_frame_bytes", 1000)
    rig.assert_nothing_left()


def test_max_frame_bytes_is_warned_of_by_the_gate() -> None:
    warned: list[tuple[str, int, int]] = []
    gate = Gate(
        server="roost/1",
        assigned="~1",
        max_frame_bytes=1000,
        admit=lambda hello: None,
        warn=lambda *what: warned.append(what),
    )
    gate.receive(encode_frame(Hello(1, "test/1", None, None)))
    assert warned == []
    for _ in range(2):
        gate.receive(encode_frame(Request(1, b"x" * 800)))
    assert warned == [("max_frame_bytes", 807, 1000)]


def test_restarts() -> None:
    rig, caller, session = opened(restarts=5)
    for _ in range(3):
        rig.agent.exit(1)
        rig.advance(10)
    assert warnings(rig, "restarts") == []
    rig.agent.exit(1)
    rig.advance(10)
    assert len(warnings(rig, "restarts")) == 1
    rig.advance(600)
    for _ in range(4):
        rig.agent.exit(1)
        rig.advance(10)
    assert len(warnings(rig, "restarts")) == 2
    rig.agent.exit(1)
    rig.advance(10)
    prompt = rig.prompt(caller, session)
    rig.agent.exit(1)
    assert "restart budget exhausted (5 restarts)" in rig.reply(caller, prompt).message


@pytest.mark.parametrize("tail", [0, 10])
def test_tails_keep_what_they_say(tail: int) -> None:
    def script(agent: Agent, message: Json) -> bool:
        agent.stderr(b"e" * 100)
        agent.write(b"g" * 100 + b"\n")
        agent.exit(1)
        return True

    rig = Rig(script, stderr_tail=tail, noise_tail=tail, recent_activity=tail)
    message = rig.ask(rig.connect(), create_request()).message
    assert f'adapter_stderr="{"e" * tail}"' in message
    assert message.count("g" * max(tail // 2, 1)) <= 3
    assert "g" * 11 not in message
    assert ("recent_activity=[]" in message) is (tail == 0)
