"""Writing an agent: say what it can do, and run it. The protocol is the library's business.

    agent = Agent("echo", "1.0")

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say(turn.text)

    agent.run()

What is registered is what is advertised: a login method makes the agent one that can be logged in to, a suggester one
that suggests edits. Registering ends where the first connection begins.
"""

from __future__ import annotations

import inspect
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from roost.acp import v2
from roost.acp.view import ViewLimits
from roost.errors import LocalProtocolError, RpcError
from roost.rpc.messages import INVALID_PARAMS
from roost.sdk.agent_auth import AuthMethods, LoginHandler
from roost.sdk.agent_capabilities import session_capabilities
from roost.sdk.agent_link import AgentLink, require_extension
from roost.sdk.agent_sessions import AgentSessions
from roost.sdk.binding import bound_notification, bound_override, bound_request
from roost.sdk.connection import Connection
from roost.sdk.history import DEFAULT_HISTORY_LIMITS
from roost.sdk.incoming import Incoming
from roost.sdk.limits import DEFAULT_AGENT_LIMITS, AgentLimits, ConnectionLimits
from roost.sdk.store import MemorySessionStore, SessionStore
from roost.sdk.turn import Turn

if TYPE_CHECKING:
    from roost.sdk.agent_nes import AgentNesSession, ContextKind, Suggester, Suggestions
    from roost.sdk.agent_providers import Provider
    from roost.sdk.agent_session import AgentSession
    from roost.sdk.text_document import TextDocument
    from roost.transport.messages import MessageChannel

F = TypeVar("F", bound=Callable[..., Any])

PromptHandler: TypeAlias = Callable[[Turn], Awaitable[str | None]]
CommandHandler: TypeAlias = Callable[[Turn, str], Awaitable[str | None]]
Origin: TypeAlias = Literal["new", "resume", "fork"]

log = logging.getLogger("roost.agent")

_END_MARGIN: Final = 0.5  # seconds the end of a connection waits beyond the grace of its cancelled turns


class Refusal(RpcError):
    """What an author's code raises to refuse something: a session, a value, a prompt. The text is for the user."""

    def __init__(self, message: str) -> None:
        super().__init__(INVALID_PARAMS, message)


