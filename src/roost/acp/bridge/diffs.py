"""File changes between the texts of v1 and the patches of v2.

A patch made here has one hunk around everything that changed: that takes one pass, whatever a hostile agent sends.
"""

from __future__ import annotations

import re
from typing import Any, Final

from roost.acp.bridge.losses import Losses
from roost.acp.bridge.payload import Json, as_object, as_text, note_of, noted, objects, with_meta, without_note

_CONTEXT: Final = 3  # lines around a change, as git does
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPES: Final = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
_NO_NEWLINE: Final = "\\ No newline at end of file\n"


def diff_from_texts(item: Json, path: str, diff_bytes: int, losses: Losses) -> Json:
    """A v1 diff as a v2 one: added when there is no old text, else modified, even down to nothing (B-14).

    The texts stay in the bridge's note, for the way back.
    """
    before, after = item.get("oldText"), as_text(item.get("newText"))
    added = not isinstance(before, str)
    diff: Json = {"type": "diff", "changes": [{"operation": "add" if added else "modify", "path": path}]}
    old = "" if added else as_text(before)
    if len(old) + len(after) > diff_bytes:
        losses.count("diff_texts")
        return with_meta(diff, item)
    diff["changes"][0]["fileType"] = "text"
    text = patch_text(path, None if added else old, after)
    if text:
        diff["patch"] = {"format": "git_patch", "text": text}
    texts = {"newText": after} if added else {"oldText": before, "newText": after}
    return noted(with_meta(diff, item), **texts)


def texts_from_diff(diff: Json) -> list[Json] | None:
    """A v2 diff as v1 diffs, one for each file; None when its patch does not hold the whole texts."""
    changes = objects(diff.get("changes"))
    note = note_of(diff)
    if len(changes) == 1 and "newText" in note:
        entry: Json = {"type": "diff", "path": changes[0].get("path"), **note}
        return [with_meta(entry, without_note(diff))]
    sections = _sections(patch_of(diff))
    if len(sections) != len(changes):
        return None
    out: list[Json] = []
    for change, (fresh, gone, old, new) in zip(changes, sections, strict=True):
        operation = change.get("operation")
        if operation == "add" and fresh:
            out.append({"type": "diff", "path": change.get("path"), "oldText": None, "newText": new})
        elif operation == "delete" and gone:
            out.append({"type": "diff", "path": change.get("path"), "oldText": old, "newText": ""})
        else:
            return None
    return [with_meta(entry, diff) for entry in out]


def patch_of(diff: Json) -> str:
    return as_text(as_object(diff.get("patch")).get("text"))


def patch_text(path: str, before: str | None, after: str) -> str:
    """The section of a git patch with absolute names (DIF-3, DIF-5); nothing when nothing changed."""
    if before == after:
        return ""
    name = _quoted(path)
    head = f"diff --git {name} {name}\n"
    if before is None:
        head += "new file mode 100644\n"
    if "\0" in after or "\0" in (before or ""):
        return f"{head}Binary files {'/dev/null' if before is None else name} and {name} differ\n"  # DIF-6
    old, new = _lines(before or ""), _lines(after)
    if not old and not new:
        return head
    start, shorter = 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < shorter - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    first = max(0, start - _CONTEXT)
    behind = min(tail, _CONTEXT)
    old_end, new_end = len(old) - tail, len(new) - tail
    body = [" " + line for line in old[first:start]]
    body += ["-" + line for line in old[start:old_end]]
    body += ["+" + line for line in new[start:new_end]]
    body += [" " + line for line in old[old_end : old_end + behind]]
    tab = "\t" if " " in name else ""  # as git does: some readers take the rest of the line for a date
    names = f"--- {'/dev/null' if before is None else name + tab}\n+++ {name}{tab}\n"
    span = f"@@ -{_span(first, old_end + behind)} +{_span(first, new_end + behind)} @@\n"
    return head + names + span + "".join(line if line.endswith("\n") else line + "\n" + _NO_NEWLINE for line in body)


