"""A session's history as a Markdown page: what an agent reads that goes on with a session it does not remember.

    transcript = Transcript("s1")
    for entry in entries:
        transcript.add(entry)
    text = transcript.text()

Everything anybody said stands in fences that it cannot end, so no text can pass itself off as a section. The page is
bounded: the newest sections are there whole, and a line tells how many older ones are not.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from roost.acp.view_terminal import decode_base64
from roost.acp.view_text import plain_terminal_text, reveal
from roost.sidecar.journal import Entry, Kind
from roost.sidecar.tiers import NATIVE

# What an agent can be expected to read of a file before anything else: about 64,000 tokens.
TRANSCRIPT_BYTES: Final = 256 * 1024

# A heading is one line; a title is shown up to here.
_TITLE_CHARS: Final = 200

# What is remembered beside the sections themselves: terminals, prompts that were not reported back yet, dropped keys.
_TERMINALS: Final = 16
_PROMPTS: Final = 16
_DROPPED_KEYS: Final = 65_536

_HEADINGS: Final = {
    "user_message": "User",
    "agent_message": "Assistant",
    "agent_thought": "Assistant (thinking)",
}
_backticks: Final = re.compile(r"`+").findall
_CUT: Final = "[the beginning is left out]\n"

_Key = tuple[str, str | int]


class _TerminalOutput(str):
    """A part of a tool call that is shown as the output of the terminal of this id."""


class _Section:
    """Something to be shown under a heading of its own."""

    __slots__ = ("heading", "parts", "raw", "size", "status", "title")

    def __init__(self, heading: str) -> None:
        self.heading = heading
        self.title = ""
        self.status = ""
        self.parts: list[str] = []
        self.raw = ""  # shown when there is nothing else
        self.size = 32  # at least what its heading and fences take

    def say(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)

    def replace(self, texts: Iterable[str]) -> None:
        self.parts, self.size = [], 32 + len(self.raw)
        for text in texts:
            self.say(text)

    def conclude(self, raw_output: Any) -> None:
        self.size -= len(self.raw)
        self.raw = raw_output if isinstance(raw_output, str) else msgspec.json.encode(raw_output).decode()
        self.size += len(self.raw)

    def markdown(self, terminals: Mapping[str, bytearray], bound: int) -> str:
        """All of it, or if that is longer than `bound` bytes its end."""
        heading = self.heading
        if heading == "Tool call":
            heading = f"Tool call: {one_line(self.title) or 'untitled'} ({one_line(self.status) or 'pending'})"
        text = "".join([_output_of(part, terminals) if type(part) is _TerminalOutput else part for part in self.parts])
        text = text or self.raw
        if not text:
            return f"## {heading}\n"
        page = f"## {heading}\n\n{fenced(text)}\n"
        excess = _bytes(page) - bound
        if excess > 0:
            # Fences may take as much again as the text, when that is all backticks.
            kept = text.encode("utf-8", "replace")[max(excess, 0) + len(_CUT) :].decode("utf-8", "ignore")
            page = f"## {heading}\n\n{fenced(_CUT + kept)}\n"
        return page


class Transcript:
    """Collects a history, v1 or v2, in order; holds little more than `bound` bytes however long it is."""

    def __init__(self, session_id: str, bound: int = TRANSCRIPT_BYTES) -> None:
        self._session_id = session_id
        self._bound = bound
        self._sections: OrderedDict[_Key, _Section] = OrderedDict()
        self._latest: _Key = ("", 0)  # what was added to last
        self._size = 0
        self._left_out = 0
        self._dropped: set[int] = set()
        self._gap = False
        self._agents = 0  # a new agent's ids are not those of the one before
        self._fresh = 0  # makes keys for sections that nothing refers to
        self._prompts: list[str] = []  # what the agent has not reported back yet (PRM-4)
        self._reports: OrderedDict[_Key, str] = OrderedDict()
        self._terminals: OrderedDict[str, bytearray] = OrderedDict()

    def add(self, entry: Entry) -> None:
        if entry.kind is Kind.GAP:
            self._gap = True
            return
        value = _decoded(entry.body)
        if entry.kind is Kind.UPDATE:
            update = _get(_get(value, "params"), "update")
            if isinstance(update, dict):
                self._update(update)
        elif entry.kind is Kind.PROMPT:
            text = "".join(_texts(_get(_get(value, "params"), "prompt")))
            self._prompts = [*self._prompts[1 - _PROMPTS :], text]
            self._say(self._anonymous("prompt"), "User", [text])
        elif entry.kind is Kind.RESUMED and _get(value, "tier") != NATIVE:
            self._agents += 1
        elif entry.kind is Kind.INTERRUPTED:
            told = "The turn before this did not end: the daemon was stopped."
            self._say(self._anonymous("interrupted"), "Interrupted", [told])
        while self._size > self._bound and len(self._sections) > 1:
            key, section = self._sections.popitem(last=False)
            self._size -= section.size
            self._left_out += 1
            if len(self._dropped) < _DROPPED_KEYS:
                self._dropped.add(hash(key))

    def text(self) -> str:
        """The page."""
        left_out = self._left_out
        room = self._bound - 512  # for what is said before the sections
        pages: list[str] = []
        for section in reversed(self._sections.values()):
            page = section.markdown(self._terminals, room if not pages else self._bound)
            room -= _bytes(page) + 1
            if room < 0 and pages:
                break
            pages.append(page)
        left_out += len(self._sections) - len(pages)
        head = [f"# Session transcript: {one_line(self._session_id)}\n"]
        if self._gap:
            head.append("*Parts of this session are no longer stored.*\n")
        if left_out:
            head.append(f"*Left out here: {left_out} earlier sections.*\n")
        return "\n".join([*head, *reversed(pages)])

    # --- updates ---

    def _update(self, update: dict[str, Any]) -> None:
        tag = update.get("sessionUpdate")
        if not isinstance(tag, str):
            return
        kind = tag.removesuffix("_chunk")
        if kind in _HEADINGS:
            self._message(kind, update, chunk=kind != tag)
        elif tag in ("tool_call", "tool_call_update", "tool_call_content_chunk"):
            self._tool_call(update, chunk=tag == "tool_call_content_chunk")
        elif tag == "terminal_output_chunk":
            self._terminal(update).extend(decode_base64(_text(update.get("data"))) or b"")
        elif tag == "terminal_update" and "output" in update:
            data = decode_base64(_text(_get(update["output"], "data")))
            if data is not None:
                self._terminal(update)[:] = data

    def _message(self, kind: str, update: dict[str, Any], *, chunk: bool) -> None:
        id_ = update.get("messageId")
        if isinstance(id_, str):
            key: _Key = (kind, f"{self._agents}:{id_}")
        elif self._latest[0] == kind and isinstance(self._latest[1], int):
            key = self._latest  # v1: without an id, what follows belongs together
        else:
            key = self._anonymous(kind)
        texts = _texts([update.get("content")] if chunk else update.get("content"))
        if kind == "user_message" and self._is_report(key, "".join(texts), chunk=chunk):
            return
        if chunk or "content" in update:
            self._say(key, _HEADINGS[kind], texts, replace=not chunk)
        elif isinstance(id_, str):
            self._section(key, _HEADINGS[kind])

    def _is_report(self, key: _Key, text: str, *, chunk: bool) -> bool:
        """Whether the agent only says which prompt it has got: that stands here already."""
        if key in self._sections or not (self._prompts or key in self._reports):
            return False
        told = self._reports.get(key, "") + text if chunk else text
        if not any(prompt.startswith(told) for prompt in self._prompts):
            return False
        self._reports[key] = told
        if len(self._reports) > _PROMPTS:
            self._reports.popitem(last=False)
        self._latest = key
        return True

    def _tool_call(self, update: dict[str, Any], *, chunk: bool) -> None:
        id_ = update.get("toolCallId")
        if not isinstance(id_, str):
            return
        key = ("tool_call", f"{self._agents}:{id_}")
        content = update.get("content")
        if chunk:
            self._say(key, "Tool call", [_tool_content(content)])
            return
        if "content" in update:
            items = content if isinstance(content, list) else []
            self._say(key, "Tool call", [_tool_content(item) for item in items], replace=True)
        section = self._section(key, "Tool call")
        if section is not None:
            section.title = _text(update.get("title", section.title))
            section.status = _text(update.get("status", section.status))
            if "rawOutput" in update:
                before = section.size
                section.conclude(update["rawOutput"])
                self._size += section.size - before

    def _terminal(self, update: dict[str, Any]) -> bytearray:
        """A terminal's output; what is too old to be shown is let go when more comes."""
        id_ = _text(update.get("terminalId"))
        output = self._terminals.setdefault(id_, bytearray())
        self._terminals.move_to_end(id_)
        if len(self._terminals) > _TERMINALS:
            self._terminals.popitem(last=False)
        del output[: max(0, len(output) - self._bound)]
        return output

    # --- sections ---

    def _anonymous(self, kind: str) -> _Key:
        self._fresh += 1
        return (kind, self._fresh)

    def _section(self, key: _Key, heading: str) -> _Section | None:
        """The section of that key, a new one if there was none; None for a tool call that was left out."""
        section = self._sections.get(key)
        if section is None:
            if key[0] == "tool_call" and hash(key) in self._dropped:
                return None
            section = self._sections[key] = _Section(heading)
            self._size += section.size
        self._latest = key
        return section

    def _say(self, key: _Key, heading: str, texts: list[str], *, replace: bool = False) -> None:
        section = self._section(key, heading)
        if section is None:
            return
        before = section.size
        if replace:
            section.replace(texts)
        else:
            for text in texts:
                section.say(text)
        while section.size > self._bound and len(section.parts) > 1:
            section.size -= len(section.parts.pop(0))
        self._size += section.size - before


