"""The sidecar's end of one agent's stdio: bytes in, JSON-RPC happenings out, answers matched to calls.

The hot path is `receive`: a `session/update` is peeked at in one decode and handed on as the line it came in.
Everything else goes through the JSON-RPC peer. An agent's stdout may hold anything; what is no protocol is counted,
remembered for error messages and skipped (STD-4). What is told never depends on how the output was cut into chunks:
whatever a line brings about has happened before the next line is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from roost.errors import CodecError, LimitError, RemoteProtocolError, RoostError, RpcError, SidecarError
from roost.rpc.events import Answered, Called, Failed, Malformed, Notified, PeerEvent, Refused, Withdrawn
from roost.rpc.limits import PeerLimits
from roost.rpc.messages import INTERNAL_ERROR
from roost.rpc.peer import Peer
from roost.sidecar.activity import Activity
from roost.sidecar.answers import Answer, loose_answer
from roost.sidecar.brake import Brake
from roost.sidecar.commands import WriteAgent
from roost.sidecar.context import Context
from roost.sidecar.conversation import Wait
from roost.sidecar.launch import Launch
from roost.sidecar.limits import WARN_AT, Gauge
from roost.sidecar.payloads import UNREADABLE
from roost.wire.framing import LineFramer

if TYPE_CHECKING:
    from roost.sidecar.bridge_side import BridgeSide
    from roost.sidecar.events import ServiceEvent
    from roost.sidecar.v1_side import V1Side

UPDATE = "session/update"
# The peer's names of what is bounded, and ours.
SETTINGS = {
    "open_batches": "agent_batches",
    "batch_items": "agent_batch_items",
    "id_bytes": "agent_request_id_bytes",
    "open_requests": "callbacks_per_session",
}
HANDSHAKE_CALLS = 4  # of the sidecar's own, on top of those of callers


class AgentGone(RoostError):
    """The agent exited while an answer was expected; `failure` says it better when it never ran."""

    def __init__(self, exit_code: int | None, failure: SidecarError | None = None) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code
        self.failure = failure


class LineTooLong(RoostError):
    """The agent sent a line over the limit; it may have held the answer."""


class Inbound(msgspec.Struct, frozen=True, gc=False):
    """A request of the agent: answer it through `Link.answer` or `Link.fail` with its token, once."""

    token: int
    method: str
    params: bytes | None
    raw_id: bytes
    line: bytes


class Sink(Protocol):
    """Who hears an agent: the bootstrap conversation first, then the session."""

    def noticed(self, line: bytes, method: str, update: str | None) -> None:
        """A notification; `update` is the kind of a session/update."""

    def asked(self, inbound: Inbound) -> None: ...
    def withdrawn(self, token: int) -> None: ...
    def wrote_stderr(self, chunk: bytes) -> None: ...
    def exited(self, exit_code: int | None) -> None: ...


class _Update(msgspec.Struct, gc=False):
    session_update: str = msgspec.field(name="sessionUpdate")


class _Params(msgspec.Struct, gc=False):
    update: _Update


class _UpdateNotice(msgspec.Struct, gc=False):
    """A plain session/update, and just enough of it to route it: anything else does not decode."""

    jsonrpc: Literal["2.0"]
    method: Literal["session/update"]
    params: _Params
    id: msgspec.UnsetType = msgspec.UNSET


_peek_update = msgspec.json.Decoder(_UpdateNotice).decode
_decode_params = msgspec.json.Decoder(_Params).decode


class Link:
    """One agent process: its calls, its requests, what it said lately, and whether it is still there."""

    def __init__(self, context: Context, process: str, launch: Launch, sink: Sink) -> None:
        limits = context.limits
        stage = context.stage
        self._context = context
        self._framer = LineFramer(limits.line_bytes)
        self._line = Gauge("line_bytes", limits.line_bytes, context.warn)
        self._batches = Gauge("agent_batches", limits.agent_batches, context.warn)
        self._batch_items = Gauge("agent_batch_items", limits.agent_batch_items, context.warn)
        self._refused: set[str] = set()  # limits that were told of
        self._id = Gauge("agent_request_id_bytes", limits.agent_request_id_bytes, context.warn)
        self._careful = int(limits.line_bytes * WARN_AT)
        peer_limits = PeerLimits(
            open_calls=limits.requests_per_session + HANDSHAKE_CALLS,
            open_requests=limits.callbacks_per_session + 1,
            open_batches=limits.agent_batches,
            batch_items=limits.agent_batch_items,
            id_bytes=limits.agent_request_id_bytes,
            error_data_bytes=limits.agent_error_data_bytes,
        )
        self._peer = Peer(first_id=1, answer_malformed=False, limits=peer_limits)
        self._calls: dict[int, Wait] = {}
        self._input = Gauge("agent_input_bytes", limits.agent_input_bytes, context.warn)
        self._choked = False
        self.process = process
        self.launch = launch
        self.quirks = launch.program.quirks  # more may be known once it has told its name
        self.sink = sink
        self.pid: int | None = None
        self.started = stage.wait()
        self.exit = stage.wait()
        self.aftermath = stage.wait()  # of a crash: settles with a restart.Recovery, or None when the session closed
        self.ending: Wait | None = None  # once it is being ended: settles when it is forgotten
        self.alias: tuple[bytes, bytes] | None = None  # a session id it was asked for, and the one everybody else knows
        self.queued_input = 0
        self.side: BridgeSide | None = None  # between the agent and everything here
        self.v1: V1Side | None = None  # the same, where the agent speaks v1 and everything here v2
        self.last_output = stage.now
        self.brake = Brake(context, process, self._released)
        self.activity = Activity(
            entries=limits.recent_activity, stderr_tail=limits.stderr_tail, noise_tail=limits.noise_tail
        )

    def bridge_v1(self) -> None:
        """From here on the agent speaks v1, and everybody else v2. Before anything is sent."""
        from roost.sidecar.v1_side import V1Side  # the bridge takes a while to import

        self.side = self.v1 = V1Side(self._context, self, lambda message: self._take([message]), self.flush)

    def relay_mcp(self) -> None:
        """From here on an agent of v2 may use MCP servers of its caller's own. Before anything is sent."""
        from roost.acp.bridge.v2_agent import V2AgentBridge
        from roost.sidecar.bridge_side import BridgeSide

        self.side = BridgeSide(
            self._context, self.process, V2AgentBridge(), lambda message: self._take([message]), self.flush
        )

    # ---- from the agent

    def receive(self, chunk: bytes) -> None:
        """One chunk of stdout, split anywhere."""
        self.last_output = self._context.stage.now
        if self.brake.doomed:
            self.brake.heard(len(chunk))
        if self._framer.held + len(chunk) < self._careful:
            self._read(self._framer.feed(chunk))
            return
        pieces = chunk.split(b"\n")  # some line may be too long: what came before it counts, what comes after too
        for index, piece in enumerate(pieces, 1 - len(pieces)):
            lines = self._framer.feed(piece + b"\n" if index else piece)
            for line in lines:
                self._line.watch(len(line))
            self._read(lines)
            if self._framer.take_overflows():
                self._overflowed()

    def _read(self, lines: list[bytes]) -> None:
        if self.side is None:
            self._take(lines)
            return
        for line in lines:
            if not line.lstrip().startswith((b"{", b"[")):
                self.activity.received_garbage(line)
            else:
                self.side.heard(line)

    def _take(self, lines: list[bytes]) -> None:
        stage = self._context.stage
        ready, updates = stage.ready, 0
        if self.alias is not None:
            lines = [line.replace(*self.alias) for line in lines]
        for line in lines:
            try:
                notice = _peek_update(line)
                if not line.isascii():
                    str(line, "utf-8")  # it becomes a BARE string: invalid UTF-8 must not reach a caller
            except UNREADABLE:  # no plain update: the peer says what it is
                self.activity.received_updates(updates)
                updates = 0
                self._read_other(line)
            else:
                updates += 1
                self.sink.noticed(line, UPDATE, notice.params.update.session_update)
                if ready:
                    stage.run()
        self.activity.received_updates(updates)

    def _read_other(self, line: bytes) -> None:
        stage = self._context.stage
        happenings = self._peer.receive(line)
        self._batches.watch(self._peer.open_batches)
        self._batch_items.watch(len(happenings))
        for event in happenings:
            self._happened(event)
            if stage.ready:
                stage.run()
        self.flush()

    def _happened(self, event: PeerEvent) -> None:
        match event:
            case Notified(method=method, params=params, message=message):
                self.activity.received_notification(method)
                self.sink.noticed(message, method, None if method != UPDATE or params is None else _tag(params))
            case Called(token=token, method=method, params=params, raw_id=raw_id, message=message):
                self._id.watch(len(raw_id))
                self.activity.received_request(method, raw_id.decode("utf-8", "replace"))
                self.sink.asked(Inbound(token, method, None if params is None else bytes(params), raw_id, message))
            case Answered(call=call, result=result, message=message):
                self._settle(call, Answer(message, bytes(result), None))
            case Failed(call=call, error=RpcError() as error, message=message):
                self._settle(call, Answer(message, None, error))
            case Failed(call=call, error=RemoteProtocolError() as fault, message=message):
                loose = loose_answer(message)
                if loose is not None:
                    self._settle(call, loose)
                elif call in self._calls:
                    self._calls.pop(call).fail(fault)
            case Withdrawn(token=token):
                self.sink.withdrawn(token)
            case Malformed(message=message):
                self.activity.received_garbage(message)
            case Refused(limit=limit, bound=bound):
                level = "debug" if limit in self._refused else "warning"  # a hostile agent does not fill the log
                self._refused.add(limit)
                name = SETTINGS.get(limit, limit)
                self._context.note(level, f"{self.process}: a message was refused: limit {name} of {bound} reached")

    def _settle(self, call: int, answer: Answer) -> None:
        wait = self._calls.pop(call, None)
        if wait is not None:
            wait.resolve(answer)

    def _overflowed(self) -> None:
        bound = self._context.limits.line_bytes
        self._context.note("warning", f"{self.process}: a line longer than line_bytes ({bound}) was dropped")
        self.fail_calls(LineTooLong(f"ACP adapter emitted a line longer than {bound} bytes (limit line_bytes)"))
        self._context.stage.run()

    def fail_calls(self, error: Exception) -> None:
        """No answer will come, or none that could be trusted."""
        calls, self._calls = self._calls, {}
        for call, wait in calls.items():
            self._peer.forget(call)
            wait.fail(error)

    def served(self, event: ServiceEvent) -> None:
        """Something about a file or a terminal of the agent, which is a sign of life as good as its own."""
        self.last_output = self._context.stage.now
        if self.v1 is not None:
            self.v1.served(event)

    def end_services(self) -> Wait | None:
        """Serves it no files and terminals any more; settles when what it has started has ended. None: nothing was."""
        return None if self.v1 is None else self.v1.services.end()

    def receive_stderr(self, chunk: bytes) -> None:
        self.last_output = self._context.stage.now
        if self.alias is not None:
            chunk = chunk.replace(*self.alias)
        self.activity.wrote_stderr(chunk)
        self.sink.wrote_stderr(chunk)

    def exited(self, exit_code: int | None, failure: SidecarError | None = None) -> None:
        """The process is gone, or given up; a last line without its newline still counts."""
        if self.gone:
            return
        tail = self._framer.finish()
        if tail is not None:
            self._read([tail])
        if self.side is not None:
            self.side.end()
        self.brake.end()
        self._peer.end("the agent exited")
        self.exit.resolve(exit_code)
        self.fail_calls(AgentGone(exit_code, failure))
        self.sink.exited(exit_code)

    def _released(self) -> None:
        self.last_output = self._context.stage.now  # its silence was ours

    # ---- to the agent

    @property
    def gone(self) -> bool:
        return self.exit.settled

    @property
    def open_calls(self) -> int:
        return len(self._calls)

    def call(self, method: str, params: bytes) -> tuple[int, Wait]:
        """Sends a request; the wait settles with an Answer, or fails with AgentGone or LineTooLong."""
        wait = self._context.stage.wait()
        if self.gone:
            wait.fail(AgentGone(self.exit.value))
            return 0, wait
        try:
            call = self._peer.call(method, params)
        except LimitError as error:
            raise SidecarError("limit_exceeded", f"{self.process}: {error}") from None
        self._calls[call] = wait
        self.activity.sent(method, call)
        self.flush()
        return call, wait

    def withdraw(self, call: int) -> None:
        """Tells the agent that an answer is no longer wanted, in the way it may ignore (CAN-2)."""
        if not self.gone:
            self._peer.withdraw(call)
            self.flush()

    def forget(self, call: int) -> None:
        """No longer waits for an answer; a late one is ignored (ENV-13)."""
        self._calls.pop(call, None)
        self._peer.forget(call)

    def notify(self, method: str, params: bytes) -> None:
        if not self.gone:
            self._peer.notify(method, params)
            self.flush()

    def answer(self, token: int, result: bytes) -> None:
        if not self.gone:
            self._peer.answer(token, result)
            self.flush()

    def fail(self, token: int, error: RpcError) -> None:
        if self.gone:
            return
        try:
            self._peer.fail(token, error)
        except CodecError:  # nothing that can be sent; the agent still gets an answer
            self._peer.fail(token, RpcError(INTERNAL_ERROR, "the error cannot be told"))
        self.flush()

    def admit_input(self, size: int) -> None:
        """Raises SidecarError `limit_exceeded` when the agent leaves too much unread for `size` more bytes."""
        self._input.admit(self.queued_input + size, f"{self.process} does not read its input")

    def input_queued(self, queued: int) -> None:
        self.queued_input = queued
        self._input.watch(queued)

    def flush(self) -> None:
        messages = self._peer.outgoing()
        if self.side is not None:
            messages = self.side.sent(messages)
        if not messages or self.gone or self._choked:
            return
        data = b"\n".join(messages) + b"\n"
        if self.queued_input and self.queued_input + len(data) > self._input.bound:
            # It asks and asks, and takes no answer: there is no way to go on with it.
            self._choked = True
            text = f"{self.process} does not read its input: limit {self._input.limit} of {self._input.bound} reached"
            self._context.note("warning", f"{text}; it is ended")
            self._context.kill(self)
            return
        self._context.emit(WriteAgent(self.process, data))


def _tag(params: msgspec.Raw) -> str | None:
    try:
        return _decode_params(params).update.session_update
    except UNREADABLE:
        return None
