"""A foreign session and a missing one: the same bytes, and nothing happens, for every kind of request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from roost.sidecar import commands
from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpDeliverAgentOutputRequest,
    AcpErrorResponse,
    AcpGetSessionStateRequest,
    AcpPermissionCallbackResponse,
    AcpRequest,
    AcpResumeSessionRequest,
    AcpSessionRequest,
    encode_acp_response,
)
from tests.sidecar.embedded import EmbeddedRig
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json

METHODS = [
    "session/prompt",
    "session/cancel",
    "session/set_mode",
    "session/set_config_option",
    "session/close",
    "_x",
    "",
]
REQUESTS: dict[str, Callable[[str], AcpRequest]] = {
    "state": AcpGetSessionStateRequest,
    "close": AcpCloseSessionRequest,
    "no json": lambda session: AcpSessionRequest(session, "session/prompt", "{"),
    **{f"request {m}": lambda session, m=m: AcpSessionRequest(session, m, '{"a":1}') for m in METHODS},  # type: ignore[misc]
}
# A missing session with a name of the same length, so that answers can be compared byte by byte.
HERE, MISSING = "session-one", "session-two"


def silent(agent: Agent, message: Json) -> bool:
    return message.get("method") in ("session/prompt", "session/cancel")


class Recorder(Rig):
    """Keeps every command but notes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.commands: list[commands.Command] = []

    def _do(self, command: commands.Command) -> None:
        if not isinstance(command, commands.Note):
            self.commands.append(command)
        super()._do(command)


def owned(running: bool) -> tuple[Recorder, int, int]:
    """A session of somebody's, a turn running in it or not, and a stranger."""
    rig = Recorder(silent)
    rig.session_id = HERE
    owner, stranger = rig.connect("owner"), rig.connect("stranger")
    rig.create(owner)
    if running:
        rig.prompt(owner, HERE)
        rig.agent.ask("session/request_permission", {})
    rig.commands.clear()
    return rig, owner, stranger


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("kind", REQUESTS)
def test_a_foreign_session_and_a_missing_one_are_the_same_bytes_and_nothing_happens(kind: str, running: bool) -> None:
    rig, owner, stranger = owned(running)
    before = rig.state(owner, HERE)
    rig.commands.clear()
    foreign = rig.ask(stranger, REQUESTS[kind](HERE))
    assert [type(command) for command in rig.commands] == [commands.Reply]
    missing = rig.ask(stranger, REQUESTS[kind](MISSING))
    assert encode_acp_response(foreign).replace(HERE.encode(), MISSING.encode()) == encode_acp_response(missing)
    assert rig.state(owner, HERE) == before
    rig.request(owner, HERE, "_y")
    assert rig.agent.heard[-1]["id"] == (4 if running else 3)
    assert rig.events(stranger) == []


def test_the_events_of_a_session_are_not_for_strangers_nor_are_its_questions() -> None:
    rig, _, stranger = owned(running=False)
    rig.ask(stranger, AcpGetSessionStateRequest(HERE))
    rig.agent.update(sessionUpdate="x")
    rig.agent.stderr(b"x")
    rig.agent.ask("session/request_permission", {})
    rig.agent.exit(1)
    assert rig.events(stranger) == []
    assert [connection for connection, _, _ in rig.asked] == [1]


def test_a_strangers_answer_to_a_question_is_not_heard() -> None:
    rig, _, stranger = owned(running=True)
    rig.answer(stranger, 1, AcpPermissionCallbackResponse("permission", "once"))
    assert rig.agent.answers() == []


def resumption(session: str) -> AcpResumeSessionRequest:
    return AcpResumeSessionRequest(session, "echo", None, "/w", {})


def test_resuming_a_foreign_session_does_what_resuming_a_missing_one_does() -> None:
    """Both start one agent and open one new session on it; the owner's is not touched."""
    rig, owner, stranger = owned(running=True)
    before = rig.state(owner, HERE)
    rig.session_id = None
    rig.commands.clear()
    foreign = rig.ask(stranger, resumption(HERE))
    one, rig.commands = rig.commands, []
    missing = rig.ask(stranger, resumption(MISSING))
    two, rig.commands = rig.commands, []
    assert [type(command) for command in one] == [type(command) for command in two]
    assert (foreign.mode, missing.mode) == ("fallback", "fallback")
    assert rig.agents["acp-agent-2"].heard == rig.agents["acp-agent-3"].heard
    assert rig.state(owner, HERE) == before


