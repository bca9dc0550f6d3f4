"""What a hostile caller sends: broken frames, other people's sessions, answers to questions nobody asked it."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from roost.sidecar.gen import frames
from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpGetSessionStateRequest,
    AcpPermissionCallbackResponse,
    AcpRequest,
    AcpSessionRequest,
    encode_acp_callback_response,
    encode_acp_request,
)
from roost.wire.framing import encode_length_frame

if TYPE_CHECKING:
    from tests.simulation.client import Client


def bad_hello(client: Client, random: Random) -> None:
    """Something that must not be taken for a Hello, or nothing at all."""
    match random.randrange(5):
        case 0:
            client.hello(version=random.choice((0, 2, 65535)))
        case 1:
            client.name = "~1"  # an assigned name is nobody's to claim
            client.hello()
        case 2:
            client.send(frames.Request(1, b"\x06\x01"))
        case 3:
            client.send_raw(b"GET / HTTP/1.1\r\n\r\n")
        case 4:
            client.send_raw(b"\x00\x00\x00\x04\x00")  # and no more


def something(client: Client, random: Random) -> None:
    """One attack."""
    everybody = [session_id for _, session_id in client.world.ledger.sessions]
    foreign = random.choice(everybody or ["nowhere"])
    match random.choices(range(9), (20, 15, 15, 10, 10, 5, 2, 2, 2))[0]:
        case 0:
            client.request(_prying(client, foreign, random))
        case 1:  # an id that is open
            client.request(AcpGetSessionStateRequest(foreign), random.choice(list(client.open) or [1]))
        case 2:
            client.request(AcpGetSessionStateRequest(foreign), 0)
        case 3:  # a payload that is no request
            number = random.randrange(1, 2**32)
            payload = encode_acp_request(_prying(client, foreign, random))
            client.send(
                frames.Request(number, random.choice((b"", b"\x09", payload[:-1], payload + b"\x00", b"\xff" * 9)))
            )
        case 4:  # an answer to nothing, or once more
            reply = encode_acp_callback_response(AcpPermissionCallbackResponse("permission", "always"))
            client.send(frames.CallbackResponse(random.choice((1, 2, 3, 77, 0, 2**32 - 1)), reply))
        case 5:
            client.send(frames.CallbackResponse(1, b"\x07"))
        case 6:
            client.send(random.choice((frames.Event(b""), frames.Refused(0, "no", "no"), frames.Hello(1, "twice"))))
        case 7:
            client.send_raw(encode_length_frame(b"\x99nonsense"))
        case 8:
            client.send_raw((client.world.limits.max_frame_bytes + 1).to_bytes(4, "big"))


def _prying(client: Client, session_id: str, random: Random) -> AcpRequest:
    params = client._marked()
    return random.choice(
        (
            AcpSessionRequest(session_id, "session/prompt", params),
            AcpSessionRequest(session_id, "session/cancel", params),
            AcpSessionRequest(session_id, "session/set_mode", params),
            AcpGetSessionStateRequest(session_id),
            AcpCloseSessionRequest(session_id),
        )
    )
