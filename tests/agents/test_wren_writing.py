"""What Wren does to files: asked for, shown, and never outside its roots."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agents.bird import PERMISSION, chosen, wren_in
from tests.sdk.raw_client import Json


async def test_write_asks_shows_the_patch_and_writes(nest: Path) -> None:
    bird = await wren_in(nest)
    said = await bird.do("write new/note.txt\n```\nhello\n```")
    assert said == "new/note.txt is created.\n"
    assert (nest / "new/note.txt").read_text() == "hello\n"
    path = str(nest / "new/note.txt")
    assert bird.diffs() == [
        {
            "type": "diff",
            "changes": [{"operation": "add", "path": path, "fileType": "text"}],
            "patch": {
                "format": "git_patch",
                "text": f"diff --git {path} {path}\nnew file mode 100644\n"
                f"--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+hello\n",
            },
        }
    ]
    (asked,) = bird.asked
    assert asked["title"] == "Create new/note.txt?"
    assert asked["subject"]["type"] == "tool_call"
    assert bird.client.states() == ["running", "requires_action", "running", "idle:end_turn"]
    assert [t["status"] for t in bird.tools()] == ["completed"]
    assert (nest / "new/note.txt").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


async def test_replace_changes_one_place_and_keeps_the_mode(nest: Path) -> None:
    bird = await wren_in(nest)
    assert await bird.do('replace check.sh "26 32 35 45" "26 32"') == "check.sh is changed.\n"
    assert "for size in 26 32; do" in (nest / "check.sh").read_text()
    assert os.access(nest / "check.sh", os.X_OK)
    assert await bird.do('replace check.sh "26 32" "26 32"') == "check.sh says that already.\n"
    assert "is not in check.sh" in await bird.do('replace check.sh "zebra" "x"')
    assert "is 4 times in check.sh" in await bird.do('replace check.sh "size" "x"')
    assert [name for name in os.listdir(nest) if name.startswith(".")] == []


@pytest.mark.parametrize("option", ["reject_once", "reject_always", "nonsense"])
async def test_what_is_not_permitted_is_not_done(nest: Path, option: str) -> None:
    bird = await wren_in(nest, option)
    said = await bird.do("write note.txt\n```\nx\n```\nrun touch ran\nsay done")
    assert not (nest / "note.txt").exists()
    assert not (nest / "ran").exists()
    assert said == "note.txt stays as it is.\ntouch ran was not run.\ndone\n"
    assert {t["status"] for t in bird.tools()} <= {"failed", "cancelled"}


async def test_always_and_never_are_remembered_for_the_session(nest: Path) -> None:
    bird = await wren_in(nest, "allow_always", "reject_always", "allow_once")
    await bird.do("write a\n```\n1\n```\nwrite b\n```\n2\n```")
    await bird.do("run true\nrun true\nrun echo other")
    assert [a["title"] for a in bird.asked] == ["Create a?", "Run true?", "Run echo other?"]
    assert (nest / "b").read_text() == "2\n"
    assert bird.client.said().count("true was not run.") == 2


async def test_a_file_that_changes_while_the_question_is_open_is_left_alone(nest: Path) -> None:
    bird = await wren_in(nest)

    def meanwhile(params: Json) -> Json:
        (nest / "check.sh").write_text("changed")
        return chosen("allow_once")

    bird.client.answers[PERMISSION] = meanwhile
    assert "has changed in the meantime" in await bird.do('replace check.sh "26" "27"')
    assert (nest / "check.sh").read_text() == "changed"
    assert bird.tools()[-1]["status"] == "failed"


async def test_a_link_that_turns_outside_while_the_question_is_open_is_not_followed(nest: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    bird = await wren_in(nest)

    def meanwhile(params: Json) -> Json:
        (nest / "sub").symlink_to(victim)
        return chosen("allow_once")

    bird.client.answers[PERMISSION] = meanwhile
    await bird.do("write sub/x\n```\nx\n```")
    assert list(victim.iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/tmp/wren-outside", "way/x"])
async def test_nothing_outside_the_roots_is_written(nest: Path, path: str) -> None:
    (nest / "way").symlink_to("/tmp")
    bird = await wren_in(nest)
    assert "outside the workspace" in await bird.do(f"write {path}\n```\nx\n```")
    assert bird.asked == []


async def test_additional_roots_are_part_of_the_workspace(nest: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.py").write_text("# TODO: other\n")
    bird = await wren_in(nest, additionalDirectories=[str(other)])
    assert "b.py:1 other" in await bird.do("todo")
    assert await bird.do(f"read {other}/b.py") == "b.py has 1 line.\n"