def transcript(session_id: str, entries: Iterable[Entry], bound: int = TRANSCRIPT_BYTES) -> str:
    """All at once."""
    page = Transcript(session_id, bound)
    for entry in entries:
        page.add(entry)
    return page.text()


def fenced(text: str) -> str:
    """The text in a fence longer than any in it."""
    fence = "`" * max(3, 1 + max(map(len, _backticks(text)), default=0))
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def one_line(text: str) -> str:
    """Safe in a heading."""
    return reveal(" ".join(text[: 4 * _TITLE_CHARS].split()))[:_TITLE_CHARS]


def _output_of(terminal_id: str, terminals: Mapping[str, bytearray]) -> str:
    data = terminals.get(terminal_id)
    return f"{plain_terminal_text(bytes(data))}\n" if data else "[terminal]\n"


def _tool_content(content: Any) -> str:
    match _get(content, "type"):
        case "content":
            return "".join(f"{text}\n" for text in _texts([_get(content, "content")]))
        case "diff":
            return _diff(content)
        case "terminal":
            return _TerminalOutput(_text(_get(content, "terminalId")))
    return f"[{_text(_get(content, 'type')) or 'unknown'}]\n"


def _diff(content: Any) -> str:
    """v1 says a file before and after, v2 which files changed, with a patch if the agent made one."""
    changes = _get(content, "changes")
    if not isinstance(changes, list):
        return f"{_text(_get(content, 'path'))}\n{_text(_get(content, 'newText'))}\n"
    listed = "".join(f"{_text(_get(change, 'operation'))} {_text(_get(change, 'path'))}\n" for change in changes)
    patch = _text(_get(_get(content, "patch"), "text"))
    return f"{listed}{patch}\n" if patch else listed


def _texts(blocks: Any) -> list[str]:
    """Content blocks as text; what is no text is named."""
    texts = []
    for block in blocks if isinstance(blocks, list) else ():
        kind = _get(block, "type")
        match kind:
            case "text":
                texts.append(_text(_get(block, "text")))
            case "resource_link":
                texts.append(f"[link: {_text(_get(block, 'uri'))}]\n")
            case "resource":
                resource = _get(block, "resource")
                texts.append(f"[resource: {_text(_get(resource, 'uri'))}]\n{_text(_get(resource, 'text'))}\n")
            case _:
                texts.append(f"[{_text(kind) or 'unknown'}]\n")
    return texts


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
