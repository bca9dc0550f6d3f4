"""Answering an agent that asks for permission: policies to start from, and the choice made right.

A handler is an ordinary function or coroutine that gets the request and says what is chosen: an option, its id, an
outcome, or None for no.

    async def on_permission(request: v2.RequestPermissionRequest):
        print(permission_text(request))
        return allow_once(request) if await the_user_agrees() else deny(request)
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from roost.acp import v2
from roost.acp.view_text import reveal
from roost.errors import LocalProtocolError

Outcome: TypeAlias = v2.CancelledPermissionOutcome | v2.SelectedPermissionOutcome
Choice: TypeAlias = v2.PermissionOption | str | Outcome | None
PermissionHandler: TypeAlias = Callable[[v2.RequestPermissionRequest], Choice | Awaitable[Choice]]

CANCELLED: Final = v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())


def deny(request: v2.RequestPermissionRequest) -> Outcome:
    """No: `reject_once` where that is offered, else cancelled (PER-11, PER-13). What an unattended client answers."""
    return _first(request, v2.PermissionOptionKind.REJECT_ONCE) or v2.CancelledPermissionOutcome()


def allow_once(request: v2.RequestPermissionRequest) -> Outcome:
    """Yes, this once. Never for always, never what is not known, never a no taken for a yes; else cancelled (R-09)."""
    return _first(request, v2.PermissionOptionKind.ALLOW_ONCE) or v2.CancelledPermissionOutcome()


def _first(request: v2.RequestPermissionRequest, kind: str) -> v2.SelectedPermissionOutcome | None:
    for option in request.options:
        if option.kind == kind:
            return v2.SelectedPermissionOutcome(option_id=option.option_id)
    return None


async def decide(handler: PermissionHandler, request: v2.RequestPermissionRequest) -> v2.RequestPermissionResponse:
    """What the handler chose, as an answer. LocalProtocolError: it chose what is not offered (PER-4)."""
    choice = handler(request)
    if inspect.isawaitable(choice):
        choice = await choice
    match choice:
        case None:
            outcome = deny(request)
        case str():
            outcome = v2.SelectedPermissionOutcome(option_id=choice)
        case v2.PermissionOption():
            outcome = v2.SelectedPermissionOutcome(option_id=choice.option_id)
        case v2.CancelledPermissionOutcome() | v2.SelectedPermissionOutcome():
            outcome = choice
        case _:
            raise LocalProtocolError(f"a permission handler returned {type(choice).__name__}, which is no choice")
    if isinstance(outcome, v2.SelectedPermissionOutcome) and not _is_offered(outcome.option_id, request):
        raise LocalProtocolError("a permission handler chose what is not offered (PER-4)")
    return v2.RequestPermissionResponse(outcome=outcome)


def _is_offered(option_id: str, request: v2.RequestPermissionRequest) -> bool:
    return any(option.option_id == option_id for option in request.options)


def permission_text(request: v2.RequestPermissionRequest) -> str:
    """What the user decides upon, whole, with everything hidden spelt out (PER-12): title, subject, description."""
    lines = [reveal(request.title)]
    match request.subject:
        case v2.CommandPermissionSubject(command=command, cwd=cwd):
            lines += [f"command: {reveal(command)}", f"in: {reveal(cwd)}"]
        case v2.ToolCallPermissionSubject(tool_call=call):
            if isinstance(call.title, str):
                lines.append(f"tool: {reveal(call.title)}")
            if isinstance(call.locations, list):
                lines += [f"at: {reveal(location.path)}" for location in call.locations]
            if call.raw_input is not v2.UNSET and call.raw_input is not None:
                from roost.wire.decode import encode

                lines.append(f"input: {reveal(encode(call.raw_input).decode())}")
        case v2.Unknown(tag):
            lines.append(f"about: {reveal(tag)}, which is not known here")
        case None:
            pass
    if request.description is not None:
        lines.append(reveal(request.description, lines=True))
    return "\n".join(lines)
