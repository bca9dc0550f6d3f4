"""`roost check`: the report of an agent, for people and for programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.rig import roost

AGENT = Path(__file__).parents[1] / "testing" / "broken"


def agent(*faults: str) -> str:
    """The plain agent as a command line."""
    return " ".join([sys.executable, "-I", "-S", str(AGENT), *faults])


def test_an_agent_that_keeps_the_rules_exits_0() -> None:
    result = roost("check", agent(), "--only", "initialize", "--verbose")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "plain 1, protocol version 2"
    assert any(line.startswith("passed  initialize.answer: ") for line in lines)
    assert lines[-1].endswith("no MUST was broken")


def test_a_broken_must_exits_1_and_says_the_rule_and_what_came() -> None:
    result = roost("check", agent("idle-twice"), "--only", "prompt.lifecycle")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    at = lines.index(
        "FAILED  prompt.lifecycle: A prompt is accepted, reported, worked on, and ended once with a stop reason."
    )
    assert lines[at + 1 : at + 4] == [
        "  PRM-8 (MUST)",
        "    expected  one idle with a stopReason for one prompt",
        '    came      ["running","idle:end_turn","idle:end_turn"]',
    ]
    assert lines[-1].endswith("MUSTs broken")


def test_broken_advice_exits_0() -> None:
    result = roost("check", agent("exit-code"), "--only", "stdio.exit")
    assert result.exit_code == 0
    assert "advice  stdio.exit: " in result.stdout


def test_json_is_one_object_with_every_result() -> None:
    result = roost("check", "--json", agent("banner"), "--only", "initialize.answer", "--only", "stdio.exit")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["conforms"], report["speaks"], report["name"]) == (False, 2, "plain")
    results = {one["id"]: one for one in report["results"]}
    assert results["initialize.answer"]["status"] == "passed"
    assert "initialize.newer" not in results
    (finding,) = results["trace.lines"]["findings"]
    assert finding == {
        "rule": "STD-2",
        "level": "MUST",
        "expected": "nothing but JSON on standard output",
        "came": "Welcome to the agent!",
    }
    assert results["trace.plans"]["reason"] == "the agent showed none"


def test_prompts_are_the_ones_given() -> None:
    command = [agent("relative-diff"), "--only", "prompt.lifecycle"]
    assert roost("check", *command).exit_code == 0  # a greeting shows no diffs
    assert roost("check", *command, "--prompt", "plan", "--prompt", "tool").exit_code == 1


def test_slow_and_asking_prompts_open_the_checks_that_need_them() -> None:
    args = ["check", agent(), "--json", "--only", "cancel.twice", "--only", "permission.rejected"]
    without = {one["id"]: one for one in json.loads(roost(*args).stdout)["results"]}
    assert without["cancel.twice"]["reason"] == "no slow prompt is known (--slow TEXT)"
    assert without["permission.rejected"]["reason"] == "no prompt is known that asks a permission (--asks TEXT)"
    given = {one["id"]: one for one in json.loads(roost(*args, "--slow", "slow", "--asks", "ask").stdout)["results"]}
    assert (given["cancel.twice"]["status"], given["permission.rejected"]["status"]) == ("passed", "passed")


def test_an_agent_of_version_1_is_said_to_be_one_and_exits_2() -> None:
    result = roost("check", agent("v1"))
    assert result.exit_code == 2
    assert "speaks v1" in result.stdout


def test_an_agent_that_ends_at_once_exits_2_with_its_last_words() -> None:
    code = "import sys; sys.stderr.write('no key'); sys.exit(4)"
    result = roost("check", f'{sys.executable} -I -S -c "{code}"')
    assert result.exit_code == 2
    assert "exited with code 4; its stderr ends: no key" in result.stdout


@pytest.mark.parametrize("name", ["no-such-agent", "/no/such/program"])
def test_an_agent_that_is_not_there_is_said_so(name: str) -> None:
    result = roost("check", name)
    assert result.exit_code == 1
    assert name in result.stderr


def test_an_unknown_check_is_said_to_be_one() -> None:
    result = roost("check", agent(), "--only", "promt")
    assert result.exit_code == 1
    assert "--list" in result.stderr


def test_checks_are_listed_with_their_rules() -> None:
    lines = roost("check", "--list").stdout.splitlines()
    assert any(line.split()[:3] == ["cancel.idle", "MUST", "PRM-17"] for line in lines)
    assert any(line.startswith("trace.diffs") for line in lines)


def test_the_environment_of_the_agent_is_ours_to_give(tmp_path: Path) -> None:
    program = tmp_path / "needs_key.py"
    program.write_text(
        f"import os, runpy, sys\nif 'KEY' not in os.environ: sys.exit('no KEY')\nsys.argv = ['agent']\n"
        f"runpy.run_path({str(AGENT)!r}, run_name='__main__')\n"
    )
    command = f"{sys.executable} {program}"
    assert roost("check", command, "--only", "initialize.answer", env={"KEY": "k"}).exit_code == 2
    assert roost("check", command, "--only", "initialize.answer", "--env", "KEY=k").exit_code == 0


def test_a_page_of_the_checks_is_up_to_date() -> None:
    """Every check is in docs/check.md, and no other."""
    from roost.testing.conformance import all_checks
    from roost.testing.conformance.judge import TOPICS

    page = (Path(__file__).parents[2] / "docs" / "check.md").read_text().partition("## The checks")[2]
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert rows == [*(check.id for check in all_checks()), *(f"trace.{topic}" for topic in TOPICS)]
    for check in all_checks():
        assert f"| `{check.id}` | {check.level} | {', '.join(check.rules)} | {check.title} |" in page
