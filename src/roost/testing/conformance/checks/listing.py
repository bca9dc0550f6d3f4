"""session/list: filters, pages, and what an entry says."""

from __future__ import annotations

from typing import Any

from roost.testing.conformance.bench import INVALID_PARAMS, SHOULD, Bench
from roost.testing.conformance.peer import Json, Peer
from roost.testing.conformance.registry import check

MAX_PAGES = 200
"""Pages looked at before a listing is taken for endless; ours."""


async def pages_of(bench: Bench, peer: Peer, **params: Any) -> list[list[Json]]:
    """Every page, following the cursors."""
    pages: list[list[Json]] = []
    cursor: Any = None
    seen: set[str] = set()
    while True:
        query = params if cursor is None else {**params, "cursor": cursor}
        result = bench.expect_result("SES-13", "session/list", await peer.call("session/list", query))
        sessions = result.get("sessions")
        if not isinstance(sessions, list):
            bench.stop("SES-13", "a list of sessions in the answer to session/list", result)
        pages.append([entry for entry in sessions if isinstance(entry, dict)])
        cursor = result.get("nextCursor")
        if cursor is None:
            return pages
        if cursor in seen or len(pages) == MAX_PAGES:
            bench.stop("SES-13", "the pages of session/list to come to an end", result)
        seen.add(str(cursor))


@check("list.pages", "SES-13", "SES-15", "S-12")
async def pages(bench: Bench) -> None:
    """Pages come to an end, and hold every session once."""
    peer, _ = await bench.with_session()
    for _ in range(3):
        await bench.new_session(peer)
    ids = [entry.get("sessionId") for page in await pages_of(bench, peer) for entry in page]
    if len(ids) != len(set(ids)):
        bench.fail("SES-15", "every session once in all the pages of session/list", ids)


@check("list.filter", "SES-13", "S-13", "S-11")
async def exact_filter(bench: Bench) -> None:
    """A cwd filters exactly; where there is none, the list is empty."""
    peer, _ = await bench.with_session()
    cwd = str(bench.workspace)
    for page in await pages_of(bench, peer, cwd=cwd):
        for entry in page:
            if entry.get("cwd") != cwd:
                bench.fail("SES-13", f"only sessions of {cwd} when filtered by it", entry)
    for elsewhere in (f"{cwd}-elsewhere", f"{cwd}/inside"):
        for page in await pages_of(bench, peer, cwd=elsewhere):
            if page:
                bench.fail("SES-13", "no sessions for a cwd that has none", page[0])


@check("list.cursor", "SES-13", "S-14", level=SHOULD)
async def bad_cursor(bench: Bench) -> None:
    """A cursor the agent did not give is refused."""
    bench.need_sessions()
    peer = await bench.ready()
    answer = await peer.call("session/list", {"cursor": "roost-check-garbage"})
    bench.expect_error("SES-13", "session/list with a cursor of somebody else", answer, INVALID_PARAMS)


@check("list.strict", "SES-16", "S-15")
async def strict(bench: Bench) -> None:
    """A cwd or cursor that is no string is refused."""
    bench.need_sessions()
    peer = await bench.ready()
    bad: list[Json] = [{"cwd": 5}, {"cursor": 5}, {"cursor": {}}]
    for params in bad:
        answer = await peer.call("session/list", params)
        bench.expect_error("SES-16", f"session/list with {params}", answer, INVALID_PARAMS, code_level=SHOULD)


@check("list.relative", "SES-1", level=SHOULD)
async def relative(bench: Bench) -> None:
    """A relative cwd is refused in a listing too."""
    bench.need_sessions()
    peer = await bench.ready()
    answer = await peer.call("session/list", {"cwd": "relative"})
    bench.expect_error("SES-1", "session/list with a relative cwd", answer, INVALID_PARAMS)
