"""The types of ACP v2, and its method table.

    from roost.acp import v2
    v2.NewSessionRequest(cwd="/work")
    v2.REQUESTS["session/new"].result

Each name lives in a topic module under `gen`, imported when the name is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roost.acp.v2 import gen
from roost.wire.model import UNSET as UNSET
from roost.wire.model import Unknown as Unknown
from roost.wire.model import UnsetType as UnsetType

if TYPE_CHECKING:
    from roost.acp.v2.gen import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        if name not in gen.TOPIC_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(gen, name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *gen.TOPIC_OF})
