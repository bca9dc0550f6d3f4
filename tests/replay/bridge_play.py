"""A recorded v1 conversation played through the bridge: the recorded agent south, a v2 client north."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from roost.acp import v2
from roost.acp.bridge.events import ServiceRequest
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.acp.fold import fold
from roost.acp.view import SessionView
from roost.errors import RpcError
from roost.wire.decode import decode
from roost.wire.framing import LineFramer
from tests.acp.bridge.bridge_rig import line
from tests.acp.bridge.rig import INFO, SERVICES, StrictV2
from tests.replay.recorded_agent import RecordedAgent
from tests.replay.recording import Json, Run

SERVED = ("fs/", "terminal/")
LAST_WORDS = "the recording ended"


class ShownSession:
    """What the client has of a session."""

    def __init__(self) -> None:
        self.view = SessionView()
        self.stops: list[str | None] = []

    def take(self, update: v2.SessionUpdate) -> None:
        fold(self.view, update)
        if isinstance(update, v2.IdleStateUpdate):
            self.stops.append(update.stop_reason)

    def option(self, category: str) -> Any:
        return next((option for option in self.view.config_options if option.category == category), None)


class BridgePlay:
    """Plays the run when made. Every message to the client is decoded strictly on its way."""

    def __init__(self, run: Run, random: Random) -> None:
        self.run = run
        self.random = random
        self.bridge = V1AgentBridge(services=SERVICES)
        self.agent = RecordedAgent(run, random)
        self.sessions: dict[str, ShownSession] = {}
        self.answers: list[tuple[Json, Json]] = []
        """Each recorded request, with what the client was answered."""
        self.outcomes: dict[Any, Json] = {}
        """What the agent was answered, by its id."""
        self.to_client: list[Json] = []
        self.to_agent: list[Json] = []
        """All messages, in order."""
        self._checker = StrictV2()
        self._framer = LineFramer()
        self._now = 100.0
        self._ids = 0
        self._open: dict[str, tuple[Json, Json]] = {}  # by our id, the recorded request and ours
        self._questions: list[Json] = []
        self._services: list[ServiceRequest] = []
        self._play()

    def accepted(self, prompt: Json) -> bool:
        return any(request["id"] == prompt["id"] and "result" in answer for request, answer in self.answers)

    # ---- the play

    def _play(self) -> None:
        self._hear()
        while not self.agent.is_over:
            awaited = self.agent.awaits
            if awaited is not None:
                if self.random.random() < 0.5:
                    self._wait(0.2)
                before = self.agent.awaits
                self._do(awaited.message)
                if self.agent.awaits is before:
                    self.agent.skip(
                        may_come=bool(awaited.message)
                        and awaited.message.get("method") == "session/prompt"
                        and self._is_open(awaited.message)
                    )
            self._hear()
        self._wait(1.0)
        self.bridge.end_south(LAST_WORDS, self._now)
        self._drain()
        assert not self._open, f"never answered: {self._open}"

    def _hear(self) -> None:
        while True:
            pieces = self.agent.says()
            if not pieces:
                return
            for piece in pieces:
                for message in self._framer.feed(piece):
                    self.bridge.from_south(message, self._now)
                if self.random.random() < 0.2:
                    self._wait(0.03)
                self._drain()

    def _wait(self, seconds: float) -> None:
        self._now += seconds
        self.bridge.expire(self._now)
        self._drain()

    # ---- the client's side

    def _is_open(self, request: Json) -> bool:
        return any(recorded is request for recorded, _ in self._open.values())

    def _do(self, message: Json | None) -> None:
        if message is None:
            return  # no client of ours writes such
        if "method" not in message:
            self._settle(message)
        elif "id" not in message:
            self.bridge.from_north(line({"method": message["method"], "params": message.get("params")}), self._now)
            self._drain()
        else:
            self._ask(message)

    def _ask(self, recorded: Json) -> None:
        method, params = self._in_v2(recorded["method"], recorded.get("params") or {})
        self._ids += 1
        name = f"n{self._ids}"
        self._checker.asks(name, method)
        ours = {"id": name, "method": method, "params": params}
        self._open[name] = (recorded, ours)
        if "replayFrom" in params and params["sessionId"] in self.sessions:
            self.sessions[params["sessionId"]].view.clear()
            self.sessions[params["sessionId"]].stops.clear()
        self.bridge.from_north(line(ours), self._now)
        self._drain()

    def _in_v2(self, method: str, params: Json) -> tuple[str, Json]:
        if method == "initialize":
            return method, {"protocolVersion": 2, "info": INFO, "capabilities": {}}
        if method == "authenticate":
            return "auth/login", params
        if method == "session/load":
            return "session/resume", {**without_servers(params), "replayFrom": {"type": "start"}}
        if method in ("session/set_mode", "session/set_model"):
            category = method.removeprefix("session/set_")
            option = self.sessions[params["sessionId"]].option(category)
            value = params.get("modeId", params.get("modelId"))
            return "session/set_config_option", {
                "sessionId": params["sessionId"],
                "configId": option.config_id,
                "type": "id",
                "value": value,
            }
        if method == "session/set_config_option":
            kind = "boolean" if isinstance(params["value"], bool) else "id"
            return method, {"type": kind, **params}
        return method, without_servers(params)

    def _settle(self, recorded: Json) -> None:
        """An answer to what the agent asked, unless it has one already."""
        identifier = recorded["id"]
        if identifier in self.outcomes:
            return
        request = next(
            said
            for sign, said in reversed(self.agent.log)
            if sign == "<" and "method" in said and said.get("id") == identifier
        )
        if request["method"].startswith(SERVED):
            [service] = [
                each for each in self._services if each.method == request["method"] and each.params == request["params"]
            ][:1]
            self._services.remove(service)
            if "error" in recorded:
                error = recorded["error"]
                self.bridge.service_failed(service.token, RpcError(error["code"], error["message"], error.get("data")))
            else:
                self.bridge.service_answered(service.token, recorded["result"])
        else:
            params = request["params"]
            [question] = [
                each
                for each in self._questions
                if each["params"]["sessionId"] == params["sessionId"]
                and each["params"]["subject"]["toolCall"]["toolCallId"] == params["toolCall"]["toolCallId"]
            ]
            self._questions.remove(question)
            self.bridge.from_north(line({"id": question["id"], "result": recorded["result"]}), self._now)
        self._drain()

    # ---- what comes out

    def _drain(self) -> None:
        for event in self.bridge.events():
            if isinstance(event, ServiceRequest):
                self._services.append(event)
        for data in self.bridge.south():
            message = json.loads(data)
            self.to_agent.append(message)
            if "method" not in message:
                self.outcomes[message["id"]] = message
            self.agent.hears(message)
        for data in self.bridge.north():
            message = json.loads(data)
            self.to_client.append(message)
            self._checker.check(message)
            self._take(message)

    def _take(self, message: Json) -> None:
        method = message.get("method")
        if method is None:
            recorded, ours = self._open.pop(message["id"])
            self.answers.append((recorded, message))
            self._answered(ours, message)
        elif method == "session/update":
            params = message["params"]
            update = decode(v2.SessionUpdate, json.dumps(params["update"]).encode())
            self.sessions.setdefault(params["sessionId"], ShownSession()).take(update)
        elif method == "session/request_permission":
            self._questions.append(message)
        elif method == "$/cancel_request":
            self._questions = [each for each in self._questions if each["id"] != message["params"]["requestId"]]

    def _answered(self, ours: Json, answer: Json) -> None:
        result = answer.get("result")
        if not result:
            return
        name = result.get("sessionId") or ours["params"].get("sessionId")
        if ours["method"] in ("session/new", "session/fork", "session/resume", "session/set_config_option"):
            shown = self.sessions.setdefault(name, ShownSession())
            if "configOptions" in result:
                update = {"sessionUpdate": "config_option_update", "configOptions": result["configOptions"]}
                shown.take(decode(v2.SessionUpdate, json.dumps(update).encode()))


def without_servers(params: Json) -> Json:
    return {name: value for name, value in params.items() if name != "mcpServers"}
