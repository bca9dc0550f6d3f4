"""A v2 agent as it is, but that it can use the client's own MCP servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.acp.bridge.mcp_events import McpRelayCut, McpRelayEnded, McpRelaySaid, McpRelayWanted
from roost.acp.bridge.v2_agent import V2AgentBridge
from roost.rpc.messages import INTERNAL_ERROR, INVALID_PARAMS, REQUEST_CANCELLED

from .bridge_rig import Json, line
from .rig import CWD

CLOCK = {"type": "acp", "name": "clock", "serverId": "srv-1"}
INFO = {"name": "a", "version": "1"}
LACKING = {"session": {"mcp": {"stdio": {}}}}


class Rig:
    """`north` and `south` are what came out on each side since they were asked last."""

    def __init__(self, capabilities: Json | None = None) -> None:
        self.bridge = V2AgentBridge()
        self.client({"id": "i", "method": "initialize", "params": {"protocolVersion": 2, "info": INFO}})
        (request,) = self.south()
        answer = {"protocolVersion": 2, "info": INFO, "capabilities": LACKING if capabilities is None else capabilities}
        self.agent({"id": request["id"], "result": answer})
        (self.initialized,) = self.north()

    def client(self, message: Json) -> None:
        self.bridge.from_north(line(message), 0.0)

    def agent(self, message: Json) -> None:
        self.bridge.from_south(line(message), 0.0)

    def north(self) -> list[Json]:
        return [json.loads(message) for message in self.bridge.north()]

    def south(self) -> list[Json]:
        return [json.loads(message) for message in self.bridge.south()]

    def events(self) -> list[Any]:
        return [event for event in self.bridge.events() if type(event).__name__.startswith("Mcp")]

    def open_with(self, *servers: Json) -> Json:
        """The agent's request for a session, answered."""
        self.client({"id": "n", "method": "session/new", "params": {"cwd": CWD, "mcpServers": list(servers)}})
        for event in self.events():
            self.bridge.mcp.offered(event.relay, "/bin/relay", [], {"KEY": event.name})
        (request,) = self.south()
        self.agent({"id": request["id"], "result": {"sessionId": "s1"}})
        self.north()
        return request


def test_the_kind_is_offered_for_an_agent_that_takes_programs() -> None:
    result = Rig().initialized["result"]
    assert result["capabilities"]["session"]["mcp"] == {"stdio": {}, "acp": {}}
    assert result["_meta"]["_bridge"] == {"emulated": ["mcp"]}


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"session": {}},
        {"session": {"mcp": {}}},
        {"session": {"mcp": {"http": {}}}},
        {"session": {"mcp": {"stdio": None}}},
        {"session": {"mcp": {"stdio": {}, "acp": {}}}},
    ],
)
def test_an_agent_that_takes_none_or_knows_the_kind_is_left_alone(capabilities: Json) -> None:
    rig = Rig(capabilities)
    assert rig.initialized["result"]["capabilities"] == capabilities
    rig.client({"id": "n", "method": "session/new", "params": {"cwd": CWD, "mcpServers": [CLOCK]}})
    (request,) = rig.south()
    assert request["params"]["mcpServers"] == [CLOCK]
    rig.client({"id": "m", "method": "mcp/message", "params": {"connectionId": "c", "method": "x"}})
    assert [message["method"] for message in rig.south()] == ["mcp/message"]


def test_an_answer_in_the_shape_of_v1_passes_as_it_is() -> None:
    bridge = V2AgentBridge()
    bridge.from_north(line({"id": 1, "method": "initialize", "params": {"protocolVersion": 2}}), 0.0)
    (request,) = (json.loads(message) for message in bridge.south())
    answer = {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {}}}
    bridge.from_south(line({"id": request["id"], "result": answer}), 0.0)
    assert [json.loads(message)["result"] for message in bridge.north()] == [answer]


