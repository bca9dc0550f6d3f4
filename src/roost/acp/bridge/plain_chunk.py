"""The message there are most of: a chunk of an agent's text with nothing else to it, decoded and written in one step.

Whatever has more to it (metadata, annotations, content that is no text) does not decode, and goes the long way.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

__all__ = ["PLAIN_CHUNK", "V1Chunk", "V2Chunk", "decode_v1_chunk", "decode_v2_chunk"]

Chunk = TypeVar("Chunk", bound="_Chunk")

# Session, kind, message and text in this order, each as JSON but for the kind.
PLAIN_CHUNK = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%b,"update":{"sessionUpdate":"%b",'
    b'"messageId":%b,"content":{"type":"text","text":%b}}}}'
)


class _Text(msgspec.Struct, tag_field="type", tag="text", forbid_unknown_fields=True, gc=False):
    text: str


class _Chunk(msgspec.Struct, rename="camel", gc=False, kw_only=True):
    session_update: Literal["agent_message_chunk", "agent_thought_chunk"]
    content: _Text
    meta: UnsetType = msgspec.field(default=UNSET, name="_meta")


class V1Chunk(_Chunk, gc=False, kw_only=True):
    """What a v1 agent says; its messages need not have ids."""

    message_id: str | UnsetType | None = UNSET


class V2Chunk(_Chunk, gc=False, kw_only=True):
    """What a v2 agent says."""

    message_id: str


class _Params(msgspec.Struct, Generic[Chunk], rename="camel", gc=False):
    session_id: str
    update: Chunk
    meta: UnsetType = msgspec.field(default=UNSET, name="_meta")


class _Message(msgspec.Struct, Generic[Chunk], gc=False):
    jsonrpc: Literal["2.0"]
    method: Literal["session/update"]
    params: _Params[Chunk]
    id: UnsetType = UNSET


decode_v1_chunk = msgspec.json.Decoder(_Message[V1Chunk]).decode
decode_v2_chunk = msgspec.json.Decoder(_Message[V2Chunk]).decode
