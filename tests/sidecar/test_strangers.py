"""Every kind of request about somebody else's session, in whatever state that is: as if there were none.

The answers are compared byte by byte, and so is everything the engine does: the same commands, on the daemon's path
and on the resumable one. Resuming, which asks an agent, is in test_ownership.py and test_foreign_resume.py.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from roost.sidecar import commands
from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpDeliverAgentOutputRequest,
    AcpErrorResponse,
    AcpGetSessionStateRequest,
    AcpListAgentsRequest,
    AcpPendingResponse,
    AcpRequest,
    AcpResumeSessionRequest,
    AcpSessionRequest,
    encode_acp_response,
)
from tests.sidecar.embedded import EmbeddedRig
from tests.sidecar.plain_agents import Plain
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.shelf import Shelf

HERE, MISSING = "session-one", "session-two"
OWNER, STRANGER = 1, 2

# Whatever the sidecar looks at more closely, and whatever it does not.
METHODS = [
    "initialize",
    "session/new",
    "session/load",
    "session/resume",
    "session/list",
    "session/close",
    "session/delete",
    "session/prompt",
    "session/cancel",
    "session/set_mode",
    "session/set_config_option",
    "auth/login",
    "auth/logout",
    "mcp/message",
    "document/didOpen",
    "nes/accept",
    "_vendor/x",
    "",
    "_roost/history",
    "_roost/record",
    "_roost/sleep",
    "_roost/delete",
    "_roost/unknown",
]
PARAMS = '{"sessionId":"session-one","prompt":[],"modeId":"m","configId":"c","value":1,"methodId":"key"}'
REQUESTS: dict[str, Callable[[str], AcpRequest]] = {
    "state": AcpGetSessionStateRequest,
    "close": AcpCloseSessionRequest,
    "deliver": lambda session: AcpDeliverAgentOutputRequest("acp-agent-1", b"x\n"),
    "no json": lambda session: AcpSessionRequest(session, "session/prompt", "{"),
    **{f"{method!r}": lambda session, m=method: AcpSessionRequest(session, m, PARAMS) for method in METHODS},  # type: ignore[misc]
    **{f"{method!r} bare": lambda session, m=method: AcpSessionRequest(session, m, None) for method in METHODS},  # type: ignore[misc]
}


def test_every_kind_of_request_is_looked_at() -> None:
    """Two name no session: they create one and list agents. Resuming has tests of its own."""
    looked_at = {type(make(HERE)) for make in REQUESTS.values()}
    apart = {type(create_request()), AcpListAgentsRequest, AcpResumeSessionRequest}
    assert looked_at | apart == set(AcpRequest.__args__)
    assert not looked_at & apart


class Watched(Rig):
    """Keeps every command but notes, so that what two requests do can be compared."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.done: list[Any] = []

    def _do(self, command: commands.Command) -> None:
        if not isinstance(command, commands.Note):
            self.done.append(command)
        super()._do(command)


class WatchedEmbedded(Watched, EmbeddedRig):
    pass


def idle(rig: Rig) -> None:
    pass


def working(rig: Rig) -> None:
    rig.prompt(OWNER, HERE)
    option = {"optionId": "n", "name": "No", "kind": "reject_once"}
    params = {"sessionId": HERE, "options": [option], "toolCall": {"toolCallId": "t", "title": "x"}}
    rig.agent.ask("session/request_permission", params)
    assert rig.asked


def starting_again(rig: Rig) -> None:
    rig.capabilities = {"loadSession": True}
    rig.script = lambda agent, message: True
    rig.agent.exit(1)
    assert rig.state(OWNER, HERE).closed


def closing(rig: Rig) -> None:
    rig.agent.exits_on_eof = False
    rig.close(OWNER, HERE)
    assert not rig.agent.exited


def asleep(rig: Rig) -> None:
    rig.request(OWNER, HERE, "_roost/sleep")
    assert rig.state(OWNER, HERE).process_id == ""


