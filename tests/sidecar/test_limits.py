"""The gauge, the settings, and every bound a caller reaches: once, with an error that names it, warned of at 80 %."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from roost.errors import ConfigError, SidecarError
from roost.sidecar.gate import Gate
from roost.sidecar.gen.frames import Hello, Request, encode_frame
from roost.sidecar.gen.messages import AcpErrorResponse, AcpListAgentsRequest
from roost.sidecar.limits import MAY_BE_ZERO, Gauge, Limits
from tests.sidecar.limited import opened, refused, silent, warnings
from tests.sidecar.rig import Rig, create_request


def test_a_gauge_warns_once_at_80_percent_and_again_after_falling_below_half() -> None:
    warned: list[tuple[str, int, int]] = []
    gauge = Gauge("sessions", 10, lambda *what: warned.append(what))
    for level in (7, 8, 9, 10, 5, 8, 4, 7, 8):
        gauge.watch(level)
    assert warned == [("sessions", 8, 10), ("sessions", 8, 10)]


def test_a_gauge_of_what_is_not_allowed_at_all_does_not_warn_of_none() -> None:
    warned: list[tuple[str, int, int]] = []
    Gauge("restarts", 0, lambda *what: warned.append(what)).watch(0)
    assert warned == []


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
