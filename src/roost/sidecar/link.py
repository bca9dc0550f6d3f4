"""The sidecar's end of one agent's stdio: bytes in, JSON-RPC happenings out, answers matched to calls.

The hot path is `receive`: a `session/update` is peeked at in one decode and handed on as the line it came in.
Everything else goes through the JSON-RPC peer. An agent's stdout may hold anything; what is no protocol is counted,
remembered for error messages and skipped (STD-4).
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from roost.errors import RemoteProtocolError, RoostError, RpcError
from roost.rpc.events import Answered, Called, Failed, Malformed, Notified, PeerEvent, Withdrawn
from roost.rpc.peer import Peer
from roost.sidecar.activity import Activity
from roost.sidecar.commands import PauseAgent, ResumeAgent, WriteAgent
from roost.sidecar.context import Context
from roost.sidecar.conversation import Wait
from roost.sidecar.launch import Launch
from roost.wire.framing import LineFramer


class AgentGone(RoostError):
    """The agent exited while an answer was expected."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class LineTooLong(RoostError):
    """The agent sent a line over the limit; it may have held the answer."""


class Answer(msgspec.Struct, frozen=True, gc=False):
    """A response as it came: the whole line, and its parts."""

    text: bytes
    result: bytes | None
    error: RpcError | None


class Inbound(msgspec.Struct, frozen=True, gc=False):
    """A request of the agent: answer it through `Link.answer` or `Link.fail` with its token, once."""

    token: int
    method: str
    params: bytes | None
    raw_id: bytes
    line: bytes


class Sink(Protocol):
    """Who hears an agent: the bootstrap conversation first, then the session."""

    def noticed(self, line: bytes, method: str, update: str | None) -> None: ...
    def asked(self, inbound: Inbound) -> None: ...
    def withdrawn(self, token: int) -> None: ...
    def wrote_stderr(self, chunk: bytes) -> None: ...
    def overflowed(self) -> None: ...
    def exited(self, exit_code: int | None) -> None: ...


class _Update(msgspec.Struct, gc=False):
    session_update: str = msgspec.field(name="sessionUpdate")


class _Params(msgspec.Struct, gc=False):
    update: _Update


class _UpdateNotice(msgspec.Struct, gc=False):
    """Just enough of a session/update to route it; `id` present would make it a request."""

    method: str
    params: _Params
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_peek_update = msgspec.json.Decoder(_UpdateNotice).decode


