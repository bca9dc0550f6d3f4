"""Every bound that an agent reaches: once, with an error or a note that names it."""

from __future__ import annotations

import pytest

from roost.sidecar import events
from tests.sidecar.limited import opened, refused, warnings
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json


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
