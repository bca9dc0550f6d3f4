"""MCP servers of a caller for a bridged agent: programs that connect back, and the caller's side of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar import commands
from roost.sidecar.gen.messages import (
    AcpErrorResponse,
    AcpHostRequestCallback,
    AcpHostRequestCallbackResponse,
)
from roost.sidecar.mcp_relay import (
    CutRelay,
    OfferRelay,
    RelayClosed,
    RelayConnected,
    RelayHeard,
    RelayOffered,
    RelayRefused,
    TellRelay,
    WithdrawRelay,
)
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf

CLOCK = {"type": "acp", "name": "clock", "serverId": "srv-1"}


class RelayRig(Rig):
    """A rig whose driver has programs for relays. `silent`: they are offered by the test."""

    def __init__(self, *args: Any, refuses: str = "", silent: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self.engine.relay_mcp()
        self.refuses = refuses
        self.silent = silent
        self.offers: list[OfferRelay] = []
        self.withdrawn_relays: list[WithdrawRelay] = []
        self.said: list[Json] = []  # to programs, without what is the same in all
        self.cuts: list[CutRelay] = []

    def _do(self, command: commands.Command) -> None:
        match command:
            case OfferRelay(process=process, relay=relay, name=name):
                self.offers.append(command)
                if self.refuses:
                    self._follow(RelayRefused(process, relay, self.refuses))
                elif not self.silent:
                    self._follow(RelayOffered(process, relay, "/bin/relay", (), {"KEY": name}))
            case WithdrawRelay():
                self.withdrawn_relays.append(command)
            case TellRelay(message=message):
                self.said.append(json.loads(message))
            case CutRelay():
                self.cuts.append(command)
            case _:
                super()._do(command)

    def says(self, process: str, channel: int, **message: Any) -> None:
        """What a program says for the agent."""
        line = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.feed(RelayHeard(process, channel, (line,)))

    def question(self, number: int = -1) -> tuple[str, Json]:
        """What a caller was asked: about which session, and the message."""
        payload = self.asked[number][2]
        assert isinstance(payload, AcpHostRequestCallback)
        return payload.session_id, json.loads(payload.request)

    def host(self, result: Any, number: int = -1) -> None:
        """The caller's answer to it."""
        connection, callback, _ = self.asked[number]
        _, request = self.question(number)
        text = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})
        self.answer(connection, callback, AcpHostRequestCallbackResponse(text))


def v1(agent: Agent, message: Json) -> bool:
    """An agent of v1 that opens a session when it is told to."""
    if message.get("method") == "initialize":
        agent.result(message, {"protocolVersion": 1, "agentCapabilities": agent.capabilities})
        return True
    return message.get("method") == "session/new"


def opening(**options: Any) -> tuple[RelayRig, int, int, Agent]:
    """A rig, a caller, its request for a session, and the agent that is asked for it."""
    rig = RelayRig(v1, **options)
    rig.session_id = "s"
    caller = rig.connect("me")
    request = rig.send(caller, create_request(protocol_version=2, mcp_servers=json.dumps([CLOCK])))
    return rig, caller, request, rig.agent


def opened(**options: Any) -> tuple[RelayRig, int, Agent]:
    """The same with the session open and a program connected."""
    rig, caller, request, agent = opening(**options)
    agent.result(agent.requests("session/new")[0], {"sessionId": "s"})
    assert rig.reply(caller, request).session_id == "s"
    rig.feed(RelayConnected(agent.process, 1, 7))
    rig.host({"connectionId": "conn"})
    return rig, caller, agent


def ended(rig: RelayRig, caller: int) -> None:
    rig.close(caller, "s")
    rig.advance(30)
    rig.leave(caller)
    rig.assert_nothing_left()


def test_a_callers_server_is_a_program_for_the_agent() -> None:
    rig, caller, _ = opened()
    (request,) = rig.agent.requests("session/new")
    assert request["params"]["mcpServers"] == [
        {"name": "clock", "command": "/bin/relay", "args": [], "env": [{"name": "KEY", "value": "clock"}]}
    ]
    assert rig.question() == (
        "s",
        {"jsonrpc": "2.0", "id": rig.question()[1]["id"], "method": "mcp/connect", "params": {"serverId": "srv-1"}},
    )
    ended(rig, caller)


def test_without_relays_the_server_is_refused() -> None:
    rig = Rig(v1)
    caller = rig.connect("me")
    request = rig.send(caller, create_request(protocol_version=2, mcp_servers=json.dumps([CLOCK])))
    rig.advance(30)
    reply = rig.reply(caller, request)
    assert isinstance(reply, AcpErrorResponse)
    assert "clock is of type acp, which was not offered" in reply.message
    rig.leave(caller)
    rig.assert_nothing_left()


