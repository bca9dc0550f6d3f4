"""Cases 86 to 93: resume."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar.gen.messages import AcpErrorResponse, AcpResumeSessionRequest, AcpSessionResumedResponse
from roost.sidecar.journal import StoredLaunch, StoredSession
from roost.sidecar.launch import Launch
from roost.sidecar.naming import key_of
from roost.sidecar.redaction import stored_launch
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json

LOAD = {"loadSession": True}
PREAMBLE = (
    "You are continuing an earlier session. The full prior transcript is at `/t.md`. Read it with your file tools if "
    "you need context before answering."
)


def resuming(capabilities: Json, load: Any = None, replay: int = 0) -> Rig:
    """Agents whose session/load (or resume) answers with `load`: a result, or an error as an Exception's argument."""

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") not in ("session/load", "session/resume"):
            return False
        for number in range(replay):
            agent.update(sessionUpdate="agent_message_chunk", number=number)
        if isinstance(load, Exception):
            agent.say({"jsonrpc": "2.0", "id": message["id"], "error": load.args[0]})
        else:
            agent.result(message, {} if load is None else load)
        return True

    rig = Rig(script)
    rig.capabilities = capabilities
    return rig


def plain_launch() -> StoredLaunch:
    rig = Rig()
    rig.create(rig.connect())
    launch: Launch = rig.agent.launch
    return stored_launch(launch)


def stored(session_id: str, owner: str, launch: StoredLaunch) -> StoredSession:
    return StoredSession(session_id=key_of(owner, session_id), live_id=session_id, owner=owner, launch=launch)


def request(session: str = "old", transcript: str | None = "/t.md", **fields: Any) -> AcpResumeSessionRequest:
    values: Json = {"agent_type": "echo", "cwd": "/w", "env": {}, **fields}
    return AcpResumeSessionRequest(session_id=session, transcript_path=transcript, **values)


def sent_prompt(rig: Rig, caller: int, session: str, params: Any) -> Any:
    rig.request(caller, session, "session/prompt", params)
    return rig.agent.requests("session/prompt")[-1]["params"]["prompt"]


@pytest.mark.parametrize(
    ("capabilities", "method"),
    [
        (LOAD, "session/load"),
        ({"resume": True}, "session/resume"),
        ({"loadSession": True, "resume": True}, "session/load"),
        ({"sessionCapabilities": {"resume": {}}}, "session/resume"),
    ],
)
def test_case_086_a_native_resume_keeps_the_id_and_replays_after_the_answer(capabilities: Json, method: str) -> None:
    rig = resuming(capabilities, replay=3)
    caller = rig.connect()
    answer = rig.ask(caller, request())
    assert answer == AcpSessionResumedResponse("old", "native")
    assert isinstance(rig.told[0][1], tuple)
    assert [message["params"]["update"]["number"] for message in rig.notifications(caller)] == [0, 1, 2]
    assert rig.agent.heard[1] == {
        "jsonrpc": "2.0",
        "id": 2,
        "method": method,
        "params": {"sessionId": "old", "cwd": "/w", "mcpServers": []},
    }
    # A native resume needs no preamble.
    assert sent_prompt(rig, caller, "old", {"prompt": []}) == []
    assert rig.agent.requests("session/prompt")[0]["id"] == 3


def not_found(code: int, **data: Any) -> Exception:
    return Exception({"code": code, "message": "m", **({"data": data} if data else {})})


@pytest.mark.parametrize(
    "error",
    [
        not_found(-32603, details="NotFoundError"),
        not_found(-32000, kind="unknown_session"),
        not_found(1, kind="unknown_session"),
        not_found(-32002, sessionId="old"),
    ],
)
def test_case_087_an_agent_that_does_not_know_the_session_falls_back_to_a_new_one(error: Exception) -> None:
    """Ours: -32002 naming the session counts as well (ERR-3); a partial replay is not passed on."""
    rig = resuming(LOAD, error, replay=2)
    caller = rig.connect()
    assert rig.ask(caller, request()) == AcpSessionResumedResponse("s-acp-agent-1", "fallback")
    assert rig.notifications(caller) == []


