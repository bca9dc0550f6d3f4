"""Sessions that are kept: started, found again, gone on with, read, ended, deleted; without any daemon."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from roost.cli.ps import age
from roost.store.location import FileLock
from tests.cli.rig import objects, roost, scripted


@pytest.fixture(autouse=True)
def kept(journal: Path) -> Path:
    return journal


def started(prompt: str = "say hi", *args: str, session: str = "abc-123456789", flags: tuple[str, ...] = ()) -> str:
    result = roost("run", *args, scripted(f"--session={session}", *flags), prompt)
    assert result.exit_code in (0, 3), result.stderr
    return session


def listed(*args: str) -> list[dict[str, Any]]:
    return objects(roost("ps", "--json", *args))


def texts(session: str, *args: str) -> str:
    result = roost("log", session, *args)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_a_run_leaves_its_session_asleep_and_says_how_to_go_on() -> None:
    result = roost("run", scripted("--session=abc-123456789"), "say hi")
    assert result.stderr == "roost: resume with: roost resume 123456\n"
    [row] = listed()
    assert (row["sessionId"], row["shortId"], row["state"]) == ("abc-123456789", "123456", "asleep")
    assert (row["pid"], row["memoryBytes"], row["protocolVersion"]) == (None, None, 2)


def test_the_advice_names_what_was_given_to_the_run(tmp_path: Path) -> None:
    result = roost("run", "--caller", "me", "--socket", str(tmp_path / "a b"), scripted(), "say hi")
    said = result.stderr.splitlines()[-1]
    assert said == f"roost: resume with: roost resume --caller me --socket '{tmp_path / 'a b'}' 1"


def test_with_json_the_id_is_in_the_output_and_nothing_on_stderr() -> None:
    result = roost("run", "--json", scripted("--session=x"), "say hi")
    assert objects(result)[0]["sessionId"] == "x"
    assert result.stderr == ""


def test_what_is_not_to_be_kept_is_not(kept: Path) -> None:
    result = roost("run", "--no-journal", scripted(), "say hi")
    assert (result.exit_code, result.stderr) == (0, "")
    assert not kept.exists()
    assert listed() == []


def test_the_sessions_of_another_caller_are_not_mine() -> None:
    started("say hi", "--caller", "you")
    assert listed() == []
    assert [row["sessionId"] for row in listed("--caller", "you")] == ["abc-123456789"]
    assert roost("log", "abc", "--caller", "you").exit_code == 0
    assert roost("log", "abc").exit_code == 1


@pytest.mark.parametrize("name", ["", "a b", "~1"])
def test_what_is_no_name_is_a_misuse(name: str) -> None:
    result = roost("ps", "--caller", name)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"roost: --caller {name}: a caller's name is ")


def test_the_list_for_people_has_columns() -> None:
    assert roost("ps").stdout == "no sessions; `roost run AGENT PROMPT` starts one\n"
    started()
    head, line = roost("ps").stdout.splitlines()
    assert head.split() == ["SESSION", "AGENT", "STATE", "AGE", "MEMORY", "CWD", "TITLE"]
    assert line.startswith("123456 ")
    assert " asleep " in line


@pytest.mark.parametrize(
    ("seconds", "shown"), [(-3, "0s"), (59.9, "59s"), (60, "1m"), (7199, "1h"), (86400, "1d"), (1e7, "115d")]
)
def test_an_age_is_in_its_largest_unit(seconds: float, shown: str) -> None:
    assert age(seconds) == shown


def test_a_session_goes_on_with_an_agent_that_remembers(tmp_path: Path) -> None:
    started(flags=(f"--memory={tmp_path / 'memory'}",))
    result = roost("resume", "123456", "recall")
    assert result.exit_code == 0
    assert "(resumed: the agent remembers)" in result.stdout
    assert "remembered: say hi; recall" in result.stdout
    assert result.stderr == "roost: resume with: roost resume 123456\n"


def test_a_session_goes_on_with_a_new_agent_that_is_told_where_to_read() -> None:
    started()
    result = roost("resume", "abc", "say again")
    assert result.exit_code == 0
    assert "(resumed: a new agent, which is told where to read what was said)" in result.stdout
    assert [row["sessionId"] for row in listed()] == ["abc-123456789"]


def test_the_log_has_all_turns_in_order_and_nothing_twice() -> None:
    started("say first")
    roost("resume", "abc", "say second")
    roost("resume", "abc", "say third")
    text = texts("abc")
    said = re.findall(r"(?m)^(?:> say )?(first|second|third|Turn ended: end_turn)$", text)
    assert said == [word for turn in ("first", "second", "third") for word in (turn, turn, "Turn ended: end_turn")]
    page = texts("abc", "--markdown")
    assert [page.count(word) for word in ("first", "second", "third")] == [2, 2, 2]
    assert page.index("first") < page.index("second") < page.index("third")


def test_the_log_as_json_has_each_number_once(tmp_path: Path) -> None:
    started("story", "--allow")
    entries = [json.loads(line) for line in texts("abc", "--json").splitlines()]
    numbers = [entry["number"] for entry in entries]
    assert numbers == sorted(set(numbers))
    assert {entry["kind"] for entry in entries} == {"prompt", "update", "permission", "decision", "turn"}
    later = [json.loads(line) for line in texts("abc", "--json", "--after", str(numbers[2])).splitlines()]
    assert later == entries[3:]


@pytest.mark.parametrize(("flags", "protocol"), [((), "2"), (("--v1",), "1")])
def test_the_log_reads_as_the_run_did(flags: tuple[str, ...], protocol: str, tmp_path: Path) -> None:
    run = roost("run", "--protocol", protocol, "--allow", "--cwd", str(tmp_path), scripted(*flags), "story")
    assert run.exit_code == 0
    text = texts("session")
    shown = run.stdout.partition("Turn ended")[0]
    # A plan is replaced when it changes, so what is left of it is its end.
    for line in [line for line in shown.splitlines() if line and not line.startswith(("  [", "Plan"))]:
        if "->" not in line:
            assert line in text.splitlines(), line


def test_a_log_of_another_form_than_it_can_be_followed_in_is_a_misuse() -> None:
    assert roost("log", "abc", "--follow", "--markdown").exit_code == 1


def test_to_follow_what_nobody_runs_ends_after_what_there_is() -> None:
    started()
    result = roost("log", "abc", "--follow")
    assert result.exit_code == 0
    assert "no daemon runs" in result.stderr


def test_a_closed_session_can_be_read_and_is_opened_by_a_resume() -> None:
    started()
    assert objects(roost("close", "--json", "abc")) == [{"sessionId": "abc-123456789", "closed": True}]
    assert listed() == []
    assert [row["state"] for row in listed("--all")] == ["closed"]
    assert "hi" in texts("abc")
    assert roost("sleep", "abc").exit_code == 1
    assert roost("close", "abc").exit_code == 0
    result = roost("resume", "abc", "say again")
    assert result.exit_code == 0, result.stderr
    assert "again" in result.stdout


def test_what_is_asleep_can_be_put_to_sleep_again() -> None:
    started()
    assert roost("sleep", "abc").stdout == "123456 asleep\n"


def test_a_deleted_session_is_gone(kept: Path) -> None:
    started("say SECRET-WORDS")
    assert roost("rm", "abc").stdout == "123456 deleted\n"
    assert listed("--all") == []
    assert roost("log", "abc").exit_code == 1


def test_nothing_is_ended_when_one_of_the_names_means_nothing() -> None:
    started()
    result = roost("rm", "abc", "nobody")
    assert result.exit_code == 1
    assert result.stderr == "roost: there is no session 'nobody'; `roost ps --all` lists what there is\n"
    assert len(listed()) == 1


@pytest.mark.parametrize("args", [("log",), ("resume",), ("close",), ("rm",), ("sleep",), ("export",)])
def test_a_name_that_means_several_is_told_with_them(args: tuple[str, ...], tmp_path: Path) -> None:
    started(session="abc-123456789")
    started(session="abc-123456700")
    more = {"resume": ["say x"], "export": [str(tmp_path / "x")]}.get(args[0], [])
    result = roost(*args, "abc", *more)
    assert result.exit_code == 1, result.stderr
    assert "'abc' may be any of 2 sessions" in result.stderr
    assert "12345678" in result.stderr
    assert "12345670" in result.stderr


def test_variables_have_to_be_given_again_and_their_values_are_nowhere(kept: Path, tmp_path: Path) -> None:
    secret = "Sw0rdfish-7731"
    agent = scripted("--session=abc-123456789")
    assert "MY_KEY=Sw" in roost("run", "--env", f"MY_KEY={secret}", agent, "env MY_KEY").stdout
    started("say hi", "--env", f"MY_KEY={secret}", session="other")
    result = roost("resume", "other", "env MY_KEY")
    assert "the agent had variables that are not kept: MY_KEY" in result.stderr
    assert "MY_KEY=None" in result.stdout
    assert [row["envNames"] for row in listed()] == [["MY_KEY"], ["MY_KEY"]]
    file = tmp_path / "other.session"
    assert roost("export", "other", str(file)).exit_code == 0
    for found in [file, *kept.parent.iterdir()]:
        assert secret.encode() not in found.read_bytes() or found == kept, found
    assert roost("rm", "abc").exit_code == 0  # in this one the agent itself said it


def test_variables_of_a_resume_get_to_the_agent(tmp_path: Path) -> None:
    started(flags=(f"--memory={tmp_path / 'memory'}",))
    result = roost("resume", "--env", "MY_KEY=given", "abc", "env MY_KEY")
    assert result.exit_code == 0, result.stderr
    assert "MY_KEY=given" in result.stdout


def test_a_run_goes_on_without_a_journal_that_somebody_else_has(kept: Path) -> None:
    kept.parent.mkdir(parents=True)
    lock = FileLock(kept)
    try:
        result = roost("run", scripted(), "say hi")
        assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "hi")
        [line] = result.stderr.splitlines()
        assert line.startswith(f"roost: nothing of this is kept: {kept} is in use by process ")
        asked = roost("ps")
        assert asked.exit_code == 2
        assert "is in use by process" in asked.stderr
        assert "--socket" in asked.stderr
    finally:
        lock.release()


def test_a_run_with_a_broken_journal_goes_on_only_when_told_to(kept: Path, tmp_path: Path) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"this is no database" * 100)
    refused = roost("run", scripted(), "say hi")
    assert refused.exit_code == 2
    assert str(kept) in refused.stderr
    assert "--no-journal" in refused.stderr
    assert roost("run", "--no-journal", scripted(), "say hi").exit_code == 0
    file = tmp_path / "c.toml"
    file.write_text('[store]\ndurability = "optional"\n')
    allowed = roost("run", "--config", str(file), scripted(), "say hi")
    assert allowed.exit_code == 0
    assert "nothing of this is kept" in allowed.stderr
    assert kept.read_bytes().startswith(b"this is no database")


def test_without_a_journal_there_are_no_sessions(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[store]\nenabled = false\n")
    result = roost("ps", "--config", str(file))
    assert (result.exit_code, result.stderr) == (1, "roost: there is no journal: store.enabled is false\n")


def test_the_journal_is_where_the_configuration_says_beside_its_file(tmp_path: Path, kept: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('[store]\npath = "j/mine.db"\n')
    roost("run", "--config", str(file), scripted(), "say hi")
    assert (tmp_path / "j" / "mine.db").exists()
    assert not kept.exists()
