"""What a simulated agent of v1 wants of its client: files and terminals, asked for in every way, some hostile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation import mischief

if TYPE_CHECKING:
    from tests.simulation.brain import Brain

TERMINAL_METHODS = ("terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release")
EVIL = {"name": "LD_PRELOAD", "value": "/w/evil.so"}
HARMLESS = {"name": "TERM", "value": "dumb"}


class Errands:
    """Those of one run of the program."""

    def __init__(self, brain: Brain) -> None:
        self._brain = brain
        self._random = brain.random
        self._count = 0
        self._creating: set[Any] = set()  # keys of requests for a terminal
        self.terminals: list[str] = []

    def run(self) -> Any:
        """Asks for something; the key of the question it may wait for."""
        random = self._random
        choice = random.random()
        if choice < 0.15:
            return self._read()
        if choice < 0.3:
            return self._write(self._path())
        if choice < 0.55:
            return self._after_asking()
        if choice < 0.7:
            return self._create(self._line())
        if choice < 0.85 and (self.terminals or random.random() < 0.2):
            return self._use_a_terminal()
        if choice < 0.95:
            return self._hostile()
        keys = [self._write(self._path()) for _ in range(random.choice((3, 12)))]
        return random.choice(keys)

    def answered(self, key: Any, result: Any) -> None:
        """A request of its was."""
        if key in self._creating:
            self._creating.discard(key)
            if isinstance(result, dict) and isinstance(result.get("terminalId"), str):
                self.terminals.append(result["terminalId"])

    def _ask(self, method: str, **params: Any) -> Any:
        return self._brain.request(method, {"sessionId": self._brain.session_id, **params})

    def _path(self) -> str:
        """With the name of the program in it, so that whoever allows it can be held to that."""
        self._count += 1
        folder = self._random.choice(("", "", "link/"))
        return f"/w/{self._brain.place['p']}/{folder}{self._random.choice((self._count, 'same'))}"

    def _line(self) -> str:
        self._count += 1
        return f"make {self._brain.place['p']} {self._random.choice((self._count, 'same'))}"

    def _read(self) -> Any:
        return self._ask("fs/read_text_file", path=self._path())

    def _write(self, path: str) -> Any:
        return self._ask("fs/write_text_file", path=path, content=self._random.choice(("", "text\n", "é" * 40)))

    def _create(self, line: str) -> Any:
        env = self._random.choice(([], [], [HARMLESS], [EVIL]))
        key = self._ask("terminal/create", command=line, env=env, cwd=self._random.choice(("/w", "/w", "/w/sub")))
        self._creating.add(key)
        return key

    def _after_asking(self) -> Any:
        """Asks for permission with its own words, and then does it, once or twice, or something else."""
        random = self._random
        if random.random() < 0.6:
            path = self._path()
            call: dict[str, Any] = {"kind": "edit", "locations": [{"path": path}]}
            if random.random() < 0.5:
                call["content"] = [{"type": "diff", "path": path, "oldText": "a", "newText": "b"}]
            what, subject = lambda: self._write(path), ("write", path)
        else:
            line = self._line()
            call = {"kind": "execute", "rawInput": {"command": line}}
            what, subject = lambda: self._create(line), ("run", line)
        self._count += 1
        call = {"toolCallId": f"t{self._count}", "title": "does something", "status": "pending", **call}
        options = random.choice((mischief.OPTIONS, mischief.OPTIONS[:2]))
        key = self._brain.request(
            "session/request_permission",
            {"sessionId": self._brain.session_id, "toolCall": call, "options": options},
            shows=subject,
        )
        for _ in range(random.choice((1, 1, 2))):
            self._brain.soon(what)
        return key

    def _use_a_terminal(self) -> Any:
        known = [terminal for host in self._brain.hosts for terminal in host.terminals]  # of anybody
        own = [*self.terminals] * 4
        terminal_id = self._random.choice([*own, *known, "", "acp-terminal-1"])
        return self._ask(self._random.choice(TERMINAL_METHODS), terminalId=terminal_id)

    def _hostile(self) -> Any:
        random = self._random
        method = random.choice(
            ("fs/write_text_file", "terminal/create", "fs/read_text_file", "fs/odd", "terminal/", "fs/")
        )
        params = random.choice(
            (
                {},
                {"sessionId": None},
                {"sessionId": random.choice([known for _, known in self._brain.sessions] or ["nowhere"])},
                {"sessionId": self._brain.session_id},
                {"sessionId": self._brain.session_id, "path": "relative", "command": 7},
                {"sessionId": self._brain.session_id, "path": "/etc/passwd", "content": "x", "command": ""},
            )
        )
        return self._brain.request(method, params)
