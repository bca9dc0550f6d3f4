"""How an agent is started: everything a restart or a resume needs to do the same again."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from roost.acp.dialect import V1, V2, Dialect, negotiate
from roost.errors import SidecarError
from roost.sidecar.gen.messages import AcpCreateSessionRequest, AcpRuntimeKind
from roost.sidecar.payloads import compact
from roost.sidecar.quirks import NO_QUIRKS, Quirks

KEEP_STDIN_OPEN = "AGENTOS_KEEP_STDIN_OPEN"

# A name, a path or a key is shown up to here in an error's text.
SHOWN_LENGTH = 512


class AgentProgram(msgspec.Struct, frozen=True, kw_only=True):
    """What the catalogue knows of an agent: a package, or a command line (`entrypoint` is then its first word).

    `revision` is another one when the program is: its package's version, or marks of its files; "" when nobody knows.
    """

    agent_type: str
    entrypoint: str
    launch_args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    runtime: AcpRuntimeKind | None = None  # what its file asks for; None: runs by itself
    revision: str = ""
    package: str | None = None  # the folder of the installed package; None for a command line or a shipped agent
    inherited: tuple[str, ...] = ()  # variables of the daemon's own that it gets, among those its quirks ask for
    quirks: Quirks = NO_QUIRKS
    quirks_by_info: Mapping[str, Quirks] = {}  # of what it may turn out to be, by the name it tells at initialize

    @property
    def digest(self) -> str:
        """Tells this agent in this revision from all others, and nobody what it is."""
        told = [part.encode("utf-8", "surrogatepass") for part in (self.agent_type, self.entrypoint, self.revision)]
        return sha256(b"".join(b"%d:%b" % (len(part), part) for part in told)).hexdigest()


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One way of starting one agent, final: arguments joined, environment merged, instructions in place.

    `client_capabilities` and `mcp_servers` are compact JSON text; `files` are written before the start.
    `instructions`: what the agent is told by a variable or a file of ours, and not by its arguments.
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
    instructions: str | None = None

    @property
    def agent_type(self) -> str:
        return self.program.agent_type

    @property
    def dialect(self) -> Dialect:
        """What the agent is spoken to in; a version nobody knows is asked for in the latest shape (INI-9)."""
        return negotiate(self.protocol_version, (V1, V2))

    @property
    def by_state(self) -> bool:
        """Whether a turn's end is told by a state_update, and not by the answer to its prompt."""
        return self.dialect is V2


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


def check_launch(launch: Launch) -> Launch:
    """The launch, if an operating system can start it. Raises SidecarError saying what it cannot take."""
    if not launch.cwd.startswith("/"):
        raise SidecarError("invalid_state", f"cwd must be an absolute path: {shown(launch.cwd)}")
    _no_nul("cwd", launch.cwd)
    for index, argument in enumerate(launch.args):
        _no_nul(f"args[{index}]", argument)
    for name, value in launch.env.items():
        if not name or "=" in name:
            raise SidecarError("invalid_state", f"env has a variable with an impossible name: {shown(name)}")
        _no_nul(f"the name of env {shown(name)}", name)
        _no_nul(f"env {shown(name)}", value)
    return launch


def _no_nul(what: str, text: str) -> None:
    if "\0" in text:
        raise SidecarError("invalid_state", f"{what} contains a NUL character")


def compact_json(label: str, text: str) -> str:
    """The same JSON on one line. Raises SidecarError `invalid <label> JSON: …`."""
    try:
        return compact(text).decode()
    except ValueError as error:
        raise SidecarError("invalid_state", f"invalid {label} JSON: {error}") from None


UNKNOWN_AGENT = (
    'unknown agent type "{0}": no projected /opt/agentos/pkgs/{0} package with an agent.acpEntrypoint'
    " — pass its package to AgentOs software"
)


def unknown_agent(agent_type: str) -> SidecarError:
    return SidecarError("invalid_state", UNKNOWN_AGENT.format(shown(agent_type)))


def shown(text: str) -> str:
    """A caller's text as it may stand in an error: of bounded length, and nothing in it that would not print."""
    cut = text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH] + "…"
    if cut.isprintable():
        return cut
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in cut)
