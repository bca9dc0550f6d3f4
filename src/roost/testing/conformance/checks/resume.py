"""session/resume: with and without a replay."""

from __future__ import annotations

from typing import Any

from roost.testing.conformance.bench import (
    INVALID_PARAMS,
    NOT_FOUND,
    SHOULD,
    Bench,
    text_prompt,
)
from roost.testing.conformance.checks.turn import prompt
from roost.testing.conformance.peer import Json, Peer
from roost.testing.conformance.registry import check

_HISTORY = ("user_message", "agent_message", "agent_thought", "tool_call", "plan", "terminal")


async def _after_a_turn(bench: Bench) -> tuple[Peer, str, list[Json]]:
    """An agent with a session that had a turn and was closed; and what the turn told."""
    peer, session = await bench.with_session()
    since = peer.mark
    answer = await peer.call("session/prompt", text_prompt(session, bench.prompts.texts[0]))
    bench.expect_result("PRM-3", "session/prompt", answer)
    await peer.until(
        lambda: peer.idles(session, since), "the turn to end with idle (PRM-8)", bench.patience.turn_timeout
    )
    await peer.barrier()
    told = peer.updates(session, since=since)
    bench.expect_result("SES-26", "session/close", await peer.call("session/close", {"sessionId": session}))
    await peer.quiet()
    return peer, session, told


async def _resume(bench: Bench, peer: Peer, session: str, **more: Any) -> tuple[Json, list[Json]]:
    """The answer, and the history told before it."""
    since = peer.mark
    params = {"sessionId": session, "cwd": str(bench.workspace), **more}
    id = peer.request("session/resume", params)
    answer = await peer.answer(id, "session/resume", bench.patience.turn_timeout)
    told = peer.updates(session, since=since, before=answer)
    return answer, [update for update in told if str(update.get("sessionUpdate")).startswith(_HISTORY)]


def _messages(updates: list[Json], kind: str) -> list[str]:
    """The ids of messages of a kind, in order, each once."""
    ids = [
        str(update.get("messageId"))
        for update in updates
        if update.get("sessionUpdate") in (kind, f"{kind}_chunk")
    ]  # fmt: skip
    return list(dict.fromkeys(ids))


@check("resume.plain", "SES-17", "SES-27", "S-16", "S-20", "S-29")
async def without_a_replay(bench: Bench) -> None:
    """A session resumed without replayFrom, or with null, tells no history before the answer."""
    peer, session, _ = await _after_a_turn(bench)
    variants: list[Json] = [{}, {"replayFrom": None}]
    for more in variants:
        answer, history = await _resume(bench, peer, session, **more)
        bench.expect_result("SES-27", "session/resume of a closed session", answer)
        if history:
            bench.fail("SES-17", f"no history before the answer to session/resume with {more}", history[0])
        await peer.call("session/close", {"sessionId": session})


@check("resume.replay", "SES-17", "S-17")
async def with_a_replay(bench: Bench) -> None:
    """A replay tells the whole conversation, and is answered after it."""
    peer, session, told = await _after_a_turn(bench)
    answer, history = await _resume(bench, peer, session, replayFrom={"type": "start"})
    bench.expect_result("SES-17", "session/resume with a replay", answer)
    for kind, who in (("user_message", "the user's message"), ("agent_message", "the agent's messages")):
        live, again = _messages(told, kind), _messages(history, kind)
        if live and not again:
            bench.fail("SES-17", f"{who} before the answer to a resume with replay", history[:3])
        elif live != again:
            bench.advise("SES-18", f"{who} under the same ids as in the live session: {live}", again)
    if [u for u in history if u.get("sessionUpdate") == "state_update" and u.get("state") == "requires_action"]:
        bench.advise("SES-19", "no requires_action of the past in a replay", history)


@check("resume.tools", "SES-19", "S-19", level=SHOULD)
async def tools_in_a_replay(bench: Bench) -> None:
    """A replay has the tool calls, plans and terminals there were."""
    peer, session = await bench.with_session()
    since = peer.mark
    for text in bench.prompts.texts:
        await (await prompt(bench, peer, session, text)).ended(bench)
    told = peer.updates(session, since=since)
    await peer.call("session/close", {"sessionId": session})
    answer, history = await _resume(bench, peer, session, replayFrom={"type": "start"})
    bench.expect_result("SES-17", "session/resume with a replay", answer)
    for kind, key in (("tool_call_update", "toolCallId"), ("terminal_update", "terminalId")):
        live = {update.get(key) for update in told if update.get("sessionUpdate") == kind}
        again = {update.get(key) for update in history if update.get("sessionUpdate") == kind}
        if live - again:
            bench.fail("SES-19", f"every {kind} of the live session in the replay", sorted(map(str, live - again)))
    titles = {u.get("toolCallId") for u in history if u.get("sessionUpdate") == "tool_call_update" and u.get("title")}
    calls = {u.get("toolCallId") for u in history if u.get("sessionUpdate") == "tool_call_update"}
    if calls - titles:
        bench.fail("SES-19", "every replayed tool call with its title", sorted(map(str, calls - titles)))


@check("resume.unknown", "ERR-3", "S-22")
async def unknown(bench: Bench) -> None:
    """A session nobody knows cannot be resumed."""
    bench.need_sessions()
    peer = await bench.ready()
    params = {"sessionId": "roost-check-no-such-session", "cwd": str(bench.workspace)}
    variants: list[Json] = [params, {**params, "replayFrom": {"type": "start"}}]
    for one in variants:
        answer = await peer.call("session/resume", one)
        bench.expect_error(
            "ERR-3", "resuming an unknown session", answer, NOT_FOUND, INVALID_PARAMS, code_level=SHOULD
        )  # fmt: skip


@check("resume.strange-cursor", "SES-20", "S-21", level=SHOULD)
async def strange_cursor(bench: Bench) -> None:
    """A replay from a place of an unknown kind is refused."""
    peer, session, _ = await _after_a_turn(bench)
    answer, _ = await _resume(bench, peer, session, replayFrom={"type": "_roost/nowhere"})
    bench.expect_error("SES-20", "replayFrom of an unknown type", answer, INVALID_PARAMS)


@check("resume.elsewhere", "SES-21", "SES-6", "S-23", level=SHOULD)
async def elsewhere(bench: Bench) -> None:
    """A session is not resumed in another directory."""
    peer, session, _ = await _after_a_turn(bench)
    answer, _ = await _resume(bench, peer, session, cwd=str(bench.workspace.parent))
    bench.expect_error("SES-21", "session/resume with another cwd", answer, INVALID_PARAMS)


@check("resume.active", "SES-23")
async def active(bench: Bench) -> None:
    """Resuming a session that is active does no harm."""
    peer, session = await bench.with_session()
    answer, _ = await _resume(bench, peer, session)
    if "error" in answer:
        bench.advise("SES-23", "an active session to be resumed", answer)
    since = peer.mark
    bench.expect_result(
        "SES-23",
        "a prompt after resuming an active session",
        await peer.call("session/prompt", text_prompt(session, bench.prompts.texts[0])),
    )
    await peer.until(lambda: peer.idles(session, since), "the turn to end with idle", bench.patience.turn_timeout)
    await peer.barrier()
    if len(peer.idles(session, since)) != 1:
        bench.fail("SES-23", "one end of one turn after resuming an active session", peer.idles(session, since))
