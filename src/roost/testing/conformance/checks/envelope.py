"""Malformed input: an agent says so where it has to, keeps quiet where it must, and lives on."""

from __future__ import annotations

from typing import Any

from roost.testing.conformance.bench import INVALID_PARAMS, INVALID_REQUEST, MUST, SHOULD, Bench
from roost.testing.conformance.peer import Json, call
from roost.testing.conformance.registry import check

PARSE_ERROR = -32700


async def _answered_under_null(bench: Bench, rule: str, line: bytes, code: int, what: str) -> None:
    """One error under a null id, once, and life goes on."""
    peer = await bench.ready()
    since = peer.mark
    peer.send(line)
    await bench.expect_alive(peer, rule, what)
    await peer.quiet()
    answers = peer.responses(None, since)
    if len(answers) != 1 or "error" not in answers[0]:
        bench.fail(rule, f"{what} to be answered with one error under a null id", answers or "no answer")
    elif answers[0]["error"].get("code") != code:
        bench.fail(rule, f"{what} to be answered with error {code}", answers[0])


@check("envelope.half-a-message", "ENV-10", "E-01")
async def half_a_message(bench: Bench) -> None:
    """Text that is not JSON gets a parse error."""
    await _answered_under_null(bench, "ENV-10", b'{"jsonrpc":"2.0","id":1,', PARSE_ERROR, "half a message")


@check("envelope.not-utf8", "ENV-2")
async def not_utf8(bench: Bench) -> None:
    """Bytes that are not UTF-8 cost one message, not the connection."""
    peer = await bench.ready()
    peer.send(b'{"jsonrpc":"2.0","id":7,"method":"_roost/\xff\xfe"}')
    await bench.expect_alive(peer, "ENV-2", "bytes that are not UTF-8")


@check("envelope.not-a-message", "ENV-11", "E-02")
async def not_a_message(bench: Bench) -> None:
    """JSON that is no message gets invalid-request under a null id."""
    for line in (b"5", b'"x"', b"{}", b'{"jsonrpc":"2.0"}'):
        await _answered_under_null(bench, "ENV-11", line, INVALID_REQUEST, f"the line {line.decode()}")


@check("envelope.version", "ENV-1", "E-03")
async def another_version(bench: Bench) -> None:
    """A request of another JSON-RPC is refused."""
    peer = await bench.ready()
    for version in ("1.0", None, 2):
        id = peer.new_id()
        message = {**call("_roost/none", {}, id), "jsonrpc": version}
        if version is None:
            del message["jsonrpc"]
        since = peer.mark
        peer.send(message)
        await bench.expect_alive(peer, "ENV-1", f"a request with jsonrpc {version!r}")
        answers = peer.responses(id, since) or peer.responses(None, since)
        if not answers or answers[0].get("error", {}).get("code") != INVALID_REQUEST:
            bench.fail(
                "ENV-1", f"jsonrpc {version!r} to be answered with error {INVALID_REQUEST}", answers or "no answer"
            )


@check("envelope.mixed", "ENV-3", "E-14", level=SHOULD)
async def method_and_result(bench: Bench) -> None:
    """A method and a result in one message make an invalid request."""
    peer = await bench.ready()
    id = peer.new_id()
    peer.send({"jsonrpc": "2.0", "id": id, "method": "session/list", "result": 1})
    await bench.expect_alive(peer, "ENV-3", "a message with method and result")
    answers = peer.responses(id) or peer.responses(None)
    if not answers or "error" not in answers[0]:
        bench.fail("ENV-3", "method together with result to be answered with an error", answers or "no answer")


@check("envelope.illegal-ids", "ID-1", "E-09")
async def illegal_ids(bench: Bench) -> None:
    """An id that is a fraction, a boolean or an object is refused, not echoed."""
    peer = await bench.ready()
    ids: list[Any] = [1.5, True, {}, [1]]
    for id in ids:
        since = peer.mark
        peer.send(call("_roost/none", {}, id))
        await bench.expect_alive(peer, "ID-1", f"a request with the id {id!r}")
        await peer.quiet()
        if peer.responses(id, since):
            bench.fail("ID-1", f"the illegal id {id!r} not to be echoed", peer.responses(id, since)[0])
        answers = peer.responses(None, since)
        if not answers or answers[0].get("error", {}).get("code") != INVALID_REQUEST:
            bench.fail(
                "ID-1", f"the id {id!r} to be answered with {INVALID_REQUEST} under null", answers or "no answer"
            )


@check("envelope.legal-ids", "ID-2", "ID-6", "E-08")
async def legal_ids(bench: Bench) -> None:
    """Every legal id comes back with its type and value."""
    peer = await bench.ready()
    ids: list[Any] = ["abc", "1", "", 0, -1, 2**53 + 1, 2**63 - 1, -(2**63), "é\n\u2028", None]
    for id in ids:
        since = peer.mark
        message = call("_roost/none", {}, 0)
        message["id"] = id
        peer.send(message)
        await bench.expect_alive(peer, "ID-2", f"a request with the id {id!r}")
        await peer.quiet()
        answers = peer.responses(id, since)
        if len(answers) != 1:
            bench.fail("ID-2", f"one answer under the id {id!r}", [*peer.came(since)])


