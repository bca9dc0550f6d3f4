"""However an agent's output is cut, and whichever path it comes by, everybody sees the same."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, example, given, settings

from tests.sidecar.embedded import EmbeddedRig
from tests.sidecar.plays import LINE_LIMIT, Player, cutter, cuttings, plays, quiet, staged
from tests.sidecar.rig import Rig

many = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def performed(rig: Rig, play: list[Any], **options: Any) -> Any:
    player = Player(staged(rig), **options)
    player.perform(play)
    return player.seen()


@many
@given(play=plays, cuts=cuttings)
@example(play=[("prompt", 0), ("cancel", 0), ("print", 0, ["answer", "chunk", "vendor"])], cuts=[7])
@example(play=[("prompt", 0), ("print", 0, ["chunk", "long", "answer", "chunk"])], cuts=[200])
@example(play=[("prompt", 0), ("print", 0, ["batch", "answer", "half"]), ("exit", 0, 1)], cuts=[1])
def test_any_chunking_of_an_agents_output_tells_the_same(play: list[Any], cuts: list[int]) -> None:
    whole = performed(Rig(quiet, line_bytes=LINE_LIMIT), play)
    rig = Rig(quiet, line_bytes=LINE_LIMIT)
    rig.cut = cutter(cuts)
    assert performed(rig, play) == whole


@many
@given(play=plays, cuts=cuttings)
def test_the_resumable_path_and_the_drivers_path_tell_the_same(play: list[Any], cuts: list[int]) -> None:
    rig = Rig(quiet, line_bytes=LINE_LIMIT)
    rig.pids = None
    embedded = EmbeddedRig(quiet, cutter(cuts), line_bytes=LINE_LIMIT)
    assert performed(embedded, play, one_at_a_time=True) == performed(rig, play, one_at_a_time=True)
    assert embedded.resumable.pending == 0
