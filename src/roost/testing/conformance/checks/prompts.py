"""Prompts: accepted, reported, worked on, ended; or refused without a trace."""

from __future__ import annotations

from roost.testing.conformance.bench import INVALID_PARAMS, SHOULD, Bench, text_prompt
from roost.testing.conformance.checks.turn import Prompted, prompt, send, text_of
from roost.testing.conformance.peer import Json
from roost.testing.conformance.registry import check


@check("prompt.lifecycle", "PRM-8", "PRM-3", "PRM-4", "PRM-6", "P-01", "P-03")
async def lifecycle(bench: Bench) -> None:
    """A prompt is accepted, reported, worked on, and ended once with a stop reason."""
    peer, session = await bench.with_session()
    for text in bench.prompts.texts:
        turn = await prompt(bench, peer, session, text)
        await turn.ended(bench)
        await peer.barrier()
        _judge(bench, turn, text)


def _judge(bench: Bench, turn: Prompted, text: str) -> None:
    peer, session, since = turn.peer, turn.session, turn.since
    users = [
        update
        for update in peer.updates(session, since=since)
        if update.get("sessionUpdate") in ("user_message", "user_message_chunk")
    ]
    if not users:
        bench.fail("PRM-4", "the prompt to be reported as user_message", turn.states)
    elif not all(isinstance(update.get("messageId"), str) for update in users):
        bench.fail("PRM-4", "the reported user_message to have a messageId", users[0])
    elif "".join(map(text_of, users)) != text:
        bench.advise("PRM-4", f"the reported user_message to say {text!r}", users[0])
    states = turn.states
    if not states or states[0] != "running":
        bench.fail("PRM-6", "running when the work on a prompt begins", states)
    idles = peer.idles(session, since)
    if "stopReason" not in idles[0]:
        bench.fail("PRM-8", "a stopReason in the idle that ends a turn", idles[0])
    if len([idle for idle in idles if "stopReason" in idle]) > 1:
        bench.fail("PRM-8", "one idle with a stopReason for one prompt", states)
    if "running" in states[states.index(next(s for s in states if s.startswith("idle"))) :]:
        bench.fail("PRM-8", "no running after the idle that ended the turn", states)


@check("prompt.acknowledged", "PRM-3", "P-02")
async def acknowledged(bench: Bench) -> None:
    """A prompt is answered when it is accepted, not when it is done."""
    text = bench.prompts.slow or bench.prompts.texts[0]
    peer, session = await bench.with_session()
    turn = send(peer, session, text)
    # One that is not slow may be answered late and still in time.
    wait = bench.patience.answer_timeout if bench.prompts.slow else bench.patience.turn_timeout
    answer = await peer.answer(turn.id, "session/prompt", wait)
    result = bench.expect_result("PRM-3", "session/prompt", answer)
    if peer.idles(session, turn.since, before=answer):
        bench.fail("PRM-3", "session/prompt to be answered before the turn has ended", turn.states)
    if "stopReason" in result:
        bench.fail("PRM-8", "the stop reason in the idle update, not in the answer to session/prompt", answer)
    peer.notify("session/cancel", {"sessionId": session})
    await turn.ended(bench)


@check("prompt.malformed", "PRM-2", "P-05")
async def malformed(bench: Bench) -> None:
    """A prompt with a malformed block is refused as a whole, and leaves no trace."""
    bad: list[object] = [
        [{"type": "text"}],
        [{"type": "text", "text": "a"}, {"type": "text", "text": 5}],
        [{"type": "resource_link", "uri": "file:///x"}],
        [{"text": "no type"}],
        "a string",
        None,
    ]
    peer, session = await bench.with_session()
    since = peer.mark
    for blocks in bad:
        answer = await peer.call("session/prompt", {"sessionId": session, "prompt": blocks})
        bench.expect_error("PRM-2", f"the prompt {blocks!r}", answer, INVALID_PARAMS, code_level=SHOULD)
    await _no_trace(bench, peer.updates(session, since=since))


@check("prompt.empty", "PRM-2", "P-06", "P-08", level=SHOULD)
async def empty_and_unknown(bench: Bench) -> None:
    """An empty prompt, and one with a block of an unknown kind, are refused."""
    peer, session = await bench.with_session()
    bad: list[list[Json]] = [[], [{"type": "text", "text": "a"}, {"type": "_roost/none", "x": 1}], [{"type": "future"}]]
    for blocks in bad:
        answer = await peer.call("session/prompt", {"sessionId": session, "prompt": blocks})
        bench.expect_error("PRM-2", f"the prompt {blocks!r}", answer, INVALID_PARAMS)


