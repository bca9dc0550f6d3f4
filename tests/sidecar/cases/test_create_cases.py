"""Cases 15 to 30 and 37 to 40: create and the handshake."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar.gen.messages import AcpErrorResponse, AcpResponse, AcpSessionEvent
from tests.sidecar.cases.handshakes import answering, created
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json


def failing(method: str, code: int, message: str | None, data: Any = None) -> Rig:
    def script(agent: Agent, request: Json) -> bool:
        if request.get("method") != method:
            return False
        error = {"code": code} if message is None else {"code": code, "message": message}
        agent.say({"jsonrpc": "2.0", "id": request["id"], "error": error if data is None else {**error, "data": data}})
        return True

    return Rig(script)


def refused(rig: Rig, agent: str = "echo", **fields: Any) -> AcpErrorResponse:
    """The error of a create that fails at once, and leaves nothing."""
    response: AcpResponse = rig.ask(rig.connect(), create_request(agent, **fields))
    assert isinstance(response, AcpErrorResponse), response
    rig.assert_nothing_left()
    return response


def test_case_015_an_unknown_agent_type_has_its_exact_text_and_starts_nothing() -> None:
    rig = Rig()
    assert refused(rig, "nope") == AcpErrorResponse(
        "invalid_state",
        'unknown agent type "nope": no projected /opt/agentos/pkgs/nope package with an agent.acpEntrypoint'
        " — pass its package to AgentOs software",
    )
    assert not rig.spawned
    created(rig)
    assert list(rig.agents) == ["acp-agent-1"]


def test_case_016_a_package_that_is_no_agent_is_an_unknown_agent_type() -> None:
    """What is wrong with a package the catalogue tells the log; the engine only learns that there is none."""
    rig = Rig()
    rig.programs.clear()
    assert refused(rig).message.startswith('unknown agent type "echo": ')


@pytest.mark.parametrize(("name", "shown"), [("a\nb", r"a\nb"), ("x" * 5000, "x" * 512 + "…"), ("{0}", "{0}")])
def test_case_016_an_odd_agent_type_is_shown_so_that_it_prints(name: str, shown: str) -> None:
    assert refused(Rig(), name).message.startswith(f'unknown agent type "{shown}": no projected')


def test_case_017_the_agent_hears_initialize_then_session_new_and_nothing_else() -> None:
    rig = Rig()
    created(rig, client_capabilities='{"fs": {"readTextFile": true}}', mcp_servers='[ {"name":"m"} ]')
    assert rig.agent.heard == [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}}},
        },
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "session/new",
            "params": {"cwd": "/w", "mcpServers": [{"name": "m"}]},
        },
    ]


def test_case_017_version_2_is_spoken_in_its_own_shape() -> None:
    """Ours: INI-2."""
    rig = Rig()
    created(rig, protocol_version=2, client_capabilities='{"session":{}}')
    assert rig.agent.heard[0]["params"] == {
        "protocolVersion": 2,
        "info": {"name": "roost", "title": "Roost", "version": "1.2.3"},
        "capabilities": {"session": {}},
    }


def test_case_018_arguments_are_the_manifests_the_callers_then_the_injected_ones() -> None:
    rig = Rig()
    rig.install("pi", launch_args=("--acp",))
    created(rig, agent="pi", args=["--model", "x"], additional_instructions="Be brief.")
    assert rig.agent.launch.args == ("--acp", "--model", "x", "--append-system-prompt", "Be brief.\n\n---")


def test_case_019_the_callers_environment_wins_the_manifest_fills_gaps_and_stdin_stays_open() -> None:
    rig = Rig()
    rig.install("echo", env={"A": "manifest", "B": "manifest", "AGENTOS_KEEP_STDIN_OPEN": "0"})
    created(rig, env={"A": "caller", "AGENTOS_KEEP_STDIN_OPEN": "0"})
    assert rig.agent.launch.env == {"A": "caller", "B": "manifest", "AGENTOS_KEEP_STDIN_OPEN": "1"}


@pytest.mark.parametrize("result", [{}, {"sessionId": ""}, {"sessionId": 5}, {"sessionId": None}, {"sessionId": ["s"]}])
def test_case_020_without_a_session_id_the_session_is_called_after_its_process(result: Json) -> None:
    assert created(answering(new=result)).session_id == "acp-agent-1"


def test_case_021_an_initialize_error_is_told_with_its_data_and_the_agent_is_ended() -> None:
    rig = failing("initialize", -32603, "no key", {"hint": "log in", "n": [1, 2]})
    error = refused(rig)
    assert error.code == "invalid_state"
    assert error.message == 'ACP initialize failed: no key (data: {"hint":"log in","n":[1,2]})'
    assert rig.agent.input_closed
    assert rig.agent.exited


def test_case_022_an_error_without_a_message_is_an_unknown_one() -> None:
    assert refused(failing("initialize", -32603, None)).message == "ACP initialize failed: unknown ACP error"
    assert refused(failing("initialize", -32603, "")).message == "ACP initialize failed: unknown ACP error"


@pytest.mark.parametrize("result", ["null", "[]", "5", '"x"', "true"])
def test_case_023_a_result_that_is_no_object_is_missing(result: str) -> None:
    def script(agent: Agent, message: Json) -> bool:
        agent.write(b'{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (message["id"], result.encode()))
        return True

    assert refused(Rig(script)) == AcpErrorResponse("invalid_state", "ACP initialize response missing result")


@pytest.mark.parametrize("version", [None, "1", 1.0, True, [1], 10**400])
def test_case_024_a_protocol_version_that_is_no_integer_is_missing(version: Any) -> None:
    rig = answering(initialize={} if version is None else {"protocolVersion": version})
    assert refused(rig) == AcpErrorResponse("invalid_state", "ACP initialize response missing protocolVersion")


def test_case_025_another_protocol_version_is_a_mismatch_with_its_own_code() -> None:
    assert refused(answering(initialize={"protocolVersion": 2})) == AcpErrorResponse(
        "protocol_version_mismatch", "ACP initialize protocolVersion mismatch: requested 1, agent reported 2"
    )


def test_case_026_a_session_new_error_is_told_like_an_initialize_error() -> None:
    error = refused(failing("session/new", -32000, "log in first", "x"))
    assert error.message == 'ACP session/new failed: log in first (data: "x")'


def test_case_027_an_early_exit_tells_its_code_and_its_last_stderr() -> None:
    def script(agent: Agent, message: Json) -> bool:
        agent.stderr(b"no licence\n")
        agent.exit(5)
        return True

    rig = Rig(script)
    caller = rig.connect()
    error = rig.ask(caller, create_request())
    assert error == AcpErrorResponse(
        "execution",
        "ACP adapter process acp-agent-1 exited with code 5 before response id=1; "
        'recent_activity=["sent request initialize id=1"]; adapter_stderr="no licence\\n"',
    )
    assert [type(event).__name__ for event in rig.events(caller)] == ["AcpAgentStderrEvent"]
    assert rig.events(caller)[0].session_id == ""
    rig.assert_nothing_left()


def test_case_027_an_agent_that_cannot_be_started_says_why() -> None:
    rig = Rig()
    rig.spawn_error = ("execution", "no such file: /opt/agentos/bin/echo")
    assert refused(rig) == AcpErrorResponse("execution", "no such file: /opt/agentos/bin/echo")


def test_case_028_of_a_long_stderr_the_last_4000_characters_are_told() -> None:
    def script(agent: Agent, message: Json) -> bool:
        agent.stderr("ä".encode() * 3999)
        agent.stderr(b"x" * 3000 + b"\n")
        agent.exit(1)
        return True

    message = refused(Rig(script)).message
    assert json.loads(message.split("adapter_stderr=")[1]) == "ä" * 999 + "x" * 3000 + "\n"


@pytest.mark.parametrize(
    ("silent", "timeout", "number", "setting"),
    [("initialize", 30, 1, "initialize_timeout"), ("session/new", 60, 2, "session_open_timeout")],
)
def test_case_029_an_agent_that_never_answers_is_ended_in_time(
    silent: str, timeout: int, number: int, setting: str
) -> None:
    """Ours: 30 and 60 seconds; code `timeout`; the text goes on where the reference's ends."""
    rig = Rig(lambda agent, message: message.get("method") == silent)
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.advance(timeout - 0.1)
    assert rig.reply(caller, request) is None
    rig.advance(0.2)
    error = rig.reply(caller, request)
    assert error.code == "timeout"
    assert error.message.startswith(
        f"timed out waiting for ACP response id={number}; no session/cancel notification for bootstrap request; "
    )
    assert f"unanswered after {timeout} s ({setting})" in error.message
    assert rig.agent.exited
    rig.assert_nothing_left()


