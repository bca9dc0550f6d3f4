"""A client's own MCP servers for a v1 agent that knows none of the kind: stdio servers, relayed (MCP-10)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.mcp_events import McpRelayCut, McpRelayEnded, McpRelayEvent, McpRelaySaid, McpRelayWanted
from roost.acp.bridge.mcp_relays import McpRelays
from roost.rpc.messages import INTERNAL_ERROR, INVALID_PARAMS, LIMIT_EXCEEDED, METHOD_NOT_FOUND, REQUEST_CANCELLED

from .rig import CWD, AgentRig, Json, line

CLOCK = {"type": "acp", "name": "clock", "serverId": "srv-1"}
NOTES = {"type": "acp", "name": "notes", "serverId": "srv-2"}
PROGRAM = {"name": "clock", "command": "/bin/relay", "args": ["-x"], "env": [{"name": "KEY", "value": "clock"}]}
HELLO = {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}


class RelayRig(AgentRig):
    """A rig whose driver has programs for relays; `said` and `heard` as the agent's MCP client behind one of them."""

    def __init__(self, agent: Json | None = None, **options: Any) -> None:
        super().__init__(**{"relays_mcp": True, **options})
        self.told: list[McpRelayEvent] = []
        self.answered = self.initialize({"protocolVersion": 1, "agentCapabilities": agent or {}})

    @property
    def mcp(self) -> McpRelays:
        assert self.bridge.mcp is not None
        return self.bridge.mcp

    def gather(self) -> list[McpRelayEvent]:
        """What the driver is to do with its programs."""
        events = [event for event in (*self.events, *self.bridge.events()) if isinstance(event, McpRelayEvent)]
        self.events.clear()
        return events

    def offer(self) -> list[int]:
        """Offers a program for every relay that is wanted."""
        wanted = [event for event in self.gather() if isinstance(event, McpRelayWanted)]
        for event in wanted:
            self.mcp.offered(event.relay, "/bin/relay", ["-x"], {"KEY": event.name})
        return [event.relay for event in wanted]

    def open_with(self, *servers: Json, session_id: str = "s1") -> list[int]:
        self.ask("session/new", {"cwd": CWD, "mcpServers": list(servers)})
        relays = self.offer()
        self.reply(self.asked()["id"], {"sessionId": session_id})
        self.north()
        return relays

    def connect(self, channel: int = 1, relay: int = 1, connection_id: str = "conn-1") -> None:
        self.mcp.connected(channel, relay)
        (request,) = self.north()
        assert request["method"] == "mcp/connect"
        self.answer(request["id"], {"connectionId": connection_id})

    def say(self, message: Json, channel: int = 1) -> None:
        self.mcp.said(channel, line(message))

    def heard(self, channel: int = 1) -> list[Json]:
        """What the program is to be told."""
        events = self.gather()
        assert all(isinstance(event, McpRelaySaid) and event.channel == channel for event in events), events
        return [json.loads(event.message) for event in events if isinstance(event, McpRelaySaid)]

    def from_client(self) -> Json:
        (message,) = self.north()
        return message


def connected(**options: Any) -> RelayRig:
    rig = RelayRig(**options)
    rig.open_with(CLOCK)
    rig.connect()
    rig.gather()
    return rig


# ---- what is offered


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


# ---- the agent's requests


def test_what_the_program_says_reaches_the_client_without_its_ids() -> None:
    rig = connected()
    rig.say(HELLO)
    request = rig.from_client()
    assert request["method"] == "mcp/message"
    assert request["params"] == {
        "connectionId": "conn-1",
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18"},
    }
    rig.answer(request["id"], {"serverInfo": {"name": "clock"}})
    assert rig.heard() == [{"jsonrpc": "2.0", "id": 0, "result": {"serverInfo": {"name": "clock"}}}]
    rig.say({"method": "notifications/initialized"})
    assert rig.from_client() == {
        "jsonrpc": "2.0",
        "method": "mcp/message",
        "params": {"connectionId": "conn-1", "method": "notifications/initialized"},
    }


@pytest.mark.parametrize("result", [None, 7, "text", [], {"a": [1]}, True])
def test_any_result_is_the_bare_inner_result(result: Any) -> None:
    rig = connected()
    rig.say({"id": "x", "method": "tools/list"})
    rig.answer(rig.from_client()["id"], result)
    assert rig.heard() == [{"jsonrpc": "2.0", "id": "x", "result": result}]