def test_a_server_of_the_client_becomes_a_program() -> None:
    request = Rig().open_with(CLOCK)
    assert request["params"]["mcpServers"] == [
        {
            "type": "stdio",
            "name": "clock",
            "command": "/bin/relay",
            "args": [],
            "env": [{"name": "KEY", "value": "clock"}],
        }
    ]


def test_messages_go_both_ways() -> None:
    rig = Rig()
    rig.open_with(CLOCK)
    rig.bridge.mcp.connected(1, 1)
    (connect,) = rig.north()
    assert connect["params"] == {"serverId": "srv-1"}
    rig.client({"id": connect["id"], "result": {"connectionId": "c"}})
    rig.bridge.mcp.said(1, line({"id": 5, "method": "tools/list"}))
    (asked,) = rig.north()
    rig.client({"id": asked["id"], "result": {"tools": []}})
    assert [json.loads(event.message) for event in rig.events() if isinstance(event, McpRelaySaid)] == [
        {"jsonrpc": "2.0", "id": 5, "result": {"tools": []}}
    ]
    rig.client({"id": "q", "method": "mcp/message", "params": {"connectionId": "c", "method": "roots/list"}})
    (said,) = rig.events()
    request = json.loads(said.message)
    rig.bridge.mcp.said(1, line({"id": request["id"], "result": {"roots": []}}))
    assert rig.north() == [{"jsonrpc": "2.0", "id": "q", "result": {"roots": []}}]
    rig.client({"method": "mcp/message", "params": {"connectionId": "c", "method": "notifications/progress"}})
    assert len(rig.events()) == 1
    assert rig.south() == []  # the agent's own connection knows nothing of all this


@pytest.mark.parametrize("params", [{}, {"connectionId": "c", "method": 7}, {"connectionId": "other", "method": "x"}])
def test_a_message_that_belongs_nowhere_is_refused(params: Json) -> None:
    rig = Rig()
    rig.client({"id": "q", "method": "mcp/message", "params": params})
    (refused,) = rig.north()
    assert refused["error"]["code"] == INVALID_PARAMS


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
def test_a_session_that_is_gone_takes_its_programs_along(method: str) -> None:
    rig = Rig()
    rig.open_with(CLOCK)
    rig.bridge.mcp.connected(1, 1)
    rig.client({"id": rig.north()[0]["id"], "result": {"connectionId": "c"}})
    rig.client({"id": "x", "method": method, "params": {"sessionId": "s1"}})
    (request,) = rig.south()
    assert rig.events() == []
    rig.agent({"id": request["id"], "result": {}})
    assert rig.events() == [McpRelayCut(1, "the session has ended"), McpRelayEnded(1)]


def test_a_refused_session_leaves_no_program() -> None:
    rig = Rig()
    rig.client({"id": "n", "method": "session/new", "params": {"cwd": CWD, "mcpServers": [CLOCK]}})
    (wanted,) = rig.events()
    assert wanted == McpRelayWanted(1, "clock")
    rig.bridge.mcp.offered(1, "/bin/relay", [], {})
    (request,) = rig.south()
    rig.agent({"id": request["id"], "error": {"code": -32000, "message": "no"}})
    (answer,) = rig.north()
    assert answer == {"jsonrpc": "2.0", "id": "n", "error": {"code": -32000, "message": "no"}}
    assert rig.events() == [McpRelayEnded(1)]


# ---- everything else


@pytest.mark.parametrize(
    "message",
    [
        {
            "method": "session/update",
            "params": {"sessionId": "s1", "update": {"sessionUpdate": "x"}, "_meta": {"a": 1}},
        },
        {"method": "_vendor/notice", "params": {"a": [1, 2.5, None]}},
        {"method": "$/unknown"},
    ],
)
def test_what_the_agent_tells_passes_byte_for_byte(message: Json) -> None:
    rig = Rig()
    data = line(message)
    rig.bridge.from_south(data, 0.0)
    assert rig.bridge.north() == ([] if message["method"].startswith("$/") else [data])


