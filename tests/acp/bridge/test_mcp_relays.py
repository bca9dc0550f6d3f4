"""A client's own MCP servers for a v1 agent that knows none of the kind: offered, begun, ended, bounded (MCP-10)."""

from __future__ import annotations

import pytest

from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.mcp_events import McpRelayCut, McpRelayEnded
from roost.rpc.messages import INTERNAL_ERROR, INVALID_PARAMS, LIMIT_EXCEEDED, REQUEST_CANCELLED

from .relay_rig import CLOCK, RelayRig, connected
from .rig import CWD, Json

NOTES = {"type": "acp", "name": "notes", "serverId": "srv-2"}
PROGRAM = {"name": "clock", "command": "/bin/relay", "args": ["-x"], "env": [{"name": "KEY", "value": "clock"}]}


def test_the_kind_is_offered_and_the_note_says_who_provides_it() -> None:
    answer = RelayRig().answered
    assert answer["capabilities"]["session"]["mcp"] == {"stdio": {}, "acp": {}}
    assert "mcp" in answer["_meta"]["_bridge"]["emulated"]


def test_without_a_program_of_the_driver_the_kind_is_not_offered() -> None:
    rig = RelayRig(relays_mcp=False)
    assert rig.answered["capabilities"]["session"]["mcp"] == {"stdio": {}}
    id = rig.ask("session/new", {"cwd": CWD, "mcpServers": [CLOCK]})
    assert rig.from_client() | {"error": {}} == {"jsonrpc": "2.0", "id": id, "error": {}}


def test_an_agent_that_has_it_is_left_alone() -> None:
    rig = RelayRig({"mcpCapabilities": {"acp": True}})
    assert "mcp" not in rig.answered["_meta"]["_bridge"]["emulated"]
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [CLOCK]})
    assert rig.asked()["params"]["mcpServers"] == [CLOCK]
    assert rig.gather() == []


# ---- sessions


def test_a_server_of_the_client_becomes_a_program_in_its_place() -> None:
    rig = RelayRig()
    stdio = {"type": "stdio", "name": "own", "command": "/bin/own"}
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [NOTES, stdio, CLOCK]})
    assert rig.south() == []  # it waits for the programs
    assert rig.offer() == [1, 2]
    assert rig.asked()["params"]["mcpServers"] == [
        {**PROGRAM, "name": "notes", "env": [{"name": "KEY", "value": "notes"}]},
        {"name": "own", "command": "/bin/own", "args": [], "env": []},
        PROGRAM,
    ]
    assert rig.bridge.losses.counts["mcp_relay"] == 2


@pytest.mark.parametrize(
    ("agent", "method", "asked"),
    [
        ({"loadSession": True}, "session/resume", "session/load"),
        ({"sessionCapabilities": {"resume": {}}}, "session/resume", "session/resume"),
        ({"sessionCapabilities": {"fork": {}}}, "session/fork", "session/fork"),
    ],
)
def test_every_way_into_a_session_has_them(agent: Json, method: str, asked: str) -> None:
    rig = RelayRig(agent)
    rig.ask(method, {"sessionId": "s0", "cwd": CWD, "mcpServers": [CLOCK]})
    rig.offer()
    request = rig.asked()
    assert (request["method"], request["params"]["mcpServers"]) == (asked, [PROGRAM])
    rig.reply(request["id"], {"sessionId": "s2"})
    rig.north()
    rig.connect()


def test_a_session_that_is_loaded_because_it_cannot_be_resumed_has_them() -> None:
    """The agent says that it can, and refuses the method: the programs are for the second request then."""
    rig = RelayRig({"loadSession": True, "sessionCapabilities": {"resume": {}}})
    rig.ask("session/resume", {"sessionId": "s0", "cwd": CWD, "mcpServers": [CLOCK]})
    rig.offer()
    rig.refuse(rig.asked()["id"], -32601)
    request = rig.asked()
    assert (request["method"], request["params"]["mcpServers"]) == ("session/load", [PROGRAM])
    assert rig.gather() == []
    rig.reply(request["id"], {})
    rig.north()
    rig.connect()


