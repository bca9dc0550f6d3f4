"""What Wren can do, skill by skill."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from roost.agents.wren.instructions import Instruction
from roost.agents.wren.workspace import MAX_FOUND, Place, Problem, Workspace, todo_in
from roost.sdk.turn import Turn

T = TypeVar("T")

Skill = Callable[[Turn, Workspace, Instruction], Awaitable[None]]

_SHOWN_TODOS: Final = 20  # entries of a plan; more would hide it
_AROUND: Final = 2  # lines shown before and after a TODO
_SHOWN_LINES: Final = 400  # of a file that is read


async def todo(turn: Turn, workspace: Workspace, instruction: Instruction) -> None:
    """Collects the TODO comments of the workspace into a plan, and goes through it."""
    await turn.think("Looking for TODO comments. ")
    async with turn.tool("Look for TODO comments", kind="search") as call:
        found = await _search(workspace, todo_in)
        await call.text(_counted(len(found), "TODO comment"))
        if found:
            await call.locate(*(place.path for place in _first_of_each_file(found)))
    if not found:
        await turn.say("There is nothing to do here: no TODO comments.\n")
        return
    shown = found[:_SHOWN_TODOS]
    plan = await turn.plan(f"{workspace.name(place.path)}:{place.line} {place.text}" for place in shown)
    try:
        for index, place in enumerate(shown):
            await plan.start(index)
            await _show_todo(turn, workspace, place)
            await plan.complete(index)
    except asyncio.CancelledError:
        await plan.abandon()
        raise
    await turn.say(f"{_counted(len(found), 'TODO comment')} found.\n")
    for place in shown:
        await turn.say(f"- {workspace.name(place.path)}:{place.line} {place.text}\n")
    if len(found) > len(shown):
        await turn.say(f"- and {len(found) - len(shown)} more\n")


async def _show_todo(turn: Turn, workspace: Workspace, place: Place) -> None:
    name = workspace.name(place.path)
    async with turn.tool(f"Read {name}:{place.line}", kind="read") as call:
        await call.locate(_location(place))
        if turn.config.get("detail") == "full":
            try:
                lines = (await _aside(workspace.read, place.path)).split("\n")
            except Problem as problem:
                await call.fail(str(problem))
                return
            first = max(0, place.line - 1 - _AROUND)
            await call.text("\n".join(lines[first : place.line + _AROUND]))


async def find(turn: Turn, workspace: Workspace, instruction: Instruction) -> None:
    """Finds a text in the files of the workspace."""
    text = instruction.rest
    async with turn.tool(f"Find {text}", kind="search") as call:
        found = await _search(workspace, lambda line: line.strip() if text in line else None)
        places = "\n".join(f"{workspace.name(place.path)}:{place.line}: {place.text}" for place in found)
        await call.text(places or "nothing")
        if found:
            await call.locate(*(_location(place) for place in _first_of_each_file(found)))
    more = " or more" if len(found) == MAX_FOUND else ""
    files = len(_first_of_each_file(found))
    await turn.say(f"{text!r} is on {_counted(len(found), 'line')}{more} in {_counted(files, 'file')}.\n")


async def read(turn: Turn, workspace: Workspace, instruction: Instruction) -> None:
    """Reads a file."""
    path = workspace.path(instruction.rest)
    async with turn.tool(f"Read {workspace.name(path)}", kind="read", locations=[path]) as call:
        try:
            text = await _aside(workspace.read, path)
        except Problem as problem:
            await call.fail(str(problem))
            raise
        lines = text.split("\n")
        count = len(lines) - (not lines[-1])
        await call.text("\n".join(lines[:_SHOWN_LINES]))
    left_out = f", of which the first {_SHOWN_LINES} are shown" if count > _SHOWN_LINES else ""
    await turn.say(f"{workspace.name(path)} has {_counted(count, 'line')}{left_out}.\n")


async def write(turn: Turn, workspace: Workspace, instruction: Instruction) -> None:
    """Writes a file as a whole."""
    path = workspace.path(instruction.rest)
    before = await _aside(workspace.read_if_there, path)
    await _change(turn, workspace, path, before, instruction.texts[0])


async def replace(turn: Turn, workspace: Workspace, instruction: Instruction) -> None:
    """Replaces a text in a file that is there once."""
    path = workspace.path(instruction.rest)
    before = await _aside(workspace.read, path)
    old, new = instruction.texts
    count = before.count(old)
    if count != 1:
        times = "not" if count == 0 else f"{count} times"
        raise Problem(f"{old!r} is {times} in {workspace.name(path)}; it has to be there once.")
    await _change(turn, workspace, path, before, before.replace(old, new))


async def _change(turn: Turn, workspace: Workspace, path: str, before: str | None, after: str) -> None:
    name = workspace.name(path)
    if before == after:
        await turn.say(f"{name} says that already.\n")
        return
    title = f"Create {name}" if before is None else f"Change {name}"
    async with turn.tool(title, kind="edit", locations=[path], pending=True) as call:
        await call.diff(path, before, after)
        if not await call.permission(f"{title}?", remember="change files"):
            await turn.say(f"{name} stays as it is.\n")
            return
        try:
            await _aside(workspace.write, path, after, before)
        except Problem as problem:
            await call.fail(str(problem))
            raise
    await turn.say(f"{name} is {'created' if before is None else 'changed'}.\n")


async def run(turn: Turn, workspace: Workspace, instruction: Instruction) -> None:
    """Runs a command in the workspace, in a terminal."""
    command = instruction.rest
    async with turn.tool(f"Run {command}", kind="execute", pending=True) as call:
        if not await call.permission(f"Run {command}?", command=command, remember=f"run {command}"):
            await turn.say(f"{command} was not run.\n")
            return
        terminal = await call.terminal(command)
        try:
            result = await terminal.run(command)
        except OSError as error:
            await call.fail(f"It could not be started: {error.strerror}.")
            raise Problem(f"{command} could not be started.") from error
        if not result.succeeded:
            await call.fail()
    how = f"was ended by {result.signal}" if result.signal else f"ended with {result.exit_code}"
    await turn.say(f"{command} {how}.\n")


async def say(turn: Turn, workspace: Workspace, instruction: Instruction) -> None:
    """Says something."""
    await turn.say(instruction.rest + "\n")


async def think(turn: Turn, workspace: Workspace, instruction: Instruction) -> None:
    """Thinks something."""
    await turn.think(instruction.rest + "\n")


async def ask(turn: Turn, workspace: Workspace, instruction: Instruction) -> None:
    """Asks the user something: by a form where there are forms, else by yes and no."""
    from roost.sdk.elicitation import Action
    from roost.sdk.forms import Form

    question = instruction.rest
    answer = await turn.elicit(question, Form().text("answer", "Your answer", required=True, min_length=1))
    if answer.action is Action.UNAVAILABLE:
        permission = await turn.permission(question, options=_yes_or_no())
        heard = "Yes" if permission else "No" if permission.option is not None else None
    else:
        heard = answer.values["answer"] if answer else None
    await turn.say(f"{question} {heard}\n" if heard is not None else f"{question} There was no answer.\n")


def _yes_or_no() -> list[Any]:
    from roost.acp.v2 import PermissionOption

    return [
        PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
        PermissionOption(option_id="no", name="No", kind="reject_once"),
    ]


SKILLS: Final[dict[str, Skill]] = {
    "todo": todo,
    "find": find,
    "read": read,
    "write": write,
    "replace": replace,
    "run": run,
    "say": say,
    "think": think,
    "ask": ask,
}


async def _search(workspace: Workspace, match: Callable[[str], str | None]) -> list[Place]:
    wanted = True
    try:
        return await _aside(workspace.search, match, lambda: wanted)
    finally:
        wanted = False  # a cancelled search looks at no further file


async def _aside(work: Callable[..., T], *arguments: Any) -> T:
    """Files may be slow: they are not waited for in the loop."""
    return await asyncio.to_thread(work, *arguments)


def _first_of_each_file(found: list[Place]) -> list[Place]:
    first: dict[str, Place] = {}
    for place in found:
        first.setdefault(place.path, place)
    return list(first.values())


def _location(place: Place) -> Any:
    from roost.acp.v2 import ToolCallLocation

    return ToolCallLocation(path=place.path, line=place.line)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
