"""What a run shows: every event once, in order, for a person or for a program."""

from __future__ import annotations

from codecs import IncrementalDecoder, getincrementaldecoder
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from roost.cli.narrator import Narrator
from roost.cli.output import Output
from roost.cli.palette import Role
from roost.cli.permission import Decision
from roost.cli.question import subject_lines
from roost.cli.screen import Screen
from roost.cli.status import ExitStatus, Failure
from roost.cli.version1 import Version1
from roost.errors import CodecError
from roost.host.events import HostEvent, Notification, PermissionRequest, Stderr
from roost.sidecar.tiers import NATIVE
from roost.sidecar.wake import RESUMED

if TYPE_CHECKING:
    from roost.acp import v2
    from roost.host.session import Session
    from roost.host.turn import TurnOutcome

# As the sidecar writes it, so that no other notification is looked at.
_RESUMED_START = f'{{"jsonrpc":"2.0","method":"{RESUMED}"'

_utf8 = getincrementaldecoder("utf-8")


class View(Protocol):
    """`answered` follows `asked` with the same number; `ended` or `failed` comes last."""

    def began(self, session: Session, agent: str, cwd: str) -> None: ...
    def show(self, event: HostEvent) -> None: ...
    def asked(self, number: int, request: PermissionRequest) -> None: ...
    def answered(self, number: int, request: PermissionRequest, decision: Decision) -> None: ...
    def ended(self, outcome: TurnOutcome, status: ExitStatus) -> None: ...
    def failed(self, failure: Failure) -> None: ...
    def settle(self) -> None:
        """Everything shown so far is out, and something else may be written to the terminal."""


class TextView:
    """For people. `asks`: the questions are put on the same terminal, so they are not shown here once more."""

    def __init__(self, screen: Screen, cwd: str, *, asks: bool) -> None:
        self._screen = screen
        self._narrator = Narrator(screen, cwd)
        self._asks = asks
        self._version1: Version1 | None = None

    def began(self, session: Session, agent: str, cwd: str) -> None:
        self._narrator = Narrator(self._screen, cwd)
        if session.protocol_version < 2:
            self._version1 = Version1()
        if session.resume_mode is not None:
            self._tell_tier(session.resume_mode)

    def show(self, event: HostEvent) -> None:
        if isinstance(event, Notification):
            if event.text.startswith(_RESUMED_START) and event.method == RESUMED:
                params = event.message.get("params")
                self._tell_tier(params.get("tier") if isinstance(params, dict) else None)
                return
            update = self._read(event)
            if update is not None:
                self._narrator.tell(update)

    def _tell_tier(self, tier: object) -> None:
        self._screen.lines(Role.END, resumed_words(tier), "resumed")

    def _read(self, event: Notification) -> v2.SessionUpdate | None:
        if self._version1 is not None:
            return self._version1.read(event.raw_update)
        try:
            return event.update
        except CodecError:
            return None  # malformed, or no update at all

    def asked(self, number: int, request: PermissionRequest) -> None:
        if self._asks:
            self._screen.finish()
        else:
            text = "\n".join(subject_lines(request))
            self._screen.lines(Role.PERMISSION, f"? {text}", ("permission", number))

    def answered(self, number: int, request: PermissionRequest, decision: Decision) -> None:
        self._screen.lines(
            Role.GOOD if decision.allows else Role.BAD, f"  -> {answer_words(decision)}", ("permission", number)
        )

    def ended(self, outcome: TurnOutcome, status: ExitStatus) -> None:
        reason = outcome.stop_reason or "no reason given"
        self._screen.lines(Role.END, ". ".join([f"Turn ended: {_plain(reason)}", *self._spent(outcome)]), "end")
        self._screen.finish()

    def _spent(self, outcome: TurnOutcome) -> list[str]:
        said = []
        usage = outcome.usage or {}
        counts = [
            f"{usage[key]} {word}"
            for key, word in (("inputTokens", "in"), ("outputTokens", "out"), ("totalTokens", "in all"))
            if isinstance(usage.get(key), int)
        ]
        if counts:
            said.append(f"Tokens: {', '.join(counts)}")
        context = self._narrator.view.usage
        if context is not None:
            said.append(f"Context: {context.used} of {context.size}")
            if context.cost is not None:
                said.append(f"Cost: {context.cost.amount:g} {_plain(context.cost.currency)}")
        return said

    def failed(self, failure: Failure) -> None:
        self._screen.finish()

    def settle(self) -> None:
        self._screen.finish()


