"""Patches made of texts, and texts of patches."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.acp.bridge.diffs import diff_from_texts, patch_text, rewound, texts_from_diff
from roost.acp.bridge.losses import Losses

# Each line once: where lines repeat, a text may be taken for the other side.
LINES = st.lists(st.sampled_from([*"abcdefghijkl", "é", " "]), max_size=14, unique=True).map("\n".join)


def diff(before: str, after: str) -> dict[str, object]:
    patch = {"format": "git_patch", "text": patch_text("/f", before, after)}
    return {"type": "diff", "changes": [{"operation": "modify", "path": "/f"}], "patch": patch}


@given(LINES, LINES)
def test_a_patch_and_one_side_give_both(before: str, after: str) -> None:
    for now in (before, after):
        texts = rewound(diff(before, after), now)
        if before == after:
            assert texts is None
        else:
            assert texts is not None
            assert {texts[0]["oldText"], texts[0]["newText"]} >= {now}
            assert patch_text("/f", texts[0]["oldText"], texts[0]["newText"]) == patch_text("/f", before, after)


@given(st.none() | LINES, LINES)
def test_texts_come_back_from_the_note(before: str | None, after: str) -> None:
    item = {"type": "diff", "path": "/f", "oldText": before, "newText": after}
    there = diff_from_texts(item, "/f", 10_000, Losses())
    (back,) = texts_from_diff(there) or [{}]
    assert back.get("oldText") == before
    assert back["newText"] == after


@pytest.mark.parametrize(
    ("before", "after"), [(None, "x\ny"), ("a\nb\nc\n", "a\nB\nc\n"), ("", "new\n"), ("old\n", "")]
)
def test_git_takes_the_patch(tmp_path: Path, before: str | None, after: str) -> None:
    """B-14, DIF-3"""
    path = tmp_path / "a file"
    if before is not None:
        path.write_text(before)
    text = patch_text("/a file", before, after)
    command = ["git", "apply", "-p0", "--unsafe-paths", "-"]
    # Without the first slash the names are those of the folder it runs in.
    subprocess.run(command, input=text.replace(" /a file", " a file"), text=True, check=True, cwd=tmp_path, timeout=20)
    assert path.read_text() == after


def test_names_are_quoted_as_git_does() -> None:
    assert patch_text('/a"b\n', None, "x\n").startswith('diff --git "/a\\"b\\n" "/a\\"b\\n"\nnew file mode 100644\n')


def test_a_binary_text_has_no_hunks() -> None:
    """DIF-6"""
    assert patch_text("/f", "a", "\0").endswith("Binary files /f and /f differ\n")


@pytest.mark.parametrize(
    "patch", ["", "@@ -1 +1 @@", "diff --git a b\n@@ -9999999999999999999 +1 @@\n-a\n+b", "\\", "@@ -1 +1 @@\n\\ x"]
)
def test_a_patch_that_makes_no_sense_gives_no_texts(patch: str) -> None:
    value = {"changes": [{"operation": "modify", "path": "/f"}], "patch": {"format": "git_patch", "text": patch}}
    assert texts_from_diff(value) is None
    assert rewound(value, "x\n") in (None, [{"type": "diff", "path": "/f", "oldText": "x\n", "newText": "x\n"}])
