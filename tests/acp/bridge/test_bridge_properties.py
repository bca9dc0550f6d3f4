"""What holds for any agent and any client: nothing raises, everything is strict, each request is answered once."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.acp.bridge.events import ServiceRequest
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.errors import RpcError
from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.client_rig import CAPABILITIES, INFO, ClientRig, ready
from tests.acp.bridge.rig import CWD, SERVICES, AgentRig, text

NAMES = st.sampled_from(
    (
        "sessionId",
        "update",
        "sessionUpdate",
        "content",
        "type",
        "text",
        "toolCallId",
        "title",
        "kind",
        "status",
        "options",
        "optionId",
        "name",
        "toolCall",
        "entries",
        "configOptions",
        "currentModeId",
        "availableCommands",
        "stopReason",
        "usage",
        "path",
        "oldText",
        "newText",
        "locations",
        "line",
        "rawInput",
        "messageId",
        "_meta",
        "requestId",
        "mode",
        "modes",
        "models",
        "method",
        "id",
        "terminalId",
        "plan",
        "planId",
        "outcome",
        "patch",
        "changes",
        "data",
    )
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(["s1", "t1", "text", "diff", "content", "terminal", "select", "boolean", "form", "/a", "end_turn"]),
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5), max_leaves=12
)
TAGS = st.sampled_from(
    (
        "agent_message_chunk",
        "user_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "current_mode_update",
        "config_option_update",
        "available_commands_update",
        "session_info_update",
        "usage_update",
        "state_update",
        "notice",
        "agent_message",
        "terminal_update",
        "terminal_output_chunk",
        "tool_call_content_chunk",
        "plan_update",
        "plan_removed",
        "user_message",
    )
)
METHODS = st.sampled_from(
    (
        "session/update",
        "session/request_permission",
        "elicitation/create",
        "fs/read_text_file",
        "terminal/create",
        "mcp/connect",
        "mcp/message",
        "_x/y",
        "vendor/thing",
        "session/new",
        "initialize",
        "session/prompt",
        "$/cancel_request",
        "elicitation/complete",
    )
)
BLOCKS = st.one_of(st.text(max_size=8).map(text), JSON)
TOOLS = st.fixed_dictionaries(
    {"toolCallId": st.sampled_from(["t1", "t2"])},
    optional={
        "title": st.text(max_size=5) | JSON,
        "status": st.sampled_from(["pending", "in_progress", "completed", "failed", "cancelled"]) | JSON,
        "kind": st.sampled_from(["read", "other"]) | JSON,
        "content": st.lists(
            st.one_of(
                JSON,
                BLOCKS.map(lambda block: {"type": "content", "content": block}),
                st.fixed_dictionaries(
                    {"type": st.just("diff"), "path": st.just("/f"), "newText": st.text(max_size=9)},
                    optional={"oldText": st.none() | st.text(max_size=9)},
                ),
                st.just({"type": "terminal", "terminalId": "x"}),
            ),
            max_size=3,
        )
        | JSON,
        "locations": JSON,
        "rawInput": JSON,
        "rawOutput": JSON,
        "_meta": JSON,
    },
)
UPDATES = st.one_of(
    st.builds(lambda tag, rest: {**rest, "sessionUpdate": tag}, TAGS, st.dictionaries(NAMES, JSON, max_size=4)),
    st.builds(
        lambda tag, tool: {**tool, "sessionUpdate": tag}, st.sampled_from(["tool_call", "tool_call_update"]), TOOLS
    ),
    st.builds(lambda tag, block: {"sessionUpdate": tag, "messageId": "m", "content": block}, TAGS, BLOCKS),
    st.sampled_from(["running", "idle", "requires_action"]).map(
        lambda state: {"sessionUpdate": "state_update", "state": state, "stopReason": "end_turn"}
    ),
)
PERMISSIONS = st.builds(
    lambda tool, options: {"sessionId": "s1", "title": "t", "toolCall": tool, "options": options},
    TOOLS | JSON,
    st.lists(st.fixed_dictionaries({"optionId": SCALARS, "name": SCALARS, "kind": SCALARS}), max_size=3),
)
PARAMS = st.one_of(
    st.builds(lambda update: {"sessionId": "s1", "update": update}, UPDATES),
    PERMISSIONS,
    st.builds(lambda rest: {**rest, "sessionId": "s1"}, st.dictionaries(NAMES, JSON, max_size=4)),
    JSON,
)
IDS = st.one_of(st.integers(0, 12), st.sampled_from(["srv_1", "x"]))
FROM_AGENT = st.one_of(
    st.builds(lambda update: {"method": "session/update", "params": {"sessionId": "s1", "update": update}}, UPDATES),
    st.builds(
        lambda id, params: {"id": id, "method": "session/request_permission", "params": params}, IDS, PERMISSIONS
    ),
    st.builds(lambda method, params: {"method": method, "params": params}, METHODS, PARAMS),
    st.builds(lambda id, method, params: {"id": id, "method": method, "params": params}, IDS, METHODS, PARAMS),
    st.builds(lambda id, result: {"id": id, "result": result}, IDS, JSON),
    st.builds(lambda id: {"id": id, "result": {"stopReason": "end_turn"}}, IDS),
    st.builds(lambda id: {"id": id, "result": {"sessionId": "s2"}}, IDS),
    st.builds(lambda id, code: {"id": id, "error": {"code": code, "message": "m"}}, IDS, st.integers(-33000, 500)),
)
V2_ASKS = st.sampled_from(
    [
        ("session/prompt", {"sessionId": "s1", "prompt": [text("hello")]}),
        ("session/new", {"cwd": CWD}),
        ("session/list", {}),
        ("session/resume", {"sessionId": "s1", "cwd": CWD}),
        ("session/resume", {"sessionId": "s3", "cwd": CWD, "replayFrom": {"type": "start"}}),
        ("session/close", {"sessionId": "s1"}),
        ("session/set_config_option", {"sessionId": "s1", "configId": "mode", "type": "id", "value": "b"}),
        ("auth/login", {"methodId": "k"}),
        ("auth/logout", {}),
        ("_x/y", {}),
    ]
)
V1_ASKS = st.sampled_from(
    [
        ("session/prompt", {"sessionId": "s1", "prompt": [text("hello")]}),
        ("session/new", {"cwd": CWD, "mcpServers": []}),
        ("session/load", {"sessionId": "s1", "cwd": CWD, "mcpServers": []}),
        ("session/resume", {"sessionId": "s3", "cwd": CWD}),
        ("session/close", {"sessionId": "s1"}),
        ("session/set_mode", {"sessionId": "s1", "modeId": "b"}),
        ("session/set_config_option", {"sessionId": "s1", "configId": "mode", "value": "b"}),
        ("logout", {}),
        ("_x/y", {}),
    ]
)
CANCEL = ("session/cancel", {"sessionId": "s1"})


def steps(asks: st.SearchStrategy[tuple[str, Json]]) -> st.SearchStrategy[list[tuple[str, Any]]]:
    return st.lists(
        st.one_of(
            st.tuples(st.just("agent"), FROM_AGENT),
            st.tuples(st.just("agent"), FROM_AGENT),
            st.tuples(st.just("ask"), asks),
            st.tuples(st.just("tell"), st.just(CANCEL)),
            st.tuples(st.just("answer"), JSON | st.just({"outcome": {"outcome": "selected", "optionId": "s1"}})),
            st.tuples(st.just("later"), st.sampled_from([0.01, 0.05, 11.0])),
            st.tuples(st.just("noise"), st.binary(max_size=20)),
        ),
        max_size=25,
    )


class Ledger:
    """Counts the answers to the agent's requests."""

    def __init__(self, rig: AgentRig | ClientRig) -> None:
        self.rig = rig
        self.open: dict[str, int] = {}
        self.questions: list[Any] = []

    def play(self, step: tuple[str, Any]) -> None:
        kind, value = step
        rig = self.rig
        if kind == "agent":
            if "id" in value and "method" in value:
                self.open[json.dumps(value["id"])] = self.open.get(json.dumps(value["id"]), 0) + 1
            rig.south_sends(value)
        elif kind == "ask":
            rig.ask(*value)
        elif kind == "tell":
            rig.tell(*value)
        elif kind == "answer" and self.questions:
            rig.answer(self.questions.pop(0), value)
        elif kind == "later":
            rig.later(value)
        elif kind == "noise":
            rig.bridge.from_south(value, rig.now)
        self.look()

    def look(self) -> None:
        self.questions += [message["id"] for message in self.rig.north() if "id" in message and "method" in message]
        for message in self.rig.south():
            if "method" not in message:
                key = json.dumps(message["id"])
                if key in self.open:
                    self.open[key] -= 1
                    assert self.open[key] >= 0, message

    def finish(self) -> None:
        """The client goes and the services end: the agent has all its answers."""
        bridge = self.rig.bridge
        bridge.end_north("over", self.rig.now)
        self.look()
        if isinstance(bridge, V1AgentBridge):
            for event in self.rig.events:
                if isinstance(event, ServiceRequest):
                    bridge.service_failed(event.token, RpcError(-32603, "over"))
        self.look()
        assert not any(self.open.values()), self.open


