"""What a bad agent prints: noise, false answers, odd questions."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulation.brain import Brain

NOISE = (
    b"Loading model...",
    b"{",
    b"null",
    b"[]",
    b"[1,2,[3]]",
    b'"text"',
    b"\xff\xfe\x00",
    b'{"jsonrpc":"2.0"}',
    b'{"jsonrpc":"1.0","method":"session/update","params":{}}',
    b'{"jsonrpc":"2.0","method":7}',
    b'{"jsonrpc":"2.0","method":"session/update","params":[]}',
    b'{"jsonrpc":"2.0","id":{},"method":"session/request_permission"}',
    b'{"jsonrpc":"2.0","id":1.5,"method":"fs/read_text_file"}',
    b'{"method":"session/update","params":{"update":{"sessionUpdate":"x"}}}',
    b'{"jsonrpc":"2.0","id":99,"result":{}}',
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}',
    b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"\xff"}}}',
    b'{"jsonrpc":"2.0","method":"$/progress","params":{"p":"x"}}',
    b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":[]}}',
    b'{"level":"info","id":3,"result":"this is a log line"}',
    b"[" * 3000,
    b" \t ",
    b"\r",
)
HOST_METHODS = ("fs/read_text_file", "terminal/create", "vendor/ask", "elicitation/create")
ODD_IDS = (None, 0, -1, 2**63 - 1, -(2**63), "", "1", 1, "é", "\u2028", 'quote"', "same", "same", "x" * 600)
OPTIONS = [
    {"optionId": "yes", "kind": "allow_once", "name": "yes"},
    {"optionId": "always-yes", "kind": "allow_always", "name": "always"},
    {"optionId": "no", "kind": "reject_once", "name": "no"},
]


def something(brain: Brain) -> None:
    """What it does without being asked, if its vices say so."""
    vices, random = brain.vices, brain.random
    if "noisy" in vices and random.random() < 0.7:
        brain.print(random.choice(NOISE)[: brain.line_bytes] + b"\n")
    if "endless" in vices and random.random() < 0.3:
        brain.print(b"x" * (brain.line_bytes + random.choice((1, 2, 700))) + random.choice((b"\n", b"\n", b"\nx\n")))
    if "lying" in vices and random.random() < 0.2 and brain.past:
        request = random.choice(brain.past)  # it was answered already, perhaps
        if request["method"] != "initialize" and brain.attached_at is not None:
            brain.say({"jsonrpc": "2.0", "id": request["id"], "result": brain.place})
    if "asking" in vices and random.random() < 0.3:
        brain.ask()
    if "chattering" in vices:
        brain.complain()
    if "flooding" in vices and brain.attached_at is not None:
        for _ in range(5):
            brain.notice()


def question(random: Random, name: str, *, odd: bool) -> tuple[Any, str, dict[str, Any]]:
    """An id, a method and params."""
    identifier: Any = name
    if odd and random.random() < 0.5:
        identifier = random.choice(ODD_IDS)
    if random.random() < 0.6:
        params: dict[str, Any] = {"options": random.choice((OPTIONS, OPTIONS, OPTIONS[:2], []))}
        if random.random() < 0.3:
            params["permissionId"] = random.choice(("p-1", "", 7))
        return identifier, "session/request_permission", params
    if odd and random.random() < 0.2:
        return identifier, "$/vendor", {}
    return identifier, random.choice(HOST_METHODS), {"path": "/etc/passwd"}


def answer_falsely(brain: Brain, request: dict[str, Any], result: Any) -> None:
    """An answer, or several, with something wrong."""
    number, random = request["id"], brain.random
    good = {"jsonrpc": "2.0", "id": number, "result": result}
    match random.randrange(12):
        case 0:  # somebody else's id first
            brain.say({**good, "id": number + 7})
            brain.say(good)
        case 1:
            brain.say({**good, "id": str(number)})
            brain.say(good)
        case 2:
            brain.say({**good, "error": {"code": 1, "message": "both"}})
        case 3:
            brain.say({"jsonrpc": "2.0", "id": number, "error": {"code": -1}})
        case 4:
            brain.say({"jsonrpc": "2.0", "id": number, "error": {"code": "E", "message": "text"}})
        case 5:
            brain.say({"jsonrpc": "2.0", "id": number, "result": None})
        case 6:
            brain.say(good)
            brain.say(good)
        case 7:
            brain.say({"id": number, "result": result})
            brain.say(good)
        case 8:
            brain.say({**good, "error": None})
        case 9:
            brain.print(b'{"jsonrpc":"2.0","id":%d,"result":{"a":"\xff"}}' % number + b"\n")
        case 10:
            brain.print(
                b'{"jsonrpc":"2.0","id":%d,"result":{"a":"\\ud800","deep":%s}}' % (number, b"[" * 9 + b"]" * 9) + b"\n"
            )
        case 11:
            brain.print(b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (number, json.dumps({"n": 2**70}).encode()) + b"\n")
