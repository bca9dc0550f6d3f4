"""session/cancel, at every moment of a turn."""

from __future__ import annotations

from functools import partial

from roost.testing.conformance.bench import Bench, Skip, leave_open
from roost.testing.conformance.checks.turn import Prompted, prompt, send
from roost.testing.conformance.peer import Peer
from roost.testing.conformance.registry import check


def _is_asking(peer: Peer) -> bool:
    return bool(peer.asked)


def _cancel(peer: Peer, session: str) -> None:
    peer.notify("session/cancel", {"sessionId": session})


def _slow(bench: Bench) -> str:
    if bench.prompts.slow is None:
        raise Skip("no slow prompt is known (--slow TEXT)")
    return bench.prompts.slow


async def _cancelled(bench: Bench, turn: Prompted, when: str) -> None:
    """The one idle of a cancelled turn, and nothing after it."""
    idle = await turn.ended(bench, bench.patience.answer_timeout)
    if idle.get("stopReason") != "cancelled":
        bench.fail("PRM-16", f"idle with stopReason cancelled after session/cancel {when}", idle)
    await turn.peer.barrier()
    idles = turn.peer.idles(turn.session, turn.since)
    if len(idles) > 1:
        bench.fail("PRM-16", f"one idle for a turn cancelled {when}", idles)
    told = turn.peer.updates(turn.session, since=turn.since)
    behind = next(index for index, update in enumerate(told) if update is idle) + 1
    late = [
        update
        for update in told[behind:]
        if str(update.get("sessionUpdate")).startswith(("agent_", "tool_call", "plan_update"))
    ]
    if late:
        bench.fail("PRM-16", f"what is left of a turn cancelled {when} to come before its idle", late[0])


@check("cancel.running", "PRM-16", "P-13")
async def running(bench: Bench) -> None:
    """Cancelled work ends with one idle cancelled, and tells nothing after it."""
    text = _slow(bench)
    peer, session = await bench.with_session()
    turn = await prompt(bench, peer, session, text)
    await turn.running(bench)
    await peer.quiet()
    _cancel(peer, session)
    await _cancelled(bench, turn, "while running")
    later = await prompt(bench, peer, session, bench.prompts.texts[0])
    idle = await later.ended(bench)
    if idle.get("stopReason") == "cancelled":
        bench.fail("PRM-16", "a prompt after a cancelled one not to be cancelled too", idle)


@check("cancel.at-once", "PRM-19", "P-15")
async def at_once(bench: Bench) -> None:
    """A cancel sent right behind its prompt leads to idle, or the prompt is refused."""
    peer, session = await bench.with_session()
    turn = send(peer, session, bench.prompts.slow or bench.prompts.texts[0])
    _cancel(peer, session)
    answer = await peer.answer(turn.id, "session/prompt, cancelled at once,")
    if "result" in answer:
        idle = await turn.ended(bench, bench.patience.answer_timeout if bench.prompts.slow else None)
        if bench.prompts.slow and idle.get("stopReason") != "cancelled":
            bench.fail("PRM-19", "idle with stopReason cancelled after a cancel behind the prompt", idle)
        await peer.barrier()
        if len(peer.idles(session, turn.since)) != 1:
            bench.fail("PRM-19", "one idle for a prompt cancelled at once", turn.states)
    later = await prompt(bench, peer, session, bench.prompts.texts[0])
    await later.ended(bench)


@check("cancel.accepted", "PRM-19", "P-15")
async def accepted(bench: Bench) -> None:
    """A cancel right after the prompt was accepted leads to idle cancelled."""
    text = _slow(bench)
    peer, session = await bench.with_session()
    turn = await prompt(bench, peer, session, text)
    _cancel(peer, session)
    await _cancelled(bench, turn, "right after it was accepted")


@check("cancel.twice", "PRM-16", "P-19")
async def twice(bench: Bench) -> None:
    """Two cancels end a turn once."""
    text = _slow(bench)
    peer, session = await bench.with_session()
    turn = await prompt(bench, peer, session, text)
    await turn.running(bench)
    _cancel(peer, session)
    _cancel(peer, session)
    await _cancelled(bench, turn, "twice")


@check("cancel.idle", "PRM-17", "P-14")
async def idle(bench: Bench) -> None:
    """A cancel when nothing runs does nothing, and the next prompt is not cancelled by it."""
    peer, session = await bench.with_session()
    await peer.barrier()
    since = peer.mark
    _cancel(peer, session)
    await bench.expect_silence(peer, "PRM-17", "session/cancel of an idle session", since)
    states = [u for u in peer.updates(session, "state_update", since) if u.get("stopReason") is not None]
    if states:
        bench.fail("PRM-17", "no end of a turn that never was", states[0])
    turn = await prompt(bench, peer, session, bench.prompts.texts[0])
    ended = await turn.ended(bench)
    if ended.get("stopReason") == "cancelled":
        bench.fail("PRM-17", "a cancel of nothing not to cancel the next prompt", ended)


@check("cancel.then-prompt", "PRM-16", "PRM-8", "P-20")
async def then_prompt(bench: Bench) -> None:
    """A prompt sent right behind a cancel is worked on, and each ends with its own idle."""
    text = _slow(bench)
    peer, session = await bench.with_session()
    turn = await prompt(bench, peer, session, text)
    await turn.running(bench)
    _cancel(peer, session)
    second = send(peer, session, bench.prompts.texts[0])
    answer = await peer.answer(second.id, "a prompt behind a cancel", bench.patience.turn_timeout)
    await turn.ended(bench, bench.patience.answer_timeout)
    if "result" not in answer:
        return
    last = await turn.ended(bench, count=2)
    first = peer.idles(session, turn.since)[0]
    if first.get("stopReason") != "cancelled" or last.get("stopReason") == "cancelled":
        bench.fail("PRM-16", "idle cancelled for the first, another end for the second", [first, last])


@check("cancel.permission", "CAN-13", "PER-10", "P-17")
async def with_a_permission_open(bench: Bench) -> None:
    """A turn cancelled while it waits for a permission ends, and what was asked for is not done."""
    if bench.prompts.asks is None:
        raise Skip("no prompt is known that asks a permission (--asks TEXT)")
    for answered in (True, False):
        peer, session = await bench.with_session()
        peer.answers["session/request_permission"] = leave_open
        turn = await prompt(bench, peer, session, bench.prompts.asks)
        await peer.until(partial(_is_asking, peer), "a permission to be asked", bench.patience.turn_timeout)
        _cancel(peer, session)
        if answered:
            for request in peer.asked:
                peer.reply(request, {"result": {"outcome": {"outcome": "cancelled"}}})
        await _cancelled(bench, turn, "with a permission open")
        if bench.prompts.done is not None and bench.prompts.done(bench.workspace):
            bench.fail("PER-5", "what was asked for not to be done after session/cancel", peer.asked[0])
