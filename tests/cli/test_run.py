"""`roost run` with an agent inside this program, away from any terminal: what it prints and how it ends."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.rig import objects, roost, scripted

GOLDEN = Path(__file__).with_name("golden")


def run(prompt: str, *args: str, agent: str = "", stdin: str | bytes = "") -> tuple[int, str, str]:
    result = roost("run", *args, agent or scripted(), prompt, stdin=stdin)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(("name", "prompt", "flags"), [("story", "story", ()), ("story_v1", "story", ("--v1",))])
def test_a_whole_conversation_reads_like_this(name: str, prompt: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    protocol = "1" if flags else "2"
    status, out, err = run(prompt, "--allow", "--cwd", str(tmp_path), "--protocol", protocol, agent=scripted(*flags))
    text = out.replace(str(tmp_path), "/srv/project")
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
    assert (status, err) == (0, "")


def test_plain_output_has_no_escape_sequence() -> None:
    _, out, _ = run("story", "--allow")
    assert "\x1b" not in out


def test_the_json_view_prints_one_object_for_each_event(tmp_path: Path) -> None:
    result = roost("run", "--json", "--allow", "--cwd", str(tmp_path), scripted(), "story")
    events = objects(result)
    assert events[0] == {
        "type": "session",
        "sessionId": "session-1",
        "agent": scripted(),
        "cwd": str(tmp_path),
        "protocolVersion": 2,
        "agentInfo": {"name": "scripted", "version": "1.2"},
    }
    kinds = [event["type"] for event in events]
    assert kinds[-1] == "end"
    assert set(kinds) == {"session", "update", "permission_request", "permission_answer", "end"}
    updates = [event["update"] for event in events if event["type"] == "update"]
    assert updates[0] == {"sessionUpdate": "state_update", "state": "running"}
    asked, answered = (event for event in events if event["type"].startswith("permission"))
    assert asked["request"]["subject"] == {"type": "command", "command": "make test", "cwd": str(tmp_path)}
    assert answered == {
        "type": "permission_answer",
        "sessionId": "session-1",
        "number": asked["number"],
        "optionId": "yes-1",
        "kind": "allow_once",
        "by": "policy",
    }
    # It is asked after what came before it, and before what came after.
    place = kinds.index("permission_request")
    assert updates[place - 2]["sessionUpdate"] == "terminal_update"
    assert events[-1]["stopReason"] == "end_turn"
    assert events[-1]["usage"]["totalTokens"] == 150
    assert events[-1]["status"] == result.exit_code == 0


def test_an_update_before_the_session_is_there_is_not_lost() -> None:
    result = roost("run", "--json", scripted("--early"), "say hi")
    updates = [event["update"]["sessionUpdate"] for event in objects(result) if event["type"] == "update"]
    assert updates[0] == "session_info_update"
    assert "agent_message_chunk" in updates


def test_stderr_of_the_agent_is_an_event() -> None:
    result = roost("run", "--json", scripted(), "stderr what happened")
    assert {"type": "stderr", "sessionId": "session-1", "text": "what happened\n"} in objects(result)


# ---- the arguments


def test_the_prompt_is_read_from_standard_input() -> None:
    for args in (["-"], []):
        result = roost("run", scripted(), *args, stdin="say grüße")
        assert result.stdout.startswith("grüße\n")


@pytest.mark.parametrize(
    ("args", "stdin", "says"),
    [
        (["run"], "", "Missing argument 'AGENT'"),
        (["run", "x", "y", "z"], "", "unexpected extra argument"),
        (["run", "x", "y", "--colour"], "", "No such option"),
        (["run", "x"], "  \n", "the prompt is empty"),
        (["run", "x"], b"\xff\xfe", "not UTF-8 (byte 0)"),
        (["run", "x", "y", "--cwd", "/nowhere/at/all"], "", "'/nowhere/at/all' does not exist"),
        (["run", "x", "y", "--timeout", "0"], "", "--timeout"),
        (["run", "x", "y", "--protocol", "3"], "", "--protocol"),
        (["run", "x", "y", "--env", "=1"], "", "a variable needs a name"),
        (["run", "x", "y", "--env", "NO_SUCH_THING"], "", "there is no such variable here"),
        (["run", "no-such-agent", "y"], "", "no such program on PATH; `roost agents` lists what can be run"),
        (
            ["run", "mistral-vibe", "y"],
            "",
            "there is no agent 'mistral-vibe', and no such program on PATH; `roost install",
        ),
        (["run", "no-such-program --acp", "y"], "", "the program 'no-such-program' was not found on PATH"),
        (["run", "/no/such/program", "y"], "", "the program /no/such/program does not exist"),
        (["run", "say 'hi", "y"], "", "cannot be split into words: no closing quotation"),
        (["run", "x", "y", "--ask"], "", "--ask needs a terminal"),
        (["run", "x", "caf\udce9"], "", "the prompt is not UTF-8"),
        (["run", "x", "y", "--env", "A=\udce9"], "", "--env A is not UTF-8"),
        (["ruin"], "", "No such command 'ruin'"),
    ],
)
def test_a_misused_command_is_told_what_is_wrong(
    args: list[str], stdin: str | bytes, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.cli.keyboard.controlling_terminal", lambda: None)
    result = roost(*args, stdin=stdin)
    assert result.exit_code == 1
    assert says in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_the_agent_works_where_it_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("cwd", "--cwd", str(tmp_path))[1].startswith(f"{tmp_path}\n")
    monkeypatch.chdir(tmp_path)
    assert run("cwd")[1].startswith(f"{tmp_path}\n")


def test_a_program_is_looked_for_from_here_and_not_from_the_agents_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    program = tmp_path / "my agent"
    program.write_text(f"#!/bin/sh\nexec {scripted()}\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert run("say hi", "--cwd", "elsewhere", agent="./my agent")[1].startswith("hi\n")
    (tmp_path / "agent-on-path").symlink_to(program)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert run("say hi", "--cwd", "elsewhere", agent="agent-on-path")[1].startswith("hi\n")


def test_the_agent_gets_the_variables_it_is_given_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    assert "MY_KEY=None" in run("env MY_KEY")[1]
    assert "MY_KEY=secret" in run("env MY_KEY", "--env", "MY_KEY")[1]
    assert "MY_KEY=a=b" in run("env MY_KEY", "--env", "MY_KEY=a=b")[1]
    assert "MY_KEY=\n" in run("env MY_KEY", "--env", "MY_KEY=")[1]


# ---- permissions


def test_without_a_terminal_the_answer_is_no_and_this_is_said_once() -> None:
    status, out, err = run("story")
    assert "You chose no-1." in out
    assert "-> No [reject_once] (policy)" in out
    assert err.count("there is no terminal to ask you at") == 1
    assert status == 0


def test_who_denies_on_purpose_is_not_told_about_terminals() -> None:
    status, out, err = run("story", "--deny")
    assert "You chose no-1." in out
    assert (status, err) == (0, "")


def test_allow_does_not_allow_for_ever() -> None:
    options = [{"optionId": "a", "name": "Always", "kind": "allow_always"}]
    _, out, _ = run("ask " + json.dumps({"options": options}), "--allow")
    assert "answer: cancelled" in out
    assert "nothing was chosen" in out


# ---- the end


@pytest.mark.parametrize("reason", ["cancelled", "refusal", "max_tokens", "max_turn_requests", "_odd"])
@pytest.mark.parametrize("protocol", ["1", "2"])
def test_a_turn_that_was_cut_short_is_status_3(reason: str, protocol: str) -> None:
    agent = scripted("--v1") if protocol == "1" else scripted()
    status, out, err = run(f"stop {reason}", "--protocol", protocol, agent=agent)
    assert status == 3
    assert f"Turn ended: {reason}" in out
    assert err == f"roost: the turn was cut short: {reason}\n"


def test_an_agent_that_exits_in_mid_turn_is_quoted() -> None:
    sentence = f"agent {scripted()} failed: it exited with code 5 in mid-turn; starting it again failed"
    status, _, err = run("crash 5")
    assert status == 2
    assert err == f"roost: {sentence}\n  | first line\n  | the reason\n"
    result = roost("run", "--json", scripted(), "crash 5")
    assert objects(result)[-1] == {
        "type": "error",
        "message": sentence,
        "detail": "first line\nthe reason",
        "status": 2,
    }


def test_an_agent_that_exits_at_once_is_quoted() -> None:
    status, _, err = run("say hi", agent=scripted("--exit-at-start"))
    assert status == 2
    assert "exited with code 3" in err
    assert err.endswith("\n  | no licence found\n")
    assert "recent_activity" not in err


def test_an_agent_that_refuses_the_prompt_is_quoted() -> None:
    status, _, err = run("refuse")
    assert status == 2
    assert f'agent {scripted()} failed: no such prompt (error -32602) {{"hint":"try another"}}' in err
    assert err.endswith("  | refusing\n")


def test_an_agent_of_another_version_is_told_to_be_one() -> None:
    status, _, err = run("say hi", agent=scripted("--other-version"))
    assert status == 2
    assert "requested 2, agent reported 1" in err
    assert "choose the version it speaks with --protocol" in err


def test_an_agent_that_never_answers_is_left_when_the_time_is_up() -> None:
    status, _, err = run("say hi", "--timeout", "0.3", agent=scripted("--silent"))
    assert (status, err) == (3, "roost: the time was up (--timeout 0.3)\n")


def test_a_prompt_over_the_limit_is_refused_by_name() -> None:
    status, _, err = run("-", stdin="x" * (17 * 1024 * 1024))
    assert status == 2
    assert "over max_frame_bytes" in err


def test_a_turn_is_cancelled_when_the_time_is_up() -> None:
    status, out, err = run("wait", "--timeout", "3.5")
    assert status == 3
    assert "Turn ended: cancelled" in out
    assert err.count("the time was up (--timeout 3.5)") == 2


def test_what_an_agent_prints_beside_the_protocol_does_no_harm() -> None:
    assert run("say hi", agent=scripted("--garbage"))[:2][0] == 0


def test_a_named_agent_that_is_not_complete_is_explained(tmp_path: Path) -> None:
    package = tmp_path / "data" / "roost" / "pkgs" / "half"
    (package / "1").mkdir(parents=True)
    (package / "current").symlink_to("1")
    manifest = {"name": "half", "version": "1", "agent": {"acpEntrypoint": "half-acp"}}
    (package / "1" / "agentos-package.json").write_text(json.dumps(manifest))
    status, _, err = run("say hi", agent="half")
    assert status == 2
    assert "agent half cannot be run: entrypoint" in err
    assert "half-acp does not exist" in err


def test_secrets_given_to_the_agent_are_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    args = ("--log-level", "debug", "--env", "MY_KEY=s3cret-value")
    for prompt in ("crash 1", "refuse", "say hi"):
        _, out, err = run(prompt, *args)
        assert "s3cret-value" not in out + err


def test_the_embedded_daemon_says_nothing_unless_asked() -> None:
    assert run("say hi")[2] == ""
    assert "started as process" in run("say hi", "--log-level", "info")[2]


def test_a_package_runs_by_its_name(tmp_path: Path) -> None:
    root = tmp_path / "data" / "roost"
    package = root / "pkgs" / "mine" / "1"
    package.mkdir(parents=True)
    (root / "pkgs" / "mine" / "current").symlink_to("1")
    (root / "bin").mkdir()
    manifest = {"name": "mine", "version": "1.2.3", "agent": {"acpEntrypoint": "mine-acp"}}
    (package / "agentos-package.json").write_text(json.dumps(manifest))
    entrypoint = package / "mine-acp"
    entrypoint.write_text(f"#!/bin/sh\nexec {scripted()}\n")
    entrypoint.chmod(0o755)
    (root / "bin" / "mine-acp").symlink_to(entrypoint)
    status, out, err = run("say hi", agent="mine")
    assert (status, out.split("\n")[0], err) == (0, "hi", "")


def test_no_traceback_for_a_mistake_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("roost.cli.run.prompt_of", broken)
    status, _, err = run("say hi")
    assert status == 2
    assert err.startswith("roost: this is a mistake in roost: ZeroDivisionError: oh")
    monkeypatch.setenv("ROOST_TRACEBACK", "1")
    assert isinstance(roost("run", "x", "y").exception, ZeroDivisionError)


def test_python_is_named_in_no_golden_file() -> None:
    for golden in GOLDEN.iterdir():
        assert sys.executable not in golden.read_text(encoding="utf-8")
