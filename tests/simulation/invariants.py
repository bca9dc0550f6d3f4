"""What has to be true after every step, at rest, and when everybody is gone. Read from the engine's own tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.sidecar.keeper import STORE
from roost.sidecar.life import LIFE_MOVES, Life
from roost.sidecar.naming import key_of
from roost.sidecar.replay import _Held
from tests.simulation import programs, serving

if TYPE_CHECKING:
    from tests.simulation.client import Client
    from tests.simulation.world import World

# What one chunk can become on its way to a caller: 4 KiB of pipe in the shortest lines, each in its envelope.
CHUNK_ALLOWANCE = 200_000


def check(world: World) -> None:
    """After every step."""
    _everything_told_has_arrived(world)
    _processes_are_accounted_for(world)
    _sessions_fit_together(world)
    _whoever_is_blocked_has_paused_agents(world)
    _memory_is_bounded(world)
    _every_wait_has_a_deadline(world)
    serving.check(world)
    programs.check(world)


def _everything_told_has_arrived(world: World) -> None:
    ledger = world.ledger
    for client in world.clients:
        if not client.ending and client.commanded != client.reader.received:
            ledger.violated(f"{client}: {client.commanded} frames were to be sent, {client.reader.received} were")
    touched, ledger.touched = ledger.touched, {}
    for process in touched:
        if ledger.is_bridged(process):
            continue
        if waits_for_the_journal(world, process):
            ledger.touched[process] = None
            continue
        number = ledger.processes[process].number
        for client in ledger.clients.values():
            seen = client.reader.seen.get(process)
            if seen is not None and seen != number and not client.ending:
                ledger.violated(f"{client}: heard {process} up to {seen}, and it has told {number}")


def waits_for_the_journal(world: World, process: str) -> bool:
    """What this agent told is held back until it is durable."""
    heard = [session for client in world.engine._context.callers.connections.values() for session in client.hears]
    for session in (*world.engine._context.sessions, *heard):
        if session.link.process == process:
            return session._held is not None or session.link.sink is not session
    return False


def _processes_are_accounted_for(world: World) -> None:
    ledger, context = world.ledger, world.engine._context
    known = {name for name, heard in ledger.processes.items() if not heard.forgotten}
    if known != set(context.links):
        ledger.violated(f"processes {sorted(known)} are not forgotten, and the engine knows {sorted(context.links)}")
    for name, process in world.processes.items():
        if not process.exited and name not in context.links and 9 not in process.signals:
            ledger.violated(f"{name} runs, and nobody knows it")
    referred = set()
    for session in context.sessions:
        referred.add(session.link.process)
        if session.starting is not None:
            referred.add(session.starting.process)
    for connection in context.callers.connections.values():
        referred.update(link.process for link in connection.starting)
    for name, link in context.links.items():
        if name not in referred and link.ending is None:
            ledger.violated(f"{name} is kept, and neither a session nor a start refers to it")
    if len(context.links) > world.limits.processes:
        ledger.violated(f"{len(context.links)} processes, and the limit is {world.limits.processes}")


def _sessions_fit_together(world: World) -> None:
    ledger, context = world.ledger, world.engine._context
    connections = context.callers.connections
    for session in context.sessions:
        if session.life not in (Life.LIVE, Life.RECOVERING):
            ledger.violated(f"session {session.id} is {session.life.value}, and in the table")
        opened = session.link.sink is session  # else the journal has not taken it yet
        if opened:
            ledger.processes[session.link.process].opened = True
        if opened and session.life is Life.LIVE and (session.link.gone or session.link.process not in context.links):
            ledger.violated(f"session {session.id} is live, and its agent is gone")
        if context.callers.find(session.owner.name) is not session.owner:
            ledger.violated(f"session {session.id} belongs to a {session.owner.name} that nobody can be any more")
        if session.key in context.logged_out and session.opening is None:
            ledger.violated(f"session {session.id} is logged out, and lives")
        if opened and session.key != key_of(session.owner.name, session.id):
            ledger.violated(f"session {session.id} is {session.key} in the journal")
        if session.owner.sessions.get(session.id) is not session:
            ledger.violated(f"session {session.id} is not in the table of its owner")
        for connection in session.audience:
            if connections.get(connection.number) is not connection or session not in connection.hears:
                ledger.violated(
                    f"session {session.id} is told to connection {connection.number}, which does not hear it"
                )
            if connection.caller is not session.owner:
                ledger.violated(f"session {session.id} is told to {connection.caller.name}, who does not own it")
    for connection in connections.values():
        if connection.open_requests != sum(1 for number, _ in ledger.open if number == connection.number):
            ledger.violated(f"connection {connection.number} counts {connection.open_requests} open requests")
        if context.callers.find(connection.caller.name) is not connection.caller:
            ledger.violated(f"connection {connection.number} is of a {connection.caller.name} that is forgotten")
        for session in connection.hears:
            if connection not in session.audience:
                ledger.violated(f"connection {connection.number} hears {session.id}, which does not know it")
    for caller in context.callers._callers.values():
        if not (caller.connections or caller.sessions or caller.opening or caller.waking or caller.ending):
            ledger.violated(f"{caller.name} is remembered for nothing")
        if len(caller.sessions) > world.limits.sessions_per_caller:
            ledger.violated(f"{caller.name} has {len(caller.sessions)} sessions")


def held_up(world: World) -> set[str]:
    """The processes of sessions that somebody hears, or keeps, who cannot take more."""
    context = world.engine._context
    return {
        session.link.process
        for session in (*context.sessions, *context.sessions.leaving)
        if (context.keeper.pressed and session.journal is not None)
        or isinstance(session.link.sink, _Held)
        or any(connection.blocked for connection in session.audience)
    }


def _whoever_is_blocked_has_paused_agents(world: World) -> None:
    ledger, context = world.ledger, world.engine._context
    for client in ledger.clients.values():
        connection = context.callers.connections[client.number]
        waiting, bound = client.channel.waiting, client.channel.high_water
        if not client.ending and (waiting > bound if not connection.blocked else waiting <= bound // 4):
            ledger.violated(f"{client}: blocked is {connection.blocked}, and {waiting} bytes wait")
        if client.channel.mangled:
            ledger.violated(f"{client}: what was sent is not what was to be sent")
    wanted = held_up(world)
    for name, link in context.links.items():
        process = world.processes.get(name)
        if process is not None and not process.reported and not link.gone:
            enough = ledger.processes[name].last_words >= world.limits.closing_output_bytes
            pause = name in wanted and (enough or not link.brake.doomed)
            if process.paused != pause:
                ledger.violated(f"{name} is {'paused' if process.paused else 'read'}, and should not be")


def _memory_is_bounded(world: World) -> None:
    ledger, limits = world.ledger, world.limits
    for client in ledger.clients.values():
        if client.waiting > outlet_bound(world, client):
            ledger.violated(f"{client}: {client.waiting} bytes wait for it")
    for name, link in world.engine._context.links.items():
        if link._framer.held > limits.line_bytes:
            ledger.violated(f"{name}: {link._framer.held} bytes of a line are held")
        if len(link.activity.recent) > limits.recent_activity:
            ledger.violated(f"{name}: too much is remembered of what it did")
        if link._peer.open_requests > limits.callbacks_per_session + 1:
            ledger.violated(f"{name}: {link._peer.open_requests} of its questions are open")
        if link.open_calls > limits.requests_per_session + 4:
            ledger.violated(f"{name}: {link.open_calls} calls are open")


def outlet_bound(world: World, client: Client) -> int:
    """How many bytes may wait for a connection: its limit, and what was on the way when it was reached."""
    limits = world.limits
    heard = 1 + len(client.interested)
    answers = (client.commanded and limits.requests_per_connection) * (limits.line_bytes + 2000)
    return limits.caller_output_bytes + heard * CHUNK_ALLOWANCE + limits.bootstrap_bytes + answers


def _every_wait_has_a_deadline(world: World) -> None:
    ledger, stage = world.ledger, world.engine._context.stage
    if stage.ready:
        ledger.violated("somebody is ready, and does not run")
    deadline = world.engine.next_deadline()
    if deadline is None:
        if stage.running and not ledger.loads and not ledger.leaving:
            ledger.violated(f"{stage.running} conversations wait, and none of them has a deadline")
        return
    alarm = world.driver._alarm_at
    if alarm is None or alarm > deadline:
        ledger.violated(f"the driver rings at {alarm}, and the engine's deadline is {deadline}")


def check_at_rest(world: World) -> None:
    """When time alone can change nothing any more."""
    ledger, context = world.ledger, world.engine._context
    for (number, request), _ in ledger.open.items():
        ledger.violated(f"connection {number}: request {request} is never answered")
    if context.stage.running or context.stage.timers or ledger.loads:
        ledger.violated(
            f"at rest, and {context.stage.running} conversations and {context.stage.timers} timers are left"
        )
    for name, link in context.links.items():
        waits = {number for number, connection in context.callers.connections.items() if connection.blocked}
        if context.keeper.pressed:
            waits.add(STORE)
        if not link.brake._waits_for <= waits:
            ledger.violated(f"at rest, and {name} waits for {link.brake._waits_for - waits}")
    for session in context.sessions:
        if session.attaching or session.queued:
            ledger.violated(f"at rest, and session {session.id} is told again: {session.attaching} {session.queued}")
        if session.turns.busy:
            ledger.violated(f"at rest, and a turn of session {session.id} goes on for ever")
    for connection in context.callers.connections.values():
        if connection._unblocked is not None:
            ledger.violated(f"at rest, and somebody waits for connection {connection.number}")
        if connection.asks or connection.starting:
            ledger.violated(
                f"at rest, and connection {connection.number} keeps {connection.asks} {connection.starting}"
            )
    for name, process in world.processes.items():
        heard = ledger.processes[name]
        if not process.exited and process.input_open and not heard.forgotten and 9 not in process.signals:
            held = ledger.serving.held(name)
            owed = [key for key in +heard.owed if not heard.asked[key] & held]
            if owed:
                ledger.violated(f"{name}: its questions {owed} are never answered")
    serving.check_at_rest(world)
    programs.check_at_rest(world)
    for process, (session_id, listeners) in ledger.crashed.items():
        for client in listeners:
            if not client.ending and process not in client.reader.exits:
                ledger.violated(f"{client}: never heard of the end of {process} of session {session_id}")


def check_nothing_left(world: World) -> None:
    """When every caller is gone and every session closed."""
    ledger, context = world.ledger, world.engine._context
    left = {
        "links": context.links,
        "sessions": list(context.sessions),
        "loads": context.loading,
        "connections": context.callers.connections,
        "callers": context.callers._callers,
        "promises": context.keeper._waits,
        "running": context.stage.running,
        "timers": context.stage.timers,
        "requests": ledger.open,
        "driver's connections": world.driver._outlets,
        "driver's processes": world.driver._processes,
        "loop's timers": world.loop.next_timer() or 0,
    }
    for what, value in left.items():
        if value:
            ledger.violated(f"at the end there are {what} left: {value}")
    store = world.store
    for key in context.logged_out:
        if store is None or key not in store.sessions_kept or store.sessions_kept[key].closed:
            ledger.violated(f"at the end session {key} is gone, and logged out")
    serving.check_nothing_left(world)
    programs.check_nothing_left(world)
    if not world.engine.idle:
        ledger.violated("at the end the engine is not idle")
    for name, process in world.processes.items():
        if not process.exited and 9 not in process.signals:
            ledger.violated(f"at the end {name} still runs")


assert set(LIFE_MOVES) == set(Life)
