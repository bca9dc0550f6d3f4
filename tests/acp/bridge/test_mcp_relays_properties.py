"""Relayed MCP servers, whatever agent and client do: nothing raises, and everybody is answered once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.mcp_events import McpRelayCut, McpRelaySaid, McpRelayWanted
from roost.acp.bridge.v1_agent import V1AgentBridge

from .bridge_rig import Json, line
from .rig import CWD, INFO

CHANNELS = st.integers(1, 3)
IDS = st.one_of(st.integers(-2, 3), st.sampled_from(["a", "1", ""]))
PARAMS = st.sampled_from([None, {}, {"a": [1]}, [1], "x"])
LINES = st.one_of(
    st.binary(max_size=40),
    st.builds(lambda id, params: line({"id": id, "method": "m", "params": params}), IDS, PARAMS),
    st.builds(lambda id: line({"method": "notifications/cancelled", "params": {"requestId": id}}), IDS),
    st.builds(lambda params: line({"method": "notifications/x", "params": params}), PARAMS),
    st.builds(lambda id: line({"id": id, "result": {}}), IDS),
    st.builds(lambda id: line({"method": "$/cancel_request", "params": {"requestId": id}}), IDS),
    st.builds(
        lambda ids: b"[%b]" % b",".join(line({"id": id, "method": "b"}) for id in ids), st.lists(IDS, max_size=3)
    ),
)
STEPS = st.one_of(
    st.tuples(st.just("connect"), CHANNELS),
    st.tuples(st.just("say"), CHANNELS, LINES),
    st.tuples(st.just("close"), CHANNELS),
    st.tuples(st.just("answer"), st.integers(0, 3), st.sampled_from(["fresh", "same", "error", "odd"])),
    st.tuples(st.just("ask"), st.sampled_from(["c1", "c2", "none"]), PARAMS),
    st.tuples(st.just("withdraw"), st.integers(0, 3)),
    st.tuples(st.just("tell"), st.sampled_from(["c1", "none"]), PARAMS),
    st.tuples(st.sampled_from(["end session"] + ["nothing"] * 9)),
)


class World:
    """One bridge with a session that has two servers; `steps` are taken in any order, possible or not."""

    def __init__(self) -> None:
        self.bridge = V1AgentBridge(relays_mcp=True, limits=BridgeLimits(mcp_connections=2, mcp_early_bytes=200))
        self.questions: list[Json] = []  # open, of the bridge to the client
        self.asked: list[str] = []  # requests of the client
        self.answers: Counter[str] = Counter()
        self.open: set[int] = set()  # channels the driver has
        self.said: Counter[tuple[int, str]] = Counter()  # answers to programs, by channel and id
        self.connections = 0
        self.client({"id": "i", "method": "initialize", "params": {"protocolVersion": 2, "info": INFO}})
        self.agent_answers({"protocolVersion": 1, "agentCapabilities": {}})
        servers = [{"type": "acp", "name": name, "serverId": name} for name in "ab"]
        self.client({"id": "n", "method": "session/new", "params": {"cwd": CWD, "mcpServers": servers}})
        self.agent_answers({"sessionId": "s"})

    def client(self, message: Json) -> None:
        if "method" in message and "id" in message:
            self.asked.append(message["id"])
        self.bridge.from_north(line(message), 0.0)
        self.settle()

    def agent_answers(self, result: Json) -> None:
        (request,) = [json.loads(message) for message in self.bridge.south()]
        self.bridge.from_south(line({"id": request["id"], "result": result}), 0.0)
        self.settle()

    def settle(self) -> None:
        while events := self.bridge.events():
            for event in events:
                match event:
                    case McpRelayWanted(relay=relay):
                        assert self.bridge.mcp is not None
                        self.bridge.mcp.offered(relay, "/bin/relay", [], {})
                    case McpRelaySaid(channel=channel, message=message):
                        assert channel in self.open, "said to nobody"
                        said = json.loads(message)
                        for each in said if isinstance(said, list) else [said]:
                            if "method" not in each:
                                self.said[channel, json.dumps(each["id"])] += 1
                    case McpRelayCut(channel=channel):
                        assert channel in self.open, "cut twice"
                        self.open.discard(channel)
        for raw in self.bridge.north():
            message = json.loads(raw)
            if "method" not in message:
                self.answers[message["id"]] += 1
            elif "id" in message:
                self.questions.append(message)
            elif message["method"] == "$/cancel_request":
                self.questions = [each for each in self.questions if each["id"] != message["params"]["requestId"]]

    def step(self, step: Any) -> None:
        mcp = self.bridge.mcp
        assert mcp is not None
        match step:
            case "connect", channel if channel not in self.open:
                self.open.add(channel)
                mcp.connected(channel, channel % 2 + 1)
            case "say", channel, data:
                mcp.said(channel, data)
            case "close", channel:
                self.open.discard(channel)
                mcp.closed(channel)
            case "answer", place, how if place < len(self.questions):
                self.answer(self.questions.pop(place), how)
            case "ask", connection, params:
                id = f"q{len(self.asked)}"
                inner = {"connectionId": connection, "method": "roots/list", "params": params}
                self.client({"id": id, "method": "mcp/message", "params": inner})
            case "withdraw", place if place < len(self.asked):
                self.client({"method": "$/cancel_request", "params": {"requestId": self.asked[-1 - place]}})
            case "tell", connection, params:
                inner = {"connectionId": connection, "method": "notifications/x", "params": params}
                self.client({"method": "mcp/message", "params": inner})
            case ("end session",):
                self.client({"id": f"e{len(self.asked)}", "method": "session/close", "params": {"sessionId": "s"}})
        self.settle()

    def answer(self, question: Json, how: str) -> None:
        if how == "error":
            self.client({"id": question["id"], "error": {"code": 7, "message": "no"}})
            return
        result: Any = {}
        if question["method"] == "mcp/connect" and how != "odd":
            self.connections += how == "fresh"
            result = {"connectionId": f"c{self.connections}"}
        self.client({"id": question["id"], "result": result})


@given(st.lists(STEPS, max_size=40))
@settings(max_examples=300, deadline=None)
def test_nothing_raises_and_every_request_of_the_client_is_answered_once(steps: list[Any]) -> None:
    world = World()
    for step in (("connect", 1), ("answer", 0, "fresh"), *steps):
        world.step(step)
    world.bridge.end_south("gone", 0.0)
    world.settle()
    assert dict(world.answers) == dict.fromkeys(world.asked, 1)
    mcp = world.bridge.mcp
    assert mcp is not None
    left = (mcp.open, mcp.served, mcp._relays, mcp._preparing, mcp._awaited, mcp._channels, mcp._relay_of)
    assert not any(left), left


@given(st.lists(IDS, unique_by=repr, max_size=5), st.data())
@settings(max_examples=100, deadline=None)
def test_every_request_of_a_program_is_answered_once_and_under_its_id(ids: list[Any], data: st.DataObject) -> None:
    world = World()
    world.step(("connect", 1))
    early = data.draw(st.integers(0, len(ids)))
    for id in ids[:early]:
        world.step(("say", 1, line({"id": id, "method": "m"})))
    world.step(("answer", 0, data.draw(st.sampled_from(["fresh", "error", "odd"]))))
    for id in ids[early:]:
        world.step(("say", 1, line({"id": id, "method": "m"})))
    while world.questions:
        world.step(("answer", data.draw(st.integers(0, len(world.questions) - 1)), "same"))
    assert dict(world.said) == {(1, json.dumps(id)): 1 for id in ids}
