"""Batches: arrays of messages, answered in one array, or not at all."""

from __future__ import annotations

from typing import Any

from roost.testing.conformance.bench import INVALID_REQUEST, SHOULD, Bench
from roost.testing.conformance.peer import Entry, Peer, call
from roost.testing.conformance.registry import check


def _arrays(peer: Peer, since: int) -> list[Entry]:
    return [entry for entry in peer.timeline[since:] if not entry.ours and isinstance(entry.value, list)]


async def _one_array(bench: Bench, peer: Peer, since: int, what: str) -> list[Any]:
    """The array everything came in."""
    found: list[Entry] = await peer.until(
        lambda: _arrays(peer, since), f"{what} to be answered with an array", bench.patience.answer_timeout
    )
    await peer.quiet()
    if len(_arrays(peer, since)) > 1:
        bench.fail("BAT-5", f"{what} to be answered with one array", [e.value for e in _arrays(peer, since)])
    value: list[Any] = found[0].value
    return value


@check("batches.calls", "BAT-5", "BAT-1", "BAT-4", "E-23")
async def calls(bench: Bench) -> None:
    """The requests of a batch are answered in one array; its notifications are not answered."""
    peer = await bench.ready()
    since = peer.mark
    peer.send([call("_acme/a", {}, "a"), call("_acme/note", {}), call("_acme/b", {}, "b")])
    array = await _one_array(bench, peer, since, "a batch")
    ids = sorted(str(part.get("id")) if isinstance(part, dict) else "?" for part in array)
    if ids != ["a", "b"]:
        bench.fail("BAT-5", "an array with the two answers to a batch of two requests", array)


@check("batches.empty", "BAT-2", "E-24")
async def empty(bench: Bench) -> None:
    """An empty array gets one invalid-request object, not in an array."""
    peer = await bench.ready()
    since = peer.mark
    peer.send([])
    await bench.expect_alive(peer, "BAT-2", "an empty array")
    await peer.quiet()
    entries = [entry for entry in peer.timeline[since:] if not entry.ours]
    single = [entry.value for entry in entries if isinstance(entry.value, dict) and entry.value.get("id", 0) is None]
    if not single or single[0].get("error", {}).get("code") != INVALID_REQUEST:
        bench.fail(
            "BAT-2", f"an empty array to be answered with a single error {INVALID_REQUEST}",
            [entry.value for entry in entries],
        )  # fmt: skip


@check("batches.rubbish", "BAT-3", "E-25")
async def rubbish(bench: Bench) -> None:
    """What is no message in a batch gets its own error, and the rest is worked on."""
    peer = await bench.ready()
    since = peer.mark
    peer.send([1, call("_acme/a", {}, "a"), {"foo": 1}])
    array = await _one_array(bench, peer, since, "a batch with rubbish in it")
    errors = [
        part
        for part in array
        if isinstance(part, dict) and part.get("id", 0) is None and part.get("error", {}).get("code") == INVALID_REQUEST
    ]
    if len(array) != 3 or len(errors) != 2 or not any(isinstance(p, dict) and p.get("id") == "a" for p in array):
        bench.fail("BAT-3", f"two errors {INVALID_REQUEST} under null and one answer, in one array", array)


@check("batches.notifications", "BAT-4", "E-26")
async def notifications(bench: Bench) -> None:
    """A batch without requests is answered with nothing, not even an empty array."""
    peer = await bench.ready()
    since = peer.mark
    peer.send([call("_acme/note", {}), call("$/note", {}), call("session/cancel", {"sessionId": "none"})])
    await bench.expect_silence(peer, "BAT-4", "a batch of notifications", since)
    if _arrays(peer, since):
        bench.fail("BAT-4", "a batch of notifications to be answered with nothing", _arrays(peer, since)[0].raw)


@check("batches.cut-off", "BAT-1", "E-27")
async def cut_off(bench: Bench) -> None:
    """Half a batch is one parse error."""
    peer = await bench.ready()
    since = peer.mark
    peer.send(b'[{"jsonrpc":"2.0","id":1,"method":"_acme/a"},')
    await bench.expect_alive(peer, "BAT-1", "half a batch")
    await peer.quiet()
    answers = peer.responses(None, since)
    if len(answers) != 1 or answers[0].get("error", {}).get("code") != -32700:
        bench.fail("BAT-1", "half a batch to be answered with one error -32700", answers or "no answer")


@check("batches.same-id", "BAT-10", "E-31", level=SHOULD)
async def same_id(bench: Bench) -> None:
    """Two requests of a batch under one id get two answers."""
    peer = await bench.ready()
    since = peer.mark
    peer.send([call("_acme/a", {}, 9001), call("_acme/b", {}, 9001)])
    array = await _one_array(bench, peer, since, "a batch with one id twice")
    if len(array) != 2:
        bench.fail("BAT-10", "two answers to one id used twice in a batch", array)


@check("batches.responses", "BAT-11", "E-29", level=SHOULD)
async def responses(bench: Bench) -> None:
    """Responses in an array, even mixed with requests, are not answered; the requests are."""
    peer = await bench.ready()
    since = peer.mark
    peer.send([{"jsonrpc": "2.0", "id": "none", "result": {}}, call("_acme/a", {}, "mixed")])
    await peer.answer("mixed", "a request beside a response in an array")
    await bench.expect_silence(peer, "BAT-11", "a response in an array", since, ["mixed"])
