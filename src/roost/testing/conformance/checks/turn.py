"""What the checks of turns share: one prompt from its acceptance to its idle."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from roost.testing.conformance.bench import Bench, text_prompt
from roost.testing.conformance.peer import Json, Peer


class Prompted(Struct):
    """A prompt that was accepted. `since` is where it was sent."""

    peer: Peer
    session: str
    id: int
    since: int

    @property
    def states(self) -> list[str]:
        """`running`, `requires_action`, `idle:end_turn` … since the prompt."""
        out = []
        for update in self.peer.updates(self.session, "state_update", self.since):
            reason = f":{update['stopReason']}" if "stopReason" in update else ""
            out.append(f"{update.get('state')}{reason}")
        return out

    async def running(self, bench: Bench) -> None:
        await self.peer.until(
            lambda: any(not state.startswith("idle") for state in self.states),
            "running after the prompt was accepted (PRM-6)",
            bench.patience.answer_timeout,
        )

    async def ended(self, bench: Bench, wait: float | None = None, count: int = 1) -> Json:
        """The idle that ended it."""
        idles = await self.peer.until(
            lambda: len(found := self.peer.idles(self.session, self.since)) >= count and found,
            "the turn to end with idle (PRM-8)",
            bench.patience.turn_timeout if wait is None else wait,
        )
        return idles[count - 1]  # type: ignore[no-any-return]


def send(peer: Peer, session: str, text: str) -> Prompted:
    """A prompt that was only sent."""
    since = peer.mark
    return Prompted(peer, session, peer.request("session/prompt", text_prompt(session, text)), since)


async def prompt(bench: Bench, peer: Peer, session: str, text: str) -> Prompted:
    """A prompt that was accepted."""
    sent = send(peer, session, text)
    bench.expect_result("PRM-3", "session/prompt", await peer.answer(sent.id, "session/prompt"))
    return sent


def text_of(update: Json) -> str:
    """The text of a message update or chunk."""
    content: Any = update.get("content")
    blocks = content if isinstance(content, list) else [content]
    return "".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))