def test_an_error_of_the_server_keeps_its_code_and_data() -> None:
    rig = connected()
    rig.say({"id": 1, "method": "tools/call", "params": {"name": "x"}})
    error = {"code": METHOD_NOT_FOUND, "message": "no such tool", "data": {"tool": "x"}}
    rig.north_sends({"id": rig.from_client()["id"], "error": error})
    assert rig.heard() == [{"jsonrpc": "2.0", "id": 1, "error": error}]


def test_requests_of_two_programs_with_the_same_ids_are_kept_apart() -> None:
    rig = connected()
    rig.connect(2, 1, "conn-2")
    rig.say({"id": 1, "method": "a"}, channel=1)
    rig.say({"id": 1, "method": "b"}, channel=2)
    one, two = rig.north()
    assert one["params"]["connectionId"], two["params"]["connectionId"] == ("conn-1", "conn-2")
    rig.answer(two["id"], "two")
    assert rig.heard(2) == [{"jsonrpc": "2.0", "id": 1, "result": "two"}]
    rig.answer(one["id"], "one")
    assert rig.heard(1) == [{"jsonrpc": "2.0", "id": 1, "result": "one"}]


def test_what_comes_before_the_client_has_answered_waits_in_order() -> None:
    rig = RelayRig()
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [CLOCK]})
    (relay,) = rig.offer()
    rig.mcp.connected(1, relay)  # while session/new is open, as many agents do
    rig.say(HELLO)
    rig.say({"method": "notifications/initialized"})
    connect = rig.from_client()
    assert connect["params"] == {"serverId": "srv-1"}
    rig.answer(connect["id"], {"connectionId": "c"})
    assert [message["params"]["method"] for message in rig.north()] == ["initialize", "notifications/initialized"]


def test_a_refused_connect_is_the_answer_to_every_request() -> None:
    rig = RelayRig()
    rig.open_with(CLOCK)
    rig.mcp.connected(1, 1)
    rig.say(HELLO)
    refusal = {"code": -32602, "message": "no such server"}
    rig.north_sends({"id": rig.from_client()["id"], "error": refusal})
    assert rig.heard() == [{"jsonrpc": "2.0", "id": 0, "error": refusal}]
    rig.say({"method": "notifications/initialized"})
    rig.say({"id": 1, "method": "tools/list"})
    assert rig.heard() == [{"jsonrpc": "2.0", "id": 1, "error": refusal}]
    rig.mcp.closed(1)
    assert rig.north() == []  # there is nothing to disconnect


@pytest.mark.parametrize("result", [{}, {"connectionId": 7}, {"connectionId": "conn-1"}])
def test_a_connection_that_is_not_fresh_is_none(result: Json) -> None:
    rig = connected()
    rig.mcp.connected(2, 1)
    rig.answer(rig.from_client()["id"], result)
    rig.say(HELLO, channel=2)
    (refused,) = rig.heard(2)
    assert refused["error"]["code"] == INTERNAL_ERROR
    rig.say(HELLO, channel=1)
    assert rig.from_client()["params"]["connectionId"] == "conn-1"


def test_a_client_that_is_gone_cannot_be_connected_to() -> None:
    rig = RelayRig()
    rig.open_with(CLOCK)
    rig.bridge.client.end("gone")
    rig.mcp.connected(1, 1)
    rig.say(HELLO)
    (refused,) = rig.heard()
    assert refused["error"]["code"] == INTERNAL_ERROR


def test_parameters_that_are_no_object_are_refused_on_a_request_and_drop_a_notification() -> None:
    rig = connected()
    rig.say({"id": 1, "method": "a", "params": [1]})
    (refused,) = rig.heard()
    rig.say({"method": "b", "params": [1]})
    assert rig.north() == []
    assert refused["error"]["code"] == INVALID_PARAMS


def test_a_cancelled_request_is_withdrawn_from_the_client_and_never_answered() -> None:
    rig = connected()
    rig.say({"id": 5, "method": "tools/call"})
    request = rig.from_client()
    rig.say({"method": "notifications/cancelled", "params": {"requestId": 5, "reason": "enough"}})
    assert rig.from_client() == {
        "jsonrpc": "2.0",
        "method": "$/cancel_request",
        "params": {"requestId": request["id"]},
    }
    rig.north_sends({"id": request["id"], "error": {"code": REQUEST_CANCELLED, "message": "cancelled"}})
    assert rig.heard() == []


