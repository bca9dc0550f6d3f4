"""What a host hears of its sessions, and what it is asked."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from roost.sidecar.gen.messages import AcpAgentExitedEvent, AcpAgentStderrEvent, AcpEvent, AcpSessionEvent

if TYPE_CHECKING:
    from roost.acp import v2


class Notification:
    """A notification of the agent, usually a session/update, as it came (AcpSessionEvent)."""

    __slots__ = ("__dict__", "session_id", "text")

    def __init__(self, session_id: str, text: str) -> None:
        self.session_id = session_id
        self.text = text

    def __repr__(self) -> str:
        return f"Notification({self.session_id!r}, {self.text[:200]!r})"

    @cached_property
    def message(self) -> dict[str, Any]:
        """The whole JSON-RPC message."""
        value = msgspec.json.decode(self.text)
        return value if isinstance(value, dict) else {}

    @property
    def method(self) -> str:
        """The ACP method; empty when the message has none."""
        method = self.message.get("method")
        return method if isinstance(method, str) else ""

    @cached_property
    def raw_update(self) -> dict[str, Any]:
        """`params.update`, undecoded; empty when there is none."""
        params = self.message.get("params")
        update = params.get("update") if isinstance(params, dict) else None
        return update if isinstance(update, dict) else {}

    @cached_property
    def update(self) -> v2.SessionUpdate:
        """The ACP v2 update this is, leniently decoded. Raises CodecError when it is none (a v1 agent's, say)."""
        from roost.acp import v2
        from roost.wire.decode import decode

        params = msgspec.json.decode(self.text, type=_Params).params
        return decode(v2.UpdateSessionNotification, params).update


class _Params(msgspec.Struct):
    params: msgspec.Raw


class Stderr(msgspec.Struct, frozen=True):
    """Bytes an agent wrote to its stderr. `session_id` is "" while its session has none."""

    session_id: str
    agent_type: str
    process: str
    chunk: bytes


class AgentExited(msgspec.Struct, frozen=True):
    """An agent crashed. `restart`: restarted, unsupported, failed, exhausted; the session lives after the first."""

    session_id: str
    agent_type: str
    process: str
    exit_code: int | None
    restart: str
    restart_count: int
    max_restarts: int


HostEvent = Notification | Stderr | AgentExited


def host_event(event: AcpEvent) -> HostEvent:
    """An event of the sidecar protocol as a host's reader gets it."""
    match event:
        case AcpSessionEvent(session_id=session_id, notification=text):
            return Notification(session_id, text)
        case AcpAgentStderrEvent():
            return Stderr(event.session_id, event.agent_type, event.process_id, event.chunk)
        case AcpAgentExitedEvent():
            return AgentExited(
                event.session_id,
                event.agent_type,
                event.process_id,
                event.exit_code,
                event.restart,
                event.restart_count,
                event.max_restarts,
            )


class PermissionRequest:
    """An agent wants to be allowed something. Answer with a word: `once`, `always`, `reject`, or an option's id.

    Everything in it comes from the agent and is to be shown literally (PER-12).
    """

    def __init__(self, session_id: str, permission_id: str, params: str) -> None:
        self.session_id = session_id
        self.permission_id = permission_id
        value = msgspec.json.decode(params)
        self.params: dict[str, Any] = value if isinstance(value, dict) else {}

    @property
    def options(self) -> list[dict[str, Any]]:
        """What can be chosen: JSON objects with `optionId`, `name` and `kind`. What is no object is left out."""
        options = self.params.get("options")
        return [option for option in options if isinstance(option, dict)] if isinstance(options, list) else []

    @property
    def title(self) -> str:
        """What the agent says it wants; of a v1 agent, its tool call's title."""
        for holder in (self.params, self.tool_call):
            if isinstance(holder.get("title"), str):
                return str(holder["title"])
        return "Permission required"

    @property
    def tool_call(self) -> dict[str, Any]:
        """The tool call it is about, as a JSON object; empty when it is about none."""
        subject = self.params.get("subject")
        for holder in (self.params, subject if isinstance(subject, dict) else {}):
            if isinstance(holder.get("toolCall"), dict):
                return dict(holder["toolCall"])
        return {}

    @property
    def command(self) -> str | None:
        """The complete command to be run, when that is what is asked for."""
        subject = self.params.get("subject")
        if isinstance(subject, dict) and isinstance(subject.get("command"), str):
            return str(subject["command"])
        raw = self.tool_call.get("rawInput")
        command = raw.get("command") if isinstance(raw, dict) else None
        return command if isinstance(command, str) else None

    @property
    def paths(self) -> list[str]:
        """The files it is about, as the agent writes them."""
        locations = self.tool_call.get("locations")
        entries = locations if isinstance(locations, list) else []
        return [entry["path"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("path"), str)]


class HostRequest:
    """Anything else an agent asks its client: files, terminals, elicitations, extensions.

    `message` is the whole JSON-RPC request. What the handler returns is the result; RpcError becomes the error.
    """

    def __init__(self, session_id: str, request: str) -> None:
        self.session_id = session_id
        value = msgspec.json.decode(request)
        self.message: dict[str, Any] = value if isinstance(value, dict) else {}

    @property
    def method(self) -> str:
        """The ACP method; empty when the message has none."""
        return str(self.message.get("method", ""))

    @property
    def params(self) -> dict[str, Any]:
        """The params, as a JSON object; empty when they are none."""
        params = self.message.get("params")
        return params if isinstance(params, dict) else {}
