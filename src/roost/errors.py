"""The one exception tree. Code decides by class or `code`, never by message text.

RoostError
├── CodecError            bytes or JSON that are not what they claim to be; knows the path
├── LimitError            a named bound was reached; knows which, how much, and how to raise it
├── LocalProtocolError    we were asked to break the protocol; nothing was sent
│   └── CapabilityError   ... by using what the peer does not offer
├── RemoteProtocolError   the peer broke it
│   └── UnsupportedVersion   ... or speaks another version of it
├── RpcError              a JSON-RPC error object; the only one that crosses a JSON-RPC wire
├── SidecarError          becomes an AcpErrorResponse
├── ConfigError           a setting, a manifest or an argument is wrong
├── TransportError        a connection failed or ended
│   └── ConnectionClosed  ... and calls were still open on it
│       └── AgentExited   ... because the agent's process is gone
├── ProcessError          a program could not be run, or ended when it should not have
├── CatalogueError        an agent could not be installed, removed or looked up
└── StoreError            the journal could not be read or written
"""

from __future__ import annotations

from typing import Any


class RoostError(Exception):
    """Everything Roost raises on purpose. Where one has a `message`, that is its text, whatever else it is made of."""

    def __str__(self) -> str:
        return str(vars(self).get("message", super().__str__()))


class CodecError(RoostError):
    """Input that cannot be decoded, or a value that cannot be encoded.

    `path` leads from the outermost value to the fault, e.g. `("params", "prompt", 0, "text")`.
    """

    def __init__(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message, path)
        self.message = message
        self.path = path

    def __str__(self) -> str:
        return f"{self.message} (at {format_path(self.path)})" if self.path else self.message

    def inside(self, *steps: str | int) -> CodecError:
        """The same fault as seen from an enclosing value."""
        return type(self)(self.message, (*steps, *self.path))


class LimitError(RoostError):
    """A bound was reached. Nothing beyond it was kept.

    `limit` is the setting's name, so the reader knows what to raise; `bound` its value, in its own unit.
    """

    def __init__(self, limit: str, bound: int, message: str = "") -> None:
        super().__init__(limit, bound, message)
        self.limit = limit
        self.bound = bound
        self.message = message or f"limit {limit} of {bound} reached"


class LocalProtocolError(RoostError):
    """This side was asked to do what the protocol forbids. Nothing was sent."""


class CapabilityError(LocalProtocolError):
    """This side was asked to use what the other has not advertised. `path` is where it would have."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message, path)
        self.message = message
        self.path = path


class RemoteProtocolError(RoostError):
    """The other side did what the protocol forbids."""


class UnsupportedVersion(RemoteProtocolError):
    """The other side speaks `answered`, a version of the protocol that this side does not (INI-4)."""

    def __init__(self, answered: int, message: str) -> None:
        super().__init__(answered, message)
        self.answered = answered
        self.message = message


class RpcError(RoostError):
    """A JSON-RPC error object: `code` (int32), one sentence, and any JSON as `data` (None: absent)."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class SidecarError(RoostError):
    """A request to the sidecar that fails: becomes AcpErrorResponse{code, message}."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


class ConfigError(RoostError):
    """A setting, a manifest or an argument is wrong; the text names it and what to do."""


class TransportError(RoostError):
    """A connection could not be made, or failed."""


class ConnectionClosed(TransportError):
    """The connection ended while something was still expected from it."""


class AgentExited(ConnectionClosed):
    """It ended because the agent's process did. `exit_code` is negative for a signal, `stderr` holds the last lines."""

    def __init__(self, message: str, exit_code: int | None, stderr: str = "") -> None:
        super().__init__(message, exit_code, stderr)
        self.message = message
        self.exit_code = exit_code
        self.stderr = stderr


class ProcessError(RoostError):
    """A program could not be started, or ended when it should not have.

    `exit_code` is negative for a signal, as in `subprocess`; `stderr` holds its last lines.
    """

    def __init__(self, message: str, exit_code: int | None = None, stderr: str = "") -> None:
        super().__init__(message, exit_code, stderr)
        self.message = message
        self.exit_code = exit_code
        self.stderr = stderr


class CatalogueError(RoostError):
    """An agent could not be installed, removed or looked up; the text says what and what to do.

    `code` is one of: unknown (no such agent or version), exists (the name is taken), locked (somebody else is
    installing it), unsuitable (this machine lacks something), damaged (data that is not what it should be), checksum,
    unreachable (a download failed), failed (npm or pip did, or the system). `detail` holds the last lines of a
    program that failed, without secrets.
    """

    def __init__(self, message: str, code: str = "failed", detail: str = "") -> None:
        super().__init__(message, code, detail)
        self.message = message
        self.code = code
        self.detail = detail


class StoreError(RoostError):
    """The journal could not be read or written; the text names the file and the way out.

    `code` is one of: locked (another process has it), full, read_only, newer (written by a later Roost), damaged,
    foreign (somebody else's file), missing (what was asked for), failed (the system refused), closed, refused (a change
    that contradicts what is stored; nothing of its batch was kept).
    """

    def __init__(self, message: str, code: str = "failed") -> None:
        super().__init__(message, code)
        self.message = message
        self.code = code


def format_path(path: tuple[str | int, ...]) -> str:
    """`("params", "prompt", 0)` as `params.prompt[0]`."""
    out = ""
    for step in path:
        out += f"[{step}]" if isinstance(step, int) else f".{step}" if out else step
    return out
