"""`roost login` and `roost logout`: an agent's logins listed and done, of each kind and in each version."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.rig import ROOST, objects, program, roost
from tests.cli.test_terminal import Terminal

V1 = [
    {"id": "web", "name": "Web", "description": "In a browser"},
    {
        "id": "key",
        "type": "env_var",
        "name": "Use A_KEY",
        "vars": [{"name": "A_KEY"}, {"name": "A_URL", "optional": True}],
    },
    {"id": "old-way", "name": "Old", "_meta": {"type": "terminal", "args": ["--log-in", "old"]}},
]
V2 = [
    {"methodId": "web", "type": "agent", "name": "Web", "description": "In a browser"},
    {"methodId": "shell", "type": "terminal", "name": "Shell", "args": ["--log-in", "new"], "env": []},
    {"methodId": "sso", "type": "_sso", "name": "Single sign-on"},
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def agent(tmp_path: Path, store: Path) -> Path:
    """A program that logs in at the terminal when asked to, and else is the scripted agent with what is given."""
    made = tmp_path / "agent"
    made.write_text(
        "#!/bin/sh\n"
        'for word in "$@"; do last=$word; case $word in --log-in) asked=1;; esac; done\n'
        'if [ "$asked" ]; then\n'
        "  test -t 0 && test -t 2 && echo at a terminal\n"
        '  read answer || exit 4\n  echo "$last $answer $SECRET" > ' + shlex.quote(str(tmp_path / "typed")) + "\n"
        '  [ "$answer" = yes ]; exit\n'
        "fi\n"
        f'exec {shlex.quote(sys.executable)} -P -m roost.testing.scripted --store {shlex.quote(str(store))} "$@"\n'
    )
    made.chmod(0o755)
    return made


def v1(agent: Path, *more: str) -> str:
    return shlex.join([str(agent), "--v1", "--auth", json.dumps(V1), *more])


def v2(agent: Path, *more: str) -> str:
    return shlex.join([str(agent), "--v2", "--auth", json.dumps(V2), *more])


# ---- the list


def test_the_logins_of_version_1_are_listed(agent: Path) -> None:
    listed = {method["methodId"]: method for method in objects(roost("login", v1(agent), "--json", env={"A_KEY": "x"}))}
    assert list(listed) == ["web", "key", "old-way"]
    assert listed["web"] == {
        "agent": "agent",
        "methodId": "web",
        "kind": "request",
        "name": "Web",
        "description": "In a browser",
    }
    assert listed["old-way"]["kind"] == "terminal"
    assert listed["old-way"]["args"] == ["--log-in", "old"]
    key, url = listed["key"]["variables"]
    assert (key["name"], key["given"], key["set"], key["secret"], key["optional"]) == (
        "A_KEY",
        False,
        True,
        True,
        False,
    )
    assert (url["name"], url["set"], url["optional"]) == ("A_URL", False, True)


def test_the_logins_of_version_2_are_listed(agent: Path) -> None:
    listed = objects(roost("login", v2(agent), "--json"))
    assert [(method["methodId"], method["kind"]) for method in listed] == [
        ("web", "request"),
        ("shell", "terminal"),
        ("sso", "unknown"),
    ]


def test_the_list_for_people_says_how_to_go_on(agent: Path) -> None:
    lines = roost("login", v1(agent)).stdout.splitlines()
    assert lines[0].split() == ["METHOD", "KIND", "WHAT"]
    assert lines[1] == "web      request        Web: In a browser"
    assert "A_KEY, not set here" in lines[2]
    assert lines[-1].startswith("log in with: roost login '")


def test_an_agent_without_logins_says_so() -> None:
    result = roost("login", "wren")
    assert (result.exit_code, result.stdout) == (0, "wren offers no login\n")
    assert roost("login", "wren", "--json").stdout == ""


def test_an_agent_cannot_write_on_the_terminal(agent: Path) -> None:
    hostile = [{"id": "a\x1b[2J", "name": "b\x1b]52;c;x\x07"}]
    command = shlex.join([str(agent), "--v1", "--auth", json.dumps(hostile)])
    assert "\x1b" not in roost("login", command).stdout


# ---- logging in


@pytest.mark.parametrize("version", [v1, v2])
def test_a_login_by_request_lets_the_agent_open_sessions(version: Any, agent: Path, store: Path) -> None:
    command = version(agent, "--gated")
    assert roost("run", command, "text hello").exit_code == 2
    result = roost("login", command, "web")
    assert (result.exit_code, result.stdout) == (0, "logged in to agent by web\n")
    assert (store / "login").exists()
    assert "hello" in roost("run", command, "text hello").stdout


def test_a_login_that_is_a_command_to_type_is_not_told_as_done(agent: Path) -> None:
    """OpenCode and Copilot name a command in what they say of their login; the first calls it done all the same."""
    methods = [{"id": "web", "name": "Web", "description": "Run `agent auth login` in the terminal"}]
    result = roost("login", shlex.join([str(agent), "--v1", "--auth", json.dumps(methods)]), "web")
    told = "agent takes web for done; of this login it says: Run `agent auth login` in the terminal\n"
    assert (result.exit_code, result.stdout) == (0, told)


def test_a_login_is_told_as_json(agent: Path) -> None:
    (told,) = objects(roost("login", v2(agent), "web", "--json"))
    assert told == {"agent": "agent", "methodId": "web", "kind": "request", "message": "logged in to agent by web"}


@pytest.mark.parametrize("method", ["none", "sso"])
def test_a_login_there_is_not_is_a_misuse(agent: Path, method: str) -> None:
    result = roost("login", v2(agent), method)
    assert result.exit_code == 1
    assert result.stderr == f"roost: agent has no login {method}; it has: web, shell\n"


def refusing(agent: Path, method: str = "authenticate") -> str:
    script = {
        method: ["raw " + json.dumps({"jsonrpc": "2.0", "id": 2, "error": {"code": -32603, "message": "Not here"}})]
    }
    return v1(agent, json.dumps(script))


def test_a_login_the_agent_refuses_is_told_with_what_it_says_of_it(agent: Path) -> None:
    result = roost("login", refusing(agent), "web")
    assert result.exit_code == 2
    assert (
        "the login web of agent failed: Not here (error -32603); of this login it says: In a browser" in result.stderr
    )


def test_a_refused_login_of_which_the_agent_says_nothing_is_told_alone(agent: Path) -> None:
    answer = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32603, "message": "Not here"}}
    script = json.dumps({"authenticate": ["raw " + json.dumps(answer)]})
    methods = json.dumps([{"id": "web", "name": "Web"}])
    result = roost("login", shlex.join([str(agent), "--v1", "--auth", methods, script]), "web")
    assert "the login web of agent failed: Not here (error -32603)\n" in result.stderr


def test_a_login_that_is_done_elsewhere_names_the_place(agent: Path, tmp_path: Path) -> None:
    known = tmp_path / "claude-code-acp"
    agent.rename(known)
    result = roost("login", refusing(known), "web")
    assert "(error -32603); it is done with: claude /login" in result.stderr


def test_what_the_agent_says_during_a_login_is_shown(agent: Path) -> None:
    command = v1(agent, json.dumps({"authenticate": ["note visit https://example.test/code", "answer"]}))
    assert "  | visit https://example.test/code\n" in roost("login", command, "web").stderr


def test_an_agent_that_ends_is_told_with_its_last_words() -> None:
    result = roost("login", "sh -c 'echo not an agent any more >&2; exit 0'")
    assert result.exit_code == 2
    assert "not an agent any more" in result.stderr


def test_a_login_that_takes_too_long_is_given_up(agent: Path) -> None:
    result = roost("login", v1(agent, json.dumps({"authenticate": ["stall"]})), "web", "--timeout", "1.5")
    assert result.exit_code == 3
    assert "the time was up (--timeout 1.5)" in result.stderr


def test_ctrl_c_gives_a_login_up(agent: Path) -> None:
    command = v1(agent, json.dumps({"authenticate": ["note waiting for you", "stall"]}))
    with program("login", command, "web") as made:
        made.until("waiting for you")
        made.process.send_signal(signal.SIGINT)
        assert made.end() == 3
    assert b"interrupted" in made.stderr


# ---- variables


def test_a_login_that_is_known_to_be_done_with_a_variable_is_not_done_without(agent: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine.toml"
    config.write_text('[quirks.agent]\nauthenticate = { web = ["A_KEY"] }\n')
    result = roost("login", v1(agent), "web", "--config", str(config), env={"A_KEY": "k"})
    assert result.exit_code == 1
    assert result.stderr == "roost: the login web of agent is done with A_KEY: --env A_KEY\n"
    result = roost("login", v1(agent), "web", "--config", str(config), "--env", "A_KEY=k")
    assert result.exit_code == 0


def test_variables_that_are_missing_are_named_and_never_asked_for(agent: Path) -> None:
    result = roost("login", v1(agent), "key", env={"A_KEY": ""})
    assert result.exit_code == 1
    assert "agent needs A_KEY, not set here; set it, and give it to the agent: roost run '" in result.stderr
    assert result.stderr.rstrip().endswith("--env A_KEY")


def test_variables_that_are_set_here_still_have_to_be_given(agent: Path) -> None:
    result = roost("login", v1(agent), "key", env={"A_KEY": "very-secret"})
    assert result.exit_code == 0
    assert result.stdout.startswith("A_KEY is set here; give it to the agent: roost run ")
    assert "very-secret" not in result.output


def test_variables_that_the_agent_gets_need_nothing(agent: Path) -> None:
    result = roost("login", v1(agent), "key", "--env", "A_KEY=very-secret")
    assert (result.exit_code, result.stdout) == (0, "agent gets A_KEY already\n")


# ---- at a terminal


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    made: list[Terminal] = []
    yield made
    for terminal in made:
        terminal.close()


def at_terminal(terminals: list[Terminal], *args: str) -> Terminal:
    made = Terminal(*ROOST, "login", *args)
    terminals.append(made)
    return made


@pytest.mark.parametrize(("version", "method", "last"), [(v2, "shell", "new"), (v1, "old-way", "old")])
def test_a_login_at_a_terminal_runs_the_agent_s_own_program_there(
    version: Any, method: str, last: str, agent: Path, tmp_path: Path, terminals: list[Terminal]
) -> None:
    terminal = at_terminal(terminals, version(agent), method, "--env", "SECRET=s")
    terminal.until("at a terminal")
    terminal.type("yes\n")
    assert terminal.end() == 0
    assert f"logged in to agent by {method}" in terminal.text
    assert (tmp_path / "typed").read_text() == f"{last} yes s\n"


def test_a_login_at_a_terminal_that_fails_is_told(agent: Path, terminals: list[Terminal]) -> None:
    terminal = at_terminal(terminals, v2(agent), "shell")
    terminal.until("at a terminal")
    terminal.type("no\n")
    assert terminal.end() == 2
    assert "the login shell of agent failed: the login ended with exit code 1" in terminal.text


def test_ctrl_c_ends_a_login_at_a_terminal(agent: Path, terminals: list[Terminal]) -> None:
    terminal = at_terminal(terminals, v2(agent), "shell")
    terminal.until("at a terminal")
    terminal.type("\x03")
    assert terminal.end() == 3
    assert "interrupted" in terminal.text


@pytest.mark.parametrize(("version", "method"), [(v2, "shell"), (v1, "old-way")])
def test_without_a_terminal_it_cannot_be_done(version: Any, method: str, agent: Path, tmp_path: Path) -> None:
    result = roost("login", version(agent), method)
    assert result.exit_code == 1
    assert f"the login {method} of agent is done at a terminal, and there is none" in result.stderr
    assert not (tmp_path / "typed").exists()


# ---- logging out


def test_logging_out_is_asked_of_the_agent(agent: Path, store: Path) -> None:
    store.mkdir()
    (store / "login").touch()
    result = roost("logout", v2(agent))
    assert (result.exit_code, result.stdout) == (0, "logged out of agent\n")
    assert not (store / "login").exists()


def test_an_agent_of_version_1_that_can_is_asked(agent: Path, store: Path) -> None:
    store.mkdir()
    (store / "login").touch()
    (told,) = objects(roost("logout", v1(agent, "--capabilities", '{"auth": {"logout": {}}}'), "--json"))
    assert told == {"agent": "agent", "message": "logged out of agent"}
    assert not (store / "login").exists()


def test_an_agent_that_cannot_log_out_is_not_said_to(agent: Path, store: Path) -> None:
    store.mkdir()
    (store / "login").touch()
    for command in (v1(agent), "wren"):
        result = roost("logout", command)
        assert result.exit_code == 1
        assert "has no way to log out" in result.stderr
    assert (store / "login").exists()


def test_the_environment_of_the_caller_is_not_given_to_the_agent(agent: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    tell = f"import os; open({str(seen)!r}, 'w').write(repr(sorted(os.environ)))"
    made = tmp_path / "tells"
    made.write_text(f"#!/bin/sh\n{sys.executable} -c {shlex.quote(tell)}\nexec {agent} --v2\n")
    made.chmod(0o755)
    assert roost("login", str(made), env={"SECRET_KEY": "s", "DISPLAY": ":0"}).exit_code == 0
    names = seen.read_text()
    assert "SECRET_KEY" not in names
    assert "DISPLAY" in names
    assert os.path.exists(made)
