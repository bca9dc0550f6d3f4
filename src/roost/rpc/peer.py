"""The peer: ids, pending calls, open requests, withdrawal, end of stream.

Feed it whole messages with `receive`, take whole messages from `outgoing`; lines and frames are someone else's. It
never blocks, reads no clock and starts nothing. What the other side sends never raises and never ends the connection:
it becomes an event, an answer, or both.

    receive(message) ──► events      Called, Notified, Answered, Failed, Withdrawn; Malformed, Unmatched, Refused
    call, notify, withdraw, answer, fail ──► outgoing()

Each inbound request is one token and gets one response: from `answer`, from `fail`, or from here when it never became a
Called event. Each call of ours gets one outcome: Answered, Failed, or none after `forget`.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, Struct

from roost.errors import (
    CodecError,
    ConnectionClosed,
    LimitError,
    LocalProtocolError,
    RemoteProtocolError,
    RpcError,
)
from roost.rpc.batch import BatchReplies, batch_items
from roost.rpc.events import (
    Answered,
    Called,
    Failed,
    Malformed,
    Notified,
    PeerEvent,
    Refused,
    Unmatched,
    Withdrawn,
)
from roost.rpc.limits import DEFAULT_LIMITS, PeerLimits
from roost.rpc.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    LIMIT_EXCEEDED,
    METHOD_NOT_FOUND,
    NULL_ID,
    PARSE_ERROR,
    TOO_DEEP,
    UNDECODABLE,
    Envelope,
    Flaw,
    error_bytes,
    flaw_of,
    id_key,
    is_legal_id,
    judge,
    notification_bytes,
    peek,
    read_error,
    readable,
    request_bytes,
    result_bytes,
)
from roost.rpc.surrogates import REPLACEMENT

__all__ = [
    "Answered",
    "Called",
    "Failed",
    "Malformed",
    "Notified",
    "Peer",
    "PeerEvent",
    "PeerLimits",
    "Refused",
    "Unmatched",
    "Withdrawn",
]

CANCEL_REQUEST = "$/cancel_request"


class _CancelParams(Struct, gc=False):
    requestId: Raw


_decode_cancel = msgspec.json.Decoder(_CancelParams).decode


class Peer:
    """One side of one connection.

    `first_id` is the id of our first call. `answer_malformed=False` is for a peer that mixes other output into its
    stream: what is not recognisably a message to us is reported as Malformed and neither answered nor taken for a
    response (STD-4).
    """

    def __init__(
        self, *, first_id: int = 1, answer_malformed: bool = True, limits: PeerLimits = DEFAULT_LIMITS
    ) -> None:
        self._answer_malformed = answer_malformed
        self._limits = limits
        self._next_call = first_id
        self._next_token = 1
        self._calls: dict[bytes, int] = {}  # by the id as it comes back: b"7" is no b'"7"' (ID-2)
        self._withdrawn: set[int] = set()  # our calls that we cancelled, until their outcome
        self._open: dict[int, tuple[bytes, BatchReplies | None]] = {}  # the peer's requests: id, and batch if any
        self._withdrawable: dict[bytes, list[int]] = {}  # tokens by id_key, until answered or withdrawn
        self._open_batches = 0
        self._outgoing: list[bytes] = []
        self._ended: str | None = None

    @property
    def open_calls(self) -> int:
        """How many of our calls have no outcome yet."""
        return len(self._calls)

    @property
    def open_requests(self) -> int:
        """How many of the peer's requests have no response yet."""
        return len(self._open)

    @property
    def open_batches(self) -> int:
        return self._open_batches

    def call(self, method: str, params: bytes | None) -> int:
        """Ask the peer. Returns the call's id, used once on this connection (ID-4).

        `params` is encoded JSON, None for none. Raises LimitError (`open_calls`), ConnectionClosed, or CodecError for a
        method that is no Unicode text; then nothing was sent.
        """
        self._require_connection()
        if len(self._calls) >= self._limits.open_calls:
            raise LimitError("open_calls", self._limits.open_calls)
        call = self._next_call
        self._outgoing.append(request_bytes(call, method, params))
        self._next_call = call + 1
        self._calls[b"%d" % call] = call
        return call

    def notify(self, method: str, params: bytes | None) -> None:
        """Tell the peer. Raises as `call` does, but for the limit."""
        self._require_connection()
        self._outgoing.append(notification_bytes(method, params))

    def withdraw(self, call: int) -> None:
        """Ask the peer to give up a call of ours. Sent once; the call stays open until its outcome (CAN-7).

        Does nothing for a call that has its outcome: the response and the wish to cancel may cross.
        """
        if b"%d" % call in self._calls and call not in self._withdrawn:
            self._withdrawn.add(call)
            self._outgoing.append(notification_bytes(CANCEL_REQUEST, b'{"requestId":%d}' % call))

    def forget(self, call: int) -> None:
        """Give up a call of ours without telling the peer. What still comes for it is Unmatched (ENV-13)."""
        self._calls.pop(b"%d" % call, None)
        self._withdrawn.discard(call)

    def answer(self, token: int, result: bytes) -> None:
        """Respond to a request. `result` is encoded JSON.

        Raises LocalProtocolError when it has its response already, ConnectionClosed.
        """
        self._respond(token, result_bytes(self._raw_id(token), result))

    def fail(self, token: int, error: RpcError) -> None:
        """Respond to a request with an error.

        Raises as `answer` does; and CodecError when the error has no JSON form, the request then stays open.
        """
        self._respond(token, error_bytes(self._raw_id(token), error))

    def receive(self, message: bytes) -> list[PeerEvent]:
        """Take one message in. Nothing in it raises. After `end` there is nothing to be said about it."""
        events: list[PeerEvent] = []
        if self._ended is None:
            try:
                envelope = peek(message)
            except CodecError:
                self._take_unusual(message, events)
            else:
                self._take(envelope, message, None, events)
        return events

    def end(self, cause: str) -> list[PeerEvent]:
        """The connection is over: every call of ours fails with `cause` (ENV-18).

        What is in `outgoing` may still be sent. The peer's requests can no longer be answered.
        """
        if self._ended is not None:
            return []
        self._ended = cause
        events: list[PeerEvent] = [Failed(call, ConnectionClosed(cause)) for call in self._calls.values()]
        self._calls.clear()
        self._withdrawn.clear()
        self._open.clear()
        self._withdrawable.clear()
        return events

    def outgoing(self) -> list[bytes]:
        """The messages to be sent, in order, each without framing and free of line breaks. They are handed out once."""
        messages, self._outgoing = self._outgoing, []
        return messages

    # --- what comes in ---

    def _take(self, envelope: Envelope, message: bytes, batch: BatchReplies | None, events: list[PeerEvent]) -> None:
        flaw = flaw_of(envelope)
        if flaw is not None:
            self._take_flawed(flaw, message, batch, events)
            return
        method = envelope.method
        if method is UNSET:
            self._take_response(envelope, message, events)
            return
        params = None if envelope.params is UNSET else envelope.params
        if envelope.id is not UNSET:
            self._take_request(bytes(envelope.id), method, params, message, batch, events)
        elif method[:2] != "$/":
            events.append(Notified(method, params, message))
        elif method == CANCEL_REQUEST and params is not None:
            self._take_withdrawal(params, events)
        # Any other `$/` notification may be ignored by those who do not know it (CAN-2).

    def _take_request(
        self,
        raw_id: bytes,
        method: str,
        params: Raw | None,
        message: bytes,
        batch: BatchReplies | None,
        events: list[PeerEvent],
    ) -> None:
        if batch is not None:
            batch.owe()
        if method[:2] == "$/":  # CAN-2: there is no such request
            self._reply(error_bytes(raw_id, RpcError(METHOD_NOT_FOUND, "Method not found")), batch)
        elif len(raw_id) > self._limits.id_bytes:
            self._refuse("id_bytes", self._limits.id_bytes, raw_id, message, batch, events)
        elif batch is not None and self._open_batches >= self._limits.open_batches:
            # Refused one by one, so that the batch is done at once, and responses in it still reach their calls.
            self._refuse("open_batches", self._limits.open_batches, raw_id, message, batch, events)
        elif len(self._open) >= self._limits.open_requests:
            self._refuse("open_requests", self._limits.open_requests, raw_id, message, batch, events)
        else:
            token = self._next_token
            self._next_token = token + 1
            self._open[token] = (raw_id, batch)
            self._withdrawable.setdefault(id_key(raw_id), []).append(token)
            events.append(Called(token, method, params, raw_id, message))

    def _take_response(self, envelope: Envelope, message: bytes, events: list[PeerEvent]) -> None:
        call = None if envelope.id is UNSET else self._close_call(bytes(envelope.id))
        if call is None:
            events.append(Unmatched(message))
        elif envelope.result is not UNSET:
            events.append(Answered(call, envelope.result, message))
        elif envelope.error is not UNSET:
            events.append(Failed(call, self._error(envelope.error), message))

    def _take_withdrawal(self, params: Raw, events: list[PeerEvent]) -> None:
        try:
            raw_id = bytes(_decode_cancel(params).requestId)
        except UNDECODABLE:
            return  # CAN-3
        if is_legal_id(raw_id):
            for token in self._withdrawable.pop(id_key(raw_id), ()):
                events.append(Withdrawn(token))

    def _take_unusual(self, message: bytes, events: list[PeerEvent]) -> None:
        """A batch, or something `peek` refused."""
        text = readable(message)
        if isinstance(text, Flaw):
            self._take_flawed(text, message, None, events)
        elif text.lstrip()[:1] != b"[":
            self._take_element(text, text is not message, None, events)
        else:
            try:
                items = batch_items(text, self._limits.batch_items)
            except CodecError:
                self._take_flawed(Flaw(PARSE_ERROR, TOO_DEEP, genuine=False), text, None, events)
                return
            except LimitError as error:
                if self._answer_malformed:
                    self._refuse(error.limit, error.bound, NULL_ID, text, None, events)
                else:
                    events.append(Refused(error.limit, error.bound, text))
                return
            if not items:
                # BAT-2: one object, not an array
                self._take_flawed(Flaw(INVALID_REQUEST, "an empty batch", genuine=False), text, None, events)
                return
            batch = BatchReplies()
            for item in items:  # in order (BAT-6, BAT-9), each on its own merits (BAT-3, BAT-11)
                self._take_element(item, text is not message, batch, events)
            replies = batch.complete()
            if replies is not None:
                self._outgoing.append(replies)
            elif batch.waiting:
                self._open_batches += 1

    def _take_element(self, text: bytes, mended: bool, batch: BatchReplies | None, events: list[PeerEvent]) -> None:
        try:
            verdict: Envelope | Flaw = peek(text)
        except CodecError:
            verdict = judge(text)
        if isinstance(verdict, Flaw):
            self._take_flawed(verdict, text, batch, events)
        elif mended and verdict.id is not UNSET and REPLACEMENT in bytes(verdict.id):
            # An id that is no Unicode text could not be echoed as it was (ID-2).
            flaw = Flaw(
                INVALID_REQUEST, "id is not Unicode text", "request" if verdict.method is not UNSET else "response"
            )
            self._take_flawed(flaw, text, batch, events)
        else:
            self._take(verdict, text, batch, events)

    def _take_flawed(self, flaw: Flaw, message: bytes, batch: BatchReplies | None, events: list[PeerEvent]) -> None:
        if flaw.shape == "response":
            # ENV-12. A noisy peer's other JSON is never taken for a response.
            if flaw.raw_id is not None and (flaw.genuine or self._answer_malformed):
                call = self._close_call(flaw.raw_id)
                if call is not None:
                    events.append(Failed(call, RemoteProtocolError(f"malformed response: {flaw.reason}"), message))
                    return
        elif flaw.shape == "request" and (self._answer_malformed or (flaw.genuine and flaw.raw_id is not None)):
            if batch is not None:
                batch.owe()
            self._reply(error_bytes(flaw.raw_id or NULL_ID, RpcError(flaw.code, _sentence(flaw))), batch)
        events.append(Malformed(flaw.code, flaw.reason, message))

    def _refuse(
        self,
        limit: str,
        bound: int,
        raw_id: bytes,
        message: bytes,
        batch: BatchReplies | None,
        events: list[PeerEvent],
    ) -> None:
        error = RpcError(LIMIT_EXCEEDED, f"Limit exceeded: {limit}", {"limit": limit, "bound": bound})
        self._reply(error_bytes(raw_id, error), batch)
        events.append(Refused(limit, bound, message))

    def _error(self, raw: Raw) -> RpcError | RemoteProtocolError:
        try:
            return read_error(raw, self._limits.error_data_bytes)
        except CodecError as error:
            return RemoteProtocolError(f"malformed response: {error}")

    # --- what is open ---

    def _close_call(self, raw_id: bytes) -> int | None:
        call = self._calls.pop(raw_id, None)
        if call is not None and self._withdrawn:
            self._withdrawn.discard(call)
        return call

    def _raw_id(self, token: int) -> bytes:
        self._require_connection()
        entry = self._open.get(token)
        if entry is None:
            known = 0 < token < self._next_token
            raise LocalProtocolError(f"request {token} {'has its response already' if known else 'never arrived'}")
        return entry[0]

    def _require_connection(self) -> None:
        if self._ended is not None:
            raise ConnectionClosed(self._ended)

    # --- what goes out ---

    def _respond(self, token: int, response: bytes) -> None:
        raw_id, batch = self._open.pop(token)
        key = id_key(raw_id)
        tokens = self._withdrawable.get(key)
        if tokens is not None and token in tokens:
            tokens.remove(token)
            if not tokens:
                del self._withdrawable[key]
        self._reply(response, batch)

    def _reply(self, reply: bytes, batch: BatchReplies | None) -> None:
        if batch is not None:
            replies = batch.settle(reply)
            if replies is None:
                return
            self._open_batches -= 1
            reply = replies
        self._outgoing.append(reply)


# The names JSON-RPC gives its codes; a reason follows.
_NAMES = {PARSE_ERROR: "Parse error", INVALID_REQUEST: "Invalid request", INVALID_PARAMS: "Invalid params"}


def _sentence(flaw: Flaw) -> str:
    return f"{_NAMES[flaw.code]}: {flaw.reason}"
