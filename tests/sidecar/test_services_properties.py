"""Random plays around files and terminals of a bridged agent: whatever happens, everybody gets one answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.acp.bridge.events import CommandRun, FileWrite
from roost.errors import RpcError
from roost.sidecar import commands, events
from roost.sidecar.gen.messages import AcpPermissionCallbackResponse
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.v1_agents import LOAD, V1

SERVICES = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
WISHES = (FileWrite("/w/x", "/w/x", True, True), CommandRun("make", "/w", {}))
TOOL = {"toolCallId": "t", "title": "Edit", "kind": "edit", "locations": [{"path": "/w/x"}]}
OPTIONS = [{"optionId": "y", "name": "Y", "kind": "allow_once"}, {"optionId": "n", "name": "N", "kind": "reject_once"}]

picks = st.integers(0, 3)
acts = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(["fs/write_text_file", "terminal/create", "terminal/wait_for_exit"])),
    st.tuples(st.just("ask"), st.sampled_from(["fs/write_text_file", "terminal/create", "terminal/wait_for_exit"])),
    st.tuples(st.just("wish"), picks, st.sampled_from(WISHES)),
    st.tuples(st.just("wish"), picks, st.sampled_from(WISHES)),
    st.tuples(st.just("serve"), picks, st.booleans()),
    st.tuples(st.just("withdraw"), picks),
    st.tuples(st.just("permission")),
    st.tuples(st.just("reply"), picks, st.sampled_from(["once", "always", "reject", "?"])),
    st.tuples(st.just("reply"), picks, st.sampled_from(["once", "always", "reject", "?"])),
    st.tuples(st.just("prints")),
    st.tuples(st.just("prompt")),
    st.tuples(st.just("turn_ends")),
    st.tuples(st.just("cancel")),
    st.tuples(st.just("crash")),
    st.tuples(st.just("leave")),
    st.tuples(st.just("wait"), st.sampled_from([0.1, 3.0, 11.0, 130.0])),
)

calm = st.one_of(
    st.tuples(st.just("ask"), st.just("fs/write_text_file")),
    st.tuples(st.just("wish"), picks, st.sampled_from(WISHES)),
    st.tuples(st.just("reply"), picks, st.sampled_from(["once", "reject"])),
    st.tuples(st.just("withdraw"), picks),
    st.tuples(st.just("turn_ends")),
    st.tuples(st.just("cancel")),
    st.tuples(st.just("leave")),
)


class Stage:
    def __init__(self) -> None:
        self.rig = Rig(V1(silent=True, capabilities=LOAD), services=SERVICES, restarts=10)
        self.rig.session_id = "s"
        self.caller = self.rig.connect("me")
        self.session = self.rig.create(self.caller, protocol_version=2).session_id
        self.asked: dict[str, list[str]] = {}  # by process: the ids of requests the agent has made
        self.wished: set[tuple[str, int]] = set()
        self.served: set[tuple[str, int]] = set()
        self.replied = 0
        self.ids = 0
        self.prompt()

    def perform(self, play: list[Any]) -> None:
        for name, *arguments in play:
            getattr(self, name)(*arguments)
            self.check()
        if self.caller not in self.rig.engine._context.callers.connections:
            self.caller = self.rig.connect("me")
        self.rig.close(self.caller, self.session)
        for command in self.open():
            self.answer(command, RpcError(-32603, "closed"))
        self.rig.advance(1000)
        self.check()
        self.rig.leave(self.caller)
        self.rig.assert_nothing_left()

    def check(self) -> None:
        rig = self.rig
        for agent in rig.agents.values():
            told = Counter(message["id"] for message in agent.answers())
            assert not told or max(told.values()) == 1, "answered twice"
        assert {token for _, token in self.wished} >= set(rig.decided), "decided without a wish"
        ended = {command.process for command in rig.services_ended if command.place is None}
        gone = {process for process, agent in rig.agents.items() if agent.exited} & {c.process for c in rig.served}
        assert gone <= ended, "an agent is gone and its services are not ended"

    @property
    def agent(self) -> Agent:
        return self.rig.agent

    def open(self) -> list[commands.ServeAgent]:
        return [c for c in self.rig.served if (c.process, c.token) not in self.served]

    def answer(self, command: commands.ServeAgent, error: RpcError | None = None) -> None:
        self.served.add((command.process, command.token))
        if command.token not in self.rig.withdrawn:
            self.rig.feed(events.ServiceAnswered(command.process, command.token, {}, error))

    # ---- acts

    def ask(self, method: str) -> None:
        self.ids += 1
        params: Json = {"sessionId": "s", "path": "/w/x", "content": "x", "command": "make", "terminalId": "t"}
        if not self.agent.exited:
            self.agent.ask(method, params, f"r{self.ids}")

    def wish(self, pick: int, wish: FileWrite | CommandRun) -> None:
        fresh = [c for c in self.open() if (c.process, c.token) not in self.wished]
        if fresh:
            command = fresh[pick % len(fresh)]
            if any(token == command.token for _, token in self.wished):
                return  # of another agent: the rig keeps decisions by token
            self.wished.add((command.process, command.token))
            self.rig.feed(events.ServiceWished(command.process, command.token, wish))

    def serve(self, pick: int, fails: bool) -> None:
        open_requests = self.open()
        if open_requests:
            command = open_requests[pick % len(open_requests)]
            self.answer(command, RpcError(-32603, "no") if fails else None)

    def withdraw(self, pick: int) -> None:
        if self.ids and not self.agent.exited:
            self.agent.notify("$/cancel_request", {"requestId": f"r{max(1, self.ids - pick)}"})

    def permission(self) -> None:
        self.ids += 1
        params = {"sessionId": "s", "toolCall": TOOL, "options": OPTIONS}
        if not self.agent.exited:
            self.agent.ask("session/request_permission", params, f"p{self.ids}")

    def reply(self, pick: int, word: str) -> None:
        waiting = self.rig.asked[self.replied :]
        if waiting:
            connection, callback, _ = waiting[pick % len(waiting)]
            self.rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", word))

    def prints(self) -> None:
        self.rig.feed(events.TerminalPrinted(self.agent.process, "s", "t", b"x"))

    def prompt(self) -> None:
        if self.caller in self.rig.engine._context.callers.connections:
            self.rig.prompt(self.caller, self.session)

    def turn_ends(self) -> None:
        for request in self.agent.requests("session/prompt"):
            if request["id"] not in self.agent.done and not self.agent.exited:
                self.agent.done.add(request["id"])
                self.agent.result(request, {"stopReason": "end_turn"})

    def cancel(self) -> None:
        if self.caller in self.rig.engine._context.callers.connections:
            self.rig.request(self.caller, self.session, "session/cancel")

    def crash(self) -> None:
        self.agent.exit(1)

    def leave(self) -> None:
        self.rig.leave(self.caller)
        self.replied = len(self.rig.asked)
        self.caller = self.rig.connect("me")

    def wait(self, seconds: float) -> None:
        self.rig.advance(seconds)


@settings(deadline=None)
@given(st.lists(acts, min_size=2, max_size=30))
def test_everybody_gets_one_answer_and_nothing_is_left(play: list[Any]) -> None:
    Stage().perform(play)


@settings(deadline=None)
@given(st.lists(calm, min_size=3, max_size=10))
def test_a_wish_that_is_open_at_the_end_is_decided_by_then(play: list[Any]) -> None:
    stage = Stage()
    for name, *arguments in play:
        getattr(stage, name)(*arguments)
    open_wishes = {
        token
        for process, token in stage.wished - stage.served
        if process == stage.agent.process and not stage.agent.exited and token not in stage.rig.withdrawn
    }
    stage.rig.advance(stage.rig.engine._context.limits.callback_timeout + 1)
    if stage.rig.engine.session_count:
        assert open_wishes <= set(stage.rig.decided)
