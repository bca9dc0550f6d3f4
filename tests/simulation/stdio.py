"""What agents write and what they are told, line by line: each question of theirs is answered once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from tests.simulation import invariants
from tests.simulation.accounts import Heard
from tests.simulation.voice import TurnOver, key_of

if TYPE_CHECKING:
    from tests.simulation.ledger import Ledger
    from tests.simulation.process import Process
    from tests.simulation.world import World

ATTACHING = frozenset(("session/new", "session/load", "session/resume"))
CONSENT = frozenset(("yes", "always-yes", "allow_once", "allow_always", "once", "always"))


class Stdio:
    """The ledger's account of it."""

    def __init__(self, ledger: Ledger, world: World) -> None:
        self._ledger = ledger
        self._world = world
        self.stderr: tuple[str, bytes] = ("", b"")

    def agent_is_heard(self, process: Process, count: int) -> None:
        """Bytes of stdout are about to be told to the engine."""
        heard = self._ledger.processes[process.name]
        self._ledger.is_bridged(process.name)
        heard.heard += count
        if process.name in invariants.held_up(self._world):
            link = self._world.engine._context.links.get(process.name)
            if link is not None and link.brake.doomed:
                heard.last_words += count
        self._move_on(process, heard, heard.heard)

    def agent_is_gone(self, process: Process) -> None:
        """Its end is about to be told: a last line without its newline counts."""
        heard = self._ledger.processes[process.name]
        self._move_on(process, heard, heard.heard + 1)

    def _move_on(self, process: Process, heard: Heard, offset: int, *, given_up: bool = False) -> None:
        heard.before, marks = heard.number, process.brain.marks
        while marks and marks[0][0] <= offset:
            mark = marks.popleft()[1]
            if heard.forgotten and not given_up:
                continue
            if isinstance(mark, int):
                heard.number = mark
                self._ledger.touched[process.name] = None
            elif isinstance(mark, TurnOver):
                self._ledger.serving.turn_over(process.name)
            else:
                heard.owed[mark.key] += 1
                heard.asked.setdefault(mark.key, set()).add(mark.name)

    def stderr_is_heard(self, process: Process, chunk: bytes) -> None:
        self.stderr = (process.name, chunk)

    def stderr_was_heard(self, process: Process, chunk: bytes) -> None:
        self.stderr = ("", b"")

    def agent_was_told(self, process: Process, line: bytes) -> None:
        """One line on its stdin."""
        self._world.trace("  %s is told %.300r", process, line)
        if not line.endswith(b"\n"):
            self._ledger.violated(f"{process}: half a line was written: {line!r}")
        try:
            message = msgspec.json.decode(line)
        except ValueError as error:
            self._ledger.violated(f"{process}: what was written is no JSON ({error}): {line!r}")
            return
        heard = self._ledger.processes[process.name]
        link = self._world.engine._context.links.get(process.name)
        if (link is None or link.gone) and not process.reported:  # given up: half a line of its counts, as at an end
            self._move_on(process, heard, heard.heard + len(b" \r\n"), given_up=True)
        for part in message if isinstance(message, list) else [message]:
            if "method" in part:
                self._agent_was_asked(process, heard, part)
            else:
                self._agent_was_answered(process, heard, part)

    def _agent_was_asked(self, process: Process, heard: Heard, message: dict[str, Any]) -> None:
        params = message.get("params") or {}
        by = params.get("by", process.owner)
        self._ledger.require(by == process.owner, f"{process} of {process.owner} was told something by {by}: {message}")
        if message["method"] in ATTACHING and not heard.told & ATTACHING:
            self._is_asked_for_a_session(process, heard, message["method"])
        heard.told.add(message["method"])
        if message["method"] == "session/prompt":
            self._ledger.serving.prompted(process.name)
        elif message["method"] == "session/cancel":
            self._ledger.serving.cancelled(process.name)
        store, mark = self._world.store, params.get("mark")
        if store is not None and mark is not None and self._is_kept(process.name):
            self._ledger.require(
                mark in store.durable_prompts, f"{process} was told prompt {mark}, which is not durable"
            )
        if "id" in message:
            self._ledger.require(message["id"] != heard.last_call, f"{process}: call {message['id']} is not new")
            heard.last_call = message["id"]

    def _is_asked_for_a_session(self, process: Process, heard: Heard, method: str) -> None:
        """For the first time; what its quirks want comes before, or instead."""
        quirks, offered = process.quirks, process.temper.offers_login
        if quirks.authenticate and process.has_key and offered and "lying" not in process.temper.vices:
            logged_in = heard.told & {"authenticate", "auth/login"}
            self._ledger.require(logged_in, f"{process} was asked for a session without the login that it wants")
        if quirks.resume == "transcript":
            self._ledger.require(
                method == "session/new", f"{process} was asked to {method}, which it is known not to do well"
            )

    def agent_is_asked_to_end(self, process: Process) -> None:
        """By a SIGTERM; who has had a session had the time that its quirks give it."""
        grace, waited = process.quirks.input_close_grace, self._world.loop.now - process.input_closed_at
        if grace is not None and self._ledger.processes[process.name].opened:  # else its start is given up
            in_time = not process.input_open and waited > grace - 0.001
            self._ledger.require(in_time, f"{process} has {grace:g} s to end, and was signalled after {waited:g} s")

    def _is_kept(self, process: str) -> bool:
        sessions = self._world.engine._context.sessions
        return any(session.journal is not None for session in sessions if session.link.process == process)

    def _agent_was_answered(self, process: Process, heard: Heard, message: dict[str, Any]) -> None:
        key = key_of(message["id"])
        if heard.owed[key] <= 0:
            self._ledger.violated(f"{process}: an answer to no open question of its: {message}")
            return
        heard.owed[key] -= 1
        result = message.get("result")
        if not isinstance(result, dict):
            return
        outcome = result.get("outcome")
        if isinstance(outcome, dict) and outcome.get("optionId") in CONSENT:
            self._ledger.require(
                heard.asked[key] & self._ledger.allowed, f"{process}: consent to {heard.asked[key]}, which nobody gave"
            )
        by = result.get("from", process.owner)
        self._ledger.require(by == process.owner, f"{process} of {process.owner} was answered by {by}")
