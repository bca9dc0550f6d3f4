"""The program inside a simulated agent: an honest one for either protocol version, and what its vices make of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from tests.simulation import mischief
from tests.simulation.abilities import OPTIONAL, offered
from tests.simulation.errands import Errands
from tests.simulation.programs import tokens_in
from tests.simulation.temper import LOGIN
from tests.simulation.voice import Json, TurnOver, Voice, key_of

if TYPE_CHECKING:
    from tests.simulation.accounts import Place
    from tests.simulation.host import Host
    from tests.simulation.process import Process
    from tests.simulation.serving import Subject
    from tests.simulation.world import World

Act = Callable[[], None]

ATTACHING = ("session/new", "session/load", "session/resume")
PIPE_BYTES = 4096
EXIT_CODES = (0, 1, 7, 3, -9, -11, 255, None, 2**31 + 5, -(2**31))
MODES = ("ask", "code", "plan")


class Brain(Voice):
    """One run of the program."""

    def __init__(self, world: World, process: Process) -> None:
        super().__init__(world, process)
        self._temper = process.temper
        self.attached_at: int | None = None  # `count` when the first answer to an attaching request was given
        self._todo: deque[Act] = deque()
        self._waiting: Any = None  # the key of the question it waits for
        self._turn: list[Json] = []  # prompts it works on
        self._open_questions: list[Any] = []  # their keys
        self._questions = 0
        self._mode = 0
        self.errands = Errands(self)
        self._relays: list[str] = []  # secrets with which its programs connect
        self._past: deque[Json] = deque(maxlen=4)  # requests it has heard

    # ---- one step

    def act(self) -> bool:
        """Does one thing. False when there is nothing to do."""
        process, random = self._process, self._random
        if process.exited:
            return False
        if "crashing" in self._vices and random.random() < 0.04:
            last_words = random.randrange(4)
            if last_words == 0:
                self.print(b'{"jsonrpc":"2.0","method":"session/upd')
            elif last_words == 1:  # a whole line, but for its end
                self._end = b""
                self.update()
            process.exit(random.choice(EXIT_CODES))
            return True
        if len(process.stdout) > PIPE_BYTES:  # its pipe is full: it waits in write()
            return False
        if "slow" in self._vices and random.random() < 0.7:
            return False
        if random.random() < 0.15:
            mischief.something(self)
        if self._todo and self._waiting is None:
            self._todo.popleft()()
            return True
        return self._listen()

    def _listen(self) -> bool:
        if "deaf" in self._vices and self.attached_at is not None:
            return False
        line = self._process.read()
        if line is None:
            return False
        heard = msgspec.json.decode(line)
        for message in heard if isinstance(heard, list) else [heard]:
            self._hear(message)
        return True

    @property
    def has_work(self) -> bool:
        return not self._process.exited and bool(self._process.inbox or (self._todo and self._waiting is None))

    # ---- what it hears

    def _hear(self, message: Json) -> None:
        method = message.get("method")
        if method is None:
            self._answered(message)
        elif "id" not in message:
            if method == "session/cancel" and "wedged" not in self._vices:
                self._cancelled()
        else:
            self._past.append(message)
            handler = self._HANDLERS.get(method, Brain._optional if method in OPTIONAL else Brain._other)
            if "mute" in self._vices or ("silent" in self._vices and self.attached_at is not None):
                return
            handler(self, message)

    def _answered(self, message: Json) -> None:
        key = key_of(message.get("id"))
        self.errands.answered(key, message.get("result"))
        if key in self._open_questions:
            self._open_questions.remove(key)
        if key == self._waiting:
            self._waiting = None

    def _initialize(self, request: Json) -> None:
        version, kind = self._temper.version, self._temper.kind
        if "chattering" in self._vices:
            self.complain()
        for _ in range(self._random.randrange(3)):
            self._later(self.notice)
        if "asking" in self._vices:
            self._later(self.ask)
        if version == 2:
            capabilities: Json = {} if kind == "v2-new" else {"session": {"delete": {}, "mcp": {"stdio": {}}}}
            info = {"name": "simulated", "version": "1"}
            logins = [{"methodId": LOGIN, "name": LOGIN, "type": "agent"}]
            result: Json = {"protocolVersion": 2, "info": info, "capabilities": capabilities, "authMethods": logins}
        else:
            result = {"protocolVersion": 1, **offered(self._temper)}
        if "lying" in self._vices and self._random.random() < 0.2:
            result["protocolVersion"] = self._random.choice((1, 2, 3, "1", None, 2**40, 1.0, True))
        self._later(self.respond, request, result)

    def _new(self, request: Json) -> None:
        self._start_programs(request)
        chosen: Any = f"s-{self._process.name}"
        if "colliding" in self._vices:
            known = [
                *(known for _, known in self._world.ledger.sessions),
                chosen,
                "",
                None,
                7,
                "the same",
                "é \u2028",
                "long" * 300,
            ]
            chosen = self._random.choice(known)
        for _ in range(self._random.randrange(4)):
            self._later(self.update)
        self.session_id = chosen if isinstance(chosen, str) and chosen else self._process.name
        modes = {"currentModeId": "ask", "availableModes": [{"id": mode, "name": mode} for mode in MODES]}
        options = [{"id": "model", "configId": "model", "currentValue": "small", "category": "model"}]
        self._later(self.respond, request, {"sessionId": chosen, "modes": modes, "configOptions": options})
        for _ in range(self._random.randrange(3)):
            self._later(self.update)

    def _start_programs(self, request: Json) -> None:
        """Those of its MCP servers that callers have; agents do so before they answer, or later, or again."""
        self._relays = tokens_in(request["params"].get("mcpServers"))
        for token in self._relays:
            if self._random.random() < 0.8:
                self._later(self._world.programs.start, token, self._process.name)

    def _attach(self, request: Json) -> None:
        self._start_programs(request)
        self.session_id = request["params"]["sessionId"]
        for _ in range(self._random.randrange(6)):
            self._later(self.update)
        if "forgetful" in self._vices:
            error = self._random.choice(
                (
                    (-32002, "no", {"sessionId": self.session_id}),
                    (-32603, "no", {"details": "NotFoundError"}),
                    (-32000, "no", {"kind": "unknown_session"}),
                    (-32603, "broken", None),
                )
            )
            self._later(self.refuse, request, *error)
        else:
            self._later(self.respond, request, self._random.choice(({}, {}, {"modes": {"currentModeId": "plan"}})))
        for _ in range(self._random.randrange(3)):
            self._later(self.update)

    def _prompt(self, request: Json) -> None:
        random = self._random
        self._turn.append(request)
        by_state = self._temper.version == 2
        late = random.random() < 0.2
        if by_state:
            if not late:
                self._later(self.respond, request, {})
            self._later(self.update, {"sessionUpdate": "state_update", "state": "running"})
        for _ in range(random.randrange(15, 40) if "flooding" in self._vices else random.randrange(6)):
            self._later(self._work)
        if by_state:
            idle: Json = {"sessionUpdate": "state_update", "state": "idle"}
            if random.random() < 0.8:
                idle["stopReason"] = "end_turn"
            self._later(self.update, idle)
            if late:
                self._later(self.respond, request, {})
        else:
            self._later(self.respond, request, {"stopReason": "end_turn"})
        self._later(self._turn_over, request)
        for _ in range(random.randrange(3)):
            self._later(self.update)
        if self._relays and random.random() < 0.2:
            self._later(self._world.programs.start, random.choice(self._relays), self._process.name)
        if self._temper.has_errands and random.random() < 0.3:
            self._later(self.errands.run)  # when nobody has asked it to do anything

    def _work(self) -> None:
        random = self._random
        serves = self._temper.has_errands and random.random() < 0.6
        if serves or random.random() < (0.5 if "asking" in self._vices else 0.1):
            key = self.errands.run() if serves else self.ask()
            if random.random() < 0.6:
                self._waiting = key
        elif random.random() < (0.4 if "chattering" in self._vices else 0.05):
            self.complain()
        else:
            self.update()

    def _turn_over(self, request: Json) -> None:
        if request in self._turn:
            self._turn.remove(request)

    def _cancelled(self) -> None:
        """The turn ends at once, in the way the version has for it."""
        if not self._turn:
            return
        self._todo.clear()
        self._waiting = None
        turn, self._turn = self._turn, []
        if self._random.random() < 0.3:
            self._later(self.update)
        if self._temper.version == 2:
            for request in turn:
                if self._random.random() < 0.5:
                    self._later(self.respond, request, {})
            self._later(self.update, {"sessionUpdate": "state_update", "state": "idle", "stopReason": "cancelled"})
        else:
            for request in turn:
                self._later(self.respond, request, {"stopReason": "cancelled"})

    def _set_mode(self, request: Json) -> None:
        mode = request["params"].get("modeId")
        if self._random.random() < 0.5 and isinstance(mode, str):
            self._later(self.update, {"sessionUpdate": "current_mode_update", "currentModeId": mode})
        self._later(self.respond, request, {})

    def _set_option(self, request: Json) -> None:
        if self._random.random() < 0.3:
            self._later(self.refuse, request, -32602, "no such option")
            return
        self._later(self.respond, request, self._random.choice(({}, {"configOptions": []})))

    def _optional(self, request: Json) -> None:
        """What not every agent can, and what does not always come off."""
        method = request["method"]
        if method == "session/close":
            self._cancelled()
        if not self._temper.can(OPTIONAL[method]):
            self._later(self.refuse, request, -32601, "Method not found")
        elif self._random.random() < 0.15:
            self._later(self.refuse, request, -32603, "not now")
        else:
            listed = {"sessions": [{"sessionId": self.session_id, "cwd": "/w"}]}
            self._later(self.respond, request, listed if method == "session/list" else {})

    def _other(self, request: Json) -> None:
        if self._random.random() < 0.3:
            self._later(self.refuse, request, -32601, "Method not found")
        else:
            self._later(self.respond, request, {"done": True})

    _HANDLERS = {
        "initialize": _initialize,
        "session/new": _new,
        "session/load": _attach,
        "session/resume": _attach,
        "session/prompt": _prompt,
        "session/set_mode": _set_mode,
        "session/set_config_option": _set_option,
    }

    def _later(self, act: Callable[..., Any], *arguments: Any) -> None:
        self._todo.append((lambda: act(*arguments)) if arguments else act)

    # ---- what it says

    def respond(self, request: Json, result: Any) -> None:
        if isinstance(result, dict):
            result = {**result, **self.place}
        if "lying" in self._vices and self._random.random() < 0.3:
            self._attaching(request)
            mischief.answer_falsely(self, request, result)
        else:
            self._attaching(request)
            self.say({"jsonrpc": "2.0", "id": request["id"], "result": result})
        self._over(request)

    def refuse(self, request: Json, code: int, message: str, data: Json | None = None) -> None:
        self._attaching(request)
        error = {"code": code, "message": message, "data": {**(data or {}), **self.place}}
        self.say({"jsonrpc": "2.0", "id": request["id"], "error": error})
        self._over(request)

    def _over(self, request: Json) -> None:
        if request["method"] == "session/prompt":
            self.marks.append((self.printed, TurnOver()))

    def _attaching(self, request: Json) -> None:
        if request["method"] not in ATTACHING:
            return
        if self.attached_at is None:
            self.attached_at = self.count
        self._world.ledger.processes[self._process.name].attached_again(request["id"], self.count)

    def ask(self) -> Any:
        """A question; the key of its id."""
        odd = "asking" in self._vices
        identifier, method, params = mischief.question(self._random, self._next_question(), odd=odd)
        return self._put(identifier, method, params)

    def request(self, method: str, params: Json, *, shows: Subject | None = None) -> Any:
        """A question of its own making; `shows` is what a yes to it allows."""
        question = self._next_question()
        if shows is not None:
            self._world.ledger.serving.shown[question] = shows
        return self._put(question, method, params)

    def _next_question(self) -> str:
        self._questions += 1
        return f"{self._process.name}/{self._questions}"

    def _put(self, identifier: Any, method: str, params: Json) -> Any:
        question = f"{self._process.name}/{self._questions}"
        if self._temper.version == 1:
            params = {"sessionId": self.session_id, **params}
        params = {
            **params,
            "q": question,
            **self.place,
            "_meta": {"q": question, **self.place},
        }  # a bridge passes that on
        self.say({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}, question=question)
        key = key_of(identifier)
        self._open_questions.append(key)
        if "withdrawing" in self._vices and self._random.random() < 0.5:
            cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": identifier}}
            self._later(self.say, cancel)
        return key

    # ---- what mischief needs

    def soon(self, act: Act) -> None:
        """Before anything else that it has to do."""
        self._todo.appendleft(act)

    @property
    def hosts(self) -> list[Host]:
        return self._world.hosts

    @property
    def sessions(self) -> list[Place]:
        return list(self._world.ledger.sessions)

    @property
    def random(self) -> Any:
        return self._random

    @property
    def vices(self) -> frozenset[str]:
        return self._vices

    @property
    def past(self) -> list[Json]:
        return list(self._past)
