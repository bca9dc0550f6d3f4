"""Prompts behind one that runs: queued, steered in or refused, and withdrawn while they wait."""

from __future__ import annotations

from roost.testing.conformance.bench import CANCELLED, Bench, Skip
from roost.testing.conformance.checks.turn import prompt, send, text_of
from roost.testing.conformance.registry import check


@check("queue.second", "PRM-13", "PRM-4", "P-10")
async def second(bench: Bench) -> None:
    """A prompt sent while another runs is refused, or accepted, reported and worked on."""
    peer, session = await bench.with_session()
    text = bench.prompts.texts[0]
    one, two = send(peer, session, text), send(peer, session, text)
    answers = [await peer.answer(t.id, "session/prompt", bench.patience.turn_timeout) for t in (one, two)]
    accepted = [answer for answer in answers if "result" in answer]
    if "result" not in answers[0]:
        bench.stop("PRM-3", "the first of two prompts to be accepted", answers[0])
    await one.ended(bench)

    def users() -> list[str]:
        return list(
            dict.fromkeys(
                str(update.get("messageId"))
                for update in peer.updates(session, since=one.since)
                if update.get("sessionUpdate") in ("user_message", "user_message_chunk")
            )
        )

    def settled() -> bool:
        states = one.states
        return len(users()) >= len(accepted) and bool(states) and states[-1].startswith("idle")

    await peer.until(
        settled, "a user_message for every accepted prompt, and idle in the end", bench.patience.turn_timeout
    )
    await peer.barrier()
    if len(users()) != len(accepted):
        bench.fail("PRM-4", "one user_message for every accepted prompt, and none for others", users())


@check("queue.withdraw", "CAN-12", "PRM-14", "P-11")
async def withdraw(bench: Bench) -> None:
    """A waiting prompt that is withdrawn is never worked on; one that was accepted is not stopped by it."""
    if bench.prompts.slow is None:
        raise Skip("no slow prompt is known (--slow TEXT)")
    peer, session = await bench.with_session()
    turn = await prompt(bench, peer, session, bench.prompts.slow)
    await turn.running(bench)
    marker = f"{bench.prompts.texts[0]} (withdrawn)"
    waiting = send(peer, session, marker)
    peer.notify("$/cancel_request", {"requestId": waiting.id})
    answer = await peer.answer(waiting.id, "a prompt that was withdrawn")
    await peer.barrier()
    error = answer.get("error", {})
    if "error" in answer and "result" not in answer:
        peer.notify("session/cancel", {"sessionId": session})
        await turn.ended(bench)
        await peer.barrier()
        if any(
            marker in text_of(update)
            for update in peer.updates(session, since=waiting.since)
            if str(update.get("sessionUpdate")).startswith("user_message")
        ):
            bench.fail("CAN-12", f"a prompt answered with {error.get('code')} never to be inserted", marker)
        if error.get("code") == CANCELLED and turn.states.count("running") > 1 + turn.states.count("requires_action"):
            bench.fail("CAN-12", "no work on a prompt that was withdrawn", turn.states)
    else:
        peer.notify("session/cancel", {"sessionId": session})
        await turn.ended(bench)
    if len(peer.responses(waiting.id)) != 1:
        bench.fail("CAN-4", "exactly one answer to a prompt that was withdrawn", peer.responses(waiting.id))


@check("queue.withdraw-accepted", "CAN-12", "CAN-4")
async def withdraw_accepted(bench: Bench) -> None:
    """Withdrawing a prompt that was accepted does nothing."""
    peer, session = await bench.with_session()
    turn = await prompt(bench, peer, session, bench.prompts.texts[0])
    peer.notify("$/cancel_request", {"requestId": turn.id})
    idle = await turn.ended(bench)
    await peer.barrier()
    if len(peer.responses(turn.id)) != 1:
        bench.fail("CAN-4", "exactly one answer to session/prompt", peer.responses(turn.id))
    if idle.get("stopReason") == "cancelled":
        bench.fail("CAN-12", "$/cancel_request not to cancel a prompt that was accepted", idle)