def test_case_029_an_agent_that_prints_only_garbage_is_shown_by_its_first_and_its_last() -> None:
    def script(agent: Agent, message: Json) -> bool:
        agent.write(b"usage: tool [--help]\n")
        for number in range(500):
            agent.write(b"line %d of the manual\n" % number)
        return True

    rig = Rig(script)
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.advance(31)
    message = rig.reply(caller, request).message
    assert 'adapter_stdout="usage: tool [--help]\\nline 0' in message
    assert "line 499 of the manual" in message
    assert len(message) < 5000


@pytest.mark.parametrize(
    ("field", "label"), [("client_capabilities", "clientCapabilities"), ("mcp_servers", "mcpServers")]
)
@pytest.mark.parametrize("text", ["", "{", "[1,]", "nope", "{} {}", '"\x01"', "[" * 100_000])
def test_case_030_json_that_is_none_is_refused_before_anything_is_started(field: str, label: str, text: str) -> None:
    """Ours: the reference starts the agent first and kills it."""
    rig = Rig()
    error = refused(rig, **{field: text})
    assert error.code == "invalid_state"
    assert error.message.startswith(f"invalid {label} JSON: ")
    assert not rig.spawned


def test_case_037_notifications_before_the_session_is_open_come_after_the_answer_in_order() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message["method"] == "initialize":
            agent.notify("session/update", {"update": {"sessionUpdate": "available_commands_update"}})
        else:
            agent.notify("_vendor/hello", {"n": 2})
        return False

    rig = Rig(script)
    caller = rig.connect()
    session = rig.create(caller).session_id
    assert isinstance(rig.told[0][1], tuple)
    told = rig.events(caller)
    assert all(isinstance(event, AcpSessionEvent) and event.session_id == session for event in told)
    assert [message["method"] for message in rig.notifications(caller)] == ["session/update", "_vendor/hello"]


