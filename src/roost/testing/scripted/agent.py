"""The scripted agent itself: one thread, one loop, plain dictionaries. What a step does is told in `steps`."""

from __future__ import annotations

import json
import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` takes longer to import than everything else here
    from collections.abc import Callable, Iterable
    from typing import Any

FAR = 3600.0  # seconds; longer than any test
_NOT_FOUND = -32601
_INVALID = -32602
_AUTH_REQUIRED = -32000
_LOGINS = ("authenticate", "auth/login")
_GATED = ("session/new", "session/load", "session/resume")
_STILL_DONE = ("stop", "text", "note")  # steps that are done after a cancel


class Ended(Exception):
    """The input has ended."""


class Failed(Exception):
    """A prompt of version 1 that is answered with an error."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(code, words)
        self.error = {"code": code, "message": words}


class ScriptedAgent:
    """The whole agent. `version` is 1 or 2 once it is known."""

    def __init__(self, options: dict[str, str], script: dict[str, list[str]]) -> None:
        self.options = options
        self.script = script
        self.version = 1 if "v1" in options else 2 if "v2" in options else 0
        self.piece = int(options.get("split", 0))
        self.silent = False
        self.session = ""
        self.idle = True
        self.reason: str | None = None
        self.cancelled: set[str] = set()
        self.logged_in = os.path.exists(os.path.join(options["store"], "login")) if "store" in options else False
        self._sessions: dict[str, dict[str, Any]] = {}
        self._postponed: list[dict[str, Any]] = []  # requests that came while something was being waited for
        self._answers: dict[Any, dict[str, Any]] = {}
        self._input = b""
        self._calls = 0
        self.begun: dict[str, str] = {}  # calls that are finished later, by the names steps give them
        self.terminal = ""  # the latest one the client has made
        self._ids = 0

    # ---- input and output

    def write(self, data: bytes) -> None:
        """Bytes on standard output as they are, in pieces if that is wanted."""
        size = self.piece or len(data)
        for start in range(0, len(data), size or 1):
            rest = data[start : start + size]
            while rest:
                rest = rest[os.write(1, rest) :]

    def send(self, **message: Any) -> None:
        if not self.silent:
            self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def update(self, kind: str, /, **members: Any) -> None:
        payload = {"sessionUpdate": kind, **members}
        self.keep(payload)
        self.send(method="session/update", params={"sessionId": self.session, "update": payload})

    def read(self, seconds: float = FAR) -> dict[str, Any] | None:
        """The next message, or None after so many seconds, or when it is none. Ended at the end of input."""
        until = time.monotonic() + seconds
        while b"\n" not in self._input:
            ready, _, _ = select.select([0], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            chunk = os.read(0, 65536)
            if not chunk:
                raise Ended
            self._input += chunk
        line, _, self._input = self._input.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            return None
        return message if isinstance(message, dict) else None

    def hear(self, seconds: float) -> None:
        """One message while something is under way: answers and cancels count, requests are postponed."""
        message = self.read(seconds)
        if message is None:
            return
        if message.get("method") == "session/cancel":
            self.cancelled.add(message.get("params", {}).get("sessionId"))
        elif "method" not in message:
            self._answers[message.get("id")] = message
        elif "id" in message:
            self._postponed.append(message)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """Asks the client and waits; the answer, or None when the session was cancelled first."""
        return self.answer_to(self.begin(method, params))

    def begin(self, method: str, params: dict[str, Any]) -> str:
        """Asks the client; the call's id."""
        self._calls += 1
        call = f"call-{self._calls}"
        self.send(id=call, method=method, params=params)
        return call

    def answer_to(self, call: str) -> dict[str, Any] | None:
        while call not in self._answers:
            if self.session in self.cancelled:
                return None
            self.hear(FAR)
        return self._answers.pop(call)

    def fresh(self, kind: str) -> str:
        """An id that no other process of this agent gives, too."""
        self._ids += 1
        return f"{kind}-{os.getpid()}-{self._ids}"

    # ---- the loop

    def run(self) -> int:
        """Until the end of input. Returns the exit code."""
        if "ignore-term" in self.options:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            self.steps(self.script.get("start", []))
            while True:
                message = self._postponed.pop(0) if self._postponed else self.read()
                if message is not None:
                    self.handle(message)
        except Ended:
            self.steps(self.script.get("end", []))
            while "ignore-term" in self.options:
                time.sleep(FAR)
            return 0

    def handle(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params")
        if method is None:
            return
        if not isinstance(params, dict):
            params = {}
        self.session = params.get("sessionId", self.session)
        steps = list(self.script.get(method, []))
        if method == "session/prompt":
            self.prompt(message.get("id"), params, steps or _lines(params))
            return
        if "id" in message and "answer" not in steps:
            steps.append("answer")
        for step in steps:
            if step == "answer":
                self.answer(method, message.get("id"), params)
            else:
                self.step(step)

    def answer(self, method: str, id: Any, params: dict[str, Any]) -> None:
        make = METHODS.get(method)
        if method in _GATED and "gated" in self.options and not self.logged_in:
            self.send(id=id, error={"code": _AUTH_REQUIRED, "message": "Authentication required"})
        elif method in _LOGINS and "auth" in self.options and params.get("methodId") not in self.logins():
            self.send(id=id, error={"code": _INVALID, "message": f"no login {params.get('methodId')}"})
        elif make is None:
            self.send(id=id, error={"code": _NOT_FOUND, "message": f"no method {method}"})
        else:
            self.send(id=id, result=make(self, params))

    def steps(self, steps: Iterable[str]) -> None:
        for step in steps:
            if self.session not in self.cancelled or step.startswith(_STILL_DONE):
                self.step(step)

    def step(self, step: str) -> None:
        from roost.testing.scripted.steps import STEPS, text

        word, _, rest = step.partition(" ")
        do = STEPS.get(word)
        if do is None:
            text(self, f"no such step: {step}")
        else:
            do(self, rest)

    # ---- prompts

    def prompt(self, id: Any, params: dict[str, Any], steps: list[str]) -> None:
        """A prompt from acceptance to its end, each version in its own way."""
        self.cancelled.discard(self.session)
        self.reason, self.idle = None, True
        if self.version == 2:
            self.send(id=id, result={})
            self.update("user_message", messageId=self.fresh("user"), content=params.get("prompt", []))
            self.update("state_update", state="running")
        else:
            for block in params.get("prompt", []):
                self.keep({"sessionUpdate": "user_message_chunk", "content": block})
        error = None
        try:
            self.steps(step for step in steps if step != "answer")
        except Failed as failed:
            error = failed.error
        reason = self.reason or ("cancelled" if self.session in self.cancelled else "end_turn")
        self.save()
        if not self.idle:
            return
        if self.version == 2:
            self.update("state_update", state="idle", stopReason=reason)
        elif error is not None:
            self.send(id=id, error=error)
        else:
            self.send(id=id, result={"stopReason": reason})

    # ---- sessions

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        if not self.version:
            self.version = 1 if params.get("protocolVersion") in (0, 1) else 2
        claim = json.loads(self.options.get("claim", str(self.version)))
        more = json.loads(self.options.get("capabilities", "{}"))
        info = {"name": self.options.get("info", "scripted"), "version": "1"}
        auth = json.loads(self.options.get("auth", "[]"))
        if self.version == 2:
            answer = {"protocolVersion": claim, "info": info, "capabilities": {"session": {"delete": {}}, **more}}
            return {**answer, "authMethods": auth} if auth else answer
        capabilities = {"loadSession": "load" in self.options, "promptCapabilities": {}, **more}
        if "resume" in self.options:
            capabilities["sessionCapabilities"] = {"resume": {}, "list": {}}
        return {"protocolVersion": claim, "agentInfo": info, "agentCapabilities": capabilities, "authMethods": auth}

    def new(self, params: dict[str, Any]) -> dict[str, Any]:
        self.session = self.fresh("session")
        self._sessions[self.session] = {"cwd": params.get("cwd"), "updates": []}
        self.save()
        return {"sessionId": self.session}

    def resume(self, params: dict[str, Any]) -> dict[str, Any]:
        self.restore(params)
        if self.version == 2 and (params.get("replayFrom") or {}).get("type") == "start":
            self.replay()
        return {}

    def load(self, params: dict[str, Any]) -> dict[str, Any]:
        self.restore(params)
        self.replay()
        return {}

    def list(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"sessions": [{"sessionId": id, "cwd": known["cwd"] or "/"} for id, known in self._sessions.items()]}

    # ---- logins

    def logins(self) -> tuple[Any, ...]:
        """The ids of the methods that are asked for by a request."""
        methods = json.loads(self.options["auth"])
        asked = [one for one in methods if one.get("type") not in ("terminal", "env_var")]
        return tuple(one.get("methodId", one.get("id")) for one in asked)

    def login(self, params: dict[str, Any]) -> dict[str, Any]:
        self.logged_in = True
        self.note_login(True)
        return {}

    def logout(self, params: dict[str, Any]) -> dict[str, Any]:
        self.logged_in = False
        self.note_login(False)
        return {}

    def note_login(self, done: bool) -> None:
        store = self.options.get("store")
        if store is None:
            return
        os.makedirs(store, exist_ok=True)
        path = os.path.join(store, "login")
        if done:
            open(path, "w").close()
        elif os.path.exists(path):
            os.unlink(path)

    def nothing(self, params: dict[str, Any]) -> dict[str, Any]:
        return {}

    def restore(self, params: dict[str, Any]) -> None:
        """What is known of a session, from this process or from the store; an unknown one begins empty."""
        path = self.path()
        if self.session in self._sessions:
            return
        self._sessions[self.session] = {"cwd": params.get("cwd"), "updates": []}
        if path is not None and os.path.exists(path):
            with open(path) as file:
                self._sessions[self.session] = json.load(file)

    def replay(self) -> None:
        for payload in self._sessions[self.session]["updates"]:
            self.send(method="session/update", params={"sessionId": self.session, "update": payload})

    def keep(self, payload: dict[str, Any]) -> None:
        if self.session in self._sessions and payload["sessionUpdate"] != "state_update":
            self._sessions[self.session]["updates"].append(payload)

    def save(self) -> None:
        path = self.path()
        if path is not None and self.session in self._sessions:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(f"{path}.new", "w") as file:
                json.dump(self._sessions[self.session], file)
            os.replace(f"{path}.new", path)

    def path(self) -> str | None:
        store = self.options.get("store")
        return None if store is None else os.path.join(store, f"{os.path.basename(self.session)}.json")


def _lines(params: dict[str, Any]) -> list[str]:
    texts = [block.get("text", "") for block in params.get("prompt", []) if isinstance(block, dict)]
    return [line.strip() for line in "\n".join(texts).split("\n") if line.strip()]


METHODS: dict[str, Callable[[ScriptedAgent, dict[str, Any]], dict[str, Any]]] = {
    "initialize": ScriptedAgent.initialize,
    "session/new": ScriptedAgent.new,
    "session/load": ScriptedAgent.load,
    "session/resume": ScriptedAgent.resume,
    "session/list": ScriptedAgent.list,
    "session/close": ScriptedAgent.nothing,
    "session/delete": ScriptedAgent.nothing,
    "session/set_mode": ScriptedAgent.nothing,
    "authenticate": ScriptedAgent.login,
    "logout": ScriptedAgent.logout,
    "auth/login": ScriptedAgent.login,
    "auth/logout": ScriptedAgent.logout,
}
