"""Negotiation: the first message of a connection, and what must not come before it."""

from __future__ import annotations

from typing import Any

from roost.testing.conformance.bench import (
    INITIALIZE_V1,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MUST,
    SHOULD,
    Bench,
    initialize_params,
    result_of,
)
from roost.testing.conformance.peer import Json, Peer, call
from roost.testing.conformance.registry import check


@check("initialize.answer", "INI-3", "INI-16", "I-01")
async def answers(bench: Bench) -> None:
    """Version 2 is answered with 2, the agent's name and version, and its capabilities."""
    peer = await bench.start()
    result = bench.expect_result("INI-3", "initialize", await peer.call("initialize", initialize_params()))
    if result.get("protocolVersion") != 2 or isinstance(result["protocolVersion"], bool):
        bench.fail("INI-3", "protocolVersion 2 in the answer", result)
    info = result.get("info")
    if not (isinstance(info, dict) and isinstance(info.get("name"), str) and isinstance(info.get("version"), str)):
        bench.fail("INI-16", "info with name and version in the answer", result)


@check("initialize.newer", "INI-9", "I-03")
async def a_newer_version(bench: Bench) -> None:
    """A version nobody knows yet is answered with the latest the agent speaks."""
    peer = await bench.start()
    answer = await peer.call("initialize", initialize_params(3))
    result = bench.expect_result("INI-9", "initialize with version 3", answer)
    if result.get("protocolVersion") != 2:
        bench.fail("INI-9", "protocolVersion 2 as the answer to 3", result)


@check("initialize.older", "INI-3", "INI-5", "I-02")
async def an_older_version(bench: Bench) -> None:
    """A client of version 1, with its own shape of the request, gets an honest answer."""
    peer = await bench.start()
    result = bench.expect_result(
        "INI-3", "initialize with version 1 in its shape", await peer.call("initialize", INITIALIZE_V1)
    )
    if result.get("protocolVersion") not in (1, 2):
        bench.fail("INI-3", "protocolVersion 1 or 2 as the answer to 1", result)


@check("initialize.bad-version", "INI-8", "INI-10", "I-05")
async def versions_that_are_none(bench: Bench) -> None:
    """A version that is no small whole number is refused, and the client may try again."""
    peer = await bench.start()
    for version in ("2", 2.5, -1, 70000, None):
        answer = await peer.call("initialize", initialize_params(version))
        bench.expect_error("INI-8", f"initialize with version {version!r}", answer, INVALID_PARAMS, code_level=SHOULD)
        if "result" in answer:
            return
    await _succeeds(bench, peer, "after one that failed")


@check("initialize.no-info", "INI-16", "INI-10", "I-04")
async def without_info(bench: Bench) -> None:
    """A request without the client's name is refused, and the client may try again."""
    peer = await bench.start()
    answer = await peer.call("initialize", {"protocolVersion": 2, "capabilities": {}})
    bench.expect_error("INI-16", "initialize without info", answer, INVALID_PARAMS, code_level=SHOULD)
    if "error" in answer:
        await _succeeds(bench, peer, "after one without info")


@check("initialize.first", "INI-1", "I-06", "I-07")
async def comes_first(bench: Bench) -> None:
    """Before initialize, requests are refused and notifications ignored."""
    peer = await bench.start()
    answer = await peer.call("session/new", {"cwd": str(bench.workspace)})
    bench.expect_error("INI-1", "session/new before initialize", answer, INVALID_REQUEST, code_level=SHOULD)
    since = peer.mark
    peer.notify("session/cancel", {"sessionId": "none"})
    await _succeeds(bench, peer, "after messages that came too early")
    await bench.expect_silence(peer, "INI-1", "a notification before initialize", since)


@check("initialize.twice", "INI-10", "I-08")
async def once(bench: Bench) -> None:
    """A second initialize is refused, and the first one stays in force."""
    peer = await bench.ready()
    answer = await peer.call("initialize", initialize_params(1))
    bench.expect_error("INI-10", "a second initialize", answer, INVALID_REQUEST, code_level=SHOULD)
    await bench.expect_alive(peer, "INI-10", "a second initialize")
    if bench.profile.has("session") and bench.profile.session is not None:
        await bench.new_session(peer)


@check("initialize.at-once", "INI-10", "I-09", level=SHOULD)
async def two_at_once(bench: Bench) -> None:
    """Of two requests in flight the second is refused."""
    peer = await bench.start()
    one, two = peer.request("initialize", initialize_params()), peer.request("initialize", initialize_params())
    wait = bench.patience.start_timeout
    answers = [await peer.answer(one, "initialize", wait), await peer.answer(two, "a second initialize", wait)]
    if "result" not in answers[0] or "error" not in answers[1]:
        bench.fail("INI-10", "of two initialize at once the first to succeed, the second to fail", answers)


@check("initialize.lenient", "INI-12", "INI-11", "INI-14", "I-16")
async def capabilities_of_all_kinds(bench: Bench) -> None:
    """Capabilities that are missing, null, malformed or unknown do not stop a client."""
    bad: list[Any] = [
        None,
        {"elicitation": True, "auth": [], "nes": "yes", "_acme": {"x": 1}, "future": {}},
        [],
        {"elicitation": None, "positionEncodings": ["utf-7", 5]},
    ]
    for capabilities in bad:
        peer = await bench.start()
        params: Json = {**initialize_params(), "capabilities": capabilities, "unknown": [1]}
        answer = await peer.call("initialize", params)
        bench.expect_result("INI-12", f"initialize with capabilities {capabilities!r}", answer)


@check("initialize.encoding", "NES-4", "I-17")
async def the_encoding_is_the_clients(bench: Bench) -> None:
    """A position encoding is one of those the client offered."""
    for offered in (["utf-8"], ["utf-32", "utf-16"], None):
        params: Any = {"nes": {}} if offered is None else {"nes": {}, "positionEncodings": offered}
        peer = await bench.start()
        result = result_of(await peer.call("initialize", initialize_params(2, params)))
        capabilities = result.get("capabilities")
        chosen = capabilities.get("positionEncoding") if isinstance(capabilities, dict) else None
        if chosen is not None and chosen not in (offered or ["utf-16"]):
            bench.fail("NES-4", f"a positionEncoding out of {offered or ['utf-16']}", result)


@check("initialize.batch", "BAT-7", "E-32", level=SHOULD)
async def in_a_batch(bench: Bench) -> None:
    """Initialize in a batch is worked on, and answered in an array."""
    peer = await bench.start()
    id = peer.new_id()
    peer.send([call("initialize", initialize_params(), id)])
    answer = await peer.answer(id, "initialize in a batch", bench.patience.start_timeout)
    if "result" not in answer:
        bench.fail("BAT-7", "initialize in a batch to succeed", answer)


async def _succeeds(bench: Bench, peer: Peer, when: str) -> None:
    answer = await peer.call("initialize", initialize_params())
    if "result" not in answer:
        bench.fail("INI-10", f"initialize to succeed {when}", answer, MUST)
