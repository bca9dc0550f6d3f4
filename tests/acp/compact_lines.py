"""Lines for compaction, and what a reader makes of them."""

from __future__ import annotations

import base64
import json
from typing import Any

from roost.acp.compact import Line, compact
from roost.acp.fold import fold
from roost.acp.view import SessionView
from roost.errors import CodecError
from tests.acp.views import plain_view, update_of


def line_of(number: int, update: dict[str, Any], session: str = "s") -> Line:
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}
    return Line(number, json.dumps(message).encode())


def lines_of(*stream: dict[str, Any], start: int = 1) -> list[Line]:
    return [line_of(number, update) for number, update in enumerate(stream, start)]


def shown(lines: list[Line]) -> dict[str, Any]:
    """What a client shows after them, with what it counted."""
    view = SessionView()
    for line in lines:
        message = json.loads(line.body)
        if message.get("method") != "session/update":
            continue
        try:
            update = update_of(message["params"]["update"])
        except CodecError:
            continue
        fold(view, update)
    counted = {t.terminal_id: (t.received, t.rejected) for t in view.terminals.values()}
    return {**plain_view(view), "counted": counted, "malformed": view.dropped.malformed}


def compacted(lines: list[Line], known: set[str] | None = None, **options: Any) -> list[Line]:
    return compact(lines, (known or set()).__contains__, **options).apply(lines)


def chunk(text: str, message: str = "m", kind: str = "agent_message") -> dict[str, Any]:
    return {"sessionUpdate": f"{kind}_chunk", "messageId": message, "content": {"type": "text", "text": text}}


def output(data: bytes, terminal: str = "t") -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return {"sessionUpdate": "terminal_output_chunk", "terminalId": terminal, "data": encoded}


def updates_in(lines: list[Line]) -> list[dict[str, Any]]:
    return [json.loads(line.body)["params"]["update"] for line in lines]


TEXT = {"type": "text", "text": "x"}
