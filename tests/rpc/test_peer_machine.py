"""Two peers back to back, and everything they may do to each other in any order.

The wire between them is a queue each way that delivers when a rule says so; answers, withdrawals and the end cross in
every way. Peers never originate batches, so the wire sometimes joins waiting messages into one. A third party writes
requests of its own into the queues, with ids the peers do not use; the answers reach the other peer, which finds them
Unmatched, and there we count them.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from msgspec import Raw

from roost.errors import ConnectionClosed, LocalProtocolError, RpcError
from roost.rpc.messages import REQUEST_CANCELLED, peek
from roost.rpc.peer import Answered, Called, Failed, Malformed, Notified, Peer, PeerEvent, Unmatched, Withdrawn

THIRD_PARTY_IDS = ['"1"', "null", '""', "-7", "0", "9223372036854775807", '"\\u0031"', '"é"']
sides = st.integers(0, 1)


class Side:
    """A peer, what is on its way to it, and what we know of both."""

    def __init__(self) -> None:
        self.peer = Peer()
        self.inbox: deque[bytes] = deque()
        self.calls: list[int] = []
        self.outcomes: Counter[int] = Counter()
        self.withdrawn: set[int] = set()
        self.forgotten: set[int] = set()
        self.open: dict[int, Called] = {}
        self.done: list[int] = []
        self.told_withdrawn: set[int] = set()
        self.heard: list[int] = []
        self.owed: Counter[bytes] = Counter()  # to the third party, by raw id
        self.ended = False


class TwoPeers(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.sides = (Side(), Side())
        self.paid: tuple[Counter[bytes], Counter[bytes]] = (Counter(), Counter())
        self.told = 0

    @rule(at=sides, params=st.sampled_from([None, b"{}", b'{"text":\n"\\n"}']))
    def call(self, at: int, params: bytes | None) -> None:
        side = self.sides[at]
        if side.ended:
            with pytest.raises(ConnectionClosed):
                side.peer.call("ask", params)
        else:
            side.calls.append(side.peer.call("ask", params))
            assert side.calls == sorted(set(side.calls))
        self.flush(at)

    @rule(at=sides)
    def notify(self, at: int) -> None:
        if not self.sides[at].ended:
            self.told += 1
            self.sides[at].peer.notify("tell", b'{"n":%d}' % self.told)
            self.flush(at)

    @rule(at=sides, data=st.data(), times=st.integers(1, 2))
    @precondition(lambda self: any(side.calls for side in self.sides))
    def withdraw(self, at: int, data: st.DataObject, times: int) -> None:
        side = self.sides[at]
        if side.calls:
            call = data.draw(st.sampled_from(side.calls))
            wanted = not (side.outcomes[call] or call in side.withdrawn | side.forgotten)
            for _ in range(times):
                side.peer.withdraw(call)
            assert self.flush(at) == wanted
            side.withdrawn.add(call)

    @rule(at=sides, data=st.data())
    @precondition(lambda self: any(side.calls for side in self.sides))
    def forget(self, at: int, data: st.DataObject) -> None:
        side = self.sides[at]
        if side.calls:
            call = data.draw(st.sampled_from(side.calls))
            side.peer.forget(call)
            if not side.outcomes[call]:
                side.forgotten.add(call)

    @rule(at=sides, data=st.data(), failing=st.booleans())
    @precondition(lambda self: any(side.open for side in self.sides))
    def respond(self, at: int, data: st.DataObject, failing: bool) -> None:
        if self.sides[at].open:
            self.answer(at, data.draw(st.sampled_from(sorted(self.sides[at].open))), failing)

    @rule(at=sides, data=st.data())
    @precondition(lambda self: any(side.done for side in self.sides))
    def respond_again(self, at: int, data: st.DataObject) -> None:
        side = self.sides[at]
        if side.done:
            with pytest.raises(ConnectionClosed if side.ended else LocalProtocolError):
                side.peer.answer(data.draw(st.sampled_from(side.done)), b"{}")
            assert self.flush(at) == 0

    @rule(at=sides, joined=st.booleans(), count=st.integers(1, 4))
    @precondition(lambda self: any(side.inbox for side in self.sides))
    def deliver(self, at: int, joined: bool, count: int) -> None:
        inbox = self.sides[at].inbox
        items = [inbox.popleft() for _ in range(min(count, len(inbox)))]
        if joined and items and not any(item.startswith(b"[") for item in items):
            items = [b"[" + b", ".join(items) + b"]"]
        for item in items:
            self.take(at, self.sides[at].peer.receive(item))
        self.flush(at)

    @rule(at=sides)
    @precondition(lambda self: any(side.inbox for side in self.sides))
    def deliver_a_response_twice(self, at: int) -> None:
        inbox = self.sides[at].inbox
        if inbox and b'"method"' not in inbox[0] and b'"third"' not in inbox[0]:
            inbox.appendleft(inbox[0])

    @rule(at=sides, raw_id=st.sampled_from(THIRD_PARTY_IDS))
    def a_third_party_asks(self, at: int, raw_id: str) -> None:
        self.sides[at].inbox.append(f'{{"jsonrpc":"2.0","id":{raw_id},"method":"third"}}'.encode())

    @rule(at=sides, junk=st.sampled_from([b"", b"{", b"[]", b"{}", b"5", b'{"jsonrpc":"2.0","id":true,"method":"x"}']))
    def a_third_party_talks_nonsense(self, at: int, junk: bytes) -> None:
        side = self.sides[at]
        events = side.peer.receive(junk)
        assert [type(event) for event in events] == ([] if side.ended else [Malformed])
        assert len(side.peer.outgoing()) == len(events)

    @rule(at=sides)
    @precondition(lambda self: all(len(side.calls) > 2 for side in self.sides))  # late, or most runs would be short
    def end(self, at: int) -> None:
        self.finish(at)

    def teardown(self) -> None:
        """Let everything come to rest: each call has had its one outcome, each third-party request its response."""
        while any(side.inbox or (side.open and not side.ended) for side in self.sides):
            for at, side in enumerate(self.sides):
                while side.inbox:
                    self.take(at, side.peer.receive(side.inbox.popleft()))
                    self.flush(at)
                for token in list(side.open):
                    self.answer(at, token, failing=False)
        if not any(side.ended for side in self.sides):
            assert all(side.peer.open_calls == side.peer.open_requests == 0 for side in self.sides)
            assert self.paid == tuple(side.owed for side in self.sides)
        for at, side in enumerate(self.sides):
            assert not self.paid[at] - side.owed
            self.finish(at)
            for call in side.calls:
                assert side.outcomes[call] == (0 if call in side.forgotten else 1), call

    def answer(self, at: int, token: int, failing: bool) -> None:
        side = self.sides[at]
        called = side.open.pop(token)
        side.done.append(token)
        echo = Raw(b'{"%b":%b,"by":%d}' % (called.method.encode(), called.raw_id, at))
        if failing:
            side.peer.fail(token, RpcError(REQUEST_CANCELLED if token in side.told_withdrawn else 5, "no", echo))
        else:
            side.peer.answer(token, echo)
        self.flush(at)

    def finish(self, at: int) -> None:
        side = self.sides[at]
        was_open = side.peer.open_calls
        events = side.peer.end("the stream ended")
        assert len(events) == was_open
        side.ended = True
        side.open.clear()
        self.take(at, events)

    def flush(self, at: int) -> int:
        messages = self.sides[at].peer.outgoing()
        self.sides[1 - at].inbox.extend(messages)
        return len(messages)

    def take(self, at: int, events: Iterable[PeerEvent]) -> None:
        side, other = self.sides[at], self.sides[1 - at]
        for event in events:
            match event:
                case Called():
                    assert event.token not in side.open
                    side.open[event.token] = event
                    if event.method == "third":
                        side.owed[event.raw_id] += 1
                    else:
                        assert int(event.raw_id) in other.calls
                case Notified():
                    assert event.params is not None
                    side.heard.append(json.loads(bytes(event.params))["n"])
                    assert side.heard == sorted(set(side.heard))
                case Withdrawn():
                    assert event.token not in side.told_withdrawn
                    side.told_withdrawn.add(event.token)
                    assert int(side.open[event.token].raw_id) in other.withdrawn
                case Answered() | Failed():
                    assert event.call not in side.forgotten
                    side.outcomes[event.call] += 1
                    assert side.outcomes[event.call] == 1
                    if isinstance(event, Answered):
                        assert json.loads(bytes(event.result)) == {"ask": event.call, "by": 1 - at}
                    elif isinstance(event.error, RpcError):
                        assert event.error.data == {"ask": event.call, "by": 1 - at}
                    else:
                        assert isinstance(event.error, ConnectionClosed)
                        assert side.ended
                case Unmatched():
                    if b'"third"' in event.message:
                        envelope = peek(event.message)
                        assert isinstance(envelope.id, Raw)
                        self.paid[1 - at][bytes(envelope.id)] += 1
                case _:
                    raise AssertionError(event)


TestTwoPeers = TwoPeers.TestCase
TestTwoPeers.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)
