"""Takes recorded conversations with real agents into the replay tests, without a word of anybody's prose.

    python -m tools.take_recordings FOLDER [tests/replay/recordings]

FOLDER holds one AGENT-SCENARIO.ndjson for each conversation: objects with `dir` (`a2c`, `c2a`, `note`, others are left
out) and `msg`, or `raw` for a line that is no message; or bare messages, as a client prints them that logs both sides.
Out comes one compressed text for each agent, the same bytes for the same input, a line for each line of the wire:

    = SCENARIO      a conversation begins
    +               the agent's process starts, again when it stopped in between
    > LINE          from the client
    < LINE          from the agent
    .               the agent's output ended by itself, before the recording did

What stays is what the protocol is about: methods, ids, kinds, states, options, numbers, the shape of everything. Every
other text becomes filler of the same length in UTF-8, with its spaces, newlines, punctuation and escapes; it is made
letter by letter, so that texts which were equal, or began alike, still are. Paths become neutral ones.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

KEPT: Final = frozenset(
    {
        *("jsonrpc", "method", "id", "protocolVersion", "version", "type", "kind", "status", "state", "stopReason"),
        *("sessionUpdate", "sessionId", "toolCallId", "messageId", "terminalId", "requestId", "optionId", "outcome"),
        *("modeId", "currentModeId", "modelId", "currentModelId", "configId", "methodId", "category", "value"),
        *("currentValue", "priority", "severity", "currency", "updatedAt", "mimeType", "signal"),
    }
)
"""Members whose texts are the protocol's, or identifiers."""
PATHS: Final = frozenset({"path", "cwd", "uri"})
NAMED: Final = frozenset({"agentInfo", "info", "availableCommands", "env"})
"""Where a `name` identifies; elsewhere it is a label."""
OPAQUE: Final = frozenset({"_meta", "rawInput", "rawOutput", "data"})
"""What is inside is the agent's own affair: nothing of it stays but its shape."""
NEUTRAL: Final = ("/workspace", "/project", "/no/such/dir")

_LETTERS: Final = "oae"  # each stands for itself
_DIGITS: Final = "012"
_WIDE: Final = {2: "ø", 3: "語", 4: "\U0001d51e"}  # a letter of each length
_IDENTIFIER: Final = re.compile(r"[\w./_:@-]*")


def filler(text: str) -> str:
    """The same shape, with nothing to read: letters and digits are three of each, `@` is gone."""
    return "".join(map(_filled, text))


def _filled(char: str) -> str:
    if char == "@":
        return "#"
    if char.isascii():
        if char.isalpha():
            letter = _LETTERS[ord(char.lower()) % 3]
            return letter.upper() if char.isupper() else letter
        return _DIGITS[ord(char) % 3] if char.isdigit() else char
    return _WIDE[len(char.encode())] if char.isalpha() else char


def neutral_path(path: str) -> str:
    if not path.startswith("/") or any(path == root or path.startswith(f"{root}/") for root in NEUTRAL):
        return path if _IDENTIFIER.fullmatch(path) else filler(path)
    last = path.rstrip("/").rsplit("/", 1)[1]
    return f"/workspace/{filler(last)}" if "." in last else "/workspace"


def without_prose(value: Any, key: str = "", inside: str = "") -> Any:
    """A JSON value with only what the protocol is about. `key` is its member's name, `inside` that of the object's."""
    if isinstance(value, dict):
        return {
            _member(name, inside=key): _opaque(item) if name in OPAQUE else without_prose(item, name, key)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [without_prose(item, key, inside) for item in value]
    if not isinstance(value, str):
        return value
    if key in PATHS:
        return neutral_path(value)
    is_name = key in KEPT or (key == "name" and inside in NAMED)
    if inside == "env" and key == "value":
        is_name = False
    return value if is_name and not re.search(r"\s", value) else filler(value)


def _opaque(value: Any) -> Any:
    if isinstance(value, dict):
        return {_member(name): _opaque(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_opaque(item) for item in value]
    return filler(value) if isinstance(value, str) else value


def _member(name: str, inside: str = "") -> str:
    return name if re.fullmatch(r"[\w$][\w.-]*", name) else filler(name)


def wire_line(message: Any) -> str:
    kept = without_prose(message)
    if isinstance(kept, dict) and kept.get("method") == "initialize":
        info = kept.get("params", {}).get("info", {})
        info.update({name: filler(value) for name, value in info.items()})  # who recorded it is nobody's business
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def raw_line(text: str) -> str:
    """A line that is no message; it may be a batch."""
    text = text.rstrip("\n")
    try:
        return wire_line(json.loads(text))
    except ValueError:
        return filler(text)


def converted(lines: Iterator[str]) -> Iterator[str]:
    """A recording as lines of the text format, without its heading."""
    entries = [json.loads(line) for line in lines]
    if entries and "dir" not in entries[0]:
        yield from _logged(entries)
        return
    for entry in entries:
        kind = entry["dir"]
        if kind in ("c2a", "a2c"):
            sign = ">" if kind == "c2a" else "<"
            yield f"{sign} {wire_line(entry['msg']) if 'msg' in entry else raw_line(entry['raw'])}"
        elif kind == "note" and entry["note"] == "start":
            yield "+"
        elif kind == "note" and entry["note"] == "broken pipe writing to agent":
            yield "."


def _logged(messages: list[Any]) -> Iterator[str]:
    """A client's own log, which says of no message whose it is; an `initialize` is the first to a new process."""
    asked: dict[str, str] = {}  # who asked, by id
    for message in messages:
        method = message.get("method")
        identifier = json.dumps(message.get("id"))
        if method == "initialize":
            yield "+"
            asked.clear()
        if method is None:
            sign = "<" if asked.pop(identifier) == ">" else ">"
        else:
            sign = "<" if method.startswith(("fs/", "terminal/")) or method in _FROM_AGENT else ">"
            if "id" in message:
                asked[identifier] = sign
        yield f"{sign} {wire_line(message)}"


_FROM_AGENT: Final = frozenset({"session/update", "session/request_permission", "elicitation/create"})


def texts_of(folder: Path) -> dict[str, str]:
    """The text of each agent's conversations, by agent."""
    texts: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.ndjson")):
        agent, _, scenario = path.stem.rpartition("-")
        if agent.startswith("client-"):
            _, agent, scenario = path.stem.split("-", 2)
        with path.open(encoding="utf-8") as file:
            texts.setdefault(agent, []).extend([f"= {scenario}", *converted(file)])
    return {agent: "\n".join(lines) + "\n" for agent, lines in texts.items()}


def packed(text: str) -> bytes:
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME, check=lzma.CHECK_CRC32)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.take_recordings", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="the recorded conversations")
    parser.add_argument("target", type=Path, nargs="?", default=Path("tests/replay/recordings"))
    options = parser.parse_args(arguments)
    texts = texts_of(options.folder)
    if not texts:
        parser.error(f"no *.ndjson in {options.folder}")
    options.target.mkdir(parents=True, exist_ok=True)
    total = 0
    for agent, text in texts.items():
        data = packed(text)
        (options.target / f"{agent}.wire.xz").write_bytes(data)
        total += len(data)
    print(f"{len(texts)} agents, {total} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
