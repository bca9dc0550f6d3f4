"""Requests: unknown ones, the wrong direction, the same id twice, and withdrawing them."""

from __future__ import annotations

from typing import Any

from roost.testing.conformance.bench import METHOD_NOT_FOUND, SHOULD, Bench
from roost.testing.conformance.peer import call
from roost.testing.conformance.registry import check


@check("requests.unknown", "ENV-8", "EXT-4", "E-04", "E-41")
async def unknown(bench: Bench) -> None:
    """A request nobody knows, custom or not, is answered method-not-found."""
    peer = await bench.ready()
    for method in ("session/unknown", "_acme/unknown", "nothing", "", "initialize2", "fs/read_text_file"):
        answer = await peer.call(method, {"sessionId": "s"})
        bench.expect_error("ENV-8", f"the unknown request {method!r}", answer, METHOD_NOT_FOUND)


@check("requests.direction", "ENV-9", "E-40")
async def direction(bench: Bench) -> None:
    """A client's method sent to the agent is an unknown one."""
    peer = await bench.ready()
    for method in ("session/request_permission", "elicitation/create", "session/update", "mcp/connect"):
        answer = await peer.call(method, {"sessionId": "s"})
        bench.expect_error("ENV-9", f"{method}, sent to an agent,", answer, METHOD_NOT_FOUND, code_level=SHOULD)


@check("requests.protocol-level", "CAN-2", level=SHOULD)
async def protocol_level(bench: Bench) -> None:
    """An unknown $/ request is answered method-not-found."""
    peer = await bench.ready()
    answer = await peer.call("$/unknown", {})
    bench.expect_error("CAN-2", "the request $/unknown", answer, METHOD_NOT_FOUND)


@check("requests.same-id", "ID-4", "E-22", level=SHOULD)
async def same_id_twice(bench: Bench) -> None:
    """Two requests in flight under one id get two answers."""
    peer = await bench.ready()
    since = peer.mark
    peer.send(call("_acme/one", {}, "twin"))
    peer.send(call("_acme/two", {}, "twin"))
    await bench.expect_alive(peer, "ID-4", "one id used twice")
    await peer.quiet()
    if len(peer.responses("twin", since)) != 2:
        bench.fail("ID-4", "two answers to two requests under one id", peer.responses("twin", since))


@check("requests.withdraw-nothing", "CAN-3", "E-33", "E-35")
async def withdrawing_nothing(bench: Bench) -> None:
    """Withdrawing what is unknown, done or malformed does nothing."""
    peer = await bench.ready()
    done = peer.request("_acme/done", {})
    await peer.answer(done, "_acme/done")
    since = peer.mark
    params: list[Any] = [{"requestId": 4711}, {"requestId": "x"}, {"requestId": done}, {"requestId": {}}, {}, None, [1]]
    for value in params:
        peer.notify("$/cancel_request", value)
    await bench.expect_silence(peer, "CAN-3", "withdrawing nothing", since)
    if len(peer.responses(done)) != 1:
        bench.fail("CAN-3", "no second answer to a request withdrawn too late", peer.responses(done))


@check("requests.withdraw", "CAN-4", "ID-2", "E-34", "E-36")
async def withdrawing(bench: Bench) -> None:
    """A request withdrawn at once is still answered, once; one with a similar id is not touched."""
    bench.need_sessions()
    peer = await bench.ready()
    id = peer.new_id()
    peer.send(call("session/new", {"cwd": str(bench.workspace)}, str(id)))
    peer.notify("$/cancel_request", {"requestId": id})
    answer = await peer.answer(str(id), "session/new")
    if "error" in answer and answer["error"].get("code") == -32800:
        bench.fail("ID-2", f"the request {str(id)!r} to survive the withdrawal of {id}", answer)
    id = peer.request("session/new", {"cwd": str(bench.workspace)})
    peer.notify("$/cancel_request", {"requestId": id})
    answer = await peer.answer(id, "session/new, withdrawn,")
    if "error" in answer and answer["error"].get("code") != -32800:
        bench.fail("CAN-4", "a withdrawn request to succeed or to be answered -32800", answer)
    await peer.barrier()
    if len(peer.responses(id)) != 1:
        bench.fail("CAN-4", "exactly one answer to a withdrawn request", peer.responses(id))


@check("requests.concurrent", "ENV-17", "ENV-20")
async def many_at_once(bench: Bench) -> None:
    """A hundred requests in one go get a hundred answers."""
    peer = await bench.ready()
    ids = [peer.request("_acme/many", {"n": number}) for number in range(100)]
    for id in ids:
        await peer.answer(id, "one of a hundred requests")
    await peer.quiet()
    for id in ids:
        if len(peer.responses(id)) != 1:
            bench.fail("ENV-17", "exactly one answer to each of a hundred requests", peer.responses(id))
