"""A simulated caller's connection: what it asks for, answers, reads, and how it ends. Some are hostile."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from roost.sidecar.gen import frames
from roost.sidecar.gen.messages import (
    AcpCallback,
    AcpCallbackResponse,
    AcpCloseSessionRequest,
    AcpCreateSessionRequest,
    AcpDeliverAgentOutputRequest,
    AcpGetSessionStateRequest,
    AcpHostRequestCallbackResponse,
    AcpListAgentsRequest,
    AcpPermissionCallback,
    AcpPermissionCallbackResponse,
    AcpRequest,
    AcpResumeSessionRequest,
    AcpRuntimeKind,
    AcpSessionRequest,
    encode_acp_callback_response,
    encode_acp_request,
)
from roost.wire.framing import LengthFramer, encode_length_frame
from tests.simulation import hostility, servers
from tests.simulation.accounts import Asked
from tests.simulation.reader import Reader
from tests.simulation.temper import LOGIN, OWNER_VARIABLE, random_type
from tests.simulation.wire import Channel, Socket

if TYPE_CHECKING:
    from tests.simulation.world import World

NO_LIMIT = 1 << 30
MOSTLY_YES = ("once", "once", "yes", "allow_once", "always", "no")
REPLIES = ("once", "always", "reject", "reject_always", "yes", "no", "", "cancel")


class Client:
    """One connection. `token` says whose it is: the name, or one of its own for a caller without a name."""

    def __init__(self, world: World, serial: int, name: str | None, *, hostile: bool) -> None:
        self.world = world
        self.serial = serial
        self.named = name is not None
        self.name = name
        self.token = name or f"unnamed-{serial}"
        self.hostile = hostile
        self.lazy = world.random.random() < 0.15  # hardly reads
        self.mute = world.random.random() < 0.15  # answers no question
        self.number: int | None = None  # in the driver, once it was greeted
        self.commanded = 0
        self.interested: set[str] = set()
        self.open: dict[int, Asked] = {}  # requests that came through, by id
        self.callbacks: dict[int, tuple[AcpCallback, str | None]] = {}  # and the question behind each
        self.reader = Reader(world.ledger, self)
        self.servers = servers.Servers(self)
        self._unanswered: deque[int] = deque()
        self._framer = LengthFramer(NO_LIMIT)
        self._uplink = bytearray()
        self._last_request = 0
        self._prompts = 0
        self._greeted = False
        self.listener = world.reception.accept()
        limits = world.limits
        self.channel = Channel(
            self.listener,
            limit=limits.max_frame_bytes,
            high_water=limits.caller_output_bytes,
            observe=self._written,
        )
        self.socket = Socket(world.loop, self.channel)
        self.channel.connection_made(self.socket)

    def __str__(self) -> str:
        return f"{self.token}#{self.number or '?'}"

    @property
    def gone(self) -> bool:
        return self.socket.lost

    @property
    def ending(self) -> bool:
        """What it is told from now on does not reach it."""
        return self.channel.ending

    @property
    def waiting(self) -> int:
        """Bytes on their way to it."""
        return self.socket.queued + self.channel.waiting

    # ---- down: what the daemon writes

    def _written(self, data: bytes) -> None:
        for body in self._framer.feed(data):
            frame = frames.decode_frame(body)
            self.world.trace("  %s receives %.300r", self, frame)
            known = len(self.callbacks)
            self.reader.read(frame)
            if isinstance(frame, frames.Callback) and len(self.callbacks) > known:
                self._unanswered.append(frame.id)

    def read(self, count: int) -> None:
        self.socket.take(count)

    # ---- up: what it sends

    def send(self, frame: frames.Frame) -> None:
        self.world.trace("%s sends %.300r", self, frame)
        self.send_raw(encode_length_frame(frames.encode_frame(frame), NO_LIMIT))

    def send_raw(self, data: bytes) -> None:
        self._uplink += data

    @property
    def pending(self) -> int:
        """Bytes that have not reached the daemon."""
        return len(self._uplink)

    def deliver(self, count: int) -> None:
        """Up to that many of them do, if the daemon reads."""
        if not self.socket.reading:
            return
        data = bytes(self._uplink[:count])
        del self._uplink[:count]
        self.world.delivering = self
        self.socket.deliver(data)

    def hello(self, version: int = 1) -> None:
        self._greeted = True
        self.send(frames.Hello(version, "simulation/1", None, self.name))

    def vanish(self) -> None:
        self.world.trace("%s vanishes", self)
        self.socket.lose(None if self.world.random.random() < 0.5 else ConnectionResetError("gone"))

    def request(self, payload: AcpRequest, number: int | None = None) -> None:
        if number is None:
            self._last_request += 1
            number = self._last_request
        self.send(frames.Request(number, encode_acp_request(payload)))

    # ---- what it does when it is its turn

    def act(self) -> None:
        random = self.world.random
        if not self._greeted:
            if not self.hostile or random.random() < 0.8:
                self.hello()
            else:
                hostility.bad_hello(self, random)
            return
        if self.hostile and random.random() < 0.5:
            hostility.something(self, random)
        elif self._unanswered and random.random() < (0.9 if self.world.serves else 0.6):
            self._answer()
        elif random.random() < (0.1, 0.02)[bool(self._own)] or (not self._own and random.random() < 0.5):
            self.create()
        elif self.world.emulates and random.random() < 0.3:
            random.choice((Client._resume_again, Client._emulated, Client._login))(self)
        else:
            random.choices(_ACTS, _WEIGHTS)[0](self)

    @property
    def _own(self) -> list[str]:
        return [session_id for token, session_id in self.world.ledger.sessions if token == self.token]

    def _answer(self) -> None:
        """One of the questions, perhaps not the oldest."""
        random = self.world.random
        index = random.randrange(len(self._unanswered))
        number = self._unanswered[index]
        del self._unanswered[index]
        if not self.mute:
            self.answer(number)

    def answer(self, number: int) -> None:
        random, (callback, _) = self.world.random, self.callbacks[number]
        reply: AcpCallbackResponse
        if isinstance(callback, AcpPermissionCallback) != (random.random() < 0.05):
            replies = MOSTLY_YES if self.world.serves else REPLIES
            reply = AcpPermissionCallbackResponse("permission", random.choice(replies))
        else:
            reply = AcpHostRequestCallbackResponse(self._host_answer(callback))
        self.send(frames.CallbackResponse(number, encode_acp_callback_response(reply)))

    def _host_answer(self, callback: AcpCallback) -> str | None:
        random = self.world.random
        if isinstance(callback, AcpPermissionCallback) or random.random() < 0.2:
            return None
        request = json.loads(callback.request)
        request = request[0] if isinstance(request, list) else request
        result: Any = {"from": self.token}
        if request["method"].startswith("mcp/"):
            result = self.servers.answer(callback.session_id, request)
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        if random.random() < 0.2:
            del answer["result"]
            answer["error"] = {"code": -32602, "message": "no such file"}
        if random.random() < 0.1:
            answer["id"] = "another"
        text = json.dumps(answer)
        return text[:-1] if random.random() < 0.05 else text

    # ---- its requests

    def session(self) -> str:
        """A session id: mostly one of its own."""
        random, own = self.world.random, self._own
        if own and random.random() < 0.93:
            return random.choice(own)
        return random.choice(
            [*(session_id for _, session_id in self.world.ledger.sessions), "", "nowhere", "s-acp-agent-1"]
        )

    def _marked(self, **params: Any) -> str:
        return json.dumps({**params, "by": self.token})

    def _ask(self, method: str, **params: Any) -> None:
        self.request(AcpSessionRequest(self.session(), method, self._marked(**params)))

    def create(self) -> None:
        random = self.world.random
        version = random.choice((1, 2)) if random.random() < 0.97 else random.choice((0, 3, -1))
        speaks = 2 if version == 2 and random.random() < 0.9 else 1  # an agent of v1 is bridged
        if (self.world.emulates or self.world.serves) and random.random() < 0.95:
            version, speaks = 2, 1
        kind = random_type(random, speaks, 0.95 if self.world.serves else 0.3) if random.random() < 0.97 else "nobody"
        self.request(
            AcpCreateSessionRequest(
                agent_type=kind,
                runtime=AcpRuntimeKind.JAVA_SCRIPT,
                cwd="/w" if random.random() < 0.97 else random.choice(("/gone", "relative")),
                args=[],
                env={OWNER_VARIABLE: self.token},
                protocol_version=version,
                client_capabilities="{}" if random.random() < 0.97 else "{",
                mcp_servers=servers.some(self, 0.5 if self.world.serves else 0.05),
                skip_os_instructions=random.random() < 0.8,
            )
        )

    def _resume(self) -> None:
        random = self.world.random
        path = random.choice((None, "", "/t.md"))
        kind = random_type(random, 1)
        env = {OWNER_VARIABLE: self.token}
        self.request(AcpResumeSessionRequest(self.session(), kind, path, "/w", env))

    def _prompt(self) -> None:
        text = self.world.random.choice(("hello", "é" * 30, "x" * 300))
        self._prompts += 1
        mark = f"{self.serial}/{self._prompts}"
        self._ask("session/prompt", prompt=[{"type": "text", "text": text}], mark=mark)

    def _cancel(self) -> None:
        self._ask("session/cancel")

    def _set_mode(self) -> None:
        self._ask("session/set_mode", modeId=self.world.random.choice(("ask", "code", 7)))

    def _set_option(self) -> None:
        self._ask("session/set_config_option", configId=self.world.random.choice(("model", "colour")), value="large")

    def _vendor(self) -> None:
        random = self.world.random
        params = random.choice((None, "null", "5", "[1]", "{", '{"a":\n1}'))
        self.request(AcpSessionRequest(self.session(), random.choice(("vendor/x", "", "session/cancel")), params))

    def _state(self) -> None:
        self.request(AcpGetSessionStateRequest(self.session()))

    def _inventory(self) -> None:
        self._ask(self.world.random.choice(("_roost/sessions", "_roost/history", "_roost/sleep", "_roost/delete")))

    def _resume_again(self) -> None:
        replay = self.world.random.choice(({}, {"replayFrom": {"type": "start"}}, {"replayFrom": {"type": "start"}}))
        self._ask("session/resume", cwd="/w", **replay)

    def _emulated(self) -> None:
        """What the sidecar makes up for where an agent of v1 lacks it."""
        random = self.world.random
        method = random.choice(("session/list", "session/close", "session/delete", "auth/logout", "auth/login"))
        match method:
            case "session/list":
                self._ask(method, **random.choice(({}, {"cwd": "/w"}, {"cursor": "there"})))
            case "auth/login":
                self._login()
            case _:
                self._ask(method)

    def _login(self) -> None:
        self._ask("auth/login", methodId=LOGIN if self.world.random.random() < 0.9 else "another")

    def _mcp(self) -> None:
        self.servers.act()

    def _close(self) -> None:
        self.request(AcpCloseSessionRequest(self.session()))

    def _list(self) -> None:
        self.request(AcpListAgentsRequest(True))

    def _deliver(self) -> None:
        self.request(AcpDeliverAgentOutputRequest("acp-agent-1", b"{}\n"))


_ACTS: tuple[Callable[[Client], None], ...]
_ACTS, _WEIGHTS = zip(
    (Client.create, 4),
    (Client._prompt, 35),
    (Client._cancel, 8),
    (Client._set_mode, 5),
    (Client._set_option, 4),
    (Client._vendor, 4),
    (Client._state, 8),
    (Client._close, 4),
    (Client._resume, 4),
    (Client._inventory, 4),
    (Client._resume_again, 4),
    (Client._emulated, 4),
    (Client._login, 1),
    (Client._mcp, 6),
    (Client._list, 1),
    (Client._deliver, 1),
    strict=True,
)