def test_case_038_garbage_and_stray_answers_in_the_handshake_are_ignored() -> None:
    def script(agent: Agent, message: Json) -> bool:
        agent.write(b'loading...\n[1,2]\n5\n"x"\n{"log":true}\n')
        agent.say({"jsonrpc": "2.0", "id": 99, "result": {}})
        agent.say({"jsonrpc": "2.0", "id": str(message["id"]), "result": {"protocolVersion": 7}})
        return False

    assert created(Rig(script)).session_id == "s-acp-agent-1"


def test_case_039_a_session_id_that_is_taken_is_a_conflict_and_the_old_session_is_untouched() -> None:
    rig = Rig()
    caller, other = rig.connect("me"), rig.connect("me")
    rig.session_id = "same"
    rig.create(caller)
    assert rig.ask(other, create_request()) == AcpErrorResponse("conflict", "session id collision: same")
    assert rig.agents["acp-agent-2"].exited
    assert not rig.agents["acp-agent-1"].exited
    assert rig.rpc(caller, rig.prompt(caller, "same"))["result"] == {"stopReason": "end_turn"}


def test_case_039_the_ids_of_two_callers_do_not_collide() -> None:
    """Ours: else each could find out what ids the other has."""
    rig = Rig()
    one, two, nobody = rig.connect("one"), rig.connect("two"), rig.connect()
    rig.session_id = "same"
    callers = {caller: rig.create(caller) for caller in (one, two, nobody)}
    assert {created.session_id for created in callers.values()} == {"same"}
    for number, agent in enumerate(rig.agents.values(), 1):
        agent.update(sessionUpdate="x", of=number)
    for number, caller in enumerate(callers, 1):
        assert rig.rpc(caller, rig.prompt(caller, "same"))["result"] == {"stopReason": "end_turn"}
        assert [note["params"]["update"]["of"] for note in rig.notifications(caller)] == [number]
    rig.close(one, "same")
    assert rig.state(two, "same").process_id == "acp-agent-2"


def test_case_040_capabilities_and_info_are_told_as_the_agent_wrote_them() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message["method"] == "initialize":
            agent.write(
                b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"v":1.0, "big":1e999},'
                b'"agentCapabilities":{"z":12345678901234567890123}}}\n'
            )
        return bool(message["method"] == "initialize")

    told = created(Rig(script))
    assert told.agent_info == '{"v":1.0, "big":1e999}'
    assert told.agent_capabilities == '{"z":12345678901234567890123}'
    bare = created(answering(initialize={"protocolVersion": 1}))
    assert (bare.agent_info, bare.agent_capabilities) == (None, None)


def test_case_040_of_version_2_capabilities_and_info_are_told_from_where_it_has_them() -> None:
    """Ours: INI-2."""
    told = created(
        answering(
            initialize={
                "protocolVersion": 2,
                "info": {"name": "a", "version": "1"},
                "capabilities": {"session": {}},
            }
        ),
        protocol_version=2,
    )
    assert json.loads(told.agent_info or "") == {"name": "a", "version": "1"}
    assert json.loads(told.agent_capabilities or "") == {"session": {}}
