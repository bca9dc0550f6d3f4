"""Diffs from before and after: what changed, by path, and the same as a git patch with absolute paths (DIF-1, DIF-3).

Costs are bounded. Equal beginnings and ends are put aside first; what is then too big to be compared line by line
becomes one replacement, and a patch that is too long is left out, which the protocol allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from roost.acp import v2
from roost.acp.paths import is_absolute
from roost.errors import LocalProtocolError

MAX_PATCH_BYTES: Final = 1024 * 1024  # a reader pages through less; ours
_MAX_COMPARED: Final = 4_000_000  # lines of one side times lines of the other: well under a second; ours
_CONTEXT: Final = 3  # lines around a change, as git does

_Edit = tuple[int, int, int, int]  # lines [a, b) of the old text become lines [c, d) of the new one


class FileChange(Struct, frozen=True, kw_only=True):
    """One file before and after; None where it does not exist. `old_path`: where it was moved, or copied, from."""

    path: str
    before: str | bytes | None = None
    after: str | bytes | None = None
    old_path: str | None = None
    copied: bool = False
    mime_type: str | None = None


def diff_of(changes: Iterable[FileChange]) -> v2.Diff:
    """The changes as a report, with their patch. LocalProtocolError: a path is not absolute (SES-1)."""
    changes = list(changes)
    for change in changes:
        for path in (change.path, change.old_path):
            if path is not None and not is_absolute(path):
                raise LocalProtocolError(f"a diff needs absolute paths, not {path!r}")
    text = "".join(map(git_patch, changes))
    patch = v2.DiffPatch(format=v2.DiffPatchFormat.GIT_PATCH, text=text) if text else None
    if len(text) > MAX_PATCH_BYTES:
        patch = None
    return v2.Diff(changes=[_reported(change) for change in changes], patch=patch)


def _reported(change: FileChange) -> v2.DiffChange:
    file_type = v2.DiffFileType.TEXT if _sides(change) is not None else v2.DiffFileType.BINARY
    path, mime_type = change.path, change.mime_type
    if change.old_path is not None:
        kind = v2.DiffCopy if change.copied else v2.DiffMove
        return kind(old_path=change.old_path, path=path, file_type=file_type, mime_type=mime_type)
    if change.before is None:
        return v2.DiffAdd(path=path, file_type=file_type, mime_type=mime_type)
    if change.after is None:
        return v2.DiffDelete(path=path, file_type=file_type, mime_type=mime_type)
    return v2.DiffModify(path=path, file_type=file_type, mime_type=mime_type)


def git_patch(change: FileChange) -> str:
    """The section of a git patch for one file; empty when nothing changed."""
    old_path = change.old_path or change.path
    head = [f"diff --git {_quoted(old_path)} {_quoted(change.path)}\n"]
    if change.old_path is not None:
        word = "copy" if change.copied else "rename"
        head += [f"{word} from {_quoted(old_path)}\n", f"{word} to {_quoted(change.path)}\n"]
    elif change.before is None:
        head.append("new file mode 100644\n")
    elif change.after is None:
        head.append("deleted file mode 100644\n")
    elif change.before == change.after:
        return ""
    sides = _sides(change)
    old_name = "/dev/null" if change.before is None and change.old_path is None else _quoted(old_path)
    new_name = "/dev/null" if change.after is None and change.old_path is None else _quoted(change.path)
    if sides is None:  # DIF-6: no hunks
        if change.before == change.after:
            return "".join(head)
        return "".join(head) + f"Binary files {old_name} and {new_name} differ\n"
    hunks = _hunks(_lines(sides[0]), _lines(sides[1]))
    if not hunks:
        return "".join(head)
    # A tab after a name with a blank, as git does: some readers take the rest of the line for a date.
    names = [f"{sign} {name}{tab}\n" for sign, name, tab in _signed(old_name, new_name)]
    return "".join([*head, *names, *hunks])


def _signed(old_name: str, new_name: str) -> list[tuple[str, str, str]]:
    return [(sign, name, "\t" if " " in name else "") for sign, name in (("---", old_name), ("+++", new_name))]


def _sides(change: FileChange) -> tuple[str, str] | None:
    """Both sides as text; None when one of them is binary."""
    before, after = _text(change.before), _text(change.after)
    return None if before is None or after is None else (before, after)


def _text(content: str | bytes | None) -> str | None:
    if content is None:
        return ""
    if isinstance(content, bytes):
        try:
            content = content.decode()
        except UnicodeDecodeError:
            return None
    return None if "\0" in content else content


def _lines(text: str) -> list[str]:
    """At newlines only, each with its own: `str.splitlines` knows more line ends than git does."""
    lines = text.split("\n")
    last = lines.pop()
    lines = [line + "\n" for line in lines]
    if last:
        lines.append(last)
    return lines


def _hunks(old: Sequence[str], new: Sequence[str]) -> list[str]:
    edits = _edits(old, new)
    hunks: list[str] = []
    start = 0
    while start < len(edits):
        end = start + 1
        while end < len(edits) and edits[end][0] - edits[end - 1][1] <= 2 * _CONTEXT:
            end += 1
        hunks.append(_hunk(old, new, edits[start:end]))
        start = end
    return hunks


def _hunk(old: Sequence[str], new: Sequence[str], edits: Sequence[_Edit]) -> str:
    lead = min(_CONTEXT, edits[0][0])
    trail = min(_CONTEXT, len(old) - edits[-1][1])
    old_start, old_end = edits[0][0] - lead, edits[-1][1] + trail
    new_start, new_end = edits[0][2] - lead, edits[-1][3] + trail
    out = [f"@@ -{_span(old_start, old_end)} +{_span(new_start, new_end)} @@\n"]
    at = old_start
    for a, b, c, d in edits:
        out += [" " + line for line in old[at:a]]
        out += ["-" + line for line in old[a:b]]
        out += ["+" + line for line in new[c:d]]
        at = b
    out += [" " + line for line in old[at:old_end]]
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in out)


def _span(start: int, end: int) -> str:
    count = end - start
    first = start + 1 if count else start  # an empty range is named by the line before it
    return str(first) if count == 1 else f"{first},{count}"


def _edits(old: Sequence[str], new: Sequence[str]) -> list[_Edit]:
    head = 0
    shorter = min(len(old), len(new))
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if not middle_old and not middle_new:
        return []
    if not middle_old or not middle_new or len(middle_old) * len(middle_new) > _MAX_COMPARED:
        return [(head, len(old) - tail, head, len(new) - tail)]
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, middle_old, middle_new, autojunk=False)
    return [(head + a, head + b, head + c, head + d) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]


_ESCAPES: Final = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


def _quoted(path: str) -> str:
    """As git writes a name: in C quotes when it holds quotes, backslashes or control characters (DIF-5)."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    out = []
    for char in path:
        code = ord(char)
        if code in _ESCAPES:
            out.append("\\" + _ESCAPES[code])
        elif code < 32 or code == 127:
            out.append(f"\\{code:03o}")
        else:
            out.append(char)
    return f'"{"".join(out)}"'
