"""The bounds of one connection."""

from __future__ import annotations

from msgspec import Struct


class PeerLimits(Struct, frozen=True):
    """What the other side may make us keep. Reaching a bound names it, in a LimitError or an error response's `data`.

    The defaults are ours: far above what a client with hundreds of sessions needs, far below what hurts.
    """

    open_requests: int = 1024  # requests of the peer without a response; the next is answered LIMIT_EXCEEDED
    open_calls: int = 1024  # our calls without an outcome; the next raises LimitError
    open_batches: int = 64  # batches that wait for a reply; requests of the next are answered LIMIT_EXCEEDED
    batch_items: int = 1024  # elements of one batch; a longer one is answered LIMIT_EXCEEDED as a whole
    id_bytes: int = 1024  # an id is kept while its request is open; a longer one is answered LIMIT_EXCEEDED
    error_data_bytes: int = 65_536  # `data` of an error response is decoded up to here, and stays raw beyond


DEFAULT_LIMITS = PeerLimits()