@settings(max_examples=150, deadline=None)
@given(steps(V2_ASKS), st.booleans())
def test_any_v1_agent_is_a_strict_v2_agent(moves: list[tuple[str, Any]], leaves_first: bool) -> None:
    rig = AgentRig(services=SERVICES)
    methods = [{"id": "k", "name": "K"}]
    rig.initialize({"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "authMethods": methods})
    modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]}
    rig.new(modes=modes)
    ledger = Ledger(rig)
    for step in moves:
        ledger.play(step)
    if leaves_first:
        ledger.finish()
    else:
        rig.bridge.end_south("over", rig.now)
        ledger.look()
        assert rig.checker.asked == {}
        assert rig.bridge.next_deadline() is None


@settings(max_examples=150, deadline=None)
@given(steps(V1_ASKS), st.booleans())
def test_any_v2_agent_is_a_v1_agent(moves: list[tuple[str, Any]], leaves_first: bool) -> None:
    rig = ready(read_file=lambda path: "a\n")
    ledger = Ledger(rig)
    for step in moves:
        ledger.play(step)
    if leaves_first:
        ledger.finish()
    else:
        rig.bridge.end_south("over", rig.now)
        ledger.look()
        assert rig.open == set()


@settings(max_examples=60, deadline=None)
@given(JSON, JSON)
def test_any_initialize_is_answered(result: Any, client: Any) -> None:
    rig = AgentRig()
    rig.ask("initialize", {"protocolVersion": 2, "info": {"name": "c", "version": "1"}, "capabilities": client})
    rig.reply(rig.asked()["id"], {"agentCapabilities": result, "authMethods": [result, client], "agentInfo": client})
    (answer,) = rig.north()
    assert "result" in answer
    other = ClientRig()
    other.ask("initialize", {"protocolVersion": 1, "clientCapabilities": result, "clientInfo": client})
    v2 = {"protocolVersion": 2, "info": INFO, "capabilities": client, "authMethods": [result]}
    other.reply(other.asked()["id"], v2)
    assert "result" in other.north()[0]
    assert CAPABILITIES