def test_a_program_that_cannot_be_offered_fails_the_session() -> None:
    rig = RelayRig(v1, refuses="no folder for a socket")
    caller = rig.connect("me")
    request = rig.send(caller, create_request(protocol_version=2, mcp_servers=json.dumps([CLOCK])))
    rig.advance(30)
    assert rig.reply(caller, request) == AcpErrorResponse(
        "invalid_state",
        "ACP session/new failed: the MCP server clock cannot be relayed to the agent: no folder for a socket",
    )
    rig.leave(caller)
    rig.assert_nothing_left()


def test_a_driver_that_never_offers_is_a_session_that_never_opens() -> None:
    rig, caller, request, agent = opening(silent=True)
    assert agent.requests("session/new") == []
    rig.advance(100)
    reply = rig.reply(caller, request)
    assert isinstance(reply, AcpErrorResponse)
    assert reply.code == "timeout"
    rig.leave(caller)
    rig.assert_nothing_left()


def test_an_agent_may_use_its_servers_before_its_session_is_open_and_in_order() -> None:
    """Many do: session/new is answered when the tools are known."""
    rig, caller, request, agent = opening()
    rig.feed(RelayConnected(agent.process, 1, 7))
    assert rig.question()[0] == ""
    rig.host({"connectionId": "conn"})
    rig.says(agent.process, 7, id=0, method="initialize", params={})
    rig.host({"serverInfo": {}})
    rig.says(agent.process, 7, method="notifications/initialized")
    rig.says(agent.process, 7, id=1, method="tools/list")
    (notice,) = rig.notifications(caller)  # it is there before what follows it is asked
    assert notice["params"] == {"connectionId": "conn", "method": "notifications/initialized"}
    assert rig.events(caller)[0].session_id == ""
    assert rig.question()[1]["params"]["method"] == "tools/list"
    rig.host({"tools": []})
    assert rig.said[-1] == {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}
    agent.result(agent.requests("session/new")[0], {"sessionId": "s"})
    assert rig.reply(caller, request).session_id == "s"
    ended(rig, caller)


def test_messages_go_both_ways_and_inner_ids_are_kept_apart() -> None:
    rig, caller, agent = opened()
    rig.says(agent.process, 7, id="x", method="tools/call", params={"name": "now"})
    assert rig.question()[1]["params"] == {"connectionId": "conn", "method": "tools/call", "params": {"name": "now"}}
    rig.host({"content": []})
    assert rig.said.pop() == {"jsonrpc": "2.0", "id": "x", "result": {"content": []}}
    params = {"connectionId": "conn", "method": "roots/list"}
    request = rig.request(caller, "s", "mcp/message", params)
    asked = rig.said.pop()
    assert asked["method"] == "roots/list"
    rig.says(agent.process, 7, id=asked["id"], result={"roots": []})
    assert rig.rpc(caller, request)["result"] == {"roots": []}
    ended(rig, caller)


def test_a_notification_of_the_callers_server_is_told_as_one() -> None:
    rig, caller, _ = opened()
    params = {"connectionId": "conn", "method": "notifications/tools/list_changed", "params": {"a": 1}}
    request = rig.request(caller, "s", "mcp/message", params)
    assert rig.rpc(caller, request) == {"jsonrpc": "2.0", "id": None, "result": {}}
    told = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"a": 1}}
    assert rig.said == [told]
    ended(rig, caller)


def test_an_agent_of_v2_hears_a_callers_notification_as_one_too() -> None:
    rig = Rig()
    rig.session_id = "s"
    caller = rig.connect("me")
    rig.create(caller, protocol_version=2)
    rig.request(caller, "s", "mcp/message", {"connectionId": "c", "method": "notifications/progress"})
    (message,) = rig.agent.requests("mcp/message")
    assert "id" not in message
    rig.request(caller, "s", "mcp/message", {"connectionId": "c", "method": "roots/list"})
    assert "id" in rig.agent.requests("mcp/message")[1]
    rig.close(caller, "s")
    rig.advance(30)
    rig.leave(caller)
    rig.assert_nothing_left()


def test_what_is_said_on_a_channel_is_no_part_of_the_session() -> None:
    shelf = Shelf()
    rig, caller, agent = opened(journal=shelf)
    rig.says(agent.process, 7, method="notifications/progress", params={"secret": 1})
    assert rig.notifications(caller)[-1]["params"]["method"] == "notifications/progress"
    rig.says(agent.process, 7, id=1, method="tools/call", params={"secret": 1})
    rig.host({})
    assert rig.said == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    assert shelf.kinds("s") == ["request", "decision"]  # that it connected
    ended(rig, caller)