@pytest.mark.parametrize("request_id", [6, "5", None, [5]])
def test_cancelling_what_is_not_open_does_nothing(request_id: Any) -> None:
    rig = connected()
    rig.say({"id": 5, "method": "tools/call"})
    request = rig.from_client()
    rig.say({"method": "notifications/cancelled", "params": {"requestId": request_id}})
    assert rig.north() == []
    rig.answer(request["id"], 1)
    assert len(rig.heard()) == 1


def test_a_request_cancelled_before_the_client_has_answered_is_not_sent() -> None:
    rig = RelayRig()
    rig.open_with(CLOCK)
    rig.mcp.connected(1, 1)
    rig.say({"id": 1, "method": "a"})
    rig.say({"id": 2, "method": "b"})
    rig.say({"method": "notifications/cancelled", "params": {"requestId": 1}})
    rig.answer(rig.from_client()["id"], {"connectionId": "c"})
    assert rig.from_client()["params"]["method"] == "b"


def test_a_line_that_is_no_message_is_passed_over() -> None:
    rig = connected()
    rig.mcp.said(1, b"Starting up ...")
    rig.mcp.said(1, b'{"jsonrpc":"2.0","id":99,"result":1}')
    assert rig.heard() == []
    assert rig.north() == []


def test_a_batch_is_taken_apart_and_answered_as_one() -> None:
    rig = connected()
    rig.mcp.said(1, b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]')
    one, two = rig.north()
    rig.answer(one["id"], "one")
    assert rig.heard() == []
    rig.say({"method": "notifications/cancelled", "params": {"requestId": 2}})
    rig.north()
    ((first, second),) = rig.heard()  # the batch is answered as a whole
    assert first["result"] == "one"
    assert second["error"]["code"] == REQUEST_CANCELLED
    assert two["params"]["method"] == "b"


# ---- the server's requests


def test_a_request_of_the_server_goes_to_the_program_under_an_id_of_ours() -> None:
    rig = connected()
    params = {"connectionId": "conn-1", "method": "sampling/createMessage", "params": {"maxTokens": 1}}
    id = rig.ask("mcp/message", params)
    (request,) = rig.heard()
    assert (request["method"], request["params"]) == ("sampling/createMessage", {"maxTokens": 1})
    rig.say({"id": request["id"], "result": {"role": "assistant"}})
    assert rig.from_client() == {"jsonrpc": "2.0", "id": id, "result": {"role": "assistant"}}
    assert rig.south() == []  # the agent's own connection knows nothing of it


def test_an_error_of_the_agent_is_the_servers_answer() -> None:
    rig = connected()
    rig.ask("mcp/message", {"connectionId": "conn-1", "method": "roots/list"})
    (request,) = rig.heard()
    assert "params" not in request
    rig.say({"id": request["id"], "error": {"code": -32601, "message": "no roots"}})
    assert rig.from_client()["error"] == {"code": -32601, "message": "no roots"}


def test_a_notification_of_the_server_goes_to_the_program() -> None:
    rig = connected()
    rig.tell("mcp/message", {"connectionId": "conn-1", "method": "notifications/tools/list_changed"})
    assert rig.heard() == [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]


def test_a_request_the_server_withdraws_is_cancelled_in_mcps_own_way() -> None:
    rig = connected()
    id = rig.ask("mcp/message", {"connectionId": "conn-1", "method": "roots/list"})
    (request,) = rig.heard()
    rig.tell("$/cancel_request", {"requestId": id})
    assert rig.heard() == [
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request["id"]}}
    ]
    assert rig.from_client()["error"]["code"] == REQUEST_CANCELLED
    rig.say({"id": request["id"], "result": {}})
    assert rig.north() == []


def test_a_connection_nobody_knows_is_refused_and_its_notification_ignored() -> None:
    rig = connected()
    rig.ask("mcp/message", {"connectionId": "other", "method": "roots/list"})
    error = rig.from_client()["error"]
    assert (error["code"], error["data"]) == (INVALID_PARAMS, {"path": "connectionId"})
    for params in ({"connectionId": "other", "method": "x"}, {"method": "x"}, {}):
        rig.tell("mcp/message", params)
    assert rig.gather() == []


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
