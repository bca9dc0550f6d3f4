"""The simulation notices what it is there to notice: an engine is made to break each rule, and is caught."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from roost.sidecar import commands
from roost.sidecar.gen.messages import AcpErrorResponse, AcpSessionEvent, decode_acp_event
from roost.sidecar.mcp_relay import CutRelay, TellRelay
from tests.simulation.accounts import Violation
from tests.simulation.world import WatchedEngine, run

Commands = list[commands.Command]
Meddler = Callable[[Commands], Commands]

# Schedules until each must have been caught; most are in the first.
PATIENCE = 150


def _dropping(kind: type, every: int = 1) -> Meddler:
    """Every so-many-th command of a kind is not carried out."""
    count = 0

    def meddle(emitted: Commands) -> Commands:
        nonlocal count
        kept = []
        for command in emitted:
            if isinstance(command, kind):
                count += 1
                if count % every == 0:
                    continue
            kept.append(command)
        return kept

    return meddle


def _repeating(kind: type, every: int = 5) -> Meddler:
    count = 0

    def meddle(emitted: Commands) -> Commands:
        nonlocal count
        kept: Commands = []
        for command in emitted:
            kept.append(command)
            if isinstance(command, kind):
                count += 1
                if count % every == 0:
                    kept.append(command)
        return kept

    return meddle


def _is_update(command: commands.Command) -> bool:
    if not isinstance(command, commands.Publish):
        return False
    event = decode_acp_event(command.payload)
    return isinstance(event, AcpSessionEvent) and '"n":' in event.notification


def _swap_updates(emitted: Commands) -> Commands:
    """Two events of a session change places."""
    places = [place for place, command in enumerate(emitted) if _is_update(command)]
    if len(places) > 1:
        first, last = places[0], places[-1]
        emitted[first], emitted[last] = emitted[last], emitted[first]
    return emitted


def _answer_first(emitted: Commands) -> Commands:
    """Answers overtake the events they follow."""
    return sorted(emitted, key=lambda command: not isinstance(command, commands.Reply))


def _to_the_wrong_one(kind: type) -> Meddler:
    """Now and then something goes to the connection before."""
    count = 0

    def meddle(emitted: Commands) -> Commands:
        nonlocal count
        changed = []
        for command in emitted:
            if isinstance(command, kind) and command.connection > 1:  # type: ignore[attr-defined]
                count += 1
                if count % 3 == 0:
                    values = {name: getattr(command, name) for name in command.__struct_fields__}
                    command = kind(**{**values, "connection": values["connection"] - 1})
            changed.append(command)
        return changed

    return meddle


def _say_more_to_strangers(emitted: Commands) -> Commands:
    """A foreign session is told apart from a missing one."""
    return [
        commands.Reply(
            command.connection,
            command.request,
            AcpErrorResponse("unauthorized", command.response.message.replace("unknown", "foreign")),
        )
        if isinstance(command, commands.Reply)
        and isinstance(command.response, AcpErrorResponse)
        and command.response.message.startswith("unknown ACP session")
        else command
        for command in emitted
    ]


def _answer_agents_twice(emitted: Commands) -> Commands:
    return [
        commands.WriteAgent(command.process, command.data * 2)
        if isinstance(command, commands.WriteAgent) and b'"outcome"' in command.data
        else command
        for command in emitted
    ]


def _consent(emitted: Commands) -> Commands:
    """What nobody answered is taken for a yes."""
    return [
        commands.WriteAgent(command.process, command.data.replace(b'"no"', b'"yes"'))
        if isinstance(command, commands.WriteAgent)
        else command
        for command in emitted
    ]


def _alter_updates(emitted: Commands) -> Commands:
    return [
        commands.Publish(command.connection, command.payload.replace(b"word", b"WORD"))
        if isinstance(command, commands.Publish)
        else command
        for command in emitted
    ]


def _blame_somebody(emitted: Commands) -> Commands:
    return [*emitted, commands.SignalAgent("acp-agent-99", 9)]


def _admit_a_bug(emitted: Commands) -> Commands:
    return [*emitted, commands.Note("error", "internal error", bug=True)] if emitted else emitted


MEDDLERS: dict[str, Callable[[], Meddler]] = {
    "a reply is dropped": lambda: _dropping(commands.Reply, 7),
    "a reply comes twice": lambda: _repeating(commands.Reply),
    "a reply goes to somebody else": lambda: _to_the_wrong_one(commands.Reply),
    "an event is lost": lambda: _dropping(commands.Publish, 9),
    "an event comes twice": lambda: _repeating(commands.Publish),
    "events change places": lambda: _swap_updates,
    "an event is altered": lambda: _alter_updates,
    "an event goes to somebody else": lambda: _to_the_wrong_one(commands.Publish),
    "answers overtake events": lambda: _answer_first,
    "a question goes to somebody else": lambda: _to_the_wrong_one(commands.AskCaller),
    "a question of an agent is dropped with its answer": lambda: _dropping(commands.WriteAgent, 7),
    "an agent is answered twice": lambda: _answer_agents_twice,
    "silence is consent": lambda: _consent,
    "a stranger is told more": lambda: _say_more_to_strangers,
    "an agent is never ended": lambda: _dropping(commands.SignalAgent),
    "an agent is never forgotten": lambda: _dropping(commands.ForgetAgent),
    "an agent is forgotten twice": lambda: _repeating(commands.ForgetAgent),
    "an agent is not paused": lambda: _dropping(commands.PauseAgent),
    "an agent is not read again": lambda: _dropping(commands.ResumeAgent),
    "a caller that is stuck is kept": lambda: _dropping(commands.Disconnect),
    "a command names nobody": lambda: _blame_somebody,
    "the engine notes a bug of its own": lambda: _admit_a_bug,
}


def _allow_everything(emitted: Commands) -> Commands:
    return [
        commands.DecideService(command.process, command.token, True)
        if isinstance(command, commands.DecideService)
        else command
        for command in emitted
    ]


# Of what agents ask of their client: files, terminals, MCP servers of callers.
SERVICE_MEDDLERS: dict[str, Callable[[], Meddler]] = {
    "every wish is granted": lambda: _allow_everything,
    "a wish is not decided": lambda: _dropping(commands.DecideService, 2),
    "a wish is decided twice": lambda: _repeating(commands.DecideService, 1),
    "what an agent asks is not served": lambda: _dropping(commands.ServeAgent, 5),
    "what an agent asks is served twice": lambda: _repeating(commands.ServeAgent),
    "what an agent has started is never ended": lambda: _dropping(commands.EndServices),
    "a program is not told": lambda: _dropping(TellRelay, 3),
    "a program is told twice": lambda: _repeating(TellRelay),
    "a program is not let go": lambda: _dropping(CutRelay),
}


@pytest.mark.parametrize("name", sorted(SERVICE_MEDDLERS))
def test_an_engine_that_breaks_a_rule_of_its_services_is_caught(name: str) -> None:
    for seed in range(PATIENCE):
        try:
            run(seed, engine=_meddled(SERVICE_MEDDLERS[name]()), about="services")
        except Violation as violation:
            print(f"seed {seed}: {violation}")
            return
    pytest.fail(f"{PATIENCE} schedules and nobody noticed")


@pytest.mark.parametrize("name", sorted(MEDDLERS))
def test_an_engine_that_breaks_a_rule_is_caught(name: str) -> None:
    for seed in range(PATIENCE):
        try:
            run(seed, engine=_meddled(MEDDLERS[name]()))
        except Violation as violation:
            print(f"seed {seed}: {violation}")
            return
    pytest.fail(f"{PATIENCE} schedules and nobody noticed")


def _meddled(meddler: Meddler) -> type[WatchedEngine]:
    class Meddled(WatchedEngine):
        def meddle(self, emitted: Commands) -> Commands:
            return meddler(emitted)

    return Meddled
