"""The programs that connect agents to MCP servers of callers, and the socket they connect to, without a system.

An agent may start the program of a relay as often as it likes. Each numbers what it says, and keeps account of what it
is answered: once each, by the right caller, and to what it has asked.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

import msgspec

from roost.errors import LimitError, TransportError
from roost.transport.mcp_relay import RelayListener, RelayProgram

if TYPE_CHECKING:
    from tests.simulation.world import World

TOKEN = "RELAY_TOKEN"
METHODS = ("initialize", "tools/list", "tools/call", "ping")
NOTICES = ("notifications/initialized", "notifications/progress")
GARBAGE = (
    b"{",
    b"[]",
    b"null",
    b"log line",
    b'{"jsonrpc":"2.0","id":7,"result":{}}',
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}',
    b'{"jsonrpc":"2.0","id":"odd","method":"ping","params":[1]}',
    b'[{"jsonrpc":"2.0","id":"b1","method":"ping"},{"jsonrpc":"2.0","id":"b1","method":"ping"}]',
)


class Program:
    """One that runs, and its connection: for the daemon it is a `RelayChannel`."""

    def __init__(self, world: World, process: str, listener: RelayListener, number: int) -> None:
        self._world = world
        self._listener = listener
        self.process = process
        self.name = f"{process}/{number}"
        self.pid = 9000 + number
        self.paused = False
        self.ended = False
        self.open: Counter[int] = Counter()  # its requests without an answer
        self._crossed: set[int] = set()  # and those that are being cancelled while an answer may be on the way
        self._notices = 0
        self._requests = 0
        self._asked: deque[Any] = deque()  # ids of requests of the server
        self._garbles = world.random.random() < 0.2

    # ---- RelayChannel

    def send(self, message: bytes) -> None:
        """It is told something."""
        if self.ended:
            return
        self._world.trace("  the program %s is told %.200r", self.name, message)
        heard = msgspec.json.decode(message)
        for part in heard if isinstance(heard, list) else [heard]:
            if "method" not in part:
                self._answered(part)
            else:
                own = (part.get("params") or {}).get("to", self.name) == self.name
                self._world.ledger.require(own, f"{self.name} is told what is for another: {part}")
                if "id" in part:
                    self._asked.append(part["id"])

    def _answered(self, answer: dict[str, Any]) -> None:
        number = answer.get("id")
        if not isinstance(number, int):
            return  # to what it has said wrongly
        if self.open[number] <= 0 and number not in self._crossed:
            self._world.ledger.violated(f"{self.name}: an answer to no open request of its: {answer}")
        self.open[number] = max(0, self.open[number] - 1)
        echo = (answer.get("result") or {}).get("echo", [self.name, number])
        self._world.ledger.require(echo == [self.name, number], f"{self.name}/{number} is answered with {answer}")

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def close(self) -> None:
        self.ended = True

    # ---- what it does

    def act(self) -> None:
        """Says something, if it is read, or ends."""
        random = self._world.random
        if random.random() < 0.05:
            self.exit()
        elif not self.paused:
            lines = [self._line() for _ in range(random.choice((1, 1, 3)))]
            self._listener.received(self, lines)  # type: ignore[arg-type]
            self._crossed.clear()

    def exit(self, *, fault: bool = False) -> None:
        if not self.ended:
            self.ended = True
            self._listener.closed(self, LimitError("queued_bytes", 1) if fault else None)  # type: ignore[arg-type]

    def _line(self) -> bytes:
        random = self._world.random
        choice = random.random()
        if self._garbles and choice < 0.2:
            return random.choice(GARBAGE)
        if self._asked and choice < 0.5:
            return _encode({"id": self._asked.popleft(), "result": {"from": self.name}})
        if choice < 0.6:
            cancelled = [number for number in +self.open if random.random() < 0.2]
            if cancelled:
                number = cancelled[0]
                del self.open[number]  # who cancels hears no more of it
                self._crossed.add(number)
                return _encode({"method": "notifications/cancelled", "params": {"requestId": number}})
        if choice < 0.75:
            self._notices += 1
            return _encode({"method": random.choice(NOTICES), "params": {"of": self.name, "k": self._notices}})
        self._requests += 1
        self.open[self._requests] += 1
        params = {"of": self.name, "k": 0, "number": self._requests}
        return _encode({"id": self._requests, "method": random.choice(METHODS), "params": params})


class ProgramServer:
    """What they connect to."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.listeners: dict[str, RelayListener] = {}
        self.programs: list[Program] = []
        self._last = 0

    def offer(self, listener: RelayListener) -> RelayProgram:
        if self._world.random.random() < 0.03:
            raise TransportError("no place for a socket")
        self._last += 1
        token = f"secret-{self._last}"
        self.listeners[token] = listener
        return RelayProgram("/bin/relay", (), {TOKEN: token}, token)

    def withdraw(self, token: str) -> None:
        self._world.ledger.require(token in self.listeners, f"{token} is taken back twice")
        self.listeners.pop(token, None)

    def close(self) -> None:
        self.listeners.clear()
        for program in self.programs:
            program.ended = True

    def start(self, token: str, process: str) -> None:
        """An agent starts a program, which connects if it still may."""
        listener = self.listeners.get(token)
        if listener is not None:
            program = Program(self._world, process, listener, len(self.programs) + 1)
            self.programs.append(program)
            listener.connected(program)  # type: ignore[arg-type]

    @property
    def running(self) -> list[Program]:
        return [program for program in self.programs if not program.ended]


def tokens_in(servers: Any) -> list[str]:
    """The secrets in what an agent is told of its MCP servers."""
    return [entry["value"] for server in servers or [] for entry in server.get("env", []) if entry["name"] == TOKEN]


def _encode(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def check(world: World) -> None:
    """After every step: no secret outlives its agent, and programs are read as their agent is."""
    if world.relays is None:
        return
    links = world.engine._context.links
    for process, _ in world.relays._tokens:
        if process not in links:
            world.ledger.violated(f"{process} is forgotten, and a program may connect for it")
    for program in world.programs.running:
        link, process = links.get(program.process), world.processes[program.process]
        if link is None:
            world.ledger.violated(f"{program.process} is forgotten, and its program {program.name} is connected")
        elif not link.gone and not process.reported and program.paused != process.paused:
            state = "paused" if process.paused else "read"
            world.ledger.violated(f"{program.process} is {state}, and its program {program.name} is not")


def check_at_rest(world: World) -> None:
    """When time alone can change nothing any more."""
    for program in world.programs.running:
        if +program.open:
            world.ledger.violated(f"at rest, and {list(+program.open)} of {program.name} are not answered")


def check_nothing_left(world: World) -> None:
    """When every caller is gone and every session closed."""
    left = {
        "secrets": world.programs.listeners,
        "programs": [program.name for program in world.programs.running],
        "relays": None if world.relays is None else world.relays._tokens,
        "channels": None if world.relays is None else world.relays._channels,
        "paused": None if world.relays is None else world.relays._paused,
    }
    for what, value in left.items():
        if value:
            world.ledger.violated(f"at the end there are {what} left: {value}")
