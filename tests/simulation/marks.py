"""Where in an agent's output something was printed, as it can be read in what became of it."""

from __future__ import annotations

import json
import re

from roost.sidecar.journal import Entry, Kind

PLACE = re.compile(r'"p": ?"([^"]+)", ?"n": ?(\d+)')  # brain.place


def told_again(entry: Entry) -> tuple[str, int] | None:
    """Which numbered event of an agent that is, if it has a place in a replay."""
    if entry.kind is not Kind.UPDATE:
        return None
    text = entry.body.decode()
    printed = PLACE.search(text)
    message = json.loads(text)
    if printed is None or message["method"] != "session/update":
        return None
    if message["params"].get("update", {}).get("sessionUpdate") in ("state_update", "notice"):
        return None
    return printed[1], int(printed[2])
