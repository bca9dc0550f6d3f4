"""A session as a file: out, and in again; what is no such file, or would overwrite, is refused."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from roost.store.location import FileLock
from tests.cli.rig import objects, roost, scripted

NAME = "abc-123456789"


@pytest.fixture
def file(journal: Path, tmp_path: Path) -> Path:
    """The export of a session that is still there."""
    assert roost("run", "--allow", scripted(f"--session={NAME}"), "story").exit_code == 0
    assert roost("resume", "abc", "say more").exit_code == 0
    made = tmp_path / "abc.session"
    result = roost("export", "abc", str(made))
    assert (result.exit_code, result.stdout) == (0, f"{NAME} exported to {made}\n")
    return made


def log(*args: str) -> str:
    return roost("log", NAME, *args).stdout


def test_what_is_imported_is_what_was_exported(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = log("--json"), log(), log("--markdown")
    assert len(before[0].splitlines()) > 10
    assert roost("rm", NAME).exit_code == 0
    result = roost("import", "--json", str(file))
    assert objects(result)[0]["sessionId"] == NAME
    assert (log("--json"), log(), log("--markdown")) == before
    again = file.with_name("again")
    assert roost("export", NAME, str(again)).exit_code == 0
    assert again.read_bytes().splitlines()[1:-1] == file.read_bytes().splitlines()[1:-1]
    assert roost("resume", "abc", "say yes").exit_code == 0


def test_an_import_can_be_anybodys(file: Path) -> None:
    roost("rm", NAME)
    assert roost("import", "--caller", "you", str(file)).exit_code == 0
    assert objects(roost("ps", "--json")) == []
    assert len(objects(roost("ps", "--json", "--caller", "you"))) == 1
    assert roost("import", str(file)).exit_code == 0  # ids belong to callers
    assert [row["sessionId"] for row in objects(roost("ps", "--json"))] == [NAME]
    assert [row["sessionId"] for row in objects(roost("ps", "--json", "--caller", "you"))] == [NAME]


def test_nothing_is_overwritten_unless_told_to(file: Path) -> None:
    there = roost("export", "abc", str(file))
    assert (there.exit_code, there.stderr) == (1, f"roost: {file} is there already; --force replaces it\n")
    before = file.read_bytes()
    assert roost("export", "--force", "abc", str(file)).exit_code == 0
    assert file.read_bytes() == before
    kept = roost("import", str(file))
    assert (kept.exit_code, kept.stderr) == (1, f"roost: session {NAME} is kept already; --force replaces it\n")
    roost("resume", "abc", "say something else")
    assert "something else" in log()
    assert roost("import", "--force", str(file)).exit_code == 0
    assert "something else" not in log()
    assert len(objects(roost("ps", "--json"))) == 1


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: data[:-20], "cut off"),
        (lambda data: data.replace(b"change the greeting", b"change the Greeting"), "not what was written"),
        (lambda data: b"hello\n", "no session exported by Roost"),
        (lambda data: b"", "cut off"),
        (lambda data: data.replace(b'"version":1', b'"version":99', 1), "another Roost"),
        (lambda data: data + b"{}\n", "after the end"),
    ],
)
def test_a_damaged_file_is_refused_and_changes_nothing(file: Path, damage: object, says: str) -> None:
    assert callable(damage)
    before = log("--json")
    file.write_bytes(damage(file.read_bytes()))
    result = roost("import", "--force", str(file))
    assert result.exit_code == 1
    assert says in result.stderr
    assert str(file) in result.stderr
    assert log("--json") == before


def test_what_is_no_file_is_refused(journal: Path, tmp_path: Path) -> None:
    result = roost("import", str(tmp_path / "nothing"))
    assert result.exit_code == 1
    assert "No such file" in result.stderr


def test_a_session_that_is_not_there_makes_no_file(journal: Path, tmp_path: Path) -> None:
    assert roost("export", "abc", str(tmp_path / "x")).exit_code == 1
    assert not (tmp_path / "x").exists()


def test_a_journal_that_is_in_use_takes_no_import(file: Path, journal: Path) -> None:
    lock = FileLock(journal)
    try:
        result = roost("import", str(file))
        assert result.exit_code == 2
        assert f"{journal} is in use by process" in result.stderr
        assert (
            "  | An import writes the journal itself. When that process is a daemon: stop it (Ctrl-C" in result.stderr
        )
        assert "import, and start it again." in result.stderr
    finally:
        lock.release()
