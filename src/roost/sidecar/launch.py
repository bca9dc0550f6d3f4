"""How an agent is started: everything a restart or a resume needs to do the same again."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from roost.errors import SidecarError
from roost.sidecar.gen.messages import AcpCreateSessionRequest, AcpRuntimeKind

KEEP_STDIN_OPEN = "AGENTOS_KEEP_STDIN_OPEN"


class AgentProgram(msgspec.Struct, frozen=True, kw_only=True):
    """What the catalogue knows of an agent: a package, or a command line (`entrypoint` is then its first word)."""

    agent_type: str
    entrypoint: str
    launch_args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    runtime: AcpRuntimeKind | None = None  # what its file asks for; None: runs by itself
    package: str | None = None  # the folder of the installed package; None for a command line or a shipped agent


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One way of starting one agent, final: arguments joined, environment merged, instructions in place.

    `client_capabilities` and `mcp_servers` are compact JSON text; `files` are written before the start.
    """

    program: AgentProgram
    runtime: AcpRuntimeKind
    cwd: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    protocol_version: int
    client_capabilities: str
    mcp_servers: str
    files: tuple[tuple[str, str], ...] = ()

    @property
    def agent_type(self) -> str:
        return self.program.agent_type


def launch_of(program: AgentProgram, request: AcpCreateSessionRequest) -> Launch:
    """The launch a create request asks for, without instructions.

    The JSON texts are checked here, before anything is started; the reference did it after.
    """
    return Launch(
        program=program,
        runtime=request.runtime,
        cwd=request.cwd,
        args=(*program.launch_args, *request.args),
        env=merge_env(program.env, request.env),
        protocol_version=request.protocol_version,
        client_capabilities=compact_json("clientCapabilities", request.client_capabilities),
        mcp_servers=compact_json("mcpServers", request.mcp_servers),
    )


def merge_env(manifest: Mapping[str, str], requested: Mapping[str, str]) -> dict[str, str]:
    """The caller's variables win, the manifest fills gaps, and stdin is kept open whatever anybody says."""
    return {**manifest, **requested, KEEP_STDIN_OPEN: "1"}


def compact_json(label: str, text: str) -> str:
    """The same JSON on one line. Raises SidecarError `invalid <label> JSON: …`."""
    try:
        return msgspec.json.format(text.encode(), indent=-1).decode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise SidecarError("invalid_state", f"invalid {label} JSON: {error}") from None


UNKNOWN_AGENT = (
    'unknown agent type "{0}": no projected /opt/agentos/pkgs/{0} package with an agent.acpEntrypoint'
    " — pass its package to AgentOs software"
)


def unknown_agent(agent_type: str) -> SidecarError:
    return SidecarError("invalid_state", UNKNOWN_AGENT.format(agent_type))
