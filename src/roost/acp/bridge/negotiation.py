"""Which version an agent speaks: read from the shape of its answer, and what to try next (INI-4 to INI-7).

Several agents of v1 echo whatever number they were asked for, so a 2 proves nothing. Everything here is a value: the
driver starts the agent, sends `initialize` of the version a Trial names, and asks `Trial.after` what came of it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from roost.acp.bridge.payload import as_object
from roost.errors import RpcError
from roost.rpc.messages import INTERNAL_ERROR

Version: TypeAlias = Literal[1, 2]

_V1_MEMBERS = ("agentCapabilities", "agentInfo")


def answered_version(result: Any) -> Version:
    """The version an answer to `initialize` is written in, whatever number it names.

    v2 requires `info`, which v1 has not; v1 has `agentInfo` and `agentCapabilities`, but requires neither: where
    nothing tells, it is v1.
    """
    answer = as_object(result)
    if any(member in answer for member in _V1_MEMBERS):
        return 1
    return 2 if isinstance(answer.get("info"), dict) and answer.get("protocolVersion") == 2 else 1


def wrong_shape(version: Version) -> RpcError:
    """What a bridge tells its client when the agent behind it answers `initialize` in `version`, its client's own."""
    return RpcError(INTERNAL_ERROR, f"the agent speaks ACP version {version}", {"protocolVersion": version})


def is_answered_in(version: Version, outcome: Any) -> bool:
    """Whether the outcome of `initialize` is such an error."""
    return isinstance(outcome, RpcError) and bool(outcome.data == {"protocolVersion": version})


def is_known(named: Any) -> bool:
    """Whether the number in an answer of v1's shape is one: v1's own, or the 2 that several echo."""
    return type(named) is int and named in (1, 2)


class Speak(Struct, frozen=True):
    """Go on with this process in `version`. `remember` it for this agent and its version."""

    version: Version
    remember: bool = True


class GiveUp(Struct, frozen=True):
    """It speaks neither: tell the user its last answer."""

    error: RpcError | None


class Trial(Struct, frozen=True):
    """Start the agent anew and send `initialize` of `version`.

    Each version is tried once; one that got no answer once more if the agent then says that it speaks that.
    """

    version: Version
    tried: tuple[Version, ...] = ()
    unanswered: tuple[Version, ...] = ()

    def after(self, outcome: Any) -> Speak | Trial | GiveUp:
        """`outcome`: the result of `initialize`, as JSON data, or the RpcError it was answered with."""
        other: Version = 1 if self.version == 2 else 2
        if not isinstance(outcome, RpcError):
            answered = answered_version(outcome)
            if answered == self.version:
                return Speak(answered)
            return GiveUp(None) if other in self.tried else self._other(other)
        if is_answered_in(other, outcome):
            return GiveUp(outcome) if other in self.tried else self._other(other)
        if other in self.tried or other in self.unanswered:
            return GiveUp(outcome)
        return Trial(other, (*self.tried, self.version))

    def _other(self, version: Version) -> Trial:
        # It took the body for one of its own version, and thinks the client can do nothing.
        return Trial(version, (*self.tried, self.version), self.unanswered)

    def without_answer(self) -> Trial | GiveUp:
        """It said nothing in the time it had, exited, or its answer was none: some know no other way to refuse."""
        other: Version = 1 if self.version == 2 else 2
        if other in self.tried or other in self.unanswered:
            return GiveUp(None)
        return Trial(other, unanswered=(self.version,))


def first_trial(remembered: Version | None = None, preferred: Version = 1) -> Trial:
    """Where to begin: with what this agent spoke last time, else with what its profile prefers.

    By default 1: every agent of v1 answers it, as does each that speaks both.
    """
    return Trial(remembered or preferred)
