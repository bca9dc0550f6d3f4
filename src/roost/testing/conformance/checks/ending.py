"""session/close, session/delete and session/fork."""

from __future__ import annotations

from roost.testing.conformance.bench import SHOULD, Bench, Skip, result_of, text_prompt
from roost.testing.conformance.checks.listing import pages_of
from roost.testing.conformance.checks.turn import prompt
from roost.testing.conformance.registry import check


@check("close.idle", "SES-26", "S-29")
async def close(bench: Bench) -> None:
    """A closed session takes no prompt until it is resumed."""
    peer, session = await bench.with_session()
    bench.expect_result("SES-26", "session/close", await peer.call("session/close", {"sessionId": session}))
    since = peer.mark
    answer = await peer.call("session/prompt", text_prompt(session, bench.prompts.texts[0]))
    bench.expect_error("SES-26", "a prompt to a closed session", answer)
    await peer.barrier()
    if "error" in answer and peer.updates(session, "user_message", since):
        bench.fail("PRM-3", "no user_message for a prompt that was refused", peer.updates(session, since=since)[0])


@check("close.unknown", "SES-26", "S-30")
async def close_unknown(bench: Bench) -> None:
    """Closing what nobody knows is answered, one way or the other."""
    bench.need_sessions()
    peer = await bench.ready()
    await peer.call("session/close", {"sessionId": "roost-check-no-such-session"})
    await bench.expect_alive(peer, "SES-26", "session/close of an unknown session")


@check("close.running", "SES-26", "S-28")
async def close_running(bench: Bench) -> None:
    """Closing a session that works ends its work with idle cancelled, then answers."""
    if bench.prompts.slow is None:
        raise Skip("no slow prompt is known (--slow TEXT)")
    peer, session = await bench.with_session()
    since = peer.mark
    bench.expect_result(
        "PRM-3", "session/prompt", await peer.call("session/prompt", text_prompt(session, bench.prompts.slow))
    )
    await peer.until(
        lambda: any(u.get("state") == "running" for u in peer.updates(session, "state_update", since)),
        "running",
        bench.patience.answer_timeout,
    )
    id = peer.request("session/close", {"sessionId": session})
    answer = await peer.answer(id, "session/close of a working session")
    bench.expect_result("SES-26", "session/close of a working session", answer)
    idles = peer.idles(session, since, before=answer)
    if not idles:
        bench.stop("SES-26", "idle before session/close is answered", answer)
    if idles[-1].get("stopReason") != "cancelled":
        bench.fail("SES-26", "idle with stopReason cancelled before session/close is answered", idles)
    after = peer.mark
    await peer.barrier()
    if peer.updates(session, since=after):
        bench.fail("SES-26", "no updates of a closed session", peer.updates(session, since=after)[0])


@check("delete.gone", "SES-28", "S-34", "S-35")
async def delete(bench: Bench) -> None:
    """A deleted session is listed no more, and cannot be prompted."""
    bench.need("session.delete")
    peer, session = await bench.with_session()
    bench.expect_result("SES-28", "session/delete", await peer.call("session/delete", {"sessionId": session}))
    for page in await pages_of(bench, peer):
        for entry in page:
            if entry.get("sessionId") == session:
                bench.fail("SES-28", "a deleted session to be listed no more", entry)
    answer = await peer.call("session/prompt", text_prompt(session, bench.prompts.texts[0]))
    bench.expect_error("SES-28", "a prompt to a deleted session", answer)


@check("delete.twice", "SES-28", "S-33", level=SHOULD)
async def delete_twice(bench: Bench) -> None:
    """Deleting again, or what nobody knows, succeeds."""
    bench.need("session.delete")
    peer, session = await bench.with_session()
    for one in (session, session, "roost-check-no-such-session"):
        answer = await peer.call("session/delete", {"sessionId": one})
        bench.expect_result("SES-28", f"session/delete of {'a session' if one == session else 'nothing'}", answer)


@check("fork.new", "SES-29", "S-36")
async def fork(bench: Bench) -> None:
    """A fork has an id of its own, and its source goes on."""
    bench.need("session.fork")
    peer, session = await bench.with_session()
    answer = await peer.call("session/fork", {"sessionId": session, "cwd": str(bench.workspace)})
    bench.expect_result("SES-29", "session/fork", answer)
    forked = result_of(answer).get("sessionId")
    if not isinstance(forked, str) or forked == session:
        bench.stop("SES-29", "session/fork to answer with a new sessionId", answer)
    for one in (session, forked):
        await (await prompt(bench, peer, one, bench.prompts.texts[0])).ended(bench)
