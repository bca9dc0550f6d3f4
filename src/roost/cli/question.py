"""A permission request as a question to a person: everything it is about, whole and literally, then the options.

Every text in it is the agent's and untrusted. Nothing is cut short, and what would not show, or show elsewhere, is
spelt out (PER-12). Beside each option stands what choosing it means, for its label may say anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from roost.acp.view_text import reveal
from roost.cli.permission import Decision, Option, decline, deny, first_of_kind, options_of, select

if TYPE_CHECKING:
    from roost.cli.keyboard import Keyboard
    from roost.host.events import PermissionRequest

MEANINGS = {
    "allow_once": "allow this once",
    "allow_always": "ALLOW FROM NOW ON",
    "reject_once": "reject this once",
    "reject_always": "reject from now on",
}


def subject_lines(request: PermissionRequest) -> Iterator[str]:
    """What is asked for, complete, one `label: text` after the other."""
    yield from _entry("", request.title)
    description = request.params.get("description")
    if isinstance(description, str) and description:
        yield from _entry("says", description)
    subject = request.params.get("subject")
    command = request.command
    if command is not None:
        yield from _entry("command", command)
    for holder in (subject, request.tool_call.get("rawInput")):
        cwd = holder.get("cwd") if isinstance(holder, dict) else None
        if isinstance(cwd, str):
            yield from _entry("in", cwd)
            break
    yield from _tool_call_lines(request.tool_call, request.title, command)
    if isinstance(subject, dict) and subject.get("type") not in ("tool_call", "command"):
        yield from _entry("about", _json(subject))


def _tool_call_lines(call: dict[str, Any], title: str, command: str | None) -> Iterator[str]:
    if isinstance(call.get("title"), str) and call["title"] != title:
        yield from _entry("tool", call["title"])
    for location in _objects(call.get("locations")):
        path, line = location.get("path"), location.get("line")
        if isinstance(path, str):
            yield from _entry("path", f"{path}:{line}" if isinstance(line, int) else path)
    raw = call.get("rawInput")
    if raw is not None and not (isinstance(raw, dict) and set(raw) <= {"command", "cwd"} and command is not None):
        yield from _entry("input", _json(raw))
    for content in _objects(call.get("content")):
        yield from _content_lines(content)


def _content_lines(content: dict[str, Any]) -> Iterator[str]:
    if content.get("type") != "diff":
        return
    for change in _objects(content.get("changes")):
        paths = [change[key] for key in ("oldPath", "path") if isinstance(change.get(key), str)]
        yield from _entry(str(change.get("operation", "change")), " -> ".join(paths))
    patch = content.get("patch")
    if isinstance(patch, dict) and isinstance(patch.get("text"), str):
        yield from _entry("patch", patch["text"])
    if isinstance(content.get("path"), str):  # version 1
        yield from _entry("writes", content["path"])
        if isinstance(content.get("newText"), str):
            yield from _entry("text", content["newText"])


def option_lines(options: list[Option]) -> Iterator[str]:
    for number, option in enumerate(options, 1):
        meaning = MEANINGS.get(option.kind, reveal(option.kind) or "of no known meaning")
        yield f"  {number}  {reveal(option.name)}  [{meaning}]"


async def ask(request: PermissionRequest, keyboard: Keyboard) -> Decision:
    """Puts the question; the person's choice. The end of the terminal's input is a no."""
    options = options_of(request)
    keyboard.write("\n? " + "\n".join(subject_lines(request)) + "\n" + "\n".join(option_lines(options)) + "\n")
    while True:
        line = await keyboard.ask(_prompt(request, len(options)))
        if line is None:
            return deny(request, "user")
        decision = _read(line.strip().lower(), request, options)
        if decision is not None:
            return decision
        keyboard.write("That is none of the answers.\n")


def _prompt(request: PermissionRequest, count: int) -> str:
    numbers = "1" if count == 1 else f"1-{count}"
    once = first_of_kind(request, "allow_once")
    return f"Answer ({numbers + ', ' if count else ''}{'y = allow this once, ' if once else ''}n = no): "


def _read(answer: str, request: PermissionRequest, options: list[Option]) -> Decision | None:
    if answer in ("n", "no"):
        return deny(request, "user")
    if answer in ("y", "yes"):
        once = first_of_kind(request, "allow_once")
        return None if once is None else select(request, once, "user")
    if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(options):
        return select(request, options[int(answer) - 1], "user")
    return None


def no_answer(request: PermissionRequest) -> Decision:
    """Nobody answered: the turn was cancelled, or the time was up."""
    return decline(request, "nobody")


def _entry(label: str, text: str) -> Iterator[str]:
    """A text under its label. Its further lines get a gutter, so that none of them passes for one of ours."""
    first, *rest = reveal(text, lines=True).split("\n")
    if not label:
        yield first
    else:
        if rest:
            yield f"  {label}:"
            rest = [first, *rest]
        else:
            yield f"  {label}: {first}"
    for line in rest:
        yield f"  | {line}"


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
