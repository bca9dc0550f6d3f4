"""Whatever an agent prints: nothing is raised, nothing wedges, and no more is kept than was agreed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.sidecar.gen.messages import AcpErrorResponse, AcpSessionRpcResponse
from tests.sidecar.plays import LINES
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json

SURROGATE = '"\\ud800"'
# JSON values that trip those who decode without care.
NASTY = [
    "1e999",
    "-1e999",
    "9" * 400,
    "9" * 6000,
    "-" + "9" * 30,
    SURROGATE,
    "[" * 900 + "]" * 900,
    '{"a":' * 900 + "1" + "}" * 900,
    '"' + "x" * 5000 + '"',
    '{"":{"":null}}',
    '{"a":1,"a":2}',
    "null",
    "true",
    '"\\u0000"',
]


def answering(method: str, result: str) -> Rig:
    """Agents that answer this method with exactly this JSON."""

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") != method:
            return False
        agent.write(b'{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (message["id"], result.encode()))
        return True

    rig = Rig(script)
    rig.capabilities = {"loadSession": True}
    return rig


def end(rig: Rig, caller: int) -> None:
    rig.leave(caller)
    rig.advance(700)
    rig.assert_nothing_left()


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize(
    "member",
    ["protocolVersion", "agentCapabilities", "agentInfo", "modes", "configOptions", "models", "sessionCapabilities"],
)
def test_a_nasty_value_in_the_initialize_answer_is_an_error_or_harmless(member: str, value: str) -> None:
    rig = answering("initialize", f'{{"protocolVersion":1,"{member}":{value}}}')
    caller = rig.connect()
    rig.send(caller, create_request())
    rig.advance(100)
    end(rig, caller)


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize("member", ["sessionId", "modes", "configOptions", "models"])
def test_a_nasty_value_in_the_session_new_answer_is_an_error_or_harmless(member: str, value: str) -> None:
    rig = answering("session/new", f'{{"{member}":{value}}}')
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.advance(100)
    created = rig.reply(caller, request)
    assert created is not None
    if not isinstance(created, AcpErrorResponse):
        session = created.session_id
        rig.state(caller, session)
        rig.request(caller, session, "session/set_mode", {"modeId": "m"})
        rig.request(caller, session, "session/set_config_option", {"configId": "model", "value": 1})
        rig.agent.exit(1)
    end(rig, caller)


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize("list", ["[{0}]", '[{{"id":{0}}}]', '[{{"id":"o","currentValue":{0}}}]', "{0}"])
def test_nasty_options_are_passed_on_as_they_are(list: str, value: str) -> None:
    options = list.format(value)
    rig = answering("session/new", f'{{"sessionId":"s","configOptions":{options}}}')
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.advance(100)
    if not isinstance(rig.reply(caller, request), AcpErrorResponse):
        rig.request(caller, "s", "session/set_config_option", {"configId": "o", "value": 2})
        rig.agent.write(
            b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"config_option_update",'
            b'"configOptions":%s}}}\n' % options.encode()
        )
        rig.state(caller, "s")
    end(rig, caller)


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize("method", ["session/prompt", "session/set_mode", "session/set_config_option"])
def test_a_nasty_answer_to_a_request_reaches_the_caller_or_is_an_error(method: str, value: str) -> None:
    rig = answering(method, f'{{"stopReason":{value},"configOptions":{value}}}')
    caller = rig.connect()
    session = rig.create(caller).session_id
    request = rig.request(caller, session, method, {"prompt": [], "modeId": "m", "configId": "o", "value": 1})
    rig.advance(700)
    answer = rig.reply(caller, request)
    assert isinstance(answer, AcpSessionRpcResponse | AcpErrorResponse)
    end(rig, caller)


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize("member", ["code", "message", "data"])
def test_a_nasty_error_is_still_an_error(member: str, value: str) -> None:
    error = {"code": "-32000", "message": '"m"', "data": "{}", member: value}
    text = "{" + ",".join(f'"{name}":{part}' for name, part in error.items()) + "}"

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") not in ("session/new", "session/prompt"):
            return False
        if message["method"] == "session/new" and agent.process == "acp-agent-1":
            return False
        agent.write(b'{"jsonrpc":"2.0","id":%d,"error":%s}\n' % (message["id"], text.encode()))
        return True

    rig = Rig(script)
    caller = rig.connect()
    session = rig.create(caller).session_id
    prompt = rig.prompt(caller, session)
    failed = rig.send(caller, create_request())
    rig.advance(700)
    assert rig.reply(caller, prompt) is not None
    assert isinstance(rig.reply(caller, failed), AcpErrorResponse)
    end(rig, caller)


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize("method", ["session/request_permission", "fs/read_text_file", "elicitation/create"])
@pytest.mark.parametrize("place", ["id", "params", "options"])
def test_a_nasty_question_is_put_or_refused(method: str, place: str, value: str) -> None:
    parts = {"id": '"q"', "params": "{}"}
    if place == "options":
        parts["params"] = f'{{"options":[{value},{{"optionId":{value},"kind":{value}}}],"permissionId":{value}}}'
    else:
        parts[place] = value
    rig = Rig()
    caller = rig.connect()
    rig.create(caller)
    line = '{{"jsonrpc":"2.0","id":{id},"method":"{0}","params":{params}}}\n'.format(method, **parts)
    rig.agent.write(line.encode())
    rig.advance(130)
    assert len(rig.agent.answers()) <= 1
    end(rig, caller)


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize(
    "update",
    [
        '{{"sessionUpdate":{0}}}',
        '{{"sessionUpdate":"state_update","state":{0},"stopReason":{0}}}',
        '{{"sessionUpdate":"current_mode_update","currentModeId":{0}}}',
        '{{"sessionUpdate":"config_option_update","configOptions":{0}}}',
        "{0}",
    ],
)
def test_a_nasty_update_is_passed_on_as_text_or_dropped(update: str, value: str) -> None:
    rig = Rig()
    caller = rig.connect()
    session = rig.create(caller).session_id
    line = f'{{"jsonrpc":"2.0","method":"session/update","params":{{"update":{update.format(value)}}}}}'
    rig.agent.write(line.encode() + b"\n")
    told = [event.notification for event in rig.events(caller)]
    assert told in ([line], [line.replace("\\ud800", "\\ufffd")], [])
    rig.state(caller, session)
    end(rig, caller)


def test_text_that_is_not_utf_8_reaches_no_caller() -> None:
    rig = Rig(lambda agent, message: message.get("method") == "_x")
    caller = rig.connect()
    session = rig.create(caller).session_id
    one, two, three = (rig.request(caller, session, "_x") for _ in range(3))
    rig.agent.write(b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"\xff"}}}\n')
    rig.agent.write(
        b'{"jsonrpc":"2.0","method":"session/update","params":{"x":"\xff","update":{"sessionUpdate":"a"}}}\n'
    )
    rig.agent.write(b'{"jsonrpc":"2.0","method":"_n","params":{"x":"\xff"}}\n')
    rig.agent.write(b'{"jsonrpc":"2.0","id":1,"method":"fs/read","params":{"x":"\xff"}}\n')
    rig.agent.write(b'{"jsonrpc":"2.0","id":3,"result":{"x":"\xff"}}\n')
    rig.agent.write(b'{"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"\xff"}}\n')
    rig.agent.write(b'{"jsonrpc":"2.0","id":5,"error":{"code":"x"},"more":"\xff"}\n')
    assert rig.events(caller) == []
    assert rig.asked == []
    for request in (one, two, three):
        assert isinstance(rig.reply(caller, request), AcpErrorResponse)
        assert "malformed response" in rig.reply(caller, request).message
    end(rig, caller)


def test_half_a_character_in_an_escape_is_mended() -> None:
    rig = Rig()
    caller = rig.connect()
    rig.create(caller)
    rig.agent.write(
        b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"x","t":"\\ud83d"}}}\n'
    )
    assert rig.notifications(caller)[0]["params"]["update"]["t"] == "\ufffd"


@pytest.mark.parametrize(
    ("line", "answered"),
    [
        ('"error":{"code":-32000}', "error"),
        ('"error":{"message":"m"}', "error"),
        ('"error":{"code":"E_X","message":"m"}', "error"),
        ('"error":null,"result":{"ok":true}', "result"),
        ('"error":{"code":1,"message":"m"},"result":{}', None),
        ('"error":5', None),
        ('"error":null', None),
        ("", None),
    ],
)
def test_a_response_that_breaks_a_small_rule_counts_as_far_as_it_goes(line: str, answered: str | None) -> None:
    rig = Rig(lambda agent, message: message.get("method") == "_x")
    caller = rig.connect()
    session = rig.create(caller).session_id
    request = rig.request(caller, session, "_x")
    rig.agent.write(f'{{"jsonrpc":"2.0","id":3{"," + line if line else ""}}}\n'.encode())
    if answered is None:
        assert "malformed response" in rig.reply(caller, request).message
    else:
        assert answered in rig.rpc(caller, request)


def test_what_is_kept_of_what_an_agent_said_is_bounded() -> None:
    rig = Rig()
    caller = rig.connect()
    rig.create(caller)
    link = rig.engine._context.links["acp-agent-1"]
    for number in range(100):
        rig.agent.notify(f"_{number}" + "n" * 100_000, {})
        rig.agent.ask("_" + "m" * 100_000, {}, "i" * 1000)
        rig.agent.write(b"g" * 100_000 + b"\n")
        rig.agent.stderr(b"e" * 100_000)
    kept = link.activity
    assert sum(map(len, kept.recent)) < 16 * 500
    assert len(kept.stderr) == 4000
    assert len(kept.noise) < 2100
    assert len(kept.diagnosis()) < 20_000
    assert all(len(note.text) < 500 for note in rig.notes)


def test_refusals_do_not_fill_the_log() -> None:
    rig = Rig(callbacks_per_session=1)
    caller = rig.connect("me")
    rig.create(caller)
    rig.leave(caller)
    for number in range(1000):
        rig.agent.ask("session/request_permission", {}, number)
    assert len(rig.agent.answers()) == 1000
    assert sum(note.level != "debug" for note in rig.notes) < 30


def broken(agent: Agent) -> None:
    """Makes the engine itself fail at the next update."""

    def fail(line: bytes, method: str, update: str | None) -> None:
        raise KeyError("a mistake of ours")

    agent.rig.engine._context.links[agent.process].sink.noticed = fail  # type: ignore[method-assign]


def test_a_mistake_of_ours_costs_one_agent_and_is_noted_as_a_bug() -> None:
    rig = Rig()
    rig.capabilities = {"loadSession": True}
    caller = rig.connect()
    one, two = rig.create(caller).session_id, rig.create(caller).session_id
    notes: list[str] = []
    do = rig._do
    rig._do = lambda c: notes.append(c.text) if getattr(c, "bug", False) else do(c)  # type: ignore[method-assign]
    broken(rig.agents["acp-agent-1"])
    rig.agents["acp-agent-1"].update(sessionUpdate="x")
    assert rig.agents["acp-agent-1"].signals == [9]
    assert "a mistake of ours" in notes[0]
    assert rig.state(caller, one).process_id == "acp-agent-3"
    assert rig.rpc(caller, rig.prompt(caller, two))["result"] == {"stopReason": "end_turn"}


known = [json.dumps(line).encode() if not isinstance(line, bytes | str) else b"" for line in LINES.values()]
junk = st.binary(max_size=60) | st.sampled_from([line for line in known if line])
outputs = st.lists(st.tuples(junk, st.sampled_from([b"\n", b"", b"\r\n", b" "])), max_size=12)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(outputs, outputs, st.sampled_from([1, 2]))
def test_arbitrary_bytes_never_raise_and_never_wedge(early: Any, late: Any, version: int) -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/new":
            agent.write(b"".join(part for pair in early for part in pair) + b"\n")
        return False

    rig = Rig(script)
    caller = rig.connect()
    session = rig.create(caller, protocol_version=version).session_id
    rig.agent.write(b"".join(part for pair in late for part in pair) + b"\n")
    answer = rig.reply(caller, rig.request(caller, session, "_x"))
    assert isinstance(answer, AcpSessionRpcResponse)
    end(rig, caller)


@given(st.binary(max_size=100))
def test_arbitrary_stderr_arrives_as_it_was(chunk: bytes) -> None:
    rig = Rig()
    caller = rig.connect()
    rig.create(caller)
    rig.agent.stderr(chunk)
    assert [event.chunk for event in rig.events(caller)] == [chunk]