@pytest.mark.parametrize(
    "error",
    [
        not_found(-32603, details="Other"),
        not_found(-32603),
        not_found(-32602),
        not_found(-32000, details="NotFoundError"),
        not_found(-32002, sessionId="another"),
        not_found(-32002),
    ],
)
def test_case_087_any_other_error_is_the_callers(error: Exception) -> None:
    rig = resuming(LOAD, error)
    answer = rig.ask(rig.connect(), request())
    assert isinstance(answer, AcpErrorResponse)
    assert answer.message.startswith("ACP session/load failed: m")
    rig.assert_nothing_left()


def test_case_088_without_a_capability_the_fallback_is_a_new_session_with_id_2() -> None:
    rig = resuming({})
    answer = rig.ask(rig.connect(), request())
    assert answer == AcpSessionResumedResponse("s-acp-agent-1", "fallback")
    assert [(message["id"], message["method"]) for message in rig.agent.heard] == [
        (1, "initialize"),
        (2, "session/new"),
    ]


def test_case_088_after_a_failed_load_the_new_session_has_an_id_of_its_own() -> None:
    """Ours: the reference sends id 2 twice; an id is never used twice on a connection (ID-4)."""
    rig = resuming(LOAD, not_found(1, kind="unknown_session"))
    caller = rig.connect()
    session = rig.ask(caller, request()).session_id
    rig.prompt(caller, session)
    assert [message["id"] for message in rig.agent.heard] == [1, 2, 3, 4]


def test_case_089_the_preamble_is_the_first_block_of_the_first_prompt_only() -> None:
    rig = resuming({})
    caller = rig.connect()
    session = rig.ask(caller, request()).session_id
    rig.request(caller, session, "_other", {"prompt": []})
    assert rig.agent.heard[-1]["params"]["prompt"] == []
    own = [{"type": "text", "text": "go on"}]
    assert sent_prompt(rig, caller, session, {"prompt": own}) == [{"type": "text", "text": PREAMBLE}, *own]
    assert sent_prompt(rig, caller, session, {"prompt": own}) == own


@pytest.mark.parametrize("transcript", ["", None])
def test_case_089_without_a_transcript_there_is_no_preamble(transcript: str | None) -> None:
    rig = resuming({})
    caller = rig.connect()
    session = rig.ask(caller, request(transcript=transcript)).session_id
    assert sent_prompt(rig, caller, session, {"prompt": []}) == []


@pytest.mark.parametrize("params", [{}, {"prompt": "text"}, {"prompt": None}, {"prompt": {}}, None, 5])
def test_case_090_a_prompt_that_is_no_list_becomes_the_preamble_alone(params: Any) -> None:
    rig = resuming({})
    caller = rig.connect()
    session = rig.ask(caller, request()).session_id
    assert sent_prompt(rig, caller, session, params) == [{"type": "text", "text": PREAMBLE}]


def failing_once(how: str) -> Rig:
    """Agents that fail their first prompt in this way."""
    failed: list[bool] = []

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") != "session/prompt" or failed:
            return False
        failed.append(True)
        if how == "crash":
            agent.exit(1)
        elif how == "line":
            agent.write(b"x" * 2001 + b"\n")
        elif how == "malformed":
            agent.say({"jsonrpc": "2.0", "id": message["id"]})
        elif how == "error":
            agent.error(message, -32000, "no")
        return True

    rig = Rig(script, line_bytes=2000)
    rig.capabilities = {"loadSession": True}
    return rig


@pytest.mark.parametrize(
    ("how", "again"), [("crash", True), ("line", True), ("malformed", True), ("error", False), ("silence", False)]
)
def test_case_091_a_prompt_lost_on_the_way_gives_the_preamble_back(how: str, again: bool) -> None:
    rig = failing_once(how)
    rig.script, script = (lambda agent, message: False), rig.script
    rig.capabilities, capabilities = {}, rig.capabilities  # straight to the fallback
    caller = rig.connect()
    session = rig.ask(caller, request()).session_id
    rig.capabilities = capabilities
    rig.script = rig.agent.hear = script
    first = rig.prompt(caller, session, "one")
    rig.advance(605)
    assert rig.reply(caller, first) is not None
    blocks = sent_prompt(rig, caller, session, {"prompt": []})
    assert (blocks == [{"type": "text", "text": PREAMBLE}]) is again


