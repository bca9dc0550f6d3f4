"""Connecting to an agent: by its command line, over a channel, in this program, or however a program reaches one.

    async with connect("my-agent --acp") as client:
        session = await client.new_session("/work")
        async for update in session.prompt("fix the tests"):
            print(update)

An agent of version 1 is found out by the shape of its answer, or by its silence, reached anew and spoken to through a
bridge (see `negotiation`); a channel that is there once is spoken to in version 2 only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from roost.acp import v2
from roost.errors import LocalProtocolError
from roost.sdk.client import Client
from roost.sdk.client_limits import DEFAULT_CLIENT_LIMITS, ClientLimits
from roost.sdk.client_openers import ChannelFactory, ChannelOpener, ChildOpener, Opener, served_here
from roost.sdk.client_options import ClientOptions, EnvHandler, LoginHandler, TerminalLogin
from roost.sdk.client_permissions import PermissionHandler, deny
from roost.transport.child import DEFAULT_CHILD_LIMITS, ChildLimits, Launch, command_line
from roost.transport.messages import MessageChannel
from roost.wire.model import JsonObject

if TYPE_CHECKING:
    from roost.sdk.agent import Agent
    from roost.sdk.agent_services import Services
    from roost.sdk.client_elicitation import FormHandler, UrlHandler, UrlQuestion

Target: TypeAlias = "str | Sequence[str] | Launch | Agent | MessageChannel | ChannelFactory"


def connect(
    agent: Target,
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    inherit_env: bool = True,
    info: v2.Implementation | None = None,
    on_permission: PermissionHandler = deny,
    on_form: FormHandler | None = None,
    on_url: UrlHandler | None = None,
    on_url_done: Callable[[UrlQuestion], Any] | None = None,
    on_login: LoginHandler | None = None,
    on_env_vars: EnvHandler | None = None,
    terminal_login: TerminalLogin | None = None,
    on_stderr: Callable[[str], None] | None = None,
    nes: v2.ClientNesCapabilities | None = None,
    position_encodings: Sequence[v2.PositionEncodingKind] = (),
    requests: Mapping[str, Callable[[Any], Any]] | None = None,
    notifications: Mapping[str, Callable[[Any], Any]] | None = None,
    meta: JsonObject | None = None,
    services: Services | None = None,
    strict: bool | None = None,
    speaks: Literal[1, 2] | None = None,
    limits: ClientLimits = DEFAULT_CLIENT_LIMITS,
    child_limits: ChildLimits = DEFAULT_CHILD_LIMITS,
) -> Client:
    """A client of that agent; `async with` or `await` it to connect.

    agent: a command line (a text is split as a shell would), a Launch, an Agent of this program, which is served in
    this event loop, a MessageChannel, or a function that opens one.
    cwd, env, inherit_env: for its process; `env` lies over this program's environment.
    info: who this client is; Roost by default.
    on_permission: chooses among the options of a permission request; says no by default (see `client_permissions`).
    on_form, on_url: answer elicitations, and advertise that they can (see `client_elicitation`).
    on_url_done: hears that what was asked for by URL has been done.
    on_login: chooses the method to log in by when the agent wants a login, or None; then the call is tried again.
    terminal_login, on_env_vars: do what logins of these kinds need; `transport.child.run_in_terminal` is one.
    on_stderr: hears the lines of the agent's stderr.
    nes, position_encodings: which edit suggestions can be taken, and how positions can be counted, the best first.
    requests, notifications: handlers of extension methods, `_…`, by name; plain JSON data both ways.
    meta: `_meta` of `initialize`.
    services: files and terminals for an agent of v1, which asks its client for them: a ClientServices; it allows what
    it was made to allow, for all sessions of this client; close it after the client. Agents of v2 have their own.
    strict: whether lines that are no messages are answered with an error. By default they are skipped and counted when
    the agent is a process of ours, since programs print things (STD-4), and answered otherwise.
    speaks: the version it is known to speak, tried first, which saves a start where it is 1; a wrong one is found out.

    Connecting raises ProcessError: it cannot be started. UnsupportedVersion, RpcError, RemoteProtocolError: it cannot
    be talked to. AgentExited, TransportError: it ended, or did not answer. Its `__notes__` say what came of trials
    before the last.
    """
    opener: Opener
    if isinstance(agent, str | Sequence):
        agent = Launch(argv=command_line(agent), cwd=cwd, env=dict(env or {}), inherit_env=inherit_env)
    elif cwd is not None or env is not None:
        raise LocalProtocolError("cwd and env are for a command line")
    if isinstance(agent, Launch):
        opener = ChildOpener(agent, child_limits, on_stderr, not strict)
    else:
        opener = ChannelOpener(served_here(agent) or agent, strict is False)  # type: ignore[arg-type]  # no Agent is left
    options = ClientOptions(
        info=info or _own_info(),
        on_permission=on_permission,
        on_form=on_form,
        on_url=on_url,
        on_url_done=on_url_done,
        on_login=on_login,
        on_env_vars=on_env_vars,
        terminal_login=terminal_login,
        nes=nes,
        position_encodings=position_encodings,
        requests=requests or {},
        notifications=notifications or {},
        meta=meta,
        services=services,
        limits=limits,
    )
    return Client(opener, options, speaks)


def _own_info() -> v2.Implementation:
    from roost import __version__

    return v2.Implementation(name="roost", title="Roost", version=__version__)