def _sections(patch: str) -> list[tuple[bool, bool, str, str]]:
    """Each file of a patch: whether it is new, whether it goes, and all text its hunks have of both sides."""
    out: list[tuple[bool, bool, str, str]] = []
    for section in re.split(r"^(?=diff --git )", patch, flags=re.MULTILINE):
        if not section.startswith("diff --git "):
            continue
        fresh = gone = False
        old: list[str] = []
        new: list[str] = []
        last: list[list[str]] = []
        in_hunk = False
        for line in section.split("\n")[1:]:
            if _HUNK.match(line):
                in_hunk = True
            elif not in_hunk:
                fresh = fresh or line.startswith("new file")
                gone = gone or line.startswith("deleted file")
            elif line.startswith("\\"):
                for side in last:
                    side[-1] = side[-1][:-1]
            elif line:
                last = [side for side, signs in ((old, "- "), (new, "+ ")) if line[0] in signs]
                for side in last:
                    side.append(line[1:] + "\n")
        out.append((fresh, gone, "".join(old), "".join(new)))
    return out


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _span(start: int, end: int) -> str:
    count = end - start
    first = start + 1 if count else start  # an empty range is named by the line before it
    return str(first) if count == 1 else f"{first},{count}"


def _quoted(path: str) -> str:
    """As git writes a name: in C quotes when it holds quotes, backslashes or control characters."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    codes = ((ord(char), char) for char in path)
    inside = (
        "\\" + _ESCAPES[code] if code in _ESCAPES else f"\\{code:03o}" if code < 32 or code == 127 else char
        for code, char in codes
    )
    return f'"{"".join(inside)}"'


def rewound(diff: Json, text: str) -> list[Any] | None:
    """Both texts of a diff that modifies one file, when `text` is that file before or after it; else None."""
    changes = objects(diff.get("changes"))
    if len(changes) != 1 or changes[0].get("operation") != "modify":
        return None
    hunks = _hunks(patch_of(diff))
    if not hunks:
        return None
    lines = _lines(text)
    for side in (1, 0):  # written already, most likely
        other = _replaced(lines, hunks, side)
        if other is not None:
            old, new = (other, text) if side == 1 else (text, other)
            return [{"type": "diff", "path": changes[0].get("path"), "oldText": old, "newText": new}]
    return None


def _hunks(patch: str) -> list[tuple[tuple[int, list[str]], tuple[int, list[str]]]]:
    """Each hunk's two sides: the index of its first line, and its lines."""
    out: list[tuple[tuple[int, list[str]], tuple[int, list[str]]]] = []
    last: list[list[str]] = []
    for line in patch.split("\n"):
        found = _HUNK.match(line)
        if found is not None:
            old_count, new_count = (1 if found[group] is None else int(found[group][:9]) for group in (2, 4))
            old_at, new_at = int(found[1][:9]), int(found[3][:9])
            out.append(((old_at - bool(old_count), []), (new_at - bool(new_count), [])))
        elif out and line.startswith("\\"):
            for side in last:
                side[-1] = side[-1][:-1]
        elif out and line:
            last = [out[-1][index][1] for index, signs in ((0, "- "), (1, "+ ")) if line[0] in signs]
            for side in last:
                side.append(line[1:] + "\n")
    return out


def _replaced(
    lines: list[str], hunks: list[tuple[tuple[int, list[str]], tuple[int, list[str]]]], side: int
) -> str | None:
    """The text with each hunk's lines of `side` taken for those of the other; None when they are not there."""
    out: list[str] = []
    at = 0
    for hunk in hunks:
        start, here = hunk[side]
        if not here and lines:  # only an empty file has no lines around a change
            return None
        if start < at or lines[start : start + len(here)] != here:
            return None
        out += lines[at:start]
        out += hunk[1 - side][1]
        at = start + len(here)
        if at < len(lines) and _common_end(hunk[0][1], hunk[1][1]) < _CONTEXT:  # the file ended there
            return None
    return "".join(out + lines[at:])


def _common_end(old: list[str], new: list[str]) -> int:
    count = 0
    while count < min(len(old), len(new), _CONTEXT) and old[-1 - count] == new[-1 - count]:
        count += 1
    return count
