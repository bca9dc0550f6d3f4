"""Channels of whole messages inside one program."""

from __future__ import annotations

import asyncio

from roost.transport.messages import MessageChannel, message_pair


class Ear:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.events: list[str] = []
        self.error: Exception | None = None

    def received(self, messages: list[bytes]) -> None:
        self.heard += messages

    def overflowed(self, count: int, limit: int) -> None:
        self.events.append(f"overflowed {count} {limit}")

    def congested(self) -> None:
        self.events.append("congested")

    def eased(self) -> None:
        self.events.append("eased")

    def ended(self) -> None:
        self.events.append("ended")

    def closed(self, error: Exception | None) -> None:
        self.events.append("closed")
        self.error = error


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def opened(high_water: int = 1000) -> tuple[MessageChannel, Ear, MessageChannel, Ear]:
    one, two = message_pair(high_water=high_water)
    first, second = Ear(), Ear()
    one.open(first)
    two.open(second)
    return one, first, two, second


async def test_what_is_sent_arrives_later_and_in_order() -> None:
    one, first, two, second = opened()
    one.send([b"a", b"b"])
    one.send([b"c"])
    two.send([b"x"])
    assert second.heard == []
    await turns()
    assert (first.heard, second.heard) == ([b"x"], [b"a", b"b", b"c"])


async def test_what_came_before_anybody_listened_is_not_lost() -> None:
    one, two = message_pair()
    one.send([b"early"])
    await turns()
    ear = Ear()
    two.open(ear)
    await turns()
    assert ear.heard == [b"early"]


async def test_a_reader_that_pauses_congests_the_sender_until_it_reads_again() -> None:
    one, first, two, second = opened(high_water=100)
    two.pause_reading()
    one.send([b"x" * 60])
    assert (first.events, one.queued) == ([], 60)
    one.send([b"x" * 60])
    assert (first.events, one.queued) == (["congested"], 120)
    await turns()
    assert second.heard == []
    two.resume_reading()
    await turns()
    assert (len(second.heard), first.events, one.queued) == (2, ["congested", "eased"], 0)


async def test_the_end_follows_what_was_sent() -> None:
    one, first, two, second = opened()
    one.send([b"last"])
    one.close()
    one.close()
    one.send([b"too late"])
    two.send([b"nobody hears"])
    await turns()
    assert (second.heard, second.events, second.error) == ([b"last"], ["ended", "closed"], None)
    assert (first.heard, first.events) == ([], ["closed"])


async def test_a_reader_that_pauses_hears_of_the_end_after_the_rest() -> None:
    one, _, two, second = opened()
    two.pause_reading()
    one.send([b"last"])
    one.abort()
    await turns()
    assert second.events == []
    two.resume_reading()
    await turns()
    assert (second.heard, second.events) == ([b"last"], ["ended", "closed"])