class JsonView:
    """For programs: one JSON object a line. The shapes are in docs/cli.md."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._session = ""
        self._decoders: dict[str, IncrementalDecoder] = {}

    def began(self, session: Session, agent: str, cwd: str) -> None:
        self._session = session.id
        self._put(
            {
                "type": "session",
                "sessionId": session.id,
                "agent": agent,
                "cwd": cwd,
                "protocolVersion": session.protocol_version,
                "agentInfo": session.info or None,
            }
        )

    def show(self, event: HostEvent) -> None:
        match event:
            case Notification():
                self._put(_notification(event))
            case Stderr():
                decoder = self._decoders.get(event.process)
                if decoder is None:
                    decoder = self._decoders[event.process] = _utf8("replace")
                text = decoder.decode(event.chunk)
                if text:
                    self._put({"type": "stderr", "sessionId": event.session_id, "text": text})

    def asked(self, number: int, request: PermissionRequest) -> None:
        self._put(
            {
                "type": "permission_request",
                "sessionId": request.session_id,
                "number": number,
                "request": request.params,
            }
        )

    def answered(self, number: int, request: PermissionRequest, decision: Decision) -> None:
        option = decision.option
        self._put(
            {
                "type": "permission_answer",
                "sessionId": request.session_id,
                "number": number,
                "optionId": None if option is None else option.id,
                "kind": None if option is None else option.kind,
                "by": decision.by,
            }
        )

    def ended(self, outcome: TurnOutcome, status: ExitStatus) -> None:
        self._put(
            {
                "type": "end",
                "sessionId": self._session,
                "stopReason": outcome.stop_reason,
                "usage": outcome.usage,
                "status": int(status),
            }
        )
        self._output.flush()

    def failed(self, failure: Failure) -> None:
        self._put(
            {"type": "error", "message": failure.message, "detail": failure.detail, "status": int(failure.exit_code)}
        )
        self._output.flush()

    def settle(self) -> None:
        self._output.flush()

    def _put(self, value: dict[str, Any]) -> None:
        self._output.write_bytes(msgspec.json.encode(value) + b"\n")


class _Message(msgspec.Struct):
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"null")


class _Params(msgspec.Struct):
    update: msgspec.Raw


def _notification(event: Notification) -> dict[str, Any]:
    """An update goes out as the agent wrote it, without being decoded; any other notification whole."""
    text = event.text if "\r" not in event.text else msgspec.json.format(event.text, indent=-1)
    try:
        message = msgspec.json.decode(text, type=_Message)
        if message.method == "session/update":
            update = msgspec.json.decode(message.params, type=_Params).update
            return {"type": "update", "sessionId": event.session_id, "update": update}
    except msgspec.MsgspecError:
        pass  # not of that form
    return {"type": "notification", "sessionId": event.session_id, "message": msgspec.Raw(text.encode())}


def answer_words(decision: Decision) -> str:
    """What was answered, and who did."""
    if decision.option is None:
        return f"nothing was chosen, which is a no ({decision.by})"
    return f"{_plain(decision.option.name)} [{_plain(decision.option.kind)}] ({decision.by})"


def resumed_words(tier: object) -> str:
    """How a session came back."""
    if tier == NATIVE:
        return "(resumed: the agent remembers)"
    return "(resumed: a new agent, which is told where to read what was said)"


def _plain(text: str) -> str:
    from roost.acp.view_text import reveal

    return reveal(text)
