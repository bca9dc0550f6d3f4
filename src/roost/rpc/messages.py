"""Envelopes: what one JSON-RPC message says about itself, and the bytes of those we send.

Reading is one C decode that leaves every payload as raw bytes (`peek`), then a handful of comparisons (`flaw_of`). Only
a message that fails the decode is looked at a second time (`readable`, `judge`), to say what is wrong with it and who,
if anyone, is told.

Three rules decide that, in this order.

1. A message is what its keys make it. `method` and `id`: a request, even with `"id":null`. `method` alone: a
   notification. `result` or `error`, or a bare `id`: a response. Anything else is a request that went wrong. (ENV-3,
   ENV-5)
2. A notification and a response are never answered, whatever is wrong with them: two peers that answer each other's
   errors would never stop. A malformed response fails the call it names. (ENV-7, ENV-12)
3. A bad request is answered under its own id when that id could be read and is legal, else under `null`. (ENV-10,
   ENV-11)

An id is kept as the bytes it came in, so what is echoed is what was sent: `1`, `"1"` and `"\\u0031"` stay apart.

What we send is always one line: a payload that came with line breaks between its tokens loses them here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from roost.errors import CodecError, RpcError
from roost.rpc.surrogates import mend

# JSON-RPC 2.0, section 5.1.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# ACP v2, ErrorCode.
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
REQUEST_CANCELLED = -32800
# Ours, from the range JSON-RPC leaves to servers; EIP-1474 gave the number the same meaning. `data` names the limit.
LIMIT_EXCEEDED = -32005

NULL_ID = b"null"
TOO_DEEP = "nested too deeply"

# What decoding can raise. Older msgspec lets Python's own error out for a string that is not UTF-8.
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_OPEN_BRACE, _LETTER_N, _QUOTE, _MINUS = b'{n"-'
_BLANKS = b" \t\r\n"

_encode = msgspec.json.Encoder().encode


class Envelope(Struct, gc=False):
    """The members JSON-RPC gives a message; payloads and the id as raw JSON, UNSET when absent."""

    jsonrpc: Literal["2.0"]
    method: str | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class Flaw(Struct, frozen=True, gc=False):
    """Why a message cannot be taken as what it claims to be.

    `raw_id` is its id when that is legal. `genuine` tells a message that says `"jsonrpc":"2.0"` from other JSON.
    """

    code: int
    reason: str
    shape: Literal["request", "notification", "response"] = "request"
    raw_id: bytes | None = None
    genuine: bool = True


class _Members(Struct, gc=False):
    """Envelope without its types: any JSON object decodes."""

    jsonrpc: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _ErrorObject(Struct, gc=False):
    code: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
    message: str
    data: Raw | UnsetType = UNSET


_decode_envelope = msgspec.json.Decoder(Envelope).decode
_decode_members = msgspec.json.Decoder(_Members).decode
_decode_error = msgspec.json.Decoder(_ErrorObject).decode
_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_text = msgspec.json.Decoder(str).decode
_decode_any = msgspec.json.Decoder().decode


def peek(message: bytes) -> Envelope:
    """The envelope of one JSON object that says `"jsonrpc":"2.0"`.

    Raises CodecError for anything else, an array included. The payloads are known to be JSON in UTF-8 and nothing more.
    """
    try:
        envelope = _decode_envelope(message)
        if not message.isascii():
            message.decode()  # the decoder checks no UTF-8 in what it leaves raw (ENV-2)
    except UNDECODABLE as error:
        raise CodecError(str(error)) from None
    return envelope


def flaw_of(envelope: Envelope) -> Flaw | None:
    """What is wrong with an envelope, or None. `params: null` is the same as none, and becomes UNSET here (ENV-4)."""
    method = envelope.method
    raw = envelope.id
    if method is UNSET:
        if raw is not UNSET and is_legal_id(bytes(raw)) and (envelope.result is UNSET) is not (envelope.error is UNSET):
            return None
        return _flaw_without_method(envelope)
    if envelope.result is not UNSET or envelope.error is not UNSET:
        return _flaw(envelope, INVALID_REQUEST, "method together with result or error")  # ENV-3
    if raw is not UNSET and not is_legal_id(bytes(raw)):
        return _flaw(envelope, INVALID_REQUEST, "id is neither null, an int64 nor a string")  # ID-1
    params = envelope.params
    if params is not UNSET:
        first = memoryview(params)[0]
        if first == _LETTER_N:
            envelope.params = UNSET
        elif first != _OPEN_BRACE:
            return _flaw(envelope, INVALID_PARAMS, "params is not an object")  # ENV-4
    return None


def _flaw_without_method(envelope: Envelope) -> Flaw:
    if envelope.result is not UNSET and envelope.error is not UNSET:
        reason = "both result and error"
    elif envelope.result is UNSET and envelope.error is UNSET:
        reason = "neither method, result nor error"
    elif envelope.id is UNSET:
        reason = "a response without an id"
    else:
        reason = "id is neither null, an int64 nor a string"
    return _flaw(envelope, INVALID_REQUEST, reason)


def _flaw(envelope: Envelope, code: int, reason: str, genuine: bool = True) -> Flaw:
    raw_id = None if envelope.id is UNSET else bytes(envelope.id)
    shape: Literal["request", "notification", "response"] = "request"
    if envelope.method is not UNSET:
        if raw_id is None:
            shape = "notification"
    elif (
        envelope.result is not UNSET
        or envelope.error is not UNSET
        # A bare id is a response that lost its result (E-13). With params it is a request that lost its method.
        or (raw_id is not None and envelope.params is UNSET)
    ):
        shape = "response"
    if raw_id is not None and not is_legal_id(raw_id):
        raw_id = None
    return Flaw(code, reason, shape, raw_id, genuine)


def readable(message: bytes) -> bytes | Flaw:
    """The message as JSON text our decoder takes: itself, or with lone surrogates mended; else why there is none."""
    try:
        message.decode()
    except UnicodeDecodeError:
        # ENV-2. When it is a response to a call, that call should hear of it; so look at what can still be seen.
        seen = judge(message) if _is_json(message) is None else None
        code, reason = PARSE_ERROR, "not UTF-8"
        if isinstance(seen, Envelope):
            flaw = _flaw(seen, code, reason)
            return flaw if flaw.shape == "response" else Flaw(code, reason, genuine=False)
        if seen is not None and seen.shape == "response":
            return seen
        return Flaw(code, reason, genuine=False)
    fault = _is_json(message)
    if fault is not None:
        mended = mend(message)
        if mended is not message:
            message, fault = mended, _is_json(mended)
    return message if fault is None else Flaw(PARSE_ERROR, fault, genuine=False)


def _is_json(message: bytes) -> str | None:
    """What stops the text from being read as JSON, or None."""
    try:
        _decode_raw(message)
    except RecursionError:
        return TOO_DEEP
    except msgspec.DecodeError:
        return "not JSON"
    return None


def judge(message: bytes) -> Envelope | Flaw:
    """A second, closer look at JSON text that `peek` refused. An Envelope comes back when it is sound after all."""
    if message.lstrip(_BLANKS)[:1] != b"{":
        return Flaw(INVALID_REQUEST, "not an object", genuine=False)
    try:
        members = _decode_members(message)
    except RecursionError:  # how deep is too deep depends on who asks
        return Flaw(PARSE_ERROR, TOO_DEEP, genuine=False)
    method = _text_of(members.method)
    genuine = _text_of(members.jsonrpc) == "2.0"
    envelope = Envelope("2.0", UNSET, members.id, members.params, members.result, members.error)
    if isinstance(method, str):
        envelope.method = method
    if not genuine:
        return _flaw(envelope, INVALID_REQUEST, 'jsonrpc is not "2.0"', genuine=False)  # ENV-1
    if members.method is UNSET or isinstance(method, str):
        return flaw_of(envelope) or envelope
    flaw = _flaw(envelope, INVALID_REQUEST, "method is not a string")
    if envelope.result is UNSET and envelope.error is UNSET:
        return msgspec.structs.replace(flaw, shape="request")  # it names a method, badly: not a bare id
    return flaw


def _text_of(raw: Raw | UnsetType) -> str | None:
    if raw is UNSET or memoryview(raw)[0] != _QUOTE:
        return None
    try:
        return _decode_text(raw)
    except UNDECODABLE:  # not UTF-8 inside
        return None


def is_legal_id(raw: bytes) -> bool:
    """Whether one JSON value may be an id: null, an integer of 64 bits, a string (ID-1)."""
    first = raw[0]
    if first == _QUOTE or raw == NULL_ID:
        return True
    digits = raw[1:] if first == _MINUS else raw
    # JSON has no leading zeros, so the length bounds the value before it is computed.
    return digits.isdigit() and (len(digits) < 19 or (len(digits) == 19 and _INT64_MIN <= int(raw) <= _INT64_MAX))


def id_key(raw: bytes) -> bytes:
    """One spelling for all spellings of a legal id, so that equal ids are equal bytes; the types stay apart."""
    if b"\\" in raw:
        return _encode(_decode_text(raw))
    return b"0" if raw == b"-0" else raw


def read_error(raw: bytes, data_bytes: int) -> RpcError:
    """The error object of a response. Raises CodecError when it is none.

    `data` is decoded up to `data_bytes`. Beyond that, or when Python cannot hold it (too deep, out of range), it stays
    the `msgspec.Raw` it came as: nothing is lost, and it is sent on as it was.
    """
    try:
        error = _decode_error(raw)
    except UNDECODABLE as fault:
        raise CodecError(f"malformed error object: {fault}") from None
    data: Any = None
    if error.data is not UNSET:
        data = error.data
        if len(data) <= data_bytes:
            try:
                data = _decode_any(data)
            except UNDECODABLE:
                pass
    return RpcError(error.code, error.message, data)


def request_bytes(call: int, method: str, params: bytes | None) -> bytes:
    """A request of ours. `params` is encoded JSON and is not checked; None leaves the member out."""
    if params is None:
        return b'{"jsonrpc":"2.0","id":%d,"method":%b}' % (call, _encode_method(method))
    return b'{"jsonrpc":"2.0","id":%d,"method":%b,"params":%b}' % (call, _encode_method(method), one_line(params))


def notification_bytes(method: str, params: bytes | None) -> bytes:
    """A notification of ours. `params` as in `request_bytes`."""
    if params is None:
        return b'{"jsonrpc":"2.0","method":%b}' % _encode_method(method)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (_encode_method(method), one_line(params))


def result_bytes(raw_id: bytes, result: bytes) -> bytes:
    """The response to a request that succeeded. `result` is encoded JSON and is not checked."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (raw_id, one_line(result))


def error_bytes(raw_id: bytes, error: RpcError) -> bytes:
    """The response to a request that failed. Raises CodecError when code, message or data cannot be sent."""
    try:
        if type(error.code) is not int or not -(2**31) <= error.code < 2**31:
            raise CodecError("an error code is an int32", ("code",))
        message = _encode(error.message)
        if error.data is None:
            return b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":%b}}' % (raw_id, error.code, message)
        return b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":%b,"data":%b}}' % (
            raw_id,
            error.code,
            message,
            one_line(_encode(error.data)),
        )
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as fault:
        raise CodecError(f"an error that cannot be sent: {type(fault).__name__}") from fault


def one_line(payload: bytes) -> bytes:
    """The same JSON without line breaks. JSON allows them between tokens only, and there a space means the same."""
    payload = bytes(payload)
    if b"\n" in payload or b"\r" in payload:
        return payload.replace(b"\n", b" ").replace(b"\r", b" ")
    return payload


def _encode_method(method: str) -> bytes:
    try:
        return _encode(method)
    except UnicodeEncodeError:
        raise CodecError("a method name that is not Unicode text", ("method",)) from None
