"""Files and terminals of bridged agents, as the engine sees them: offered, asked for, served."""

from __future__ import annotations

import pytest

from roost.errors import RpcError
from roost.sidecar.gen.messages import AcpPermissionCallback
from roost.sidecar.quirks import Quirks
from tests.sidecar.embedded import EmbeddedRig
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Json
from tests.sidecar.served import NOTE, SERVICES, answer_to, answered, ask, finish, served
from tests.sidecar.v1_agents import V1, ended, opened


@pytest.mark.parametrize(
    "services", [SERVICES, {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": True}]
)
def test_a_bridged_agent_is_offered_what_the_driver_serves(services: Json) -> None:
    rig, caller, session = opened(V1(), services=services)
    offered = rig.agent.requests("initialize")[0]["params"]["clientCapabilities"]
    assert {name: offered[name] for name in services} == services
    ended(rig, caller, session)


def test_an_agent_that_is_spoken_to_in_version_1_is_offered_what_its_caller_says() -> None:
    rig = Rig(services=SERVICES)
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=1, client_capabilities='{"terminal":false}').session_id
    assert rig.agent.requests("initialize")[0]["params"]["clientCapabilities"] == {"terminal": False}
    rig.agent.ask("fs/read_text_file", {"sessionId": session, "path": NOTE})
    assert not rig.served
    [(_, _, callback)] = rig.asked
    assert not isinstance(callback, AcpPermissionCallback)
    rig.leave(caller)
    rig.advance(200)


@pytest.mark.parametrize("services", [None, SERVICES])
def test_a_host_that_drives_the_engine_serves_what_it_has_said_it_does(services: Json | None) -> None:
    rig = EmbeddedRig(V1(silent=True), services=services)
    rig.session_id = "s"
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=2).session_id
    rig.agent.ask("terminal/create", {"sessionId": "s", "command": "x"}, "r")
    if services is None:
        assert answer_to(rig, "r")["error"]["code"] == -32601
        assert not rig.served
    else:
        answered(rig, rig.served[0], {"terminalId": "t"})
        assert answer_to(rig, "r")["result"] == {"terminalId": "t"}
    ended(rig, caller, session)


# ---- a request


def test_a_request_is_served_in_the_sessions_roots() -> None:
    rig, caller, session = served()
    command = ask(rig, line=2)
    assert command.process == rig.agent.process
    assert command.place.session_id == "s"
    assert command.place.roots == ("/w",)
    assert command.place.missing_file == "error"
    assert command.method == "fs/read_text_file"
    assert command.params["line"] == 2
    answered(rig, command, {"content": "x"})
    assert answer_to(rig, "r")["result"] == {"content": "x"}
    finish(rig, caller, session)


def test_an_agents_quirk_says_how_a_missing_file_is_read() -> None:
    rig = Rig(V1(silent=True), services=SERVICES)
    rig.session_id = "s"
    rig.install("gem", quirks=Quirks(missing_file="empty"))
    caller = rig.connect("me")
    session = rig.create(caller, "gem", protocol_version=2).session_id
    assert ask(rig).place.missing_file == "empty"
    ended(rig, caller, session)


def test_an_error_is_the_agents() -> None:
    rig, caller, session = served()
    answered(rig, ask(rig), error=RpcError(-32002, "Resource not found: x", {"path": "x"}))
    error = answer_to(rig, "r")["error"]
    assert (error["code"], error["data"]) == (-32002, {"path": "x"})
    finish(rig, caller, session)


def test_a_request_of_a_session_that_is_none_is_not_served() -> None:
    rig, caller, session = served()
    rig.agent.ask("fs/read_text_file", {"sessionId": "other", "path": NOTE})
    assert not rig.served
    assert answer_to(rig, "ask-1")["error"]["code"] == -32602
    finish(rig, caller, session)


def test_a_withdrawn_request_is_answered_and_taken_back() -> None:
    rig, caller, session = served()
    command = ask(rig, "terminal/wait_for_exit", terminalId="t")
    rig.agent.notify("$/cancel_request", {"requestId": "r"})
    assert rig.withdrawn == [command.token]
    assert answer_to(rig, "r")["error"]["code"] == -32800
    answered(rig, command, {})
    assert answer_to(rig, "r")
    finish(rig, caller, session)


def test_a_release_during_a_wait_leaves_both_answered() -> None:
    rig, caller, session = served()
    wait = ask(rig, "terminal/wait_for_exit", "wait", terminalId="t")
    release = ask(rig, "terminal/release", "release", terminalId="t")
    answered(rig, wait, {"exitCode": None, "signal": "SIGTERM"})
    answered(rig, release, {})
    assert answer_to(rig, "wait")["result"]["signal"] == "SIGTERM"
    assert answer_to(rig, "release")["result"] == {}
    finish(rig, caller, session)
