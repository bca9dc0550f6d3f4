"""A turn: one prompt as the author's coroutine receives it, and everything it can say about its work.

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say("Looking. ")
        async with turn.tool("Read notes.txt", kind="read", locations=[turn.session.resolve("notes.txt")]) as call:
            await call.text(notes)

Return a stop reason, or nothing for end_turn. Being cancelled is CancelledError, as everywhere in asyncio. An RpcError
that is raised is shown to the user, anything else is logged and only said to have happened.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from roost.acp import v2
from roost.errors import LocalProtocolError
from roost.wire.decode import encode_checked
from roost.wire.model import UNSET, JsonObject

if TYPE_CHECKING:
    from roost.sdk.agent_config import ConfigOptions
    from roost.sdk.agent_plan import AgentPlan
    from roost.sdk.agent_session import AgentSession
    from roost.sdk.agent_tool import AgentToolCall
    from roost.sdk.elicitation import Elicited
    from roost.sdk.forms import Form
    from roost.sdk.permissions import Permission

log = logging.getLogger("roost.agent")


class Turn:
    """One prompt being worked on. After its end every method raises LocalProtocolError; the session goes on.

    `spent` is reported with the end of the turn, when it is set (PRM-20).
    """

    def __init__(self, session: AgentSession, request: v2.PromptRequest, message_id: str) -> None:
        self.session = session
        self.request = request
        self.message_id = message_id
        """The id under which the user's message was reported."""
        self.command: str | None = None
        """The slash command this prompt called, without its slash; its arguments are `arguments` (MSC-2)."""
        self.arguments = ""
        self.spent: v2.Usage | None = None
        self.cancelled = False
        """Whether the client has cancelled it."""
        self.is_over = False
        self.dropped = 0
        self.stop_reason: str = v2.StopReason.END_TURN
        self._task: asyncio.Future[Any]
        self._abandoned = asyncio.Event()
        self._tools: dict[str, AgentToolCall] = {}
        self._saying: str | None = None
        self._thinking: str | None = None

    # ---- the prompt

    @property
    def prompt(self) -> list[v2.ContentBlock]:
        """The prompt's blocks: text, links, and whatever of the rest the agent accepts (PRM-1)."""
        return self.request.prompt

    @property
    def text(self) -> str:
        """The text of the prompt, its blocks on lines of their own."""
        return "\n".join(block.text for block in self.prompt if isinstance(block, v2.TextContent))

    @property
    def meta(self) -> JsonObject | None:
        """`_meta` of the prompt, untouched (EXT-1)."""
        return self.request.meta

    @property
    def trace(self) -> dict[str, str]:
        """W3C trace context, if the client sent any: `traceparent`, `tracestate`, `baggage`."""
        names = ("traceparent", "tracestate", "baggage")
        return {name: value for name in names if isinstance(value := (self.meta or {}).get(name), str)}

    @property
    def capabilities(self) -> v2.ClientCapabilities:
        """What the client of this connection can do (INI-19)."""
        return self.session.link.capabilities

    @property
    def config(self) -> ConfigOptions:
        """The session's settings."""
        return self.session.config

    # ---- saying

    async def say(self, content: str | v2.ContentBlock, *, meta: JsonObject | None = None) -> str:
        """Says more. Pieces in a row are one message; a tool call, a thought or `new_message` begins another.

        Returns the message's id (MSG-1).
        """
        self.require_open()
        self._thinking = None
        if self._saying is None:
            self._saying = self.session.new_id("msg")
        message_id = self._saying
        await self.session.update(v2.AgentMessageChunk(message_id=message_id, content=_block(content), meta=meta))
        return message_id

    async def think(self, content: str | v2.ContentBlock, *, meta: JsonObject | None = None) -> str:
        """Thinks aloud. As `say`."""
        self.require_open()
        self._saying = None
        if self._thinking is None:
            self._thinking = self.session.new_id("msg")
        message_id = self._thinking
        await self.session.update(v2.AgentThoughtChunk(message_id=message_id, content=_block(content), meta=meta))
        return message_id

    def new_message(self) -> None:
        """What is said or thought next is a message of its own."""
        self._saying = self._thinking = None

    # ---- doing

    async def plan(
        self, entries: Iterable[str | v2.PlanEntry], *, plan_id: str | None = None, priority: str = "medium"
    ) -> AgentPlan:
        """Shows a plan; the result marks its entries as they are done. A known `plan_id` replaces that plan (PLN-1)."""
        from roost.sdk.agent_plan import AgentPlan

        self.require_open()
        plan = AgentPlan(self.session, plan_id or self.session.new_id("plan"), entries, priority)
        await plan.show()
        return plan

    def tool(
        self,
        title: str,
        *,
        kind: str = v2.ToolKind.OTHER,
        name: str | None = None,
        locations: Iterable[str | v2.ToolCallLocation] = (),
        raw_input: Any = UNSET,
        pending: bool = False,
        meta: JsonObject | None = None,
    ) -> AgentToolCall:
        """A tool call, to be entered: `async with turn.tool("Read notes.txt", kind="read") as call`.

        It is completed at the end of the block, failed by an exception, cancelled by cancellation. `pending` is for one
        that needs a permission first.
        """
        from roost.sdk.agent_tool import AgentToolCall

        self.require_open()
        return AgentToolCall(
            self, title, kind=kind, name=name, locations=locations, raw_input=raw_input, pending=pending, meta=meta
        )

    # ---- asking

    async def permission(
        self,
        title: str,
        *,
        subject: v2.RequestPermissionSubject | None = None,
        description: str | None = None,
        options: Sequence[v2.PermissionOption] | None = None,
        remember: str | None = None,
        answer_timeout: float | None = None,
        meta: JsonObject | None = None,
    ) -> Permission:
        """Asks the user whether something may be done: `if not await turn.permission("Delete it?"): return`.

        `remember` names what it is about: an answer for always holds for it until the session is closed.
        `answer_timeout` in seconds; none waits as long as the turn lasts.
        """
        from roost.sdk.asking import ask_permission

        self.require_open()
        return await ask_permission(
            self.session, title, subject, description, options, remember, answer_timeout, meta or self._trace_meta()
        )

    async def elicit(
        self,
        message: str,
        form: Form | v2.ElicitationSchema,
        *,
        tool_call_id: str | None = None,
        answer_timeout: float | None = None,
    ) -> Elicited:
        """Asks the user to fill in a form. UNAVAILABLE, at once, when the client cannot show forms (ELI-1)."""
        from roost.sdk.asking import ask_form

        self.require_open()
        return await ask_form(self.session, message, form, tool_call_id, answer_timeout, self._trace_meta())

    async def open_url(
        self, message: str, url: str, *, tool_call_id: str | None = None, answer_timeout: float | None = None
    ) -> Elicited:
        """Asks the user to visit a web page, for what must not pass through here (ELI-12). Accepted is not done."""
        from roost.sdk.asking import ask_url

        self.require_open()
        return await ask_url(self.session, message, url, tool_call_id, answer_timeout, self._trace_meta())

    async def complete_elicitation(self, elicitation_id: str) -> None:
        """What the user was sent to a web page for has been done (ELI-14)."""
        self.require_open()
        self.session.link.connection.notify(v2.CompleteElicitationNotification(elicitation_id=elicitation_id))

    # ---- telling

    async def usage(self, used: int, size: int | None, *, amount: float | None = None, currency: str = "USD") -> None:
        """How full the context is, and what the session has cost. Told only when the size is known (MSC-4)."""
        self.require_open()
        if size is None:
            return
        if not (currency.isascii() and currency.isupper() and currency.isalpha() and len(currency) == 3):
            raise LocalProtocolError("a currency is three capital letters (ISO 4217)")
        cost = None if amount is None else v2.Cost(amount=amount, currency=currency)
        await self.session.update(v2.UsageUpdate(used=used, size=size, cost=cost))

    async def commands(self, commands: Iterable[v2.AvailableCommand]) -> None:
        """Offers these slash commands, and no others."""
        self.require_open()
        await self.session.set_commands(commands)

    async def session_info(self, *, title: str | None) -> None:
        """Names the session."""
        self.require_open()
        await self.session.set_title(title)

    async def raw_update(self, update: v2.SessionUpdate | Mapping[str, Any]) -> None:
        """Tells of anything else: any update, or plain data with a `sessionUpdate` (`_…` for your own).

        CodecError: it is not what the protocol allows.
        """
        self.require_open()
        if isinstance(update, Mapping):
            update = v2.Unknown.of(dict(update), "sessionUpdate")
        encode_checked(v2.UpdateSessionNotification(session_id=self.session.id, update=update))
        await self.session.update(update)

    # ---- its life, run by the queue

    def start(self, answer: Callable[[Turn], Awaitable[str | None]]) -> None:
        """Begins the author's coroutine, as a task."""
        self._task = asyncio.ensure_future(answer(self))

    def cancel(self, grace: float) -> None:
        """The client does not want it any more; told once (PRM-16). After `grace` seconds it is left behind."""
        if self.cancelled or self.is_over or self._task.done():
            return  # PRM-17: too late, and what the work came to is reported
        self.cancelled = True
        self._task.cancel()
        asyncio.get_running_loop().call_later(grace, self._abandoned.set)

    async def wait(self) -> None:
        """Returns when the author's coroutine has ended, or is left behind."""
        left_behind = asyncio.ensure_future(self._abandoned.wait())
        try:
            await asyncio.wait({self._task, left_behind}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            left_behind.cancel()
        if not self._task.done():
            log.error("a turn of session %s does not end when cancelled", self.session.id)
            self._task.cancel()

    @property
    def error(self) -> BaseException | None:
        """What the author's coroutine ended with."""
        if not self._task.done() or self._task.cancelled():
            return asyncio.CancelledError()
        return self._task.exception()

    @property
    def result(self) -> str | None:
        """The stop reason it returned."""
        result = None if self.error is not None else self._task.result()
        if result is not None and not isinstance(result, str):
            log.error("a turn returned %s, which is no stop reason", type(result).__name__)
            return None
        return result

    def end(self, stop_reason: str) -> None:
        """Tool calls left open are closed (TCL-7), and nothing can be said any more."""
        if self.is_over:
            return
        status = {
            v2.StopReason.CANCELLED: v2.ToolCallStatus.CANCELLED,
            v2.StopReason.END_TURN: v2.ToolCallStatus.COMPLETED,
        }.get(stop_reason, v2.ToolCallStatus.FAILED)
        for call in list(self._tools.values()):
            call.close(status)
        self.stop_reason = stop_reason
        self.is_over = True

    def tool_opened(self, call: AgentToolCall) -> None:
        """What is said after a tool call is another message, and the call is closed with the turn at the latest."""
        self.new_message()
        self._tools[call.id] = call

    def tool_closed(self, call: AgentToolCall) -> None:
        """What is said from here on is another message."""
        self.new_message()
        self._tools.pop(call.id, None)

    def require_open(self) -> None:
        """LocalProtocolError: the turn is over."""
        if self.is_over:
            raise LocalProtocolError("this turn is over")

    def _trace_meta(self) -> JsonObject | None:
        return dict(self.trace) or None


def _block(content: str | v2.ContentBlock) -> v2.ContentBlock:
    return v2.TextContent(text=content) if isinstance(content, str) else content