def test_a_program_that_cannot_be_fails_the_session_by_name() -> None:
    rig = RelayRig()
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [CLOCK, NOTES]})
    rig.gather()
    rig.mcp.offered(1, "/bin/relay", [], {})
    rig.mcp.refused(2, "no socket")
    error = rig.from_client()["error"]
    assert error["code"] == INTERNAL_ERROR
    assert error["message"] == "the MCP server notes cannot be relayed to the agent: no socket"
    assert rig.gather() == [McpRelayEnded(1), McpRelayEnded(2)]
    assert rig.south() == []
    rig.mcp.offered(2, "/bin/relay", [], {})  # too late
    assert rig.south() == []


@pytest.mark.parametrize("server", [{"type": "acp", "name": "x"}, {"type": "acp", "serverId": "x"}])
def test_a_server_that_cannot_be_named_is_refused(server: Json) -> None:
    rig = RelayRig()
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [CLOCK, server]})
    error = rig.from_client()["error"]
    assert (error["code"], error["data"]) == (INVALID_PARAMS, {"path": "mcpServers[1]"})
    assert rig.gather() == []


def test_a_request_withdrawn_before_its_programs_are_there_is_never_sent() -> None:
    rig = RelayRig()
    id = rig.ask("session/new", {"cwd": CWD, "mcpServers": [CLOCK]})
    rig.tell("$/cancel_request", {"requestId": id})
    assert rig.from_client()["error"]["code"] == REQUEST_CANCELLED
    rig.offer()
    assert rig.south() == []


def test_a_session_the_agent_refuses_leaves_no_relay() -> None:
    rig = RelayRig()
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [CLOCK]})
    rig.offer()
    rig.refuse(rig.asked()["id"], -32000)
    rig.north()
    assert rig.gather() == [McpRelayEnded(1)]


def test_the_servers_of_a_session_are_those_of_the_latest_request() -> None:
    rig = RelayRig({"loadSession": True})
    rig.open_with(CLOCK)
    rig.connect()
    rig.ask("session/resume", {"sessionId": "s1", "cwd": CWD, "mcpServers": [CLOCK], "replayFrom": {"type": "start"}})
    (relay,) = rig.offer()
    rig.reply(rig.asked()["id"], {})
    messages = [message["method"] for message in rig.north() if "method" in message]
    assert messages == ["mcp/disconnect"]
    assert rig.gather() == [McpRelayCut(1, "the session has ended"), McpRelayEnded(1)]
    rig.connect(2, relay, "conn-2")


def test_programs_of_a_session_the_agent_has_still_serve_the_servers_it_has_now() -> None:
    rig = RelayRig()  # it can neither load nor resume
    rig.open_with(CLOCK)
    rig.ask("session/resume", {"sessionId": "s1", "cwd": CWD, "mcpServers": [{**CLOCK, "serverId": "srv-9"}]})
    (relay,) = rig.offer()
    assert rig.south() == []
    assert "result" in rig.from_client()
    assert rig.gather() == [McpRelayEnded(relay)]
    rig.mcp.connected(1, 1)
    assert rig.from_client()["params"] == {"serverId": "srv-9"}


# ---- ends


def test_a_program_that_ends_disconnects_and_what_was_open_fails() -> None:
    rig = connected()
    rig.say({"id": 1, "method": "tools/call"})
    request = rig.from_client()
    asked = rig.ask("mcp/message", {"connectionId": "conn-1", "method": "roots/list"})
    rig.heard()
    rig.mcp.closed(1)
    withdrawn, failed, disconnect = rig.north()
    assert withdrawn["params"] == {"requestId": request["id"]}
    assert (failed["id"], failed["error"]["code"]) == (asked, INTERNAL_ERROR)
    assert (disconnect["method"], disconnect["params"]) == ("mcp/disconnect", {"connectionId": "conn-1"})
    rig.answer(disconnect["id"], {})
    rig.ask("mcp/message", {"connectionId": "conn-1", "method": "roots/list"})
    assert rig.from_client()["error"]["code"] == INVALID_PARAMS  # MCP-7: the id is dead
    rig.connect(2, 1, "conn-2")  # it may be started again
    assert rig.gather() == []


