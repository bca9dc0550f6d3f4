"""How one agent differs from what the protocol says or the settings expect, as far as the sidecar can act on it.

Data: where it comes from, and why an agent has which, is the catalogue's business (`roost.catalogue.profiles`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec


class Quirks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every default is an agent without any. Durations are seconds."""

    authenticate: Mapping[str, tuple[str, ...]] = {}  # a login before the first session -> variables it is done with
    speaks: Literal[1, 2] | None = None  # the ACP version that is tried first; what it was found to speak wins
    initialize_timeout: float | None = None  # it is waited for at least as long
    save_grace: float | None = None  # it is left alone before its input is closed: it keeps late what was said
    input_close_grace: float | None = None  # from closing its input to SIGTERM, instead of the setting
    resume: Literal["native", "transcript"] = "native"  # transcript: its own way back into a session fails
    missing_file: Literal["error", "empty"] = "error"  # what reading a file that is not there gives
    needs: Literal["checked", "ignored"] = "checked"  # ignored: started on a node or Python it does not want, too

    def __post_init__(self) -> None:
        for name in ("initialize_timeout", "save_grace", "input_close_grace"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{name} has to be a number of at least 0, not {value}")


NO_QUIRKS = Quirks()