def test_a_program_that_ends_disconnects() -> None:
    rig, caller, agent = opened()
    rig.feed(RelayClosed(agent.process, 7, None))
    assert rig.question()[1]["method"] == "mcp/disconnect"
    rig.host({})
    rig.feed(RelayConnected(agent.process, 1, 8))
    assert rig.question()[1]["method"] == "mcp/connect"
    rig.host({"connectionId": "again"})
    ended(rig, caller)


def test_what_a_closed_session_had_is_over_with_its_agent() -> None:
    rig, caller, agent = opened()
    rig.says(agent.process, 7, id=1, method="tools/call")
    ended(rig, caller)
    assert rig.forgotten[-1] == agent.process  # from here on the driver lets nobody in for it
    told = len(rig.asked)
    rig.feed(RelayConnected(agent.process, 1, 8))
    rig.feed(RelayHeard(agent.process, 7, (b"{}",)))
    assert len(rig.asked) == told


@pytest.mark.parametrize("event", [RelayClosed("acp-agent-1", 7, None), RelayOffered("acp-agent-9", 1, "x", (), {})])
def test_what_is_said_of_an_agent_without_relays_is_passed_over(event: Any) -> None:
    rig = Rig()
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=2).session_id
    rig.feed(event)
    rig.close(caller, session)
    rig.advance(30)
    rig.leave(caller)
    rig.assert_nothing_left()


def test_a_restarted_agent_gets_programs_of_its_own() -> None:
    def loads(agent: Agent, message: Json) -> bool:
        if message.get("method") == "initialize":
            agent.result(message, {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        elif message.get("method") == "session/load":
            agent.result(message, None)
        else:
            return False
        return True

    rig = RelayRig(loads)
    rig.session_id = "s"
    caller = rig.connect("me")
    rig.create(caller, protocol_version=2, mcp_servers=json.dumps([CLOCK]))
    first = rig.agent
    first.exit(1)
    rig.advance(5)
    second = rig.agent
    assert second is not first
    assert second.requests("session/load")[0]["params"]["mcpServers"][0]["command"] == "/bin/relay"
    assert [offer.process for offer in rig.offers] == [first.process, second.process]
    ended(rig, caller)


# ---- agents of v2


def v2_opened(mcp: Json, servers: list[Json]) -> tuple[RelayRig, int, Agent]:
    rig = RelayRig()
    rig.session_id = "s"
    rig.capabilities = {"session": {"mcp": mcp}}
    caller = rig.connect("me")
    rig.create(caller, protocol_version=2, mcp_servers=json.dumps(servers))
    return rig, caller, rig.agent


def test_an_agent_of_v2_that_takes_programs_only_uses_a_callers_server() -> None:
    rig, caller, agent = v2_opened({"stdio": {}}, [CLOCK])
    assert len(rig.agents) == 1
    (entry,) = agent.requests("session/new")[0]["params"]["mcpServers"]
    assert (entry["type"], entry["command"]) == ("stdio", "/bin/relay")
    rig.feed(RelayConnected(agent.process, 1, 7))
    rig.host({"connectionId": "conn"})
    rig.says(agent.process, 7, id=1, method="tools/list")
    rig.host({"tools": []})
    assert rig.said == [{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}]
    request = rig.request(caller, "s", "mcp/message", {"connectionId": "conn", "method": "roots/list"})
    rig.says(agent.process, 7, id=rig.said[-1]["id"], result={"roots": []})
    assert rig.rpc(caller, request)["result"] == {"roots": []}
    assert agent.requests("mcp/message") == []
    prompt = rig.prompt(caller, "s")
    assert "error" not in rig.rpc(caller, prompt)
    states = [n["params"]["update"].get("state") for n in rig.notifications(caller)]
    assert states == ["running", "idle"]
    ended(rig, caller)


def test_an_agent_of_v2_that_knows_the_kind_gets_it() -> None:
    rig, caller, agent = v2_opened({"stdio": {}, "acp": {}}, [CLOCK])
    assert agent.requests("session/new")[0]["params"]["mcpServers"] == [CLOCK]
    assert rig.offers == []
    ended(rig, caller)


def test_nothing_stands_before_an_agent_of_v2_that_is_given_no_such_server() -> None:
    stdio = {"type": "stdio", "name": "acp", "command": "/bin/x", "args": ["acp"], "env": []}
    rig, caller, agent = v2_opened({"stdio": {}}, [stdio])
    assert rig.engine._context.links[agent.process].side is None
    assert agent.requests("session/new")[0]["params"]["mcpServers"] == [stdio]
    ended(rig, caller)


def test_an_agent_of_v1_is_found_out_all_the_same() -> None:
    rig, caller, _ = opened()
    first, second = rig.agents.values()
    assert first.requests("initialize")[0]["params"]["protocolVersion"] == 2
    assert second.requests("initialize")[0]["params"]["protocolVersion"] == 1
    ended(rig, caller)