UNKNOWN: dict[str, tuple[int, str, Any]] = {
    "in its own words": (-32602, "no session {id} here", None),
    "with an unknown_session": (-32000, "session {id}", {"kind": "unknown_session"}),
    "by its id": (-32002, "gone", {"sessionId": "{id}"}),
    "with an id in its data": (-32603, "broken", {"details": "no file /store/{id}.json"}),
}


def unknowing(error: tuple[int, str, Any]) -> Callable[[Agent, Json], bool]:
    """An agent that has no session but those it has opened itself."""

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") != "session/load":
            return silent(agent, message)
        asked = message["params"]["sessionId"]
        agent.stderr(f"looking for {asked}\n".encode())
        agent.update(sessionUpdate="agent_message_chunk", text=f"of {asked}")
        code, text, data = error
        data = None if data is None else {key: value.replace("{id}", asked) for key, value in data.items()}
        agent.error(message, code, text.replace("{id}", asked), data)
        return True

    return script


@pytest.mark.parametrize("ids", [(HERE, MISSING), (f"{'ab-1' * 4}", f"{'cd-2' * 4}")], ids=["short", "long"])
@pytest.mark.parametrize("error", UNKNOWN.values(), ids=UNKNOWN)
def test_resuming_a_foreign_session_tells_what_the_agent_says_of_a_missing_one(
    error: tuple[int, str, Any], ids: tuple[str, str]
) -> None:
    here, missing = ids
    rig = Recorder(unknowing(error))
    rig.capabilities, rig.session_id = {"loadSession": True}, here
    owner, stranger, other = rig.connect("owner"), rig.connect("stranger"), rig.connect("other")
    rig.create(owner)
    rig.session_id = "fresh"
    said = []
    for caller, session in ((stranger, here), (other, missing)):
        rig.told.clear()
        answer = rig.ask(caller, resumption(session))
        lines = [repr(event) for event in rig.events(caller)]
        said.append("\n".join([repr(answer), *lines]).replace(session, "~").replace(rig.agent.process, "agent"))
        if not isinstance(answer, AcpErrorResponse):
            rig.close(caller, "fresh")
    assert said[0] == said[1]
    assert here not in str(rig.agents["acp-agent-2"].heard)
    assert [len(agent.heard) for agent in rig.agents.values()][1:3] in ([2, 2], [3, 3])


def test_delivering_to_a_foreign_process_is_delivering_to_an_unknown_one() -> None:
    rig = EmbeddedRig(lambda agent, message: True)
    owner, stranger = rig.connect("owner"), rig.connect("stranger")
    rig.send(owner, create_request())
    for process in ("acp-agent-1", "acp-agent-2"):
        answer = rig.ask(stranger, AcpDeliverAgentOutputRequest(process, b'{"jsonrpc":"2.0","id":1,"result":{}}\n'))
        assert answer.message == f"no pending ACP interaction for {process}"
    assert rig.resumable.pending == 1
    assert len(rig.agent.heard) == 1


def test_two_connections_of_one_caller_share_its_sessions() -> None:
    rig, owner, _ = owned(running=False)
    second = rig.connect("owner")
    rig.agent.update(sessionUpdate="before")
    assert rig.state(second, HERE).session_id == HERE
    rig.agent.update(sessionUpdate="after")
    assert [m["params"]["update"]["sessionUpdate"] for m in rig.notifications(second)] == ["after"]
    assert len(rig.notifications(owner)) == 2


@pytest.mark.parametrize("kind", ["state", "request session/prompt", "request _x", "resume"])
def test_whoever_has_to_do_with_a_session_hears_it_from_then_on(kind: str) -> None:
    rig, _, _ = owned(running=False)
    second = rig.connect("owner")
    rig.send(second, resumption(HERE) if kind == "resume" else REQUESTS[kind](HERE))
    rig.agent.update(sessionUpdate="x")
    assert len(rig.notifications(second)) == 1
