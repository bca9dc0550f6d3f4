"""What went wrong with an agent, in words: which agent, how it ended, what it said last."""

from __future__ import annotations

import re
import signal

import msgspec

from roost.cli.status import ExitStatus, Failure
from roost.errors import ConnectionClosed, RoostError, RpcError, SidecarError, TransportError
from roost.host.turn import AgentCrashed
from roost.rpc.messages import AUTH_REQUIRED

# An error of the sidecar ends with what the agent said lately (`sidecar.activity`): read apart here only to be shown.
_ACTIVITY = "; recent_activity="
_SAID = re.compile(r'; adapter_(?:stderr|stdout)=("(?:[^"\\]|\\.)*")')

# The sidecar has no code for it, and the number an agent gave is not told: its words are all there is. Good for advice.
_WANTS_LOGIN = re.compile(
    r"ACP (?:session/\w+|authenticate|auth/login) failed: .*?"
    r"(?:\b(?:un)?auth(?!or\b)|\blog(?:ged)?[ -]?in\b|\bsign(?:ed)?[ -]?in\b|credential|api[ _-]?key)"
    r"|session .* is logged out;",
    re.IGNORECASE | re.DOTALL,
)

_LAST_LINES = 20

_RESTARTS = {
    "restarted": "; it was started again, but the turn is lost",
    "exhausted": "; it had crashed too often to be started again",
    "failed": "; starting it again failed",
}

_ADVICE = {
    "protocol_version_mismatch": "; choose the version it speaks with --protocol",
}


def wants_login(error: RoostError) -> bool:
    """Whether an agent would do what it was asked, once there is a login."""
    return (isinstance(error, RpcError) and error.code == AUTH_REQUIRED) or (
        isinstance(error, SidecarError) and _WANTS_LOGIN.match(error.message) is not None
    )


def failure_of(agent: str, error: RoostError, stderr: str = "", advice: str = "") -> Failure:
    """The end of the command for an error of the host. `stderr`: the last of what the agent wrote there.

    `advice`: what would help, where something does.
    """
    failure = _failure_of(agent, error, stderr)
    return Failure(failure.status, f"{failure.message.rstrip('.')}; {advice}", failure.detail) if advice else failure


def _failure_of(agent: str, error: RoostError, stderr: str) -> Failure:
    match error:
        case AgentCrashed():
            how = exit_words(error.exit_code)
            sentence = f"agent {agent} failed: it {how} in mid-turn{_RESTARTS.get(error.restart, '')}"
            return _failed(sentence, error.stderr)
        case RpcError():
            data = "" if error.data is None else f" {msgspec.json.encode(error.data).decode()}"
            return _failed(f"agent {agent} failed: {error.message} (error {error.code}){data}", stderr)
        case SidecarError():
            headline, said = read_diagnosis(error.message)
            return _failed(f"agent {agent} failed: {headline}{_ADVICE.get(error.code, '')}", said or stderr)
        case ConnectionClosed():
            return _failed(f"the daemon is gone: {error}", "")
        case TransportError():
            return _failed(str(error), "")
    return _failed(f"agent {agent} failed: {error}", stderr)


def exit_words(code: int | None) -> str:
    """How a process ended. A signal has a negative code."""
    if code is None:
        return "exited"
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def read_diagnosis(message: str) -> tuple[str, str]:
    """The sentence of a sidecar error, and what the agent wrote last; the whole message when it has no such parts."""
    headline, found, activity = message.partition(_ACTIVITY)
    if not found:
        return message, ""
    said = [msgspec.json.decode(quoted, type=str).rstrip("\n") for quoted in _SAID.findall(activity)]
    return headline, "\n".join(filter(None, said))


def _failed(sentence: str, said: str) -> Failure:
    lines = said.rstrip("\n").split("\n")
    return Failure(ExitStatus.AGENT_FAILED, sentence, "\n".join(lines[-_LAST_LINES:]))
