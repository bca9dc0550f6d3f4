"""What agents may change: nothing is done that nobody allowed, and no yes counts for more than it said.

A yes to a question of the bridge's own is one write or one run, or all of its kind for the agent. A yes to a question
of the agent's is one write of the file, or one run of the command, that it showed, in the turn it belongs to.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from roost.acp.bridge.events import FileWrite, Wish
from roost.acp.bridge.limits import DEFAULT_LIMITS
from roost.sidecar import commands, events

if TYPE_CHECKING:
    from tests.simulation.ledger import Ledger
    from tests.simulation.world import World

Subject = tuple[str, str]  # write or run, and the real path or the line
Request = tuple[str, int]  # an agent's: its process and the token
ONCE = frozenset(("once", "allow_once"))
ALWAYS = frozenset(("always", "allow_always"))
HARMLESS = frozenset(("TERM",))


class Serving:
    """The ledger's account of it."""

    def __init__(self, ledger: Ledger, world: World) -> None:
        self._ledger = ledger
        self._world = world
        self.shown: dict[str, Subject] = {}  # by the name of an agent's own question
        self.open: dict[Request, commands.ServicePlace] = {}
        self.wishes: dict[Request, Wish] = {}  # not decided yet
        self._allowed: Counter[tuple[str, Subject]] = Counter()  # decided, and not done yet
        self._once: Counter[tuple[str, Subject]] = Counter()  # said yes to, which may have to be durable first
        self._always: set[tuple[str, str]] = set()  # process, and write or run
        self._grants: dict[tuple[str, Subject], int] = {}  # how often
        self._turns: Counter[str] = Counter()  # that a process works on
        self._over_at: dict[str, float] = {}  # when the last one of them was over
        self._used: set[str] = set()
        self._ended: set[str] = set()
        self.given_up: set[str] = set()  # processes whose terminals were not waited for any longer
        self._ended_places: set[tuple[str, commands.ServicePlace]] = set()

    # ---- who says yes

    def answered(self, params: str, question: str | None, reply: str) -> None:
        """A caller's answer to a question that was open."""
        if question is not None:
            subject = self.shown.get(question)
            process = question.partition("/")[0]
            if subject is not None and self._is_in_turn(process):
                self._grants[process, subject] = self._grants.get((process, subject), 0) + 1
            return
        asked = json.loads(params)
        if not str(asked.get("title")).startswith(("Write /w/", "Run a command")) or reply not in ONCE | ALWAYS:
            return
        what = asked["subject"]
        if what["type"] == "command":
            subject = ("run", what["command"])
        else:
            subject = ("write", what["toolCall"]["locations"][0]["path"])
        process = self.process_in(subject)
        self._once[process, subject] += 1
        if reply in ALWAYS:
            self._always.add((process, subject[0]))

    def process_in(self, subject: Subject) -> str:
        """Every path and every line names who wants it."""
        return subject[1].replace("/", " ").split()[1]

    def prompted(self, process: str) -> None:
        self._turns[process] += 1

    def turn_over(self, process: str) -> None:
        """The end of one is read; its bridge waits a moment for what may follow."""
        self._turns[process] -= 1
        self._over_at[process] = self._world.loop.now

    def cancelled(self, process: str) -> None:
        self._forget_grants(process)

    def _is_in_turn(self, process: str) -> bool:
        grace = self._over_at.get(process, -1.0) + DEFAULT_LIMITS.settle_grace
        return self._turns[process] > 0 or self._world.loop.now <= grace

    def _forget_grants(self, process: str) -> None:
        for key in [key for key in self._grants if key[0] == process]:
            del self._grants[key]

    def _take(self, process: str, wish: Wish) -> bool:
        subject: Subject = ("write", wish.path) if isinstance(wish, FileWrite) else ("run", wish.line)
        if self._once[process, subject]:
            self._once[process, subject] -= 1
            return True
        if (process, subject[0]) in self._always:
            return True
        harmless = isinstance(wish, FileWrite) or (wish.env.keys() <= HARMLESS and wish.cwd == "/w")
        if not harmless or not self._grants.get((process, subject)) or not self._is_in_turn(process):
            return False
        self._grants[process, subject] -= 1
        return True

    # ---- what the engine wants done, and is told

    def command(self, command: commands.Command) -> None:
        match command:
            case commands.ServeAgent(process=process, token=token, place=place):
                self._ledger.require(process not in self._ended, f"{process} is served after its end")
                self._ledger.require((process, token) not in self.open, f"{process}: {token} is served twice")
                self._used.add(process)
                self.open[process, token] = place
            case commands.DecideService(process=process, token=token, allowed=allowed):
                wish = self.wishes.pop((process, token), None)
                if wish is None:
                    self._ledger.violated(f"{process}: {token} is decided, and wishes for nothing")
                elif allowed:
                    ended = (process, self.open[process, token]) in self._ended_places
                    self._ledger.require(not ended, f"{process}: {token} is allowed after the end of its place")
                    self._ledger.require(self._take(process, wish), f"{process} may have {wish}, and nobody allowed it")
                    subject = ("write", wish.path) if isinstance(wish, FileWrite) else ("run", wish.line)
                    self._allowed[process, subject] += 1
            case commands.WithdrawService(process=process, token=token):
                self._let_go((process, token))
            case commands.EndServices(process=process, place=place):
                ended_too = [served for (name, _), served in self.open.items() if name == process]
                self._ended_places.update((process, each) for each in ([place] if place else ended_too))
                if place is None:
                    self._ended.add(process)
                    self._forget_grants(process)

    def _let_go(self, request: Request) -> None:
        self.open.pop(request, None)
        self.wishes.pop(request, None)

    def event(self, event: events.Event) -> None:
        match event:
            case events.ServiceWished(process=process, token=token, wish=wish):
                if (process, token) in self.open:
                    self.wishes[process, token] = wish
            case events.ServiceAnswered(process=process, token=token):
                self._let_go((process, token))
            case events.ServicesEnded(process=process):
                self.require_nothing_runs(process)

    def noted(self, text: str) -> None:
        """A line of the log: what survives SIGKILL is given up, and so may be what a machine that slept is ending."""
        process, _, what = text.partition(": ")
        if what.startswith("its terminals have not ended"):
            self.given_up.add(process)

    def forgotten(self, process: str) -> None:
        """The engine is done with an agent."""
        self._ledger.require(
            process not in self._used or process in self._ended, f"{process} is forgotten, and is served still"
        )

    def require_nothing_runs(self, process: str) -> None:
        left = [terminal.id for host in self._world.hosts if host.process == process for terminal in host.running]
        self._ledger.require(not left, f"the services of {process} have ended, and {left} run")

    def done(self, process: str, subject: Subject) -> None:
        """The host does it."""
        self._ledger.require(self._allowed[process, subject] > 0, f"{subject} is done for {process}, undecided")
        self._allowed[process, subject] -= 1

    # ---- at rest

    def held(self, process: str) -> set[Any]:
        """The names of questions that an agent has no answer to, because the host has none."""
        link = self._world.engine._context.links.get(process)
        if link is None or link.v1 is None:
            return set()
        return {served.params.get("q") for served in link.v1._v1.service_requests._open.values()}


