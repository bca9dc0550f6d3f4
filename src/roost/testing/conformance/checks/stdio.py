"""The end of a connection over stdio."""

from __future__ import annotations

from roost.testing.conformance.bench import SHOULD, Bench, Skip
from roost.testing.conformance.checks.turn import prompt
from roost.testing.conformance.registry import check


@check("stdio.exit", "STD-5", "H-04")
async def exits(bench: Bench) -> None:
    """The end of its input ends the agent, before initialize and after."""
    await (await bench.start()).exit()
    peer = await bench.ready()
    code = await peer.exit()
    if code != 0:
        bench.advise("STD-5", "exit status 0 after the end of the input", f"exit status {code}")


@check("stdio.exit-working", "STD-5", "H-04")
async def exits_while_working(bench: Bench) -> None:
    """The end of its input ends the agent in the middle of a turn too."""
    if bench.prompts.slow is None:
        raise Skip("no slow prompt is known (--slow TEXT)")
    peer, session = await bench.with_session()
    turn = await prompt(bench, peer, session, bench.prompts.slow)
    await turn.running(bench)
    await peer.quiet()
    await peer.exit()


@check("stdio.flush", "ENV-18", "E-18", level=SHOULD)
async def answers_are_flushed(bench: Bench) -> None:
    """A request that was there before the end of the input is still answered."""
    peer = await bench.ready()
    id = peer.request("_acme/last", {})
    await peer.exit()
    if not peer.responses(id):
        bench.fail("ENV-18", "the answer to a request sent before the end of the input", "nothing")
