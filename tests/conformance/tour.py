"""A tour of the protocol: our client and our agent use everything on each other once, and all they say is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from roost.acp import v2
from roost.sdk.agent import Agent
from roost.sdk.agent_auth import LoginCall
from roost.sdk.agent_config import select, switch
from roost.sdk.agent_nes import SuggestCall
from roost.sdk.agent_providers import Provider
from roost.sdk.client import Client
from roost.sdk.connect import connect
from roost.sdk.forms import Form
from roost.sdk.session import Session
from roost.sdk.turn import Turn
from roost.transport.messages import MessageChannel, MessageListener, message_pair

WAIT = 20.0  # seconds; far more than all of it takes

TEXT = v2.TextContent(text="words")
LINK = v2.ResourceLink(name="a.txt", uri="file:///w/a.txt")
BLOCKS: dict[str, v2.ContentBlock] = {
    "text": TEXT,
    "image": v2.ImageContent(data="QUJD", mime_type="image/png"),
    "audio": v2.AudioContent(data="QUJD", mime_type="audio/wav"),
    "resource_link": LINK,
    "resource": v2.EmbeddedResource(resource=v2.TextResourceContents(uri="file:///w/a.txt", text="a")),
}
CONTEXT = v2.NesSuggestContext(
    recent_files=[v2.NesRecentFile(uri="file:///w/b", language_id="py", text="b") for _ in range(3)]
)


@dataclass
class Said:
    """One message on the wire, and which side sent it."""

    side: str
    message: dict[str, Any]


@dataclass
class Record:
    """What the tour left behind. `seen`: what each side's program got to see, by a word."""

    said: list[Said] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)

    def calls(self, side: str, method: str, kind: str) -> list[dict[str, Any]]:
        """The requests, or notifications, of that name that a side sent."""
        return [
            one.message
            for one in self.said
            if one.side == side
            and one.message.get("method") == method
            and ("id" in one.message) == (kind == "request")
        ]  # fmt: skip

    def answer(self, side: str, request: dict[str, Any]) -> dict[str, Any]:
        """The other side's answer to it."""
        (found,) = [
            one.message
            for one in self.said
            if one.side != side and "method" not in one.message and one.message["id"] == request["id"]
        ]
        return found


class Tapped:
    """The agent's end of a channel, with everything that passes written down."""

    def __init__(self, channel: MessageChannel, record: Record) -> None:
        self._channel = channel
        self._record = record
        self.peer = channel.peer
        self.close = channel.close
        self.abort = channel.abort
        self.pause_reading = channel.pause_reading
        self.resume_reading = channel.resume_reading

    @property
    def queued(self) -> int:
        return self._channel.queued

    def send(self, messages: list[bytes]) -> None:
        self._record.said += [Said("agent", json.loads(message)) for message in messages]
        self._channel.send(messages)

    def open(self, listener: MessageListener) -> None:
        received = listener.received
        record = self._record

        def hear(messages: list[bytes]) -> None:
            record.said += [Said("client", json.loads(message)) for message in messages]
            received(messages)

        self._channel.open(_Ear(listener, hear))


class _Ear:
    def __init__(self, listener: MessageListener, received: Callable[[list[bytes]], None]) -> None:
        self.received = received
        self.overflowed = listener.overflowed
        self.congested = listener.congested
        self.eased = listener.eased
        self.ended = listener.ended
        self.closed = listener.closed


# ---- the agent


