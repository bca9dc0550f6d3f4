"""How much memory decoded values hold: what the bounds of a view are counted in."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from roost.acp.v2.gen.content import TextContent
from roost.acp.v2.gen.tools import Content

# A list slot, the struct and the garbage collector's header around it, rounded up (CPython, 64 bit).
BLOCK_OVERHEAD: Final = 96

_TEXT_OVERHEAD: Final = 64
_SMALL: Final = 32  # a number; None and the booleans are shared, and count so that lists of them do


def weigh(value: Any) -> int:
    """Bytes that a decoded value and everything in it take, about; the same for equal values. Any depth."""
    if value is None:
        return _SMALL
    if type(value) is str:
        return _TEXT_OVERHEAD + (len(value) if value.isascii() else 4 * len(value))
    total = 0
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if type(value) is str:
            # Not its __sizeof__, which grows when CPython comes to keep the UTF-8 beside it.
            total += _TEXT_OVERHEAD + (len(value) if value.isascii() else 4 * len(value))
        elif isinstance(value, Struct):
            total += BLOCK_OVERHEAD
            for name in value.__struct_fields__:
                inner = getattr(value, name)
                if inner is not None:
                    waiting.append(inner)
        elif isinstance(value, list):
            total += _TEXT_OVERHEAD + 8 * len(value)
            waiting += value
        elif isinstance(value, dict):
            total += value.__sizeof__()
            waiting += value
            waiting += value.values()
        elif hasattr(value, "raw"):
            total += BLOCK_OVERHEAD + len(value.raw)
        else:
            total += _SMALL
    return total


def weigh_text(text: str) -> int:
    """`weigh` for a text."""
    return _TEXT_OVERHEAD + (len(text) if text.isascii() else 4 * len(text))


def weigh_block(block: Any) -> int:
    """`weigh` for one block of a message or a tool call; plain text, the common case, without a walk."""
    if type(block) is TextContent and block.annotations is None and block.meta is None:
        text = block.text
        return BLOCK_OVERHEAD + _TEXT_OVERHEAD + (len(text) if text.isascii() else 4 * len(text))
    if type(block) is Content and block.meta is None:
        return BLOCK_OVERHEAD + weigh_block(block.content)
    return BLOCK_OVERHEAD + weigh(block)