class Link:
    """One agent process: its calls, its requests, what it said lately, and whether it is still there."""

    def __init__(self, context: Context, process: str, launch: Launch, sink: Sink) -> None:
        limits = context.limits
        self._context = context
        self._framer = LineFramer(limits.line_bytes)
        self._peer = Peer(first_id=1, answer_malformed=False)
        self._calls: dict[int, Wait] = {}
        self._paused_for: set[int] = set()
        self.process = process
        self.launch = launch
        self.sink = sink
        self.pid: int | None = None
        self.started = context.stage.wait()
        self.exit = context.stage.wait()
        self.aftermath = context.stage.wait()  # of a crash: settles with a restart.Recovery
        self.closing = False
        self.queued_input = 0
        self.last_output = context.stage.now
        self.activity = Activity(
            entries=limits.recent_activity, stderr_tail=limits.stderr_tail, noise_tail=limits.noise_tail
        )

    # ---- from the agent

    def receive(self, chunk: bytes) -> None:
        """One chunk of stdout, split anywhere."""
        self.last_output = self._context.stage.now
        stage = self._context.stage
        for line in self._framer.feed(chunk):
            try:
                notice = _peek_update(line)
                if notice.method == "session/update" and notice.id is msgspec.UNSET:
                    str(line, "utf-8")  # it becomes a BARE string: invalid UTF-8 must not reach a caller
                    self.activity.received_notification("session/update")
                    self.sink.noticed(line, "session/update", notice.params.update.session_update)
                    continue
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                pass  # not a plain update: the peer says what it is
            self._receive_other(line)
            if stage.ready:
                stage.run()
        if self._framer.take_overflows():
            self._overflowed()

    def _receive_other(self, line: bytes) -> None:
        for event in self._peer.receive(line):
            self._happened(event)
        self.flush()

    def _happened(self, event: PeerEvent) -> None:
        match event:
            case Notified(method=method, params=params, message=message):
                self.activity.received_notification(method)
                self.sink.noticed(message, method, _update_tag(method, params))
            case Called(token=token, method=method, params=params, raw_id=raw_id, message=message):
                self.activity.received_request(method, raw_id.decode("utf-8", "replace"))
                self.sink.asked(Inbound(token, method, None if params is None else bytes(params), raw_id, message))
            case Answered(call=call, result=result, message=message):
                self._settle(call, Answer(message, bytes(result), None))
            case Failed(call=call, error=RpcError() as error, message=message):
                self._settle(call, Answer(message, None, error))
            case Failed(call=call, error=RemoteProtocolError() as fault, message=message):
                loose = _loose_error(message)
                if loose is not None:
                    self._settle(call, Answer(message, None, loose))
                elif call in self._calls:
                    self._calls.pop(call).fail(fault)
            case Withdrawn(token=token):
                self.sink.withdrawn(token)
            case Malformed(message=message):
                self.activity.received_garbage(message)

    def _settle(self, call: int, answer: Answer) -> None:
        wait = self._calls.pop(call, None)
        if wait is not None:
            wait.resolve(answer)

    def _overflowed(self) -> None:
        bound = self._context.limits.line_bytes
        self._context.note("warning", f"{self.process}: a line longer than line_bytes ({bound}) was dropped")
        for wait in self._drain_calls():
            wait.fail(LineTooLong(f"ACP adapter emitted a line longer than {bound} bytes"))
        self.sink.overflowed()

    def receive_stderr(self, chunk: bytes) -> None:
        self.last_output = self._context.stage.now
        self.activity.wrote_stderr(chunk)
        self.sink.wrote_stderr(chunk)

    def exited(self, exit_code: int | None) -> None:
        """The process is gone; a last line without its newline still counts."""
        tail = self._framer.finish()
        if tail is not None:
            self._receive_other(tail)
        self._peer.end("the agent exited")
        for wait in self._drain_calls():
            wait.fail(AgentGone(exit_code))
        self.exit.resolve(exit_code)
        self.sink.exited(exit_code)

    def _drain_calls(self) -> list[Wait]:
        waits, self._calls = list(self._calls.values()), {}
        return waits

    # ---- to the agent

    @property
    def gone(self) -> bool:
        return self.exit.settled

    def call(self, method: str, params: bytes) -> tuple[int, Wait]:
        """Sends a request; the wait settles with an Answer, or fails with AgentGone or LineTooLong."""
        call = self._peer.call(method, params)
        wait = self._context.stage.wait()
        self._calls[call] = wait
        self.activity.sent(method, call)
        self.flush()
        return call, wait

    def forget(self, call: int) -> None:
        """No longer waits for an answer; a late one is ignored (ENV-13)."""
        self._calls.pop(call, None)
        self._peer.forget(call)

    def notify(self, method: str, params: bytes) -> None:
        self._peer.notify(method, params)
        self.flush()

    def answer(self, token: int, result: bytes) -> None:
        if not self.gone:
            self._peer.answer(token, result)
            self.flush()

    def fail(self, token: int, error: RpcError) -> None:
        if not self.gone:
            self._peer.fail(token, error)
            self.flush()

    def flush(self) -> None:
        messages = self._peer.outgoing()
        if messages and not self.gone:
            self._context.emit(WriteAgent(self.process, b"\n".join(messages) + b"\n"))

    # ---- back-pressure

    def pause_for(self, connection: int) -> None:
        if not self._paused_for and not self.gone:
            self._context.emit(PauseAgent(self.process))
        self._paused_for.add(connection)

    def unpause_for(self, connection: int) -> None:
        if connection in self._paused_for:
            self._paused_for.discard(connection)
            if not self._paused_for and not self.gone:
                self.last_output = self._context.stage.now  # its silence was ours
                self._context.emit(ResumeAgent(self.process))

    @property
    def paused(self) -> bool:
        return bool(self._paused_for)


def _update_tag(method: str, params: Any) -> str | None:
    if method != "session/update" or params is None:
        return None
    try:
        return msgspec.json.decode(params, type=_Params).update.session_update
    except (msgspec.MsgspecError, RecursionError):
        return None


class _Failure(msgspec.Struct):
    error: dict[str, Any]
    result: msgspec.UnsetType = msgspec.UNSET


def _loose_error(message: bytes) -> RpcError | None:
    """An error object that is no proper one (agents leave out `message`, or send a textual code), as far as it goes."""
    try:
        error = msgspec.json.decode(message, type=_Failure).error
    except (msgspec.MsgspecError, RecursionError):
        return None
    code, text = error.get("code"), error.get("message")
    return RpcError(code if isinstance(code, int) else 0, text if isinstance(text, str) else "", error.get("data"))
