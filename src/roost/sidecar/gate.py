"""What stands between a connection's frames and the engine: greeting, ids, and what is no request (design/frames).

Pure: frames in; what they mean, and frames to send, out. Everything wrong with one request costs that request;
everything wrong with the frames themselves costs the connection, after a Refused that says why.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import msgspec

from roost.errors import CodecError, LimitError
from roost.sidecar.gen.frames import (
    Callback,
    CallbackResponse,
    Frame,
    Hello,
    Refused,
    Request,
    Response,
    Welcome,
    decode_frame,
    encode_frame,
)
from roost.sidecar.gen.messages import (
    AcpCallback,
    AcpCallbackResponse,
    AcpErrorResponse,
    AcpRequest,
    AcpResponse,
    decode_acp_callback_response,
    decode_acp_request,
    encode_acp_callback,
    encode_acp_response,
)
from roost.sidecar.limits import Gauge
from roost.wire.bare import UINTS, uint
from roost.wire.framing import encode_length_frame

FRAMES_VERSION = 1
CALLER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:-]{0,127}\Z")
NAME_RULE = "a caller's name is 1 to 128 of A-Z a-z 0-9 . _ @ : - and starts with a letter or digit"
ASSIGNED = "~"  # no caller can claim a name that starts so

# A frame of ours may be this much longer than the limit: one line of `line_bytes` in its envelope.
ENVELOPE_ALLOWANCE = 64 * 1024

_EVENT = b"\x05"  # Frame tag 5: Event
_SHORT = len(UINTS)  # most events: their length's varint is in the table
_header = struct.Struct(">I").pack


class Greeted(msgspec.Struct, frozen=True):
    """The caller introduced itself and is welcome."""

    caller: str
    named: bool
    client: str


class Asked(msgspec.Struct, frozen=True, gc=False):
    request: int
    payload: AcpRequest


class Answered(msgspec.Struct, frozen=True, gc=False):
    callback: int
    payload: AcpCallbackResponse


Meaning = Greeted | Asked | Answered


class Gate:
    """One connection. `admit` says why a Hello is not welcome (None: it is); `assigned` names an unnamed caller.

    `warn` hears once of a frame that comes close to the limit: name, size, bound.
    """

    def __init__(
        self,
        *,
        server: str,
        assigned: str,
        max_frame_bytes: int,
        admit: Callable[[Hello], str | None],
        warn: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self._server = server
        self._assigned = assigned
        self._max_frame_bytes = max_frame_bytes
        self._admit = admit
        self._size = None if warn is None else Gauge("max_frame_bytes", max_frame_bytes, warn)
        self._open: set[int] = set()
        self._out: list[bytes] = []
        self.greeted = False
        self.closing = False

    def receive(self, body: bytes) -> Meaning | None:
        """One frame's meaning; None when it meant nothing, or was refused."""
        if self.closing:
            return None
        if self._size is not None:
            self._size.watch(len(body))
        try:
            frame = decode_frame(body)
        except CodecError as error:
            self.refuse_connection("invalid_frame", f"invalid frame: {error}")
            return None
        if not self.greeted:
            return self._greet(frame)
        match frame:
            case Request(id=number, payload=payload):
                return self._request(number, payload)
            case CallbackResponse(id=number, payload=payload):
                try:
                    return Answered(number, decode_acp_callback_response(payload))
                except CodecError as error:
                    self._refuse(number, "invalid_request", f"invalid ACP callback response: {error}")
            case _:
                text = f"{type(frame).__name__} is not for a caller to send after its Hello"
                self.refuse_connection("invalid_frame", text)
        return None

    def _greet(self, frame: Frame) -> Meaning | None:
        if not isinstance(frame, Hello):
            self.refuse_connection("invalid_frame", f"the first frame has to be Hello, not {type(frame).__name__}")
            return None
        if frame.version != FRAMES_VERSION:
            text = f"frames version {frame.version} is not spoken here; version {FRAMES_VERSION} is"
            self.refuse_connection("version_mismatch", text)
            return None
        if frame.caller is not None and not CALLER_NAME.match(frame.caller):
            self.refuse_connection("invalid_frame", NAME_RULE)
            return None
        refusal = self._admit(frame)  # last, for it may bind the name to who asks
        if refusal is not None:
            self.refuse_connection("unauthorized", refusal)
            return None
        self.greeted = True
        name = self._assigned if frame.caller is None else frame.caller
        self._send(Welcome(FRAMES_VERSION, self._server, name, self._max_frame_bytes))
        return Greeted(name, frame.caller is not None, frame.client)

    def _request(self, number: int, payload: bytes) -> Meaning | None:
        if number == 0:
            self._refuse(0, "invalid_request", "request id 0 is not allowed: ids are non-zero")
        elif number in self._open:
            self._refuse(number, "invalid_request", f"request id {number} is open already")
        else:
            try:
                meaning = Asked(number, decode_acp_request(payload))
            except CodecError as error:
                self._refuse(number, "invalid_request", f"invalid ACP request: {error}")
            else:
                self._open.add(number)
                return meaning
        return None

    # ---- out

    def reply(self, request: int, response: AcpResponse) -> None:
        """The one answer to an Asked; too long a one becomes an error that says so."""
        self._open.discard(request)
        body = encode_frame(Response(request, encode_acp_response(response)))
        if len(body) > self._max_frame_bytes + ENVELOPE_ALLOWANCE:
            text = f"the answer of {len(body)} bytes is over max_frame_bytes ({self._max_frame_bytes})"
            body = encode_frame(Response(request, encode_acp_response(AcpErrorResponse("limit_exceeded", text))))
        self._out.append(encode_length_frame(body, self._max_frame_bytes + ENVELOPE_ALLOWANCE))

    def publish(self, payload: bytes) -> None:
        """One encoded AcpEvent. This is the hot path: the frame is put together here, without a value in between."""
        count = len(payload)
        size = UINTS[count] if count < _SHORT else uint(count)
        self._out.append(_header(1 + len(size) + count) + _EVENT + size + payload)

    def ask(self, callback: int, payload: AcpCallback) -> None:
        self._send(Callback(callback, encode_acp_callback(payload)))

    def refuse_connection(self, code: str, message: str) -> None:
        """Says why, and closes; whatever comes after is not read."""
        self._refuse(0, code, message)
        self.closing = True

    def broke(self, fault: LimitError) -> None:
        self.refuse_connection("frame_too_large", str(fault))

    def _refuse(self, number: int, code: str, message: str) -> None:
        self._send(Refused(number, code, message))

    def _send(self, frame: Frame) -> None:
        self._out.append(encode_length_frame(encode_frame(frame), self._max_frame_bytes + ENVELOPE_ALLOWANCE))

    def outgoing(self) -> bytes:
        """What is to be sent, framed; drained."""
        if not self._out:
            return b""
        data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
        self._out = []
        return data
