"""Sessions that are closed, deleted, logged out, put to sleep or opened again by a session request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from roost.sidecar import naming
from roost.sidecar.gen.messages import AcpSessionRequest, AcpSessionRpcResponse
from roost.sidecar.life import Life
from tests.simulation.accounts import Asked, Owned, Place
from tests.simulation.marks import told_again

if TYPE_CHECKING:
    from tests.simulation.ledger import Ledger
    from tests.simulation.world import World

LETTING_GO = frozenset(
    ("session/close", "session/delete", "auth/logout", "auth/login", "_roost/delete", "_roost/sleep")
)


class Endings:
    """The ledger's account of them."""

    def __init__(self, ledger: Ledger, world: World) -> None:
        self._ledger = ledger
        self._world = world
        self.logged_out: set[Place] = set()

    def asked(self, asked: Asked, place: Place, payload: AcpSessionRequest) -> None:
        asked.place, asked.method = place, payload.method
        if payload.method == "session/close":  # whatever is answered, for the journal may fail after that
            self.logged_out.discard(place)
        store, session = self._world.store, self._world.session(place)
        others = [other for other in self._ledger.open.values() if other is not asked and other.place == place]
        busy = any(other.method in LETTING_GO for other in others)
        asked.logged_out = place in self.logged_out and not busy
        kept = session is not None and session.journal is not None and session.life is Life.LIVE
        if session is not None and kept and session.link.v1 is not None:
            ability = {"session/close": "closes", "session/delete": "deletes", "auth/logout": "logs-out"}
            asked.bridged = payload.method in ability and not busy
            asked.emulated = asked.bridged and not self._world.can(session.link.process, ability[payload.method])
        elif session is not None and kept and payload.method == "session/delete" and session.link.launch.by_state:
            asked.bridged = not busy  # what an agent of v2 has deleted is deleted here
        if payload.method in LETTING_GO:  # whatever is answered: it may be ended while it is started again
            self.forgive(place)
        if payload.method == "session/resume" and store is not None and '"replayFrom"' in (payload.params or ""):
            entries = store.entries_kept.get(naming.key_of(*place), [])
            asked.past = [numbered for entry in entries if (numbered := told_again(entry)) is not None]

    def forgive(self, place: Place) -> None:
        """Nobody has to hear any more how the session's agents ended."""
        for process, (session_id, _) in list(self._ledger.crashed.items()):
            if (self._ledger.processes[process].owner, session_id) == place:
                del self._ledger.crashed[process]

    def is_under_way(self, place: Place) -> bool:
        return any(asked.place == place and asked.method in LETTING_GO for asked in self._ledger.open.values())

    def answered(self, asked: Asked, place: Place, response: Any) -> None:
        """The answer to a request that may end a session, or open it again."""
        store, session = self._world.store, self._world.session(place)
        self.forgive(place)
        if session is not None:
            self._ledger.sessions.setdefault(place, Owned(session.link.process))
        if not isinstance(response, AcpSessionRpcResponse) or "result" not in json.loads(response.response):
            return
        alive = session is not None and session.journal is not None
        key = naming.key_of(*place)
        if asked.bridged and asked.method in ("session/close", "session/delete"):
            self._ledger.require(not alive, f"{asked.method} of {place[1]} is answered, and it is there")
        if asked.method == "_roost/delete" or (asked.bridged and asked.method == "session/delete"):
            self._ledger.require(
                store is None or key not in store.sessions_kept, f"{place[1]} is deleted, and in the journal"
            )
            self.logged_out.discard(place)
        elif asked.bridged and asked.method == "session/close":
            record = None if store is None else store.sessions_kept.get(key)
            self._ledger.require(record is None or record.closed, f"{place[1]} is closed, and not in the journal")
        if asked.method == "auth/logout" and asked.emulated and not self.is_under_way(place):
            self._ledger.require(not alive, f"{place[1]} is logged out, and its agent runs")
            self.logged_out.add(place)
        if asked.method == "auth/login":
            self.logged_out.discard(place)
        if session is None and place in self._ledger.sessions and asked.method.endswith(("/delete", "/close")):
            self._ledger.close(place)