class Agent:
    """An agent, as its author describes it.

    `accepts`: kinds of content beyond text and links. `roots`: whether sessions may have additional directories.
    `mcp`: the kinds of MCP servers it connects to. `fork` and `delete`: whether the library offers these for its
    sessions. `login_required`: whether sessions need a login. `config`: what each session starts with.
    """

    def __init__(
        self,
        name: str,
        version: str,
        *,
        title: str | None = None,
        accepts: Iterable[Literal["image", "audio", "embedded_context"]] = (),
        roots: bool = False,
        mcp: Iterable[Literal["stdio", "http", "acp"]] = (),
        fork: bool = False,
        delete: bool = True,
        login_required: bool = False,
        config: Iterable[v2.SessionConfigOption] = (),
        store: SessionStore | None = None,
        limits: AgentLimits = DEFAULT_AGENT_LIMITS,
        history_limits: ViewLimits = DEFAULT_HISTORY_LIMITS,
        connection_limits: ConnectionLimits | None = None,
    ) -> None:
        self.info = v2.Implementation(name=name, version=version, title=title)
        self.config = list(config)
        self.store: SessionStore = MemorySessionStore() if store is None else store
        self.limits = limits
        self.history_limits = history_limits
        self.connection_limits = connection_limits or ConnectionLimits(close_grace=limits.cancel_grace + _END_MARGIN)
        self.auth = AuthMethods(login_required)
        self.sessions = AgentSessions(self)
        self._accepts = frozenset(accepts)
        self._roots = roots
        self._mcp = frozenset(mcp)
        self._fork = fork
        self._delete = delete
        self._prompt: PromptHandler | None = None
        self._commands: dict[str, tuple[v2.AvailableCommand, CommandHandler]] = {}
        self._opened: Callable[[AgentSession, str], Awaitable[None]] | None = None
        self._closed: Callable[[AgentSession], Awaitable[None]] | None = None
        self._configured: Callable[[AgentSession, str], Awaitable[None]] | None = None
        self._providers: list[Provider] = []
        self._provider_changed: Callable[[str], Any] | None = None
        self._suggestions: Suggestions | None = None
        self._extensions: list[tuple[str, Callable[[Any, AgentLink], Any], bool]] = []
        self._overrides: list[tuple[str, Callable[[Any, Incoming, AgentLink], Any]]] = []

    # ---- prompts

    def prompt(self, handler: PromptHandler) -> PromptHandler:
        """Decorator: the coroutine that works on prompts; without one the agent has no sessions (INI-15)."""
        if not inspect.iscoroutinefunction(handler):
            raise LocalProtocolError("a prompt handler is an async def")
        self._prompt = handler
        return handler

    def command(
        self, name: str, description: str, *, hint: str | None = None
    ) -> Callable[[CommandHandler], CommandHandler]:
        """Decorator: `handler(turn, arguments)` works on prompts that begin with `/name` (MSC-2)."""
        if not name or name.startswith("/") or any(char.isspace() for char in name):
            raise LocalProtocolError("a command's name is one word without the slash (MSC-1)")

        def register(handler: CommandHandler) -> CommandHandler:
            offer = None if hint is None else v2.TextCommandInput(hint=hint)
            self._commands[name] = (v2.AvailableCommand(name=name, description=description, input=offer), handler)
            return handler

        return register

    def session_hook(
        self, handler: Callable[[AgentSession, str], Awaitable[None]]
    ) -> Callable[[AgentSession, str], Awaitable[None]]:
        """Decorator: `handler(session, origin)` before a session is there; origin: `new`, `resume` or `fork`.

        Raise RpcError to refuse it. Updates it tells of follow the response.
        """
        self._opened = handler
        return handler

    def close_hook(
        self, handler: Callable[[AgentSession], Awaitable[None]]
    ) -> Callable[[AgentSession], Awaitable[None]]:
        """Decorator: `handler(session)` when a session is closed, or its connection has ended; it is idle by then."""
        self._closed = handler
        return handler

    def config_hook(
        self, handler: Callable[[AgentSession, str], Awaitable[None]]
    ) -> Callable[[AgentSession, str], Awaitable[None]]:
        """Decorator: `handler(session, config_id)` after a setting was changed; it may change others (CFG-1).

        Raise RpcError to refuse the value.
        """
        self._configured = handler
        return handler

    # ---- logins and providers

    def login(
        self, method_id: str, name: str, *, description: str | None = None
    ) -> Callable[[LoginHandler], LoginHandler]:
        """Decorator: a login that runs through the protocol; it succeeds unless it raises."""

        def register(handler: LoginHandler) -> LoginHandler:
            method = v2.AuthMethodAgent(method_id=method_id, name=name, description=description)
            self.auth.add(method, handler)
            return handler

        return register

    def login_method(self, method: v2.AuthMethod) -> None:
        """Offers a login that happens elsewhere: in a terminal, by environment variables, or a kind of your own."""
        self.auth.add(method)

    def logout(self, handler: Callable[[], Awaitable[None] | None]) -> Callable[[], Awaitable[None] | None]:
        """Decorator: what is done at logout."""
        self.auth.log_out = handler
        return handler

    def logged_in(self, handler: Callable[[], bool]) -> Callable[[], bool]:
        """Decorator: whether the user is logged in from before, asked once for each connection."""
        self.auth.known = handler
        return handler

    def provider(self, provider: Provider) -> None:
        """Offers a model endpoint that clients may route elsewhere; `link.providers.route(id)` tells where to."""
        from roost.sdk.agent_providers import checked

        self._providers.append(checked(provider, self._providers))

    def provider_hook(self, handler: Callable[[str], Any]) -> Callable[[str], Any]:
        """Decorator: `handler(provider_id)` after its route was changed."""
        self._provider_changed = handler
        return handler

    # ---- suggestions

    def suggest(
        self,
        *,
        documents: Literal["full", "incremental"] | None = "incremental",
        context: Iterable[ContextKind] | Mapping[ContextKind, int | None] = (),
        focus: bool = False,
        save: bool = False,
    ) -> Callable[[Suggester], Suggester]:
        """Decorator: `handler(call)` suggests edits; it returns them, best first.

        `documents`: how the client keeps open documents in step. `context`: what it sends with each request, as a
        mapping with how many of it at most. What the client cannot carry out is left out of what it is sent (NES-5).
        """

        def register(handler: Suggester) -> Suggester:
            from roost.sdk.agent_nes import Suggestions

            self._suggestions = Suggestions(handler, documents, context, focus, save)
            return handler

        return register

    def suggestion_hooks(
        self,
        *,
        accepted: Callable[[AgentNesSession, v2.AcceptNesNotification], Any] | None = None,
        rejected: Callable[[AgentNesSession, v2.RejectNesNotification], Any] | None = None,
        saved: Callable[[AgentNesSession, TextDocument], Any] | None = None,
    ) -> None:
        """Plain functions that are told what became of suggestions, and of saved documents."""
        if self._suggestions is None:
            raise LocalProtocolError("hooks of suggestions need a suggester first")
        self._suggestions.accepted = accepted
        self._suggestions.rejected = rejected
        self._suggestions.saved = saved

    # ---- beyond the protocol

    def extension(self, method: str) -> Callable[[F], F]:
        """Decorator: `handler(params, link)` answers requests of your own, `_vendor/name` (EXT-3)."""
        return self._extension(method, False)

    def extension_notification(self, method: str) -> Callable[[F], F]:
        """Decorator: `handler(params, link)` is told of notifications of your own."""
        return self._extension(method, True)

    def _extension(self, method: str, notification: bool) -> Callable[[F], F]:
        require_extension(method)

        def register(handler: F) -> F:
            self._extensions.append((method, handler, notification))
            return handler

        return register

    def override(self, method: str) -> Callable[[F], F]:
        """Decorator: `handler(params, incoming, link)` answers a request of the protocol in place of the library.

        Whoever takes a method over takes its rules over, too.
        """

        def register(handler: F) -> F:
            self._overrides.append((method, handler))
            return handler

        return register

    # ---- running

    def run(self) -> None:
        """Serves standard input and output until the input ends, or SIGTERM or SIGINT comes."""
        from roost.sdk.serve import run_stdio

        run_stdio(self)

    def connect(self, channel: MessageChannel, *, principal: str | None = None) -> AgentLink:
        """Serves one connection from here on; `link.connection.wait_closed()` is its end.

        `principal`: who is at the other end, where one agent serves several users (SEC-6).
        """
        from roost.sdk.agent_methods import SessionMethods

        connection = Connection(channel, limits=self.connection_limits)
        link = AgentLink(self, connection, self.limits, principal)
        if self._prompt is not None or self._commands:
            SessionMethods(link, self.sessions)
        self.auth.serve(link)
        if self._providers:
            from roost.sdk.agent_providers import serve_providers

            serve_providers(link, self._providers, self._provider_changed)
        if self._suggestions is not None:
            from roost.sdk.agent_nes import serve_nes

            serve_nes(link, self._suggestions, self.new_session_id)
        if "acp" in self._mcp:
            from roost.sdk.mcp_channel import serve_mcp_messages

            serve_mcp_messages(link)
        self._serve_extensions(link)
        connection.on_end = lambda: self.sessions.shut_all(link)
        connection.start()
        return link

    def _serve_extensions(self, link: AgentLink) -> None:
        for method, handler, notification in self._extensions:
            if notification:
                link.connection.on_notification(method, bound_notification(handler, link))
            else:
                link.connection.on_request(method, bound_request(handler, link))
        for method, override in self._overrides:
            link.connection.on_request(method, bound_override(override, link))

    # ---- what the library asks

    def advertise(self, version: int, capabilities: v2.ClientCapabilities, link: AgentLink) -> v2.InitializeResponse:
        """The answer to `initialize`, from what was registered and what the client can do."""
        if self.auth.known is not None:
            link.logged_in = self.auth.known()
        return v2.InitializeResponse(
            protocol_version=version,
            info=self.info,
            capabilities=self._capabilities(capabilities, link),
            auth_methods=self.auth.offered_to(capabilities),
        )

    def _capabilities(self, client: v2.ClientCapabilities, link: AgentLink) -> v2.AgentCapabilities:
        session = None
        if self._prompt is not None or self._commands:
            session = session_capabilities(
                accepts=self._accepts, mcp=self._mcp, roots=self._roots, fork=self._fork, delete=self._delete
            )
        nes = None if self._suggestions is None else self._suggestions.capabilities()
        return v2.AgentCapabilities(
            session=session,
            providers=v2.ProvidersCapabilities() if self._providers else None,
            nes=nes,
            position_encoding=link.position_encoding if nes is not None and client.position_encodings else None,
        )

    def choose_encoding(self, capabilities: v2.ClientCapabilities) -> v2.PositionEncodingKind:
        """How positions are counted: the client's first choice; we know them all (NES-4)."""
        return capabilities.position_encodings[0] if capabilities.position_encodings else "utf-16"

    async def answer(self, turn: Turn) -> str | None:
        """Works on a prompt: by its command, or by the prompt handler."""
        name, arguments = _command_in(turn)
        if name in self._commands:
            turn.command, turn.arguments = name, arguments
            return await self._commands[name][1](turn, arguments)
        if any(command.name == name for command in turn.session.commands):
            turn.command, turn.arguments = name, arguments
        if self._prompt is None:
            await turn.say("This agent only knows its commands: " + ", ".join(f"/{name}" for name in self._commands))
            return None
        return await self._prompt(turn)

    def commands_of(self, session: AgentSession) -> Sequence[v2.AvailableCommand]:
        """What is on offer in a session that was just attached."""
        registered = [command for command, _ in self._commands.values()]
        return registered + [command for command in session.commands if command.name not in self._commands]

    async def session_opened(self, session: AgentSession, origin: str) -> None:
        """Calls the session hook. RpcError: the author refuses the session."""
        if self._opened is not None:
            await self._opened(session, origin)

    async def session_closed(self, session: AgentSession) -> None:
        if self._closed is not None:
            await self._closed(session)

    async def config_changed(self, session: AgentSession, config_id: str) -> None:
        """Calls the config hook. RpcError: the author refuses the value."""
        if self._configured is not None:
            await self._configured(session, config_id)

    def now(self) -> str:
        """The time, as records have it: RFC 3339 in UTC, always of one length."""
        from datetime import UTC, datetime

        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def new_session_id(self) -> str:
        """An id nobody can guess (SES-2)."""
        return f"sess_{secrets.token_hex(16)}"


def _command_in(turn: Turn) -> tuple[str, str]:
    """The slash command a prompt begins with, and the rest; empty when it does not."""
    first = turn.prompt[0]
    if not isinstance(first, v2.TextContent) or not first.text.startswith("/"):
        return "", ""
    name, _, arguments = turn.text[1:].partition(" ")
    if "\n" in name:
        name, _, arguments = turn.text[1:].partition("\n")
    return name, arguments.strip()