def test_a_program_gone_before_the_client_has_answered_is_disconnected_then() -> None:
    rig = RelayRig()
    rig.open_with(CLOCK)
    rig.mcp.connected(1, 1)
    connect = rig.from_client()
    rig.mcp.closed(1)
    assert rig.north() == []
    rig.answer(connect["id"], {"connectionId": "late"})
    assert rig.from_client()["params"] == {"connectionId": "late"}


@pytest.mark.parametrize("can_close", [True, False])
def test_a_closed_session_ends_its_programs_and_says_no_more_about_them(can_close: bool) -> None:
    rig = RelayRig({"sessionCapabilities": {"close": {}}} if can_close else {})
    rig.open_with(CLOCK)
    rig.connect()
    id = rig.ask("session/close", {"sessionId": "s1"})
    if can_close:
        rig.reply(rig.asked()["id"], {})
    assert rig.from_client() == {"jsonrpc": "2.0", "id": id, "result": {}}
    assert rig.gather() == [McpRelayCut(1, "the session has ended"), McpRelayEnded(1)]
    rig.mcp.connected(2, 1)
    assert rig.gather() == [McpRelayCut(2, "the session has ended")]


def test_another_session_keeps_its_own() -> None:
    rig = RelayRig()
    rig.open_with(CLOCK, session_id="s1")
    rig.open_with(NOTES, session_id="s2")
    rig.connect(1, 1, "one")
    rig.connect(2, 2, "two")
    rig.ask("session/close", {"sessionId": "s1"})
    rig.north()
    rig.gather()
    rig.say({"id": 1, "method": "x"}, channel=2)
    assert rig.from_client()["params"]["connectionId"] == "two"


def test_an_agent_that_is_gone_ends_them_all() -> None:
    rig = connected()
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [NOTES]})
    rig.gather()
    rig.bridge.end_south("gone", rig.now)
    assert [message["error"]["code"] for message in rig.north()] == [INTERNAL_ERROR]
    assert [type(event) for event in rig.gather()] == [McpRelayEnded, McpRelayCut, McpRelayEnded]


def test_a_client_that_is_gone_ends_them_all() -> None:
    rig = connected()
    rig.bridge.end_north("gone", rig.now)
    assert rig.gather() == [McpRelayCut(1, "the session has ended"), McpRelayEnded(1)]


# ---- bounds


def test_relays_are_bounded() -> None:
    rig = RelayRig(limits=BridgeLimits(mcp_relays=1))
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [CLOCK, NOTES]})
    error = rig.from_client()["error"]
    assert (error["code"], error["data"]) == (LIMIT_EXCEEDED, {"limit": "mcp_relays", "bound": 1})


def test_connections_are_bounded() -> None:
    rig = RelayRig(limits=BridgeLimits(mcp_connections=1))
    rig.open_with(CLOCK)
    rig.connect()
    rig.mcp.connected(2, 1)
    assert rig.gather() == [McpRelayCut(2, "limit mcp_connections of 1 reached")]
    rig.mcp.closed(1)
    rig.north()
    rig.connect(3, 1, "conn-3")


def test_requests_of_one_connection_are_bounded_both_ways() -> None:
    rig = connected(limits=BridgeLimits(mcp_requests=1))
    rig.say({"id": 1, "method": "a"})
    rig.say({"id": 2, "method": "b"})
    (refused,) = rig.heard()
    assert (refused["id"], refused["error"]["code"]) == (2, LIMIT_EXCEEDED)
    rig.north()
    rig.ask("mcp/message", {"connectionId": "conn-1", "method": "a"})
    rig.ask("mcp/message", {"connectionId": "conn-1", "method": "b"})
    assert rig.from_client()["error"]["code"] == LIMIT_EXCEEDED


def test_what_waits_for_the_clients_answer_is_bounded() -> None:
    rig = RelayRig(limits=BridgeLimits(mcp_early_bytes=100))
    rig.open_with(CLOCK)
    rig.mcp.connected(1, 1)
    rig.say({"id": 1, "method": "a", "params": {"x": "y" * 100}})
    assert rig.gather() == [McpRelayCut(1, "limit mcp_early_bytes of 100 reached")]
    rig.answer(rig.from_client()["id"], {"connectionId": "late"})
    assert rig.from_client()["method"] == "mcp/disconnect"
