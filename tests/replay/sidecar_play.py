"""A recorded v1 conversation played through the sidecar's engine: one caller, one session, and the recorded agent."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from roost.acp import v2
from roost.errors import RpcError
from roost.sidecar import events
from roost.sidecar.commands import ServeAgent
from roost.sidecar.gen.messages import (
    AcpCallback,
    AcpCallbackResponse,
    AcpHostRequestCallbackResponse,
    AcpPermissionCallback,
    AcpPermissionCallbackResponse,
    AcpSessionCreatedResponse,
)
from roost.wire.decode import decode
from tests.acp.bridge.rig import SERVICES, strictly
from tests.replay.bridge_play import ShownSession
from tests.replay.recorded_agent import RecordedAgent, cut
from tests.replay.recording import Json, Run
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent


class SidecarPlay:
    """Plays when made, in the sidecar protocol's version 1 or 2, until the recording ends or leaves what is possible
    here: a second session."""

    def __init__(self, run: Run, random: Random, version: int) -> None:
        self.run = run
        self.random = random
        self.version = version
        self.rig = Rig(self._script, services=SERVICES)
        self.rig.cut = lambda data: cut(data, random)
        self.recorded: dict[str, RecordedAgent] = {}
        self.shown = ShownSession()
        self.refused: set[Any] = set()
        self.caller = self.rig.connect("me")
        self.created: Any = None
        self._prompts: dict[Any, int] = {}  # by recorded id, our request
        self._play()

    @property
    def agent(self) -> RecordedAgent:
        return self.recorded[self.rig.agent.process]

    def accepted(self, prompt: Json) -> bool:
        return prompt["id"] not in self.refused

    # ---- the agent's side

    def _script(self, agent: Agent, message: Json) -> bool:
        recorded = self.recorded.setdefault(agent.process, RecordedAgent(self.run, self.random))
        if message.get("method") == "session/new":  # what comes before is not done here
            while recorded.awaits is not None and (recorded.awaits.message or {}).get("method") != "session/new":
                recorded.skip()
        recorded.hears(message)
        self._say(agent, recorded)
        return True

    def _say(self, agent: Agent, recorded: RecordedAgent) -> None:
        data = b"".join(recorded.says())
        if data:
            agent.write(data)

    # ---- the caller's side

    def _play(self) -> None:
        request = create_request(cwd="/workspace", protocol_version=self.version)
        number = self.rig.send(self.caller, request)
        self.rig.advance(1)
        self.created = self.rig.reply(self.caller, number)
        if not isinstance(self.created, AcpSessionCreatedResponse):
            return
        self.session = self.created.session_id
        if self.version == 2:
            self._show_options([json.loads(option) for option in self.created.config_options])
        while not self.agent.is_over:
            line = self.agent.awaits
            if line is not None:
                self._let_pass(line.message)
                self._do(line.message)
                if self.agent.awaits is line:  # two turns at once, which is one after the other here
                    self.agent.skip(may_come=(line.message or {}).get("id") in self._prompts)
            self._say(self.rig.agent, self.agent)
        self.rig.advance(0.5)
        self._look()

    def _let_pass(self, message: Json | None) -> None:
        """Some time; the recorded client was slower than a turn takes to settle."""
        is_prompt = message is not None and message.get("method") == "session/prompt"
        self.rig.advance(self.random.choice((0.1, 0.3) if is_prompt else (0.0, 0.1, 0.3)))

    def _do(self, message: Json | None) -> None:
        if message is None:
            return
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            self._settle(message)
        elif params.get("sessionId") != self.session:
            return
        elif method == "session/prompt":
            self._prompts[message["id"]] = self._ask(method, {"prompt": params["prompt"]})
        elif method == "session/cancel":
            self._ask(method, {})
        elif method in ("session/set_mode", "session/set_model", "session/set_config_option"):
            self._change(method, params)

    def _ask(self, method: str, params: Json) -> int:
        return self.rig.request(self.caller, self.session, method, params)

    def _change(self, method: str, params: Json) -> None:
        given = {name: value for name, value in params.items() if name != "sessionId"}
        if self.version == 2 and method != "session/set_config_option":
            self._look()
            option = self.shown.option(method.removeprefix("session/set_"))
            if option is None:
                return
            value = params.get("modeId", params.get("modelId"))
            method, given = "session/set_config_option", {"configId": option.config_id, "type": "id", "value": value}
        elif self.version == 2:
            given["type"] = "boolean" if isinstance(given["value"], bool) else "id"
        request = self._ask(method, given)
        self.rig.advance(0.1)
        answer = self.rig.rpc(self.caller, request)
        if self.version == 2 and "result" in answer:
            self._look()
            self._show_options(answer["result"]["configOptions"])

    def _settle(self, recorded: Json) -> None:
        """Answers what the agent asked as it was, unless that has been done."""
        asked = [said for sign, said in self.agent.log if sign == "<" and "method" in said]
        [request] = [said for said in asked if said.get("id") == recorded["id"]]
        for command in self.rig.served:
            if (command.method, command.params) == (request["method"], request["params"]):
                self.rig.served.remove(command)
                self._serve(command, recorded)
                return
        for entry in self.rig.asked:
            if _is_about(entry[2], request):
                self.rig.asked.remove(entry)
                response = self._response(entry[2], recorded)
                if response is not None:
                    self.rig.answer(*entry[:2], response)
                return

    def _response(self, payload: AcpCallback, recorded: Json) -> AcpCallbackResponse | None:
        """None where the recorded client gave up: it cancelled what it was asked about."""
        if not isinstance(payload, AcpPermissionCallback):
            return AcpHostRequestCallbackResponse(json.dumps(recorded))
        chosen = recorded["result"]["outcome"].get("optionId")
        return None if chosen is None else AcpPermissionCallbackResponse(payload.permission_id, chosen)

    def _serve(self, command: ServeAgent, recorded: Json) -> None:
        error = recorded.get("error")
        failure = None if error is None else RpcError(error["code"], error["message"], error.get("data"))
        self.rig.feed(events.ServiceAnswered(command.process, command.token, recorded.get("result"), failure))

    # ---- what the caller is shown

    def notifications(self) -> list[str]:
        """Those of the session, as they came."""
        return [event.notification for event in self.rig.events(self.caller) if hasattr(event, "notification")]

    def _look(self) -> None:
        """Takes what came since the last time into the view."""
        told = self.notifications() if self.version == 2 else []
        for text in told[self._looked :]:
            message = json.loads(text)
            if message["method"] == "session/update":
                strictly(v2.UpdateSessionNotification, message["params"])
                self.shown.take(decode(v2.SessionUpdate, json.dumps(message["params"]["update"]).encode()))
        self._looked = len(told)
        for identifier, number in self._prompts.items():
            if self.rig.reply(self.caller, number) is not None and "error" in self.rig.rpc(self.caller, number):
                self.refused.add(identifier)

    _looked = 0

    def _show_options(self, options: list[Json]) -> None:
        update = {"sessionUpdate": "config_option_update", "configOptions": options}
        self.shown.take(decode(v2.SessionUpdate, json.dumps(update).encode()))

    # ---- the end

    def close(self) -> None:
        if isinstance(self.created, AcpSessionCreatedResponse):
            self.rig.close(self.caller, self.session)
        self.rig.advance(60)
        self.rig.leave(self.caller)
        self.rig.advance(60)
        self.rig.assert_nothing_left()


def _is_about(payload: AcpCallback, request: Json) -> bool:
    """Whether a caller is asked what the agent asked."""
    if not isinstance(payload, AcpPermissionCallback):
        return bool(json.loads(payload.request)["id"] == request["id"])
    params = json.loads(payload.params)
    call = params["toolCall"] if "toolCall" in params else params["subject"]["toolCall"]
    return request["method"] == "session/request_permission" and bool(
        call["toolCallId"] == request["params"]["toolCall"]["toolCallId"]
    )
