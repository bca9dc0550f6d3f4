"""What a caller receives, read frame by frame as it is written: order, completeness, ownership, exactly one answer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from roost.rpc.messages import AUTH_REQUIRED
from roost.sidecar.gen import frames
from roost.sidecar.gen.messages import (
    AcpAgentExitedEvent,
    AcpAgentStderrEvent,
    AcpErrorResponse,
    AcpHostRequestCallback,
    AcpPermissionCallback,
    AcpResponse,
    AcpSessionCreatedResponse,
    AcpSessionEvent,
    AcpSessionResumedResponse,
    AcpSessionRpcResponse,
    AcpSessionStateResponse,
    decode_acp_callback,
    decode_acp_event,
    decode_acp_response,
)
from tests.simulation.accounts import UNKNOWN, Asked
from tests.simulation.ledger import Ledger
from tests.simulation.marks import PLACE

if TYPE_CHECKING:
    from tests.simulation.client import Client

SIDECARS_OWN = '{"jsonrpc":"2.0","id":null'
RELAYED = re.compile(r'"of": ?"([^"]+)", ?"k": ?(\d+)')  # programs.Program
QUESTION = re.compile(r'"q": ?"([^"]+)"')


class Reader:
    """One connection's."""

    def __init__(self, ledger: Ledger, client: Client) -> None:
        self._ledger = ledger
        self._client = client
        self.seen: dict[str, int] = {}  # by process that it listens to: the last number
        self._relayed: dict[str, int] = {}  # by program of an agent: its last notification
        self.exits: set[str] = set()  # processes whose end it was told
        self.refusals = 0
        self.received = 0

    def _violated(self, text: str) -> None:
        self._ledger.violated(f"{self._client}: {text}")

    def _require(self, true: object, text: str) -> None:
        if not true:
            self._violated(text)

    def read(self, frame: frames.Frame) -> None:
        match frame:
            case frames.Response(id=number, payload=payload):
                self.received += 1
                self._response(number, decode_acp_response(payload))
            case frames.Event(payload=payload):
                self.received += 1
                self._event(payload)
            case frames.Callback(id=number, payload=payload):
                self.received += 1
                self._callback(number, payload)
            case frames.Refused(id=number, code=code):
                if number == 0 and code == "timeout" and self._client.number is not None:
                    self.received += 1  # the engine's Disconnect
                else:
                    self.refusals += 1
                    self._require(self._client.hostile or code == "timeout", f"was refused: {frame}")
            case frames.Welcome():
                self._require(not self.received, "was welcomed late")
            case _:
                self._violated(f"received what is not for callers: {frame}")

    # ---- events

    def _event(self, payload: bytes) -> None:
        event = decode_acp_event(payload)
        match event:
            case AcpSessionEvent(session_id=session_id, notification=text):
                relayed = RELAYED.search(text)
                early = relayed is not None and not session_id  # of a session that is being opened
                self._require(early or session_id in self._client.interested, f"hears session {session_id}, unasked")
                printed = PLACE.search(text)
                if printed is not None:
                    event = printed[1], int(printed[2])
                    if not self._is_past(session_id, event):
                        self._numbered(session_id, *event, text)
                elif relayed is not None:
                    self._relayed_notice(relayed[1], int(relayed[2]))
                else:
                    place = (self._client.token, session_id)
                    store = self._client.world.store
                    kept = store is not None and place in store.owners
                    own = kept or place in self._ledger.sessions or place in self._ledger.had
                    everybody = [owner for owner, known in self._ledger.sessions if known == session_id]
                    self._require(own or not everybody, f"hears {session_id}, a foreign one")
            case AcpAgentStderrEvent(process_id=process, chunk=chunk):
                if process == "" and chunk.startswith(b"[roost] "):
                    return
                self._own(process)
                self._require(
                    self._ledger.stdio.stderr == (process, chunk), f"stderr of {process} that it did not write"
                )
            case AcpAgentExitedEvent():
                self._exit(event)

    def _relayed_notice(self, program: str, number: int) -> None:
        """What a program says to an MCP server: the owner's alone, in order."""
        self._own(program.partition("/")[0])
        last = self._relayed.get(program, number - 1)
        self._require(number == last + 1, f"notification {number} of the program {program} after {last}")
        self._relayed[program] = number

    def _is_past(self, session_id: str, event: tuple[str, int]) -> bool:
        """It is part of a replay out of the journal that this connection has asked for."""
        replays = [
            asked
            for asked in self._client.open.values()
            if asked.past is not None and asked.place is not None and asked.place[1] == session_id
        ]
        for asked in replays:
            if asked.replayed < len(asked.past or ()) and event == (asked.past or ())[asked.replayed]:
                asked.replayed += 1
                self._own(event[0])
                return True
        again = any(event in asked.told for asked in replays)  # it came between the request and the past
        if replays and event[1] <= self.seen.get(event[0], 0):  # it was not in the journal yet when that was asked for
            store = self._client.world.store
            again = again or (store is not None and event in store.told)
        for asked in replays:
            asked.told.add(event)
        return again

    def _own(self, process: str) -> None:
        if process == "" and self._client.world.store is not None:
            return  # of a session at rest
        owner = self._ledger.processes[process].owner
        self._require(owner == self._client.token, f"hears {process} of {owner}")

    def _numbered(self, session_id: str, process: str, number: int, text: str) -> None:
        self._own(process)
        last = self.seen.get(process)
        bridged = self._ledger.is_bridged(process)
        if last is not None:
            self._require(number > last if bridged else number == last + 1, f"event {number} of {process} after {last}")
        self.seen[process] = number
        if bridged:
            return
        line = self._ledger.lines.get((process, number))
        self._require(
            text == line or _renamed(line, session_id) == json.loads(text),
            f"event {number} of {process} was {line!r} and arrived as {text!r}",
        )
        self._ledger.require_kept(session_id, process, number)
        running = self._client.world.running_process((self._client.token, session_id))
        if running is not None and not self._ledger.processes[process].closed:
            self._require(running == process, f"session {session_id} of {running} heard as of {process}")

    def _exit(self, event: AcpAgentExitedEvent) -> None:
        process = event.process_id
        self._own(process)
        self._require(process not in self.exits, f"the end of {process} told twice")
        self.exits.add(process)
        ended = self._ledger.ended.get(process)
        if ended is not None and ended.successor is not None:
            self.seen[ended.successor] = self._client.world.processes[ended.successor].brain.attached_at or 0

    # ---- answers

    def _response(self, number: int, response: AcpResponse) -> None:
        asked = self._client.open.pop(number, None)
        if asked is None:
            self._violated(f"request {number} was answered, and is not open")
            return
        if asked.unknown is not None:
            wanted = AcpErrorResponse("invalid_state", f"unknown ACP session {asked.unknown}")
            late = isinstance(response, AcpErrorResponse) and "(load_timeout)" in response.message
            late = late or self._ledger.may_know(self._client, asked.unknown)  # the journal has heard of it meanwhile
            self._require(late or response == wanted, f"asked about a foreign or missing session, was told {response}")
        if asked.logged_out:
            closed = isinstance(response, AcpErrorResponse) or asked.method == "auth/login"
            closed = closed or (isinstance(response, AcpSessionRpcResponse) and _lets_nothing_through(asked, response))
            self._require(closed, f"{asked.method} of a session that is logged out: {response}")
        match response:
            case AcpSessionRpcResponse(response=text) if '"replay":"journal"' in text:
                missing = (asked.past or [])[asked.replayed :]
                self._require(not missing, f"the past is told, and {missing} was not")
                self._joined(asked)
            case AcpSessionRpcResponse(response=text):
                place = None if text.startswith(SIDECARS_OWN) else PLACE.search(text)
                if place is not None:
                    self._answered_at(place[1], int(place[2]), asked.method)
                else:
                    self._joined(asked)
            case AcpSessionStateResponse(process_id=process):
                self._own(process)
                if process:
                    self._joined(asked)
            case AcpSessionCreatedResponse(session_id=session_id):
                self._opened(session_id, asked, resumed=False, forgetful=False)
            case AcpSessionResumedResponse(session_id=session_id, mode=mode):
                self._opened(session_id, asked, resumed=True, forgetful=mode == "fallback")
            case AcpErrorResponse(message=text) if "; ACP adapter auto-restart" in text or "was auto-restarted" in text:
                dead = text.split()[3]  # "ACP adapter process <p> exited …"
                heard = dead not in self.seen or dead in self.exits
                self._require(heard, f"its request failed with {dead} before the end of {dead} was told")

    def _answered_at(self, process: str, number: int, method: str) -> None:
        """An agent's answer: what was printed before it has arrived, and nothing of what was printed after."""
        self._own(process)
        last = self.seen.get(process)
        # Where sessions are kept an answer may wait for the journal, and then what follows it does not wait for it.
        kept = self._client.world.store is not None and self._client.named
        looked_up = method == "session/list"  # for whose sessions they are
        late = last is not None and last > number and (kept or looked_up)
        late = late or self._ledger.is_bridged(process)
        self._require(
            late or last in (None, number), f"an answer of {process} printed after {number} came after {last}"
        )
        self.seen.setdefault(process, number)

    def _joined(self, asked: Asked) -> None:
        if asked.base is not None:
            self.seen.setdefault(*asked.base)

    def _opened(self, session_id: str, asked: Asked, *, resumed: bool, forgetful: bool) -> None:
        self._client.interested.add(session_id)
        owned = self._ledger.sessions.get((self._client.token, session_id))
        if owned is None:
            return
        process = owned.process
        if process == UNKNOWN:
            return
        if asked.live:  # joined, and perhaps restarted meanwhile
            if asked.base is not None and process == asked.base[0]:
                self._joined(asked)
            return
        start = 0
        if forgetful and self._ledger.processes[process].told & {"session/load", "session/resume"}:
            start = self._client.world.processes[process].brain.attached_at or 0
        if process not in self.seen:  # else it had been woken by another request, and is joined
            if resumed and not forgetful and self._client.named and self._client.world.store is not None:
                return  # that may be so here too, and then its replay was heard before: what comes first will tell
            self.seen[process] = start
        else:
            self._require(resumed, f"hears {process} before its session was open")

    # ---- questions

    def _callback(self, number: int, payload: bytes) -> None:
        callback = decode_acp_callback(payload)
        client = self._client
        self._require(number != 0 and number not in client.callbacks, f"callback {number} came twice")
        text = callback.params if isinstance(callback, AcpPermissionCallback) else callback.request
        place, question = PLACE.search(text), QUESTION.search(text)
        relayed = RELAYED.search(text)
        if relayed is not None:
            self._own(relayed[1].partition("/")[0])
        elif place is not None:
            self._own(place[1])
        session_id = callback.session_id
        self._require(session_id in client.interested or not session_id, f"is asked for session {session_id}")
        permission = isinstance(callback, AcpPermissionCallback)
        assert permission or isinstance(callback, AcpHostRequestCallback)
        client.callbacks[number] = (callback, None if question is None else question[1])


def _lets_nothing_through(asked: Asked, response: AcpSessionRpcResponse) -> bool:
    answer = json.loads(response.response)
    if asked.method == "session/cancel":
        return bool(answer.get("result", {}).get("cancelled") is False)
    if asked.method == "session/close" or asked.method.startswith("_roost/"):  # asks no agent
        return True
    return bool(answer.get("error", {}).get("code") == AUTH_REQUIRED)


def _renamed(line: str | None, session_id: str) -> object:
    """The line with another session id: of an agent that knows the session under one of its own."""
    if line is None:
        return None
    message = json.loads(line)
    if "sessionId" in message["params"]:
        message["params"]["sessionId"] = session_id
    return message