@check("envelope.notification-errors", "ENV-7", "ENV-8", "E-05", "E-06", "E-39")
async def notifications(bench: Bench) -> None:
    """A notification is never answered, whatever is wrong with it."""
    bad: list[Json] = [
        call("session/unknown", {}),
        call("_acme/unknown", {"x": 1}),
        call("session/cancel", {"sessionId": 5}),
        call("session/cancel", None),
        call("session/cancel", [1]),
        call("$/unknown", {}),
    ]
    peer = await bench.ready()
    for message in bad:
        since = peer.mark
        peer.send(message)
        await bench.expect_silence(peer, "ENV-7", f"the notification {message['method']}", since)


@check("envelope.notified-requests", "ENV-7", "ENV-5", level=MUST)
async def requests_without_an_id(bench: Bench) -> None:
    """A request's method without an id is a notification, and not answered."""
    peer = await bench.ready()
    since = peer.mark
    peer.notify("session/list", {})
    peer.notify("session/new", {"cwd": 5})
    await bench.expect_silence(peer, "ENV-7", "a request without an id", since)


@check("envelope.responses", "ENV-12", "ENV-13", "E-10", "E-12", "E-13")
async def responses(bench: Bench) -> None:
    """Responses nobody waits for, sound or not, are not answered."""
    peer = await bench.ready()
    since = peer.mark
    stray: list[Any] = [
        {"jsonrpc": "2.0", "id": "never", "result": {}},
        {"jsonrpc": "2.0", "id": 987654, "error": {"code": -32603, "message": "no"}},
        {"jsonrpc": "2.0", "id": 987654, "result": {}, "error": {"code": 1, "message": "both"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}},
        {"jsonrpc": "2.0", "result": {}},
        {"jsonrpc": "2.0", "id": 3, "error": "no object"},
    ]
    for message in stray:
        peer.send(message)
    await bench.expect_silence(peer, "ENV-12", "a response nobody waits for", since)


@check("envelope.params", "ENV-4", "ENV-14", "E-07")
async def params(bench: Bench) -> None:
    """Params that are missing, positional or no object at all are invalid."""
    bench.need("session")
    peer = await bench.ready()
    for params in (None, [], ["/"], 5, "x", True):
        answer = await peer.call("session/new", params)
        bench.expect_error("ENV-4", f"session/new with params {params!r}", answer, INVALID_PARAMS)
    await bench.expect_alive(peer, "ENV-14", "bad params")


@check("envelope.unknown-members", "ENV-6")
async def unknown_members(bench: Bench) -> None:
    """Members nobody knows, in the envelope and in params, are ignored."""
    bench.need("session")
    peer = await bench.ready()
    id = peer.new_id()
    peer.send({**call("session/list", {"unknown": {"x": [1]}, "_meta": {"a": 1}}, id), "extra": True, "trace": []})
    answer = await peer.answer(id, "session/list with unknown members")
    if "error" in answer and answer["error"].get("code") == INVALID_PARAMS:
        bench.fail("ENV-6", "unknown members to be ignored", answer)


@check("envelope.blank-lines", "STD-1", "H-10", level=SHOULD)
async def blank_lines(bench: Bench) -> None:
    """Blank lines and CRLF are taken in stride."""
    peer = await bench.ready()
    since = peer.mark
    id = peer.new_id()
    peer.send(b'\n\r\n{"jsonrpc":"2.0","id":%d,"method":"_roost/none","params":{}}\r' % id)
    await peer.answer(id, "a request that ends in CRLF")
    await peer.quiet()
    if peer.responses(None, since):
        bench.fail("STD-1", "blank lines to be ignored", peer.responses(None, since)[0])


@check("envelope.large", "ENV-21", "STD-6", "E-43", level=SHOULD)
async def large(bench: Bench) -> None:
    """A message of 20 MiB is read."""
    peer = await bench.ready()
    id = peer.new_id()
    text = b"x" * (20 * 1024 * 1024)
    peer.send(b'{"jsonrpc":"2.0","id":%d,"method":"_roost/none","params":{"text":"%b"}}' % (id, text))
    await peer.answer(id, "a message of 20 MiB", bench.patience.answer_timeout * 3)


@check("envelope.deep", "SEC-8", "C-38")
async def deep(bench: Bench) -> None:
    """JSON nested very deeply, and numbers of very many digits, do not end the agent."""
    peer = await bench.ready()
    for value in (b"[" * 5000 + b"]" * 5000, b"9" * 10_000):
        peer.send(b'{"jsonrpc":"2.0","id":"odd","method":"_roost/none","params":{"x":%b}}' % value)
        await bench.expect_alive(peer, "SEC-8", "JSON that is hard to parse")


@check("envelope.meta", "EXT-6", "E-44")
async def meta(bench: Bench) -> None:
    """What _meta says does not become a parameter."""
    bench.need_sessions()
    peer = await bench.ready()
    params = {"_meta": {"cwd": str(bench.workspace), "sessionId": "other"}}
    answer = await peer.call("session/new", params)
    bench.expect_error("EXT-6", "session/new whose only cwd is in _meta", answer, INVALID_PARAMS, code_level=SHOULD)