def test_case_092_a_load_result_that_is_null_is_missing() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/load":
            agent.write(b'{"jsonrpc":"2.0","id":2,"result":null}\n')
            return True
        return False

    rig = Rig(script)
    rig.capabilities = LOAD
    answer = rig.ask(rig.connect(), request())
    assert answer == AcpErrorResponse("invalid_state", "ACP session/load response missing result")
    rig.assert_nothing_left()


def test_case_093_a_session_nobody_remembers_is_started_with_the_old_defaults() -> None:
    rig = resuming({})
    rig.install("echo", launch_args=("--acp",), env={"M": "1"})
    rig.ask(rig.connect(), request(env={"K": "V"}))
    launch = rig.agent.launch
    assert launch.args == ("--acp",)
    assert launch.env == {"M": "1", "K": "V", "AGENTOS_KEEP_STDIN_OPEN": "1"}
    assert rig.agent.heard[0]["params"] == {
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
    }


def test_case_093_a_remembered_session_is_started_as_it_was_created_and_the_request_wins() -> None:
    """Ours."""
    rig = resuming({})
    caller = rig.connect("me")
    created = rig.create(
        caller,
        args=["--model", "x"],
        env={"A": "1", "B": "1"},
        cwd="/first",
        protocol_version=2,
        mcp_servers='[{"name":"m"}]',
        client_capabilities='{"session":{}}',
        additional_instructions="Be brief.",
    )
    launch = rig.agent.launch
    rig.close(caller, created.session_id)
    rig.records["me/old"] = stored("old", "me", stored_launch(launch))
    assert rig.ask(caller, request(cwd="", env={"B": "2"})) == AcpSessionResumedResponse("old", "native")
    again = rig.agent.launch
    assert (again.args, again.cwd, again.protocol_version) == (launch.args, "/first", 2)
    # Values never reach the journal; instructions are none.
    told = {"ACP_APPEND_SYSTEM_PROMPT": "Be brief.\n\n---"}
    assert again.env == {"AGENTOS_KEEP_STDIN_OPEN": "1", "B": "2", **told}
    assert rig.agent.heard[1]["params"] == {
        "sessionId": "old",
        "cwd": "/first",
        "mcpServers": [{"name": "m"}],
        "replayFrom": {"type": "start"},
    }
    assert json.loads(again.client_capabilities) == {"session": {}}


def test_a_session_that_is_being_closed_is_resumed_when_its_agent_is_gone() -> None:
    rig = resuming(LOAD)
    caller = rig.connect()
    session = rig.create(caller).session_id
    rig.agent.exits_on_eof = False
    rig.close(caller, session)
    resumed = rig.send(caller, request(session))
    assert len(rig.spawned) == 1
    rig.advance(0.6)
    assert rig.reply(caller, resumed) == AcpSessionResumedResponse(session, "native")
    assert rig.agents["acp-agent-1"].exited


def test_case_093_a_live_session_of_ones_own_is_joined_and_nothing_is_started() -> None:
    """Ours: the reference started a second agent and lost the first."""
    rig = resuming(LOAD)
    one, two = rig.connect("me"), rig.connect("me")
    session = rig.create(one).session_id
    assert rig.ask(two, request(session)) == AcpSessionResumedResponse(session, "native")
    assert len(rig.spawned) == 1
    rig.agent.update(sessionUpdate="x")
    assert len(rig.notifications(one)) == len(rig.notifications(two)) == 1


def test_case_093_a_foreign_session_is_a_missing_one_and_is_not_attached_to() -> None:
    """Ours, whoever holds it: what the agent does about a session that is not there is found out by one."""
    rig = resuming(LOAD)
    session = rig.create(rig.connect("one")).session_id
    rig.records["one/stored"] = stored("stored", "one", plain_launch())
    other = rig.connect("two")
    for foreign in (session, "stored", "missing"):  # of an agent that loads whatever it is asked for
        assert rig.ask(other, request(foreign)) == AcpSessionResumedResponse(foreign, "native")
        assert [message["method"] for message in rig.agent.heard] == ["initialize", "session/load"]
        assert (foreign in str(rig.agent.heard)) is (foreign == "missing")