def test_what_the_client_tells_passes_byte_for_byte() -> None:
    rig = Rig()
    data = line({"method": "session/cancel", "params": {"sessionId": "s1", "_meta": {"a": 1}}})
    rig.bridge.from_north(data, 0.0)
    assert rig.bridge.south() == [data]


def test_requests_and_answers_of_both_sides_pass_with_their_contents() -> None:
    rig = Rig()
    rig.client({"id": "p", "method": "session/prompt", "params": {"sessionId": "s1", "prompt": []}})
    (request,) = rig.south()
    assert request["params"] == {"sessionId": "s1", "prompt": []}
    rig.agent({"id": 1, "method": "session/request_permission", "params": {"sessionId": "s1", "options": []}})
    (asked,) = rig.north()
    assert asked["params"] == {"sessionId": "s1", "options": []}
    rig.client({"id": asked["id"], "error": {"code": -32800, "message": "no", "data": {"why": 1}}})
    assert rig.south() == [{"jsonrpc": "2.0", "id": 1, "error": {"code": -32800, "message": "no", "data": {"why": 1}}}]
    rig.agent({"id": request["id"], "result": {"_meta": {"x": 1}}})
    assert rig.north() == [{"jsonrpc": "2.0", "id": "p", "result": {"_meta": {"x": 1}}}]


def test_withdrawals_pass_both_ways_and_the_answer_is_the_others() -> None:
    rig = Rig()
    rig.client({"id": "p", "method": "session/list", "params": {}})
    (request,) = rig.south()
    rig.client({"method": "$/cancel_request", "params": {"requestId": "p"}})
    (withdrawn,) = rig.south()
    assert withdrawn["params"] == {"requestId": request["id"]}
    rig.agent({"id": request["id"], "error": {"code": REQUEST_CANCELLED, "message": "cancelled"}})
    assert rig.north()[0]["error"]["code"] == REQUEST_CANCELLED
    rig.agent({"id": 9, "method": "_ask", "params": {}})
    (asked,) = rig.north()
    rig.agent({"method": "$/cancel_request", "params": {"requestId": 9}})
    (told,) = rig.north()
    assert told["params"] == {"requestId": asked["id"]}
    rig.client({"id": asked["id"], "result": {}})
    assert rig.south() == [{"jsonrpc": "2.0", "id": 9, "result": {}}]


def test_a_question_about_a_request_names_it_as_the_client_does() -> None:
    rig = Rig()
    rig.client({"id": "login", "method": "auth/login", "params": {"methodId": "x"}})
    (request,) = rig.south()
    form = {"mode": "form", "message": "?", "requestId": request["id"]}
    rig.agent({"id": 1, "method": "elicitation/create", "params": form})
    assert rig.north()[0]["params"] == {**form, "requestId": "login"}
    rig.agent({"id": 2, "method": "elicitation/create", "params": {**form, "requestId": 99}})
    assert rig.south()[0]["error"]["code"] == INVALID_PARAMS


def test_an_agent_that_is_gone_fails_what_is_open() -> None:
    rig = Rig()
    rig.open_with(CLOCK)
    rig.client({"id": "p", "method": "session/list", "params": {}})
    rig.agent({"id": 1, "method": "_ask", "params": {}})
    rig.north()
    rig.bridge.end_south("gone", 0.0)
    failed, withdrawn = rig.north()
    assert failed["error"]["code"] == INTERNAL_ERROR
    assert withdrawn["method"] == "$/cancel_request"
    assert rig.events() == [McpRelayEnded(1)]


def test_a_client_that_is_gone_fails_what_the_agent_asked() -> None:
    rig = Rig()
    rig.agent({"id": 1, "method": "_ask", "params": {}})
    rig.bridge.end_north("gone", 0.0)
    assert rig.south()[0]["error"]["code"] == INTERNAL_ERROR