def everything(record: Record) -> Agent:
    """An agent that can do all there is; what it is told goes to the record."""
    seen = record.seen
    agent = Agent(
        "everything",
        "1",
        accepts=["image", "audio", "embedded_context"],
        roots=True,
        mcp=["stdio", "http", "acp"],
        fork=True,
        login_required=True,
        config=[select("mode", "Mode", {"a": "A", "b": "B"}), switch("loud", "Loud")],
    )

    @agent.login("key", "Key")
    async def log_in(call: LoginCall) -> None:
        seen["login form"] = await call.elicit("Who?", Form().text("name", "Name", required=True))

    agent.login_method(v2.AuthMethodTerminal(method_id="terminal", name="Terminal", args=["login"]))
    agent.login_method(v2.AuthMethodEnvVar(method_id="env", name="Variables", vars=[v2.AuthEnvVar(name="KEY")]))

    @agent.logout
    def log_out() -> None:
        seen["logged out"] = True

    agent.provider(Provider(provider_id="main", supported=["openai"], required=True, api_type="openai", base_url="u"))
    agent.provider(Provider(provider_id="other", supported=["openai"]))

    @agent.suggest(
        documents="incremental",
        context={"recent_files": 2, "related_snippets": None, "edit_history": 3, "user_actions": 4}
        | {"open_files": None, "diagnostics": None},
        focus=True,
        save=True,
    )
    async def suggest(call: SuggestCall) -> list[v2.NesSuggestion]:
        seen["suggest"] = call.request
        seen["document"] = None if call.document is None else call.document.text
        return [call.edit(0, 1, "X")]

    agent.suggestion_hooks(
        accepted=lambda session, told: seen.update(accepted=told.suggestion_id),
        rejected=lambda session, told: seen.update(rejected=told.reason),
        saved=lambda session, document: seen.update(saved=document.uri),
    )

    @agent.override("initialize")
    def initialize(request: v2.InitializeRequest, incoming: Any, link: Any) -> v2.InitializeResponse:
        """As ever, and a marker of the agent's own about logins (AUTH-2)."""
        link.info, link.capabilities = request.info, request.capabilities
        link.position_encoding = agent.choose_encoding(request.capabilities)
        seen["client"] = request.capabilities
        answer = agent.advertise(2, request.capabilities, link)
        marked = replace(answer.capabilities, auth=v2.AgentAuthCapabilities(meta={"_acme/sso": {}}))
        link.advertised = replace(answer, capabilities=marked)
        return link.advertised  # type: ignore[no-any-return]

    @agent.prompt
    async def answer(turn: Turn) -> str | None:
        await WORK.get(turn.text, _say_it_back)(turn, seen)
        return None

    @agent.extension("_acme/slow")
    async def wait(params: Any, link: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            seen["given up"] = True

    return agent


async def _say_it_back(turn: Turn, seen: dict[str, Any]) -> None:
    seen["prompt"] = turn.prompt
    for block in turn.prompt:
        await turn.say(block)


async def _tell(turn: Turn, seen: dict[str, Any]) -> None:
    """Every kind of update that a turn can tell."""
    await turn.think("hm")
    await turn.say("well")
    await turn.raw_update(v2.UserMessageChunk(message_id=turn.session.new_id("msg"), content=TEXT))
    await turn.raw_update(v2.AgentMessage(message_id=turn.session.new_id("msg"), content=[TEXT]))
    await turn.raw_update(v2.AgentThought(message_id=turn.session.new_id("msg"), content=[TEXT]))
    plan = await turn.plan(["one", "two"])
    await plan.complete(0)
    await plan.remove()
    await turn.raw_update(v2.PlanUpdate(plan=v2.PlanMarkdown(plan_id="m", content="# Plan")))
    await turn.raw_update(v2.PlanUpdate(plan=v2.PlanFile(plan_id="f", uri="file:///w/PLAN.md")))
    async with turn.tool("Edit", kind="edit", name="edit", locations=["/w/a.txt"], raw_input={"x": 1}) as call:
        await call.diff("a.txt", "a\n", "b\n")
        terminal = await call.terminal("make")
        await terminal.write(b"making \xc3")
        await terminal.write(b"\xbc\n")
        await terminal.replace(b"made\n")
        await terminal.exit(0)
        await call.update(raw_output=[1])
    await turn.commands([v2.AvailableCommand(name="plan", description="Plans", input=v2.TextCommandInput(hint="what"))])
    await turn.session_info(title="A tour")
    await turn.usage(10, 100, amount=0.5)
    turn.session.config.assign("loud", True)
    await turn.session.publish_config()
    turn.spent = v2.Usage(total_tokens=3, input_tokens=1, output_tokens=2)


async def _ask(turn: Turn, seen: dict[str, Any]) -> None:
    async with turn.tool("Write", pending=True) as call:
        seen["permission"] = bool(await call.permission())
    async with turn.tool("Run", pending=True) as call:
        seen["command"] = bool(await call.permission("Run it?", command="make", description="All of it."))
    seen["form"] = await turn.elicit("Which?", Form().choice("which", "Which", {"a": "A"}).flag("sure", "Sure"))
    seen["url"] = done = await turn.open_url("Log in", "https://example.com/login")
    assert done.elicitation_id is not None
    await turn.complete_elicitation(done.elicitation_id)


async def _use_mcp(turn: Turn, seen: dict[str, Any]) -> None:
    (server,) = [one for one in turn.session.mcp_servers if isinstance(one, v2.McpServerAcp)]
    async with await turn.session.open_mcp(server) as channel:
        channel.on_request = lambda method, params: {"asked": method}
        await channel.notify("notifications/initialized")
        seen["mcp"] = await channel.request("tools/list", {"cursor": "x"})


async def _wait(turn: Turn, seen: dict[str, Any]) -> None:
    await asyncio.Event().wait()


async def _withdraw(turn: Turn, seen: dict[str, Any]) -> None:
    seen["withdrawn"] = await turn.permission("Quick?", answer_timeout=0.01)


WORK: dict[str, Callable[[Turn, dict[str, Any]], Awaitable[None]]] = {
    "tell": _tell,
    "ask": _ask,
    "mcp": _use_mcp,
    "wait": _wait,
    "withdraw": _withdraw,
}


# ---- the client


class Clock:
    """An MCP server that also asks and tells the agent."""

    def __init__(self, connection: Any, seen: dict[str, Any]) -> None:
        self._connection = connection
        self._seen = seen

    async def request(self, method: str, params: Any) -> Any:
        self._seen["server asked"] = await self._connection.request("sampling/createMessage", {"n": 1})
        await self._connection.notify("notifications/message", {"level": "info"})
        return {"tools": [], "method": method, "params": params}

    async def notify(self, method: str, params: Any) -> None:
        self._seen["server told"] = method

    async def close(self) -> None:
        self._seen["server closed"] = True


async def tour() -> Record:
    """All of it, once."""
    async with asyncio.timeout(WAIT):
        record = Record()
        ours, theirs = message_pair()
        everything(record).connect(Tapped(theirs, record))
        seen = record.seen
        slow = asyncio.Event()

        async def permit(request: Any, *rest: Any) -> str | None:
            if request.title == "Quick?":
                await slow.wait()
            return next(option.option_id for option in request.options if option.kind == "allow_once")

        client = connect(
            ours,
            on_permission=permit,
            on_form=lambda question: {"which": "a", "sure": True} if question.message == "Which?" else {"name": "me"},
            on_url=lambda question: True,
            on_url_done=lambda question: seen.update(url_done=question.url),
            terminal_login=_no_terminal,
            nes=v2.ClientNesCapabilities(
                jump=v2.NesJumpCapabilities(),
                rename=v2.NesRenameCapabilities(),
                search_and_replace=v2.NesSearchAndReplaceCapabilities(),
            ),
            position_encodings=["utf-8", "utf-16"],
        )
        async with client:
            await _see_everything(client, seen)
    return record


async def _no_terminal(launch: Any) -> int:
    return 1


async def _see_everything(client: Client, seen: dict[str, Any]) -> None:
    seen["agent"] = client.agent
    await client.login("key")
    await _see_providers(client, seen)
    server = client.mcp.offer("clock", lambda connection: Clock(connection, seen))
    stdio = v2.McpServerStdio(name="s", command="/bin/true", args=["-x"], env=[v2.EnvVariable(name="A", value="b")])
    http = v2.McpServerHttp(name="h", url="https://example.com/mcp", headers=[v2.HttpHeader(name="A", value="b")])
    session = await client.new_session("/w", mcp_servers=[server, stdio, http], additional_directories=["/more"])
    seen["updates"] = await _told(session, "tell")
    seen["view"] = session.view
    seen["turn"] = await session.prompt("ask")
    await session.prompt("mcp")
    await session.prompt("withdraw")
    for name, block in BLOCKS.items():
        end = await session.prompt([block])
        seen[f"block {name}"] = (seen["prompt"], end.messages[-1].content)
    await session.set_config("mode", "b")
    seen["config"] = list(session.view.config_options)
    with suppress(TimeoutError):
        await asyncio.wait_for(client.call_extension("_acme/slow"), 0.01)
    waiting = session.prompt("wait")
    waiting.send()
    await session.cancel()
    seen["cancelled"] = await waiting
    await _see_sessions(client, session, seen)
    await _see_suggestions(client, seen)
    await client.logout()


async def _told(session: Session, text: str) -> list[Any]:
    return [update async for update in session.prompt(text)]


async def _see_providers(client: Client, seen: dict[str, Any]) -> None:
    await client.providers.set("other", "openai", "https://example.com", {"Authorization": "secret"})
    seen["providers"] = await client.providers.list()
    await client.providers.disable("other")


async def _see_sessions(client: Client, session: Session, seen: dict[str, Any]) -> None:
    seen["list"] = [info async for info in client.list_sessions("/w")]
    fork = await client.fork_session(session.id, "/w")
    seen["fork"] = fork.id != session.id
    await session.close()
    again = await client.resume_session(session.id, "/w", replay=True)
    seen["replayed"] = [message.kind for message in again.view.messages]
    await again.delete()
    await fork.close()
    seen["left"] = [info.session_id async for info in client.list_sessions()] == [fork.id]


async def _see_suggestions(client: Client, seen: dict[str, Any]) -> None:
    nes = await client.start_nes(workspace_uri="file:///w")
    document = nes.open_document("file:///w/a.py", "python", "\u00fcone\n")
    document.replace(1, 4, "two")
    document.focus(1, (0, 4))
    suggestions = await nes.suggest(document, 4, context=CONTEXT, selection=(1, 4), trigger="manual")
    assert suggestions is not None
    seen["suggestions"] = suggestions
    nes.accept(suggestions[0])
    nes.reject(suggestions[0], "rejected")
    document.save()
    document.close()
    await nes.close()
