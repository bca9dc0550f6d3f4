"""Permissions: nothing but a chosen option that allows is consent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from roost.testing.conformance.bench import Bench, Skip, allow, leave_open, reject, selected
from roost.testing.conformance.checks.turn import Prompted, prompt
from roost.testing.conformance.peer import Json
from roost.testing.conformance.registry import check


async def _asked(bench: Bench, answer: Callable[[Json], Json]) -> tuple[Prompted, list[Json]]:
    """A turn whose permissions are answered so, at its end; and what was asked."""
    if bench.prompts.asks is None:
        raise Skip("no prompt is known that asks a permission (--asks TEXT)")
    peer, session = await bench.with_session()
    asked: list[Json] = []

    def reply(request: Json) -> Json:
        asked.append(request)
        return answer(request)

    peer.answers["session/request_permission"] = reply
    turn = await prompt(bench, peer, session, bench.prompts.asks)
    await turn.ended(bench)
    await peer.barrier()
    if not asked:
        raise Skip("the prompt asked no permission")
    return turn, asked


def _expect_undone(bench: Bench, turn: Prompted, asked: list[Json], answer: str) -> None:
    """What was asked for has not happened, as far as can be seen."""
    if bench.prompts.done is not None and bench.prompts.done(bench.workspace):
        bench.fail("PER-5", f"what was asked for not to be done after {answer}", asked[0])
    calls = _subject_calls(asked)
    for update in turn.peer.updates(turn.session, "tool_call_update", turn.since):
        if update.get("toolCallId") in calls and update.get("status") == "completed":
            bench.fail("PER-5", f"the tool call not to be completed after {answer}", update)
    for terminal in _subject_terminals(asked):
        for update in turn.peer.updates(turn.session, "terminal_output_chunk", turn.since):
            if update.get("terminalId") == terminal:
                bench.fail("PER-5", f"the command not to run after {answer}", update)


def _always(body: Json, request: Json) -> Json:
    return body


def _subjects(asked: list[Json]) -> list[Json]:
    params = [request.get("params") for request in asked]
    return [p["subject"] for p in params if isinstance(p, dict) and isinstance(p.get("subject"), dict)]


def _subject_calls(asked: list[Json]) -> set[Any]:
    calls = set()
    for subject in _subjects(asked):
        call = subject.get("toolCall")
        calls.add(call.get("toolCallId") if isinstance(call, dict) else subject.get("toolCallId"))
    return calls - {None}


def _subject_terminals(asked: list[Json]) -> set[Any]:
    return {subject.get("terminalId") for subject in _subjects(asked)} - {None}


@check("permission.allowed", "PER-5", "PER-1", "R-01")
async def allowed(bench: Bench) -> None:
    """A permission that is given is used, and the turn comes to its end."""
    turn, asked = await _asked(bench, allow)
    if bench.prompts.done is not None and not bench.prompts.done(bench.workspace):
        bench.advise("PER-5", "what was asked for to be done when it is allowed", asked[0])
    if "requires_action" not in turn.states:
        bench.advise("PRM-7", "requires_action while a permission is open", turn.states)


@check("permission.rejected", "PER-5", "R-02")
async def rejected(bench: Bench) -> None:
    """A reject is no approval, though it is a selected option."""
    turn, asked = await _asked(bench, reject)
    _expect_undone(bench, turn, asked, "a reject option was selected")


@check("permission.not-offered", "PER-5", "R-03")
async def not_offered(bench: Bench) -> None:
    """An option nobody offered is no approval, even by the name of a kind."""
    for option in ("roost-check-none", "allow_once", ""):
        offered: set[str] = set()

        def answer(request: Json, option: str = option, offered: set[str] = offered) -> Json:
            params = request.get("params")
            listed = params.get("options") if isinstance(params, dict) else None
            offered.update(str(one.get("optionId")) for one in listed or () if isinstance(one, dict))
            return reject(request) if option in offered else selected(option)

        turn, asked = await _asked(bench, answer)
        if option not in offered:
            _expect_undone(bench, turn, asked, f"option {option!r}, never offered, was selected")


@check("permission.other-answers", "PER-5", "FWD-9", "CAN-13", "R-04")
async def other_answers(bench: Bench) -> None:
    """Cancelled, an unknown outcome, garbage and an error are no approval."""
    answers: list[tuple[str, Json]] = [
        ("the outcome cancelled", {"result": {"outcome": {"outcome": "cancelled"}}}),
        ("an unknown outcome", {"result": {"outcome": {"outcome": "_later", "optionId": "allow"}}}),
        ("an empty result", {"result": {}}),
        ("an error", {"error": {"code": -32603, "message": "Internal error"}}),
        ("error -32800", {"error": {"code": -32800, "message": "Request cancelled"}}),
    ]
    for what, body in answers:
        turn, asked = await _asked(bench, partial(_always, body))
        _expect_undone(bench, turn, asked, what)


@check("permission.disconnected", "PER-5", "STD-5", "R-11")
async def disconnected(bench: Bench) -> None:
    """An agent left alone with an open permission exits, and does not do what it asked for."""
    if bench.prompts.asks is None:
        raise Skip("no prompt is known that asks a permission (--asks TEXT)")
    peer, session = await bench.with_session()
    peer.answers["session/request_permission"] = leave_open
    await prompt(bench, peer, session, bench.prompts.asks)
    await peer.until(lambda: peer.asked, "a permission to be asked", bench.patience.turn_timeout)
    await peer.exit()
    if bench.prompts.done is not None and bench.prompts.done(bench.workspace):
        bench.fail("PER-5", "what was asked for not to be done when the client has gone", peer.asked[0])