def check(world: World) -> None:
    """After every step: driver and bridges agree on what is open, and terminals are read as their agent is."""
    if world.services is None:
        return
    ledger, links = world.ledger, world.engine._context.links
    for name, places in world.services._places.items():
        link = links.get(name)
        if link is None:
            if name not in ledger.serving.given_up:
                ledger.violated(f"{name} is forgotten, and has services")
            continue
        if link.v1 is None or link.ending is not None or link.gone:
            continue
        tasks = {token for place in places.values() for token in place._tasks}
        wanted = set(link.v1._v1.service_requests._open)
        if not tasks <= wanted:
            ledger.violated(f"{name}: {tasks - wanted} are served, and nobody waits for them")
    for host in world.hosts:
        process, link = world.processes[host.process], links.get(host.process)
        if link is None or link.gone or link.ending is not None or process.reported:
            continue
        for terminal in host.running:
            if terminal.paused != process.paused:
                ledger.violated(f"{host.process} is {'paused' if process.paused else 'read'}, and {terminal.id} is not")


def check_at_rest(world: World) -> None:
    """When time alone can change nothing any more."""
    ledger = world.ledger
    for (name, token), wish in ledger.serving.wishes.items():
        ledger.violated(f"at rest, and {name} is never told about its wish {token}: {wish}")
    for (name, token), place in ledger.serving.open.items():
        if (name, place) in ledger.serving._ended_places:
            ledger.violated(f"at rest, and {token} of {name} is not answered, though its place has ended")
    for name, link in world.engine._context.links.items():
        if link.v1 is not None and world.services is not None:
            tasks = {token for place in world.services._of(name) for token in place._tasks}
            lost = set(link.v1._v1.service_requests._open) - tasks
            if lost:
                ledger.violated(f"at rest, and {name} waits for {lost}, which nobody serves")


def check_nothing_left(world: World) -> None:
    """When every caller is gone and every session closed."""
    if world.services is None:
        return
    left = {"services": world.services._places, "paused": world.services._paused, "endings": world.services._endings}
    for what, value in left.items():
        if value:
            world.ledger.violated(f"at the end there are {what} left: {value}")
    for host in world.hosts:
        for terminal in host.running:
            world.ledger.violated(f"at the end {terminal.id} of {host.process} runs")
