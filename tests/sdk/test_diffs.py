"""DIF-1, DIF-3, DIF-5, DIF-6; T-27: a patch that git itself applies."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.acp import v2
from roost.errors import LocalProtocolError
from roost.sdk.diffs import MAX_PATCH_BYTES, FileChange, diff_of, git_patch

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

BEFORE = "".join(f"line {n}\n" for n in range(1, 21))


def _patch(before: str | bytes | None, after: str | bytes | None, path: str = "/w/a.txt") -> str:
    return git_patch(FileChange(path=path, before=before, after=after))


def test_a_modified_file_is_a_patch_with_absolute_paths_and_three_lines_of_context_dif_3_dif_5() -> None:
    assert _patch(BEFORE, BEFORE.replace("line 10\n", "line ten\n")) == (
        "diff --git /w/a.txt /w/a.txt\n"
        "--- /w/a.txt\n"
        "+++ /w/a.txt\n"
        "@@ -7,7 +7,7 @@\n"
        " line 7\n line 8\n line 9\n-line 10\n+line ten\n line 11\n line 12\n line 13\n"
    )


def test_a_new_file_comes_from_dev_null() -> None:
    assert _patch(None, "a\n") == (
        "diff --git /w/a.txt /w/a.txt\nnew file mode 100644\n--- /dev/null\n+++ /w/a.txt\n@@ -0,0 +1 @@\n+a\n"
    )


def test_a_deleted_file_goes_to_dev_null() -> None:
    assert _patch("a\nb\n", None) == (
        "diff --git /w/a.txt /w/a.txt\ndeleted file mode 100644\n--- /w/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    )


def test_a_missing_newline_at_the_end_is_said() -> None:
    assert _patch("a\n", "a").endswith("@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n")


def test_binary_content_has_no_hunks_dif_6() -> None:
    assert _patch(b"\0\1", b"\0\2").splitlines()[1:] == ["Binary files /w/a.txt and /w/a.txt differ"]
    assert _patch(b"\xff", "text\n").endswith("differ\n")


def test_what_did_not_change_has_no_patch() -> None:
    assert _patch(BEFORE, BEFORE) == ""


def test_only_newlines_end_a_line() -> None:
    assert "@@ -1 +1 @@\n-a\u2028b\x0cc\n+a\u2028b\x0cd\n" in _patch("a\u2028b\x0cc\n", "a\u2028b\x0cd\n")


def test_a_moved_file_names_both_paths_dif_2() -> None:
    change = FileChange(path="/w/new", old_path="/w/old", before="a\n", after="a\n")
    assert git_patch(change) == "diff --git /w/old /w/new\nrename from /w/old\nrename to /w/new\n"
    assert diff_of([change]).changes == [v2.DiffMove(old_path="/w/old", path="/w/new", file_type="text")]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (FileChange(path="/a", after="x"), v2.DiffAdd(path="/a", file_type="text")),
        (FileChange(path="/a", before="x"), v2.DiffDelete(path="/a", file_type="text")),
        (FileChange(path="/a", before="x", after="y"), v2.DiffModify(path="/a", file_type="text")),
        (FileChange(path="/a", before=b"\0", after="y"), v2.DiffModify(path="/a", file_type="binary")),
        (
            FileChange(path="/b", old_path="/a", before="x", after="x", copied=True),
            v2.DiffCopy(old_path="/a", path="/b", file_type="text"),
        ),
    ],
)
def test_each_change_is_reported_by_its_operation_dif_1(change: FileChange, expected: v2.DiffChange) -> None:
    assert diff_of([change]).changes == [expected]


def test_a_relative_path_is_refused_ses_1() -> None:
    with pytest.raises(LocalProtocolError):
        diff_of([FileChange(path="a.txt", after="x")])


def test_a_patch_that_is_too_long_is_left_out_dif_1() -> None:
    diff = diff_of([FileChange(path="/a", after="x" * MAX_PATCH_BYTES)])
    assert diff.patch is None
    assert len(diff.changes) == 1


def test_files_too_big_to_compare_line_by_line_become_one_replacement() -> None:
    before = "".join(f"old {n}\n" for n in range(3000))
    after = "".join(f"new {n}\n" for n in range(3000))
    assert _patch(before, after).count("@@ -") == 1


@pytest.mark.parametrize("name", ["plain", "with blank", 'quo"te', "back\\slash", "tab\there", "ümlaut", "日本"])
@needs_git
def test_git_applies_the_patch_whatever_the_path_is_called_t_27(tmp_path: Path, name: str) -> None:
    _applies(tmp_path, BEFORE, BEFORE.replace("line 3\n", "").replace("line 15\n", "fifteen\nand a half\n"), name)


@needs_git
@settings(max_examples=25, deadline=None)
@given(
    before=st.none() | st.lists(st.sampled_from("abc"), max_size=12),
    after=st.none() | st.lists(st.sampled_from("abc"), max_size=12),
    before_end=st.booleans(),
    after_end=st.booleans(),
)
def test_git_applies_any_patch_t_27(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[str] | None,
    after: list[str] | None,
    before_end: bool,
    after_end: bool,
) -> None:
    old = None if before is None else "\n".join(before) + ("\n" if before and before_end else "")
    new = None if after is None else "\n".join(after) + ("\n" if after and after_end else "")
    if old == new:
        return
    _applies(tmp_path_factory.mktemp("patch"), old, new, "file")


def _applies(folder: Path, before: str | None, after: str | None, name: str) -> None:
    target = folder / name
    if before is not None:
        target.write_text(before, newline="")
    patch = git_patch(FileChange(path=str(target), before=before, after=after))
    patch = patch.replace(str(folder), f"x{folder}")  # the path mapping: git takes only relative names, under a prefix
    done = subprocess.run(
        ["git", "apply", "-p1", "--unsafe-paths", "--directory=/", "-"],
        input=patch.encode(),
        cwd=folder,
        capture_output=True,
        timeout=30,
        env={"GIT_CEILING_DIRECTORIES": str(folder.parent), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, (done.stderr, patch)
    if after is None:
        assert not target.exists()
    else:
        assert target.read_bytes() == after.encode()
