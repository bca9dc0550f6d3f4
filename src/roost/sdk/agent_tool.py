"""A tool call as its agent makes it: announced first, shown as it goes, and always brought to an end (TCL-2, TCL-7)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from roost.acp import v2
from roost.acp.paths import is_absolute
from roost.errors import LocalProtocolError
from roost.wire.model import UNSET, JsonObject

if TYPE_CHECKING:
    from roost.sdk.agent_terminal import AgentTerminal
    from roost.sdk.diffs import FileChange
    from roost.sdk.permissions import Permission
    from roost.sdk.turn import Turn

_FINISHED: Final = (v2.ToolCallStatus.COMPLETED, v2.ToolCallStatus.FAILED, v2.ToolCallStatus.CANCELLED)


class AgentToolCall:
    """One tool call, used as `async with`. Made by `Turn.tool`."""

    def __init__(
        self,
        turn: Turn,
        title: str,
        *,
        kind: str,
        name: str | None,
        locations: Iterable[str | v2.ToolCallLocation],
        raw_input: Any,
        pending: bool,
        meta: JsonObject | None,
    ) -> None:
        self._turn = turn
        self._session = turn.session
        self._kind = kind
        self._name = name
        self._locations = [_location(place) for place in locations]
        self._raw_input = raw_input
        self._meta = meta
        self.id = turn.session.new_id("tool")
        self.title = title
        self.status: str = v2.ToolCallStatus.PENDING if pending else v2.ToolCallStatus.IN_PROGRESS

    async def __aenter__(self) -> AgentToolCall:
        self._turn.tool_opened(self)
        await self._session.update(
            v2.SessionToolCallUpdate(
                tool_call_id=self.id,
                name=UNSET if self._name is None else self._name,
                title=self.title,
                kind=self._kind,
                status=self.status,
                locations=self._locations or UNSET,
                raw_input=self._raw_input,
                meta=UNSET if self._meta is None else self._meta,
            )
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close(v2.ToolCallStatus.COMPLETED)
        elif isinstance(error, asyncio.CancelledError):
            self.close(v2.ToolCallStatus.CANCELLED)
        else:
            self.close(v2.ToolCallStatus.FAILED)

    @property
    def is_finished(self) -> bool:
        """Whether it is completed, failed or cancelled."""
        return self.status in _FINISHED

    # ---- what it shows

    async def text(self, text: str) -> None:
        """Shows text, behind what it shows already."""
        await self.content(v2.TextContent(text=text))

    async def content(self, block: v2.ContentBlock) -> None:
        """Shows any content block."""
        await self._add(v2.Content(content=block))

    async def diff(
        self,
        path: str,
        before: str | bytes | None,
        after: str | bytes | None,
        *,
        old_path: str | None = None,
        mime_type: str | None = None,
    ) -> None:
        """Shows what happened to a file, with its patch: None for before it was, or after it was gone (DIF-1, DIF-3).

        A relative path starts at the session's directory.
        """
        from roost.sdk.diffs import FileChange

        old = None if old_path is None else self._session.resolve(old_path)
        path = self._session.resolve(path)
        await self.diffs([FileChange(path=path, before=before, after=after, old_path=old, mime_type=mime_type)])

    async def diffs(self, changes: Sequence[FileChange]) -> None:
        """Shows what happened to several files, as one diff."""
        from roost.sdk.diffs import diff_of

        await self._add(diff_of(changes))

    async def terminal(self, command: str | None = None, cwd: str | None = None) -> AgentTerminal:
        """Shows a terminal; what is written to it is streamed. `cwd`: the session's directory when not given."""
        from roost.sdk.agent_terminal import AgentTerminal

        self._turn.require_open()
        where = self._session.cwd if cwd is None else self._session.resolve(cwd)
        terminal = AgentTerminal(self._session, self._session.new_id("term"), command, where)
        await self._session.update(
            v2.TerminalUpdate(terminal_id=terminal.id, command=UNSET if command is None else command, cwd=where)
        )
        await self._add(v2.Terminal(terminal_id=terminal.id))
        return terminal

    async def update(self, **fields: Any) -> None:
        """Patches it: any fields of ToolCallUpdate but the id; None clears (TCL-3)."""
        self._turn.require_open()
        patch = v2.SessionToolCallUpdate(tool_call_id=self.id, **fields)
        self.title = patch.title or self.title
        self.status = patch.status or self.status
        if self.is_finished:
            self._turn.tool_closed(self)
        await self._session.update(patch)

    async def locate(self, *places: str | v2.ToolCallLocation) -> None:
        """Shows where it looks now, in place of where it looked before."""
        await self.update(locations=[_location(place) for place in places])

    async def start(self) -> None:
        """A pending one is under way."""
        await self.update(status=v2.ToolCallStatus.IN_PROGRESS)

    async def fail(self, reason: str | None = None) -> None:
        """It did not work; the block it is used in may simply be left."""
        if reason is not None:
            await self.text(reason)
        await self.update(status=v2.ToolCallStatus.FAILED)

    async def permission(
        self,
        title: str | None = None,
        *,
        command: str | None = None,
        cwd: str | None = None,
        **more: Any,
    ) -> Permission:
        """Asks whether it may be done: about this call, or about a command line. Started by a yes, ended by a no.

        `more`: as for `Turn.permission`.
        """
        subject: v2.RequestPermissionSubject
        if command is None:
            subject = v2.ToolCallPermissionSubject(
                tool_call=v2.ToolCallUpdate(
                    tool_call_id=self.id,
                    title=self.title,
                    kind=self._kind,
                    status=self.status,
                    locations=self._locations or UNSET,
                    raw_input=self._raw_input,
                )
            )
        else:
            where = self._session.cwd if cwd is None else self._session.resolve(cwd)
            subject = v2.CommandPermissionSubject(command=command, cwd=where, tool_call_id=self.id)
        answer = await self._turn.permission(title or self.title, subject=subject, **more)
        if answer.allowed:
            if self.status == v2.ToolCallStatus.PENDING:
                await self.start()
        elif answer.option is None:
            await self.update(status=v2.ToolCallStatus.CANCELLED)
        else:
            await self.update(status=v2.ToolCallStatus.FAILED)
        return answer

    def close(self, status: str) -> None:
        """Brings it to an end, unless it has come to one. It cannot wait, so it works in a cancelled turn."""
        if self.is_finished or self._turn.is_over:
            return
        self.status = status
        self._turn.tool_closed(self)
        self._session.emit(v2.SessionToolCallUpdate(tool_call_id=self.id, status=status))

    async def _add(self, content: v2.ToolCallContent) -> None:
        self._turn.require_open()
        await self._session.update(v2.ToolCallContentChunk(tool_call_id=self.id, content=content))


def _location(place: str | v2.ToolCallLocation) -> v2.ToolCallLocation:
    location = v2.ToolCallLocation(path=place) if isinstance(place, str) else place
    if not is_absolute(location.path):
        raise LocalProtocolError(f"a location is an absolute path, not {location.path!r} (TCL-8)")
    return location
