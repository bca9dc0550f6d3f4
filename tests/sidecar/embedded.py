"""The same rig on the resumable path: one step after the other, agent output cut anywhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from roost.sidecar import commands, events
from roost.sidecar.gen.messages import AcpDeliverAgentOutputRequest, AcpPendingResponse, AcpRequest, AcpResponse
from roost.sidecar.resumable import Completed, Resumable, Step
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json


class EmbeddedRig(Rig):
    """A host that cannot wait. `cut` says how a chunk of output is delivered; `pid`s are unknown here."""

    def __init__(
        self,
        script: Callable[[Agent, Json], bool | None] | None = None,
        cut: Callable[[bytes], list[bytes]] = lambda chunk: [chunk],
        **limits: Any,
    ) -> None:
        self.answers: list[AcpResponse] = []  # what each request and each Deliver was answered with, Pending included
        self._numbers: dict[int, int] = {}
        super().__init__(script, **limits)
        self.cut = cut

    @cached_property
    def resumable(self) -> Resumable:
        """A rig with a journal tells of it before it is whole."""
        return Resumable(self.engine, self.look_up)

    def send(self, connection: int, payload: AcpRequest) -> int:
        self._requests += 1
        number = self._requests
        self._unanswered.add((connection, number))
        self._queue(lambda: self._request(connection, number, payload))
        return number

    def deliver(self, connection: int, process: str, chunk: bytes) -> AcpResponse:
        """A Deliver whose answer is looked at."""
        count = len(self.answers)
        self._queue(lambda: self._step(self.resumable.request(connection, deliver(process, chunk), self.now)))
        return self.answers[count]

    def feed(self, event: events.Event) -> None:
        self._queue(lambda: self._tell(event))

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while (deadline := self.resumable.next_deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self._queue(lambda: self._step(self.resumable.expire(self.now)))
        self.now = end

    # ---- one thing after the other

    def _queue(self, action: Callable[[], None]) -> None:
        self._pending.append(action)
        if self._working:
            return
        self._working = True
        try:
            while self._pending:
                self._pending.popleft()()
        finally:
            self._working = False

    def _follow(self, event: events.Event) -> None:
        if not isinstance(event, events.AgentStarted):  # the adapter takes it for granted
            self.feed(event)

    def _request(self, connection: int, number: int, payload: AcpRequest) -> None:
        # Numbers of the adapter and of the rig go side by side, but for refused requests.
        expected = self.resumable._last_request + 1
        self._numbers[expected] = number
        step = self.resumable.request(connection, payload, self.now)
        if step.request == 0 and step.response is not None:
            self._answered(connection, number, step.response)
        self._step(step)

    def _tell(self, event: events.Event) -> None:
        if not isinstance(event, events.AgentWrote):
            self._step(self.resumable.tell(event, self.now))
            return
        for chunk in self.cut(event.chunk):
            owner = next((e.connection for e in self.resumable._exchanges.values() if e.process == event.process), None)
            if owner is None or self.engine.caller_of(owner) is None:
                self._step(self.resumable.tell(events.AgentWrote(event.process, chunk), self.now))
            else:
                self._step(self.resumable.request(owner, deliver(event.process, chunk), self.now))

    def _step(self, step: Step) -> None:
        if step.response is not None:
            self.answers.append(step.response)
        for told in step.told:
            if isinstance(told, Completed):
                assert not isinstance(told.response, AcpPendingResponse)
                self._answered(told.connection, self._numbers[told.request], told.response)
            else:
                self._do(told)
        for command in step.commands:
            self._do(command)

    def _answered(self, connection: int, number: int, response: AcpResponse) -> None:
        self._do(commands.Reply(connection, number, response))


def deliver(process: str, chunk: bytes) -> AcpDeliverAgentOutputRequest:
    return AcpDeliverAgentOutputRequest(process, chunk)