@check("prompt.resource-link", "PRM-1", "P-07")
async def resource_link(bench: Bench) -> None:
    """A resource link is always accepted."""
    peer, session = await bench.with_session()
    link = {"type": "resource_link", "name": "notes.txt", "uri": (bench.workspace / "notes.txt").as_uri()}
    since = peer.mark
    answer = await peer.call(
        "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": bench.prompts.texts[0]}, link]}
    )
    bench.expect_result("PRM-1", "a prompt with a resource_link", answer)
    await Prompted(peer, session, 0, since).ended(bench)


@check("prompt.again", "PRM-8", "MSG-1", "TCL-1", "TRM-2", "P-33", "T-23")
async def again(bench: Bench) -> None:
    """A session takes one prompt after another, and no id of a message or a call comes twice."""
    peer, session = await bench.with_session()
    messages: set[str] = set()
    calls: set[str] = set()
    for text in (*bench.prompts.texts, *bench.prompts.texts):
        turn = await prompt(bench, peer, session, text)
        await turn.ended(bench)
        await peer.barrier()
        told = peer.updates(session, since=turn.since)
        ids = {str(update["messageId"]) for update in told if isinstance(update.get("messageId"), str)}
        if messages & ids:
            bench.fail("MSG-1", "messages of a later turn to have ids of their own", sorted(messages & ids))
        messages |= ids
        done = {str(u.get("toolCallId")) for u in told if u.get("status") in ("completed", "failed", "cancelled")}
        if calls & done:
            bench.fail("TCL-1", "tool calls of a later turn to have ids of their own", sorted(calls & done))
        calls |= done


@check("prompt.newlines", "STD-1", "STD-6", "H-01")
async def newlines(bench: Bench) -> None:
    """Line breaks and characters of all planes in a prompt come through."""
    text = "Say this: a\nb\r\nc\u2028d\u0085 \U0001f426 é"
    peer, session = await bench.with_session()
    turn = await prompt(bench, peer, session, text)
    await turn.ended(bench)
    users = [
        update
        for update in peer.updates(session, since=turn.since)
        if update.get("sessionUpdate") in ("user_message", "user_message_chunk")
    ]
    if users and "".join(map(text_of, users)) != text:
        bench.advise("STD-6", f"the reported user_message to say {text!r}", users[0])


@check("prompt.sessions-apart", "SEC-6")
async def sessions_apart(bench: Bench) -> None:
    """Two sessions work at the same time, and cancelling one leaves the other alone."""
    peer, one = await bench.with_session()
    two = await bench.new_session(peer)
    text = bench.prompts.texts[0]
    turns = [await prompt(bench, peer, one, text), await prompt(bench, peer, two, text)]
    peer.notify("session/cancel", {"sessionId": one})
    for turn in turns:
        await turn.ended(bench)
    last = peer.idles(two, turns[1].since)[0]
    if last.get("stopReason") == "cancelled":
        bench.fail("SEC-6", "session/cancel of one session not to cancel another", last)


@check("prompt.usage", "PRM-20", "MSC-4", "P-36")
async def usage(bench: Bench) -> None:
    """Usage is told in numbers, or not at all."""
    peer, session = await bench.with_session()
    turn = await prompt(bench, peer, session, bench.prompts.texts[0])
    idle = await turn.ended(bench)
    counts = idle.get("usage")
    if counts is not None and not (
        isinstance(counts, dict)
        and all(type(counts.get(key)) is int for key in ("totalTokens", "inputTokens", "outputTokens"))
    ):
        bench.fail("PRM-20", "usage with totalTokens, inputTokens and outputTokens", idle)
    for update in peer.updates(session, "usage_update", turn.since):
        if type(update.get("used")) is not int or type(update.get("size")) is not int:
            bench.fail("MSC-4", "numbers in usage_update, or none of it", update)


@check("prompt.unknown-session", "ERR-3", "PRM-3")
async def unknown_session(bench: Bench) -> None:
    """A prompt to nowhere fails, and the agent's own sessions do not notice."""
    peer, session = await bench.with_session()
    answer = await peer.call("session/prompt", text_prompt(f"{session}-other", "Hello."))
    bench.expect_error("ERR-3", "a prompt to an unknown session", answer)
    turn = await prompt(bench, peer, session, bench.prompts.texts[0])
    await turn.ended(bench)


async def _no_trace(bench: Bench, told: list[Json]) -> None:
    users = [update for update in told if str(update.get("sessionUpdate")).startswith("user_message")]
    if users:
        bench.fail("PRM-3", "no user_message for a prompt that was refused", users[0])
