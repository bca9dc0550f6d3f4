"""One run from the inside: what a process or a terminal cannot be made to do in a test."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any, cast

import pytest

from roost.cli import attach, errand, interrupts
from roost.cli.configuration import wanted
from roost.cli.errand import Errand, Order, status_of
from roost.cli.keyboard import Keyboard
from roost.cli.output import Output
from roost.cli.permission import Policy
from roost.cli.screen import Screen
from roost.cli.status import ExitStatus, Failure
from roost.cli.view import TextView
from roost.host.turn import TurnOutcome
from tests.cli.paper import Paper
from tests.cli.rig import scripted


class SilentKeyboard:
    """A terminal at which nobody sits."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.shown = ""
        self.asked = asyncio.Event()

    def write(self, text: str) -> None:
        self.shown += text

    async def ask(self, prompt: str) -> str | None:
        self.asked.set()
        return await asyncio.get_running_loop().create_future()


def make(prompt: str, tmp_path: Path, **options: Any) -> tuple[Errand, Paper, SilentKeyboard]:
    paper, keyboard = Paper(), SilentKeyboard()
    settings: dict[str, Any] = {"policy": Policy.ASK, **options}
    order = Order(wanted=wanted(None, None), agent=scripted(), prompt=prompt, cwd=str(tmp_path), env={}, **settings)
    view = TextView(Screen(cast(Output, paper)), str(tmp_path), asks=True)
    return Errand(order, view, cast(Keyboard, keyboard)), paper, keyboard


async def test_a_question_nobody_answers_in_time_is_a_no_and_the_turn_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(attach, "_PATIENT_CALLBACK_TIMEOUT", 1.1)
    monkeypatch.setattr(errand, "_ANSWER_MARGIN", 1.0)
    made, paper, keyboard = make("story", tmp_path)
    assert await made.run() is ExitStatus.ENDED
    assert "? Run the tests" in keyboard.shown
    assert "-> No [reject_once] (nobody)" in paper.text
    assert "You chose no-1." in paper.text
    assert "no answer within 0.1 s; that is a no" in capsys.readouterr().err


async def test_leaving_in_a_question_leaves_nothing_waiting(tmp_path: Path) -> None:
    made, _, keyboard = make("story", tmp_path)
    running = asyncio.create_task(made.run())
    await asyncio.wait_for(keyboard.asked.wait(), 15)
    signal.raise_signal(signal.SIGHUP)
    with pytest.raises(Failure, match="stopped by SIGHUP") as failed:
        await running
    assert failed.value.exit_code == 3
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_turn_we_cut_short_is_not_ended_whatever_the_agent_says(tmp_path: Path) -> None:
    made, paper, _ = make("wait-and-end", tmp_path, policy=Policy.DENY, timeout=3.0)
    assert await made.run() is ExitStatus.CUT_SHORT
    assert "Turn ended: end_turn" in paper.text


async def test_an_agent_that_does_not_end_a_cancelled_turn_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errand, "_CANCEL_PATIENCE", 0.1)
    made, _, _ = make("wedge", tmp_path, timeout=0.3)
    with pytest.raises(Failure, match="the time was up"):
        await made.run()


async def test_signals_are_counted_and_their_handlers_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)]
    heard: list[tuple[int, int]] = []
    with interrupts.interrupts(lambda number, count: heard.append((number, count))):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)
    assert heard == [(signal.SIGINT, 1), (signal.SIGINT, 2)]
    after = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)]
    assert after == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("reason", "status"), [("end_turn", 0), (None, 0), ("refusal", 3), ("max_tokens", 3), ("_x", 3)]
)
def test_only_a_turn_that_ended_of_itself_counts(reason: str | None, status: int) -> None:
    assert status_of(TurnOutcome(reason)) == status
