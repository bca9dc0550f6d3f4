"""Sessions: new ones, and requests about none."""

from __future__ import annotations

from typing import Any

from roost.testing.conformance.bench import (
    AUTH_REQUIRED,
    INVALID_PARAMS,
    NOT_FOUND,
    SHOULD,
    Bench,
    error_of,
    result_of,
    text_prompt,
)
from roost.testing.conformance.peer import Json
from roost.testing.conformance.registry import check


@check("session.new", "SES-11", "INI-15", "S-09")
async def new(bench: Bench) -> None:
    """A session is made from a directory alone, or a login is asked for."""
    bench.need("session")
    refusal = bench.profile.refusal
    if refusal is not None and error_of(refusal).get("code") != AUTH_REQUIRED:
        bench.stop("SES-11", "session/new with an absolute cwd to succeed, or to ask for a login (-32000)", refusal)
    bench.need_sessions()
    session = bench.profile.session
    if session is None or not isinstance(session.get("sessionId"), str):
        bench.fail("SES-11", "a sessionId in the answer to session/new", session)


@check("session.distinct", "SES-2", "S-05")
async def distinct(bench: Bench) -> None:
    """Two sessions have two ids, also in two runs of the agent."""
    bench.need_sessions()
    ids = []
    for _ in range(2):
        peer = await bench.ready()
        ids += [await bench.new_session(peer), await bench.new_session(peer)]
    if len(set(ids[:2])) < 2 or len(set(ids[2:])) < 2:
        bench.fail("SES-2", "every session to have an id of its own", ids)
    elif len(set(ids)) < 4:
        bench.advise("SES-2", "session ids not to come again in another run", ids)


@check("session.cwd", "SES-1", "S-01")
async def cwd(bench: Bench) -> None:
    """A cwd that is relative, empty or missing is refused."""
    bench.need_sessions()
    peer = await bench.ready()
    bad: list[Json] = [{"cwd": "relative/path"}, {"cwd": ""}, {"cwd": "."}, {}, {"cwd": None}, {"cwd": 5}]
    for params in bad:
        answer = await peer.call("session/new", params)
        bench.expect_error("SES-1", f"session/new with {params}", answer, INVALID_PARAMS, code_level=SHOULD)


@check("session.directories", "SES-9", "SES-1", "S-04", level=SHOULD)
async def directories(bench: Bench) -> None:
    """Additional directories that are relative or empty are refused."""
    bench.need("session.additionalDirectories")
    bench.need_sessions()
    peer = await bench.ready()
    for path in ("relative", ""):
        params = {"cwd": str(bench.workspace), "additionalDirectories": [str(bench.workspace), path]}
        answer = await peer.call("session/new", params)
        bench.expect_error("SES-9", f"the additional directory {path!r}", answer, INVALID_PARAMS, code_level=SHOULD)


@check("session.unknown", "ERR-3", "SEC-6")
async def unknown(bench: Bench) -> None:
    """Requests about a session nobody knows fail."""
    bench.need("session")
    peer = await bench.ready()
    none = "roost-check-no-such-session"
    requests: list[tuple[str, Json]] = [
        ("session/prompt", text_prompt(none, "Hello.")),
        ("session/resume", {"sessionId": none, "cwd": str(bench.workspace)}),
        (
            "session/set_config_option",
            {"sessionId": none, "configId": "x", "type": "id", "value": "y"},
        ),
    ]
    since = peer.mark
    for method, params in requests:
        answer = await peer.call(method, params)
        error = bench.expect_error("ERR-3", f"{method} of an unknown session", answer)
        if error is not None and error.get("code") not in (NOT_FOUND, INVALID_PARAMS, AUTH_REQUIRED):
            bench.advise("ERR-3", f"{method} of an unknown session to be answered {NOT_FOUND}", answer)
    await peer.barrier()
    told: list[Any] = peer.updates(since=since)
    if told:
        bench.fail("PRM-3", "no update for a prompt that was refused", told[0])


@check("session.cancel-unknown", "PRM-17", "P-14")
async def cancel_unknown(bench: Bench) -> None:
    """Cancelling a session nobody knows does nothing."""
    bench.need("session")
    peer = await bench.ready()
    since = peer.mark
    peer.notify("session/cancel", {"sessionId": "roost-check-no-such-session"})
    await bench.expect_silence(peer, "PRM-17", "session/cancel of an unknown session", since)


@check("session.response-first", "SES-4", level=SHOULD)
async def response_first(bench: Bench) -> None:
    """The answer that names a session comes before its updates."""
    peer, session = await bench.with_session()
    await peer.barrier()
    for part in peer.came():
        if isinstance(part, dict) and part.get("method") == "session/update":
            bench.fail("SES-4", "session/new to be answered before the session's first update", part)
        if result_of(part if isinstance(part, dict) else {}).get("sessionId") == session:
            return
