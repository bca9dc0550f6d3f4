"""Patches of v2 agents, read for the texts of v1; and what no text can be read from."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp.bridge.diffs import patch_text, rewound, texts_from_diff
from roost.acp.bridge.grants import ToolFacts, grant_of
from tests.acp.bridge.bridge_rig import Json

ADDED = "diff --git /a /a\nnew file mode 100644\n--- /dev/null\n+++ /a\n@@ -0,0 +1 @@\n+one\n"
GONE = "diff --git /b /b\ndeleted file mode 100644\n--- /b\n+++ /dev/null\n@@ -1 +0,0 @@\n-two\n\\ No newline\n"
CHANGED = "diff --git /c /c\n--- /c\n+++ /c\n@@ -1 +1 @@\n-old\n+new\n"


def diff(patch: str, *changes: tuple[str, str], **more: Any) -> Json:
    listed = [{"operation": operation, "path": path} for operation, path in changes]
    return {"type": "diff", "changes": listed, "patch": {"format": "git_patch", "text": patch}, **more}


def test_files_that_are_new_or_gone_have_their_whole_text_in_the_patch() -> None:
    found = texts_from_diff(diff(ADDED + GONE, ("add", "/a"), ("delete", "/b"), _meta={"x": 1}))
    assert found == [
        {"type": "diff", "path": "/a", "oldText": None, "newText": "one\n", "_meta": {"x": 1}},
        {"type": "diff", "path": "/b", "oldText": "two", "newText": "", "_meta": {"x": 1}},
    ]


@pytest.mark.parametrize(
    ("patch", "changes"),
    [
        (ADDED, [("add", "/a"), ("add", "/b")]),
        (ADDED + GONE, [("add", "/a")]),
        (ADDED, [("delete", "/a")]),
        (GONE, [("add", "/b")]),
        (CHANGED, [("add", "/c")]),
        (CHANGED, [("delete", "/c")]),
        (CHANGED, [("modify", "/c")]),
        (ADDED, [("_vendor", "/a")]),
    ],
)
def test_a_patch_that_says_something_else_than_its_changes_gives_no_texts(patch: str, changes: Any) -> None:
    assert texts_from_diff(diff(patch, *changes)) is None


def test_what_stands_before_the_first_file_is_no_file() -> None:
    assert texts_from_diff(diff("From: somebody\n\n" + ADDED, ("add", "/a"))) is not None


@pytest.mark.parametrize("changes", [[], [("modify", "/c"), ("modify", "/d")], [("add", "/c")], [("move", "/c")]])
def test_only_one_file_that_is_modified_is_looked_at(changes: Any) -> None:
    assert rewound(diff(CHANGED, *changes), "new\n") is None
    assert rewound(diff(CHANGED, ("modify", "/c")), "new\n") is not None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("new\n", True),
        ("old\n", True),
        ("other\n", False),
        ("new\nmore\n", False),  # a hunk without a line behind it ends the file
        ("", False),
    ],
)
def test_a_file_that_is_neither_side_gives_no_texts(text: str, found: bool) -> None:
    assert (rewound(diff(CHANGED, ("modify", "/c")), text) is not None) is found


def test_hunks_that_overlap_are_no_patch() -> None:
    twice = "@@ -1,2 +1,2 @@\n x\n-a\n+b\n"
    overlapping = f"diff --git /c /c\n--- /c\n+++ /c\n{twice}@@ -1,2 +1,2 @@\n x\n-a\n+b\n"
    assert rewound(diff(overlapping, ("modify", "/c")), "x\nb\n") is None


def test_a_hunk_without_lines_is_for_an_empty_file_only() -> None:
    empty = "diff --git /c /c\n--- /c\n+++ /c\n@@ -0,0 +1 @@\n+new\n"
    assert rewound(diff(empty, ("modify", "/c")), "") is not None
    assert rewound(diff(empty, ("modify", "/c")), "something\n") is None


@pytest.mark.parametrize(
    ("path", "quoted"),
    [
        ('/a"b', '"/a\\"b"'),
        ("/a\\b", '"/a\\\\b"'),
        ("/a\x01b", '"/a\\001b"'),
        ("/a\x7fb", '"/a\\177b"'),
        ("/é b", "/é b"),
    ],
)
def test_a_name_is_quoted_where_git_would(path: str, quoted: str) -> None:
    assert patch_text(path, None, "x\n").splitlines()[0] == f"diff --git {quoted} {quoted}"


@pytest.mark.parametrize(("before", "after"), [("\0", "a"), ("a", "\0"), (None, "\0")])
def test_either_side_makes_a_file_binary(before: str | None, after: str) -> None:
    """DIF-6"""
    assert patch_text("/a", before, after).splitlines()[-1].startswith("Binary files ")


# ---- what a yes covers, by what the question shows


@pytest.mark.parametrize(
    ("source", "commands"),
    [
        ({"command": "ls -l"}, {"ls -l"}),
        ({"command": "ls", "args": ["-l", "a b"]}, {"ls -l 'a b'"}),
        ({"command": ["ls", "-l"]}, {"ls -l"}),
        ({"command": ["ls", 5]}, set()),
        ({"command": "ls", "args": "-l"}, set()),
        ({"command": "ls", "args": [5]}, set()),
        ({"args": ["-l"]}, set()),
        ({"command": ""}, set()),
    ],
)
def test_a_command_is_the_line_in_its_input(source: Json, commands: set[str]) -> None:
    grant = grant_of({"rawInput": source}, "execute", "/work")
    assert (set() if grant is None else set(grant.commands)) == commands


@pytest.mark.parametrize(("cwd", "directory"), [(None, "/work"), ("/else/", "/else"), ("/", "/")])
def test_a_command_is_covered_in_its_directory(cwd: Any, directory: str) -> None:
    grant = grant_of({"rawInput": {"command": "ls", **({} if cwd is None else {"cwd": cwd})}}, "execute", "/work")
    assert grant is not None
    assert grant.directories == {directory}


def test_a_tool_call_that_names_too_many_files_over_time_says_no_more() -> None:
    facts = ToolFacts()
    for start in range(0, 2000, 10):
        facts.take({"locations": [{"path": f"/f{number}"} for number in range(start, start + 10)]}, "/work")
    assert "/f0" in facts.paths
    assert "/f1999" not in facts.paths
    assert len(facts.paths) < 2000
