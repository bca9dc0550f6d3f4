"""Random plays: what callers ask, what agents print, and how time passes, as data that any rig can perform."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from roost.sidecar.gen.messages import (
    AcpErrorResponse,
    AcpHostRequestCallback,
    AcpHostRequestCallbackResponse,
    AcpPermissionCallbackResponse,
)
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json

LINE_LIMIT = 900
OPTIONS = [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]


def update(**members: Any) -> Json:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": members}}


def ask(method: str, number: Any) -> Json:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {"options": OPTIONS}}


LINES: dict[str, Any] = {
    "chunk": update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "grüße 🐦"}),
    "running": update(sessionUpdate="state_update", state="running"),
    "idle": update(sessionUpdate="state_update", state="idle", stopReason="end_turn"),
    "cancelled": update(sessionUpdate="state_update", state="idle", stopReason="cancelled"),
    "mode": update(sessionUpdate="current_mode_update", currentModeId="code"),
    "options": update(sessionUpdate="config_option_update", configOptions=[{"id": "o", "currentValue": 1}]),
    "vendor": {"jsonrpc": "2.0", "method": "_vendor/x", "params": {}},
    "permission": ask("session/request_permission", "p"),
    "file": ask("fs/read_text_file", 5),
    "withdraw": {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}},
    "batch": [update(sessionUpdate="plan"), ask("_vendor/ask", None), 7],
    "stray": {"jsonrpc": "2.0", "id": 99, "result": {}},
    "log": b"INFO starting up",
    "latin": b'{"jsonrpc":"2.0","method":"_x","params":{"n":"\xe9"}}',
    "latin update": b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"\xe9"}}}',
    "surrogate": b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"\\ud83d"}}}',
    "blank": b"  \r",
    "deep": b'{"jsonrpc":"2.0","method":"_x","params":' + b"[" * 300 + b"]" * 300 + b"}",
    "long": b'{"jsonrpc":"2.0","method":"_x","params":{"x":"' + b"x" * LINE_LIMIT + b'"}}',
    "answer": "answer",
    "error": "error",
    "half": "half",
}
KINDS = sorted(LINES)
texts = st.lists(st.sampled_from(KINDS), max_size=6)
indices = st.integers(0, 2)
acts = st.one_of(
    st.tuples(st.just("create"), st.sampled_from([1, 2])),
    st.tuples(st.just("prompt"), indices),
    st.tuples(st.just("request"), indices, st.sampled_from(["session/set_mode", "session/set_config_option", "_x"])),
    st.tuples(st.just("cancel"), indices),
    st.tuples(st.just("print"), indices, texts),
    st.tuples(st.just("print"), indices, texts),
    st.tuples(st.just("answer"), st.sampled_from(["once", "reject", "other"])),
    st.tuples(st.just("exit"), indices, st.sampled_from([0, 1, None])),
    st.tuples(st.just("close"), indices),
    st.tuples(st.just("wait"), st.sampled_from([0.1, 1.0, 15.0, 130.0, 700.0])),
)
plays = st.lists(acts, min_size=3, max_size=25)


class Player:
    """Performs a play on one rig, one caller, and says what everybody saw."""

    def __init__(self, rig: Rig, *, one_at_a_time: bool = False) -> None:
        self.rig = rig
        self.one_at_a_time = one_at_a_time
        self.caller = rig.connect("me")
        self.sessions: list[str] = []
        self.open: dict[str, set[int]] = {}
        self.answered = 0

    def perform(self, acts: list[Any]) -> None:
        self.create(1)
        for name, *arguments in acts:
            getattr(self, name)(*arguments)
        self.rig.advance(2000)
        for session in self.sessions:
            self.rig.close(self.caller, session)
        self.rig.advance(2000)
        self.rig.assert_nothing_left()

    def seen(self) -> Any:
        agents = {name: (agent.heard, agent.signals, agent.exited) for name, agent in self.rig.agents.items()}
        return self.rig.told, self.rig.asked, agents

    # ---- acts

    def create(self, version: int) -> None:
        if len(self.sessions) < 3:
            request = self.rig.send(self.caller, create_request(protocol_version=version))
            created = self.rig.reply(self.caller, request)
            assert not isinstance(created, AcpErrorResponse)
            self.sessions.append(created.session_id)

    def prompt(self, index: int) -> None:
        self._send(index, "session/prompt", {"prompt": []})

    def request(self, index: int, method: str) -> None:
        self._send(index, method, {"modeId": "code", "configId": "o", "value": 2})

    def _send(self, index: int, method: str, params: Json) -> None:
        session = self.sessions[index % len(self.sessions)]
        waiting = {n for n in self.open.get(session, set()) if self.rig.reply(self.caller, n) is None}
        if not (self.one_at_a_time and waiting):
            waiting.add(self.rig.request(self.caller, session, method, params))
        self.open[session] = waiting

    def cancel(self, index: int) -> None:
        self.rig.request(self.caller, self.sessions[index % len(self.sessions)], "session/cancel")

    def print(self, index: int, kinds: list[str]) -> None:
        agent = self._agent(index)
        if agent is not None and kinds:
            agent.write(b"".join(self._line(agent, LINES[kind]) for kind in kinds))

    def _line(self, agent: Agent, line: Any) -> bytes:
        if line == "half":
            return b'{"jsonrpc":'
        if line in ("answer", "error"):
            asked = [
                m["id"] for m in agent.heard if "id" in m and m.get("method") in OPEN and m["id"] not in agent.done
            ]
            number = asked[0] if asked else 50
            agent.done.add(number)
            ending: Json = {"result": {"stopReason": "cancelled"}}
            if line == "error":
                ending = {"error": {"code": -32000, "message": "no"}}
            line = {"jsonrpc": "2.0", "id": number, **ending}
        return (line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode()) + b"\n"

    def answer(self, reply: str) -> None:
        if self.answered < len(self.rig.asked):
            connection, callback, payload = self.rig.asked[self.answered]
            self.answered += 1
            answer: Any = AcpPermissionCallbackResponse("permission", reply)
            if isinstance(payload, AcpHostRequestCallback):
                message = json.loads(payload.request)
                answer = AcpHostRequestCallbackResponse(json.dumps({"id": message["id"], "result": {"reply": reply}}))
            self.rig.answer(connection, callback, answer)

    def exit(self, index: int, code: int | None) -> None:
        agent = self._agent(index)
        if agent is not None:
            agent.exit(code)

    def close(self, index: int) -> None:
        self.rig.close(self.caller, self.sessions[index % len(self.sessions)])

    def wait(self, seconds: float) -> None:
        self.rig.advance(seconds)

    def _agent(self, index: int) -> Agent | None:
        process = self.rig.engine.process_of(
            self.sessions[index % len(self.sessions)], self.rig.engine.caller_of(self.caller) or ""
        )
        agent = self.rig.agents.get(process or "")
        return None if agent is None or agent.exited else agent


OPEN = ("session/prompt", "session/set_mode", "session/set_config_option", "_x")


def quiet(agent: Agent, message: Json) -> bool:
    """The script of agents in a play: the handshake goes by itself, everything else is in the play."""
    return message.get("method") in OPEN


def staged(rig: Rig) -> Rig:
    rig.capabilities = {"loadSession": True, "session": {}}
    return rig


def cutter(cuts: list[int]) -> Any:
    """Cuts a chunk at these places, counted on round and round."""

    def cut(chunk: bytes) -> list[bytes]:
        pieces, turn = [], 0
        while chunk:
            size = cuts[turn % len(cuts)] if cuts else len(chunk)
            pieces.append(chunk[:size])
            chunk = chunk[size:]
            turn += 1
        return pieces

    return cut


cuttings = st.lists(st.integers(1, 200), max_size=5)