def closed(rig: Rig) -> None:
    rig.close(OWNER, HERE)
    assert rig.shelf is not None
    assert rig.shelf.sessions[HERE].closed


def waking(rig: Rig) -> None:
    rig.request(OWNER, HERE, "_roost/sleep")
    rig.script = lambda agent, message: True
    rig.request(OWNER, HERE, "_x")
    assert HERE in rig.engine._context.callers.connections[OWNER].caller.waking


def logged_out(rig: Rig) -> None:
    rig.request(OWNER, HERE, "auth/logout")
    rig.advance(1)
    assert rig.engine._context.logged_out


AWAKE = [idle, working, starting_again, closing]
KEPT = [asleep, closed, waking]
CONSTELLATIONS = [
    *((way, state, version) for way in ("daemon", "resumable") for state in (*AWAKE, *KEPT) for version in (1, 2)),
    *((way, logged_out, 2) for way in ("daemon", "resumable")),
    *(("no journal", state, version) for state in AWAKE for version in (1, 2)),
]


def comparable(done: list[Any], session: str) -> str:
    """Numbers of loads count on; whatever else is different, is different."""
    tickets = (msgspec.structs.replace(one, ticket=0) if isinstance(one, commands.Load) else one for one in done)
    return repr(list(tickets)).replace(session, "~")


def told_of(rig: Watched, session: str, make: Callable[[str], AcpRequest]) -> tuple[bytes, str]:
    """What a stranger is told of that session, and what is done for it."""
    rig.done.clear()
    number = rig.send(STRANGER, make(session))
    answer = rig.reply(STRANGER, number)
    assert isinstance(answer, AcpErrorResponse), answer
    done = comparable(rig.done, session).replace(f"request={number}", "request=n")
    return encode_acp_response(answer).replace(session.encode(), b"~"), done


@pytest.mark.parametrize(("way", "state", "version"), CONSTELLATIONS)
def test_a_strangers_request_is_answered_as_if_there_were_no_such_session(
    way: str, state: Callable[[Rig], None], version: int
) -> None:
    kind = WatchedEmbedded if way == "resumable" else Watched
    rig = kind(Plain(silent=True), journal=None if way == "no journal" else Shelf())
    rig.session_id = HERE
    assert (rig.connect("owner"), rig.connect("stranger")) == (OWNER, STRANGER)
    rig.create(OWNER, protocol_version=version)
    state(rig)
    asked, before = len(rig.asked), seen(rig)
    for name, make in REQUESTS.items():
        foreign, missing = (told_of(rig, session, make) for session in (HERE, MISSING))
        assert foreign == missing, name
        assert seen(rig) == before, name
    assert rig.events(STRANGER) == []
    assert len(rig.asked) == asked


def seen(rig: Rig) -> Any:
    """What a stranger must not change."""
    shelf = None if rig.shelf is None else (dict(rig.shelf.sessions), copy.deepcopy(dict(rig.shelf.entries)))
    agents = [(agent.process, list(agent.heard), list(agent.signals), agent.exited) for agent in rig.agents.values()]
    return rig.state(OWNER, HERE), agents, shelf


def test_a_strangers_request_is_never_pending_nor_are_its_deliveries_heard() -> None:
    rig = WatchedEmbedded(lambda agent, message: True, journal=Shelf())
    owner, stranger = rig.connect("owner"), rig.connect("stranger")
    rig.send(owner, create_request())
    heard = list(rig.agent.heard)
    line = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}\n'
    foreign = rig.deliver(stranger, "acp-agent-1", line)
    missing = rig.deliver(stranger, "acp-agent-2", line)
    told = [encode_acp_response(answer) for answer in (foreign, missing)]
    assert told[0].replace(b"agent-1", b"agent-2") == told[1]
    assert rig.agent.heard == heard
    assert rig.resumable.pending == 1
    assert rig.deliver(owner, "acp-agent-1", line) == AcpPendingResponse("acp-agent-1")
    assert [message["method"] for message in rig.agent.heard] == ["initialize", "session/new"]
