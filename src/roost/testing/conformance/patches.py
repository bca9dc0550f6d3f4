"""Whether a git patch is one: its sections, their paths, and hunks that count right."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
# `diff --git PATH PATH`; a path with blanks is quoted, or the same one twice.
_HEADER = re.compile(r'diff --git (?:"((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"|(\S+) (\S+)|(.+) (.+))')
_EXTENDED = (
    "old mode", "new mode", "deleted file mode", "new file mode", "copy from", "copy to", "rename from", "rename to",
    "similarity index", "dissimilarity index", "index ", "--- ", "+++ ", "Binary files", "GIT binary patch",
)  # fmt: skip


def faults_in(text: str, paths: set[str]) -> Iterator[tuple[str, str]]:
    """(rule, what is wrong); `paths` are those the diff's changes name."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines or not lines[0].startswith("diff --git "):
        yield "DIF-3", "a git_patch begins with `diff --git`, without an envelope"
        return
    old = new = 0
    for number, line in enumerate(lines, 1):
        if old > 0 or new > 0:
            kind = line[:1]
            if kind in (" ", ""):
                old, new = old - 1, new - 1
            elif kind == "-":
                old -= 1
            elif kind == "+":
                new -= 1
            elif kind != "\\":
                yield "DIF-3", f"line {number} of the patch is inside a hunk and no line of one"
                return
            if old < 0 or new < 0:
                yield "DIF-3", f"the hunk that ends in line {number} of the patch is longer than it says"
                return
        elif line.startswith("diff --git "):
            yield from _header(line, paths)
        elif found := _HUNK.match(line):
            old, new = int(found[1] or 1), int(found[2] or 1)
        elif not line.startswith((*_EXTENDED, "\\")) and "GIT binary patch" not in text:
            yield "DIF-3", f"line {number} of the patch belongs to no section"
            return
    if old > 0 or new > 0:
        yield "DIF-3", "the last hunk of the patch is shorter than it says"


def _header(line: str, paths: set[str]) -> Iterator[tuple[str, str]]:
    found = _HEADER.fullmatch(line)
    named = [path for path in found.groups() if path is not None] if found else []
    for path in named:
        if path in paths:
            continue
        if path.startswith(("a/", "b/")) or not path.startswith("/"):
            yield "DIF-5", "paths in a git_patch are absolute, without a/ and b/"
        else:
            yield "DIF-1", "a patch is about the paths that the changes name"
