"""What a person is told about the needs of agents: in the list, and with an error that is for want of a login."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from roost.catalogue.profiles import known_profiles
from roost.cli.agents import table
from roost.cli.catalogue import Agent, agents_of
from roost.cli.login_advice import login_advice, look_closely, own_login
from roost.daemon.config import Config, DaemonSettings
from roost.process.packages import CommandLine, Package
from roost.sidecar.gen.messages import AcpAgentEntry
from tests.cli.rig import objects, roost
from tests.program_file import program

AUTH = json.dumps([{"id": "web", "name": "Web"}])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with `gemini`, as npm would have installed it, for a node of 20 or later."""
    root = tmp_path / "data" / "roost"
    folder = root / "pkgs" / "gemini" / "1"
    made = program(folder / "node_modules" / "@google" / "gemini-cli" / "cli.js", "#!/usr/bin/env node\n")
    (made.parent / "package.json").write_text('{"engines": {"node": ">=20"}}')
    folder.parent.joinpath("current").symlink_to("1")
    manifest = {"name": "gemini", "version": "1", "agent": {"acpEntrypoint": "gemini"}}
    (folder / "agentos-package.json").write_text(json.dumps(manifest))
    (root / "bin").mkdir()
    (root / "bin" / "gemini").symlink_to(made)
    return root


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of somebody with a node of 22 and no keys."""
    program(tmp_path / "bin" / "node", "#!/bin/sh\necho v22.0.0\n")
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    path = f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    return {"PATH": path, "XDG_DATA_HOME": str(tmp_path / "data")}


def listed(name: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    return next(agent for agent in objects(roost("agents", "--json", env=dict(env or {}))) if agent["name"] == name)


def test_the_list_says_what_an_agent_may_want(root: Path, own: dict[str, str]) -> None:
    agent = listed("gemini")
    assert agent["installed"] is True
    assert agent["hint"] == "gemini needs GEMINI_API_KEY, GOOGLE_API_KEY or a login: roost login gemini"
    (line,) = (line for line in roost("agents").stdout.splitlines() if line.startswith("gemini"))
    assert line.endswith("ready; gemini needs GEMINI_API_KEY, GOOGLE_API_KEY or a login: roost login gemini")


def test_the_list_says_how_a_key_that_is_here_gets_to_the_agent(root: Path, own: dict[str, str]) -> None:
    hint = listed("gemini", {"GEMINI_API_KEY": "k"})["hint"]
    assert hint == "gemini does not get your GEMINI_API_KEY unless it is told to: --env GEMINI_API_KEY"


def test_a_key_that_is_let_through_is_there(root: Path, own: dict[str, str], tmp_path: Path) -> None:
    config = tmp_path / "mine.toml"
    config.write_text('[daemon]\nlet_through = ["GEMINI_*"]\n')
    result = roost("agents", "--json", "--config", str(config), env={"GEMINI_API_KEY": "k"})
    assert {agent["name"]: agent["hint"] for agent in objects(result)} == {"gemini": None, "wren": None}


def test_an_old_node_is_why_an_agent_cannot_be_run(root: Path, own: dict[str, str], tmp_path: Path) -> None:
    program(tmp_path / "bin" / "node", "#!/bin/sh\necho v18.0.0\n")
    agent = listed("gemini")
    assert agent["installed"] is False
    assert agent["reason"] == f"gemini needs node >=20, and {tmp_path}/bin/node is 18.0.0"


def test_a_user_who_knows_better_is_believed(root: Path, own: dict[str, str], tmp_path: Path) -> None:
    program(tmp_path / "bin" / "node", "#!/bin/sh\necho v18.0.0\n")
    config = tmp_path / "mine.toml"
    config.write_text('[quirks.gemini]\nneeds = "ignored"\n')
    listing = objects(roost("agents", "--json", "--config", str(config)))
    assert next(agent for agent in listing if agent["name"] == "gemini")["installed"] is True


def test_a_daemon_may_have_another_node_than_we_do(root: Path, own: dict[str, str], tmp_path: Path) -> None:
    program(tmp_path / "bin" / "node", "#!/bin/sh\necho v18.0.0\n")
    look = look_closely(Config(), own)
    for runs in (True, False):
        entries = [AcpAgentEntry("gemini", runs, str(root / "bin" / "gemini"))]
        (agent,) = agents_of(entries, own, look)
        assert agent.installed is runs
        assert "gemini needs node >=20" in ((agent.hint if runs else agent.reason) or "")


def test_a_hint_cannot_write_on_the_terminal() -> None:
    assert "\x1b" not in table([Agent("a", "1", "b", True, None, "c\x1b[2J")])[1]


# ---- with an error


@pytest.mark.parametrize(
    ("argument", "given", "own", "advice"),
    [
        ("gemini", {}, {}, "gemini needs GEMINI_API_KEY, GOOGLE_API_KEY or a login: roost login gemini"),
        ("gemini", {}, {"GEMINI_API_KEY": "k"}, "gemini does not get your GEMINI_API_KEY unless it is told to: --env "),
        ("gemini", {"GEMINI_API_KEY": "k"}, {}, "log in with: roost login gemini"),
        ("/opt/x/auggie --acp", {}, {}, "auggie needs AUGMENT_SESSION_AUTH or a login: auggie login"),
        ("/opt/x/auggie --acp", {"AUGMENT_SESSION_AUTH": "k"}, {}, "log in with: auggie login"),
        (
            "npx -y @google/gemini-cli",
            {},
            {"GEMINI_API_KEY": ""},
            "or a login: roost login 'npx -y @google/gemini-cli'",
        ),
        ("/srv/my-agent", {}, {}, "log in with: roost login /srv/my-agent"),
        ("stranger", {}, {}, "log in with: roost login stranger"),
    ],
)
def test_the_advice_names_what_would_help(
    argument: str, given: dict[str, str], own: dict[str, str], advice: str
) -> None:
    assert advice in login_advice(argument, Config(), given, {"HOME": "/nowhere", **own})


def test_a_key_that_is_let_through_was_given() -> None:
    config = Config(daemon=DaemonSettings(let_through=("GEMINI_API_KEY",)))
    own = {"HOME": "/nowhere", "GEMINI_API_KEY": "k"}
    assert login_advice("gemini", config, {}, own) == "log in with: roost login gemini"


def scripted(*words: str) -> str:
    return shlex.join([sys.executable, "-P", "-m", "roost.testing.scripted", *words])


@pytest.mark.parametrize("version", ["--v1", "--v2"])
def test_a_run_that_fails_for_want_of_a_login_says_how_to_log_in(version: str) -> None:
    agent = scripted(version, "--gated", "--auth", AUTH)
    result = roost("run", agent, "text hello")
    assert result.exit_code == 2
    assert "Authentication required" in result.stderr
    assert f"; log in with: roost login {shlex.quote(agent)}\n" in result.stderr


def test_a_turn_that_fails_for_want_of_a_login_says_so_too() -> None:
    result = roost("run", scripted("--v1"), "error -32000 Authentication required")
    assert result.exit_code == 2
    assert "; log in with: roost login " in result.stderr


def test_a_turn_that_is_cut_short_for_want_of_a_login_says_so_too() -> None:
    """What an agent says before it asks for a login has been shown: the turn ends with a reason instead of an error."""
    result = roost("run", scripted("--v1"), "text sign in first\nerror -32000 Authentication required")
    assert result.exit_code == 3
    assert "sign in first" in result.stdout
    assert "the turn was cut short: _auth_required; log in with: roost login " in result.stderr
    assert "log in" not in roost("run", scripted("--v1"), "text hm\nerror -32603 no").stderr


AUGGIE = next(profile for profile in known_profiles() if profile.id == "auggie")


@pytest.mark.parametrize(("on_path", "command"), [(True, "auggie login"), (False, "'/a b/roost/bin/mine' login")])
def test_the_login_of_an_installed_agent_can_be_typed_as_it_is_told(on_path: bool, command: str) -> None:
    package = Package("mine", "1", "/a b/roost/bin/mine", Path("/a b/roost"))
    assert own_login(AUGGIE, package, lambda name: f"/usr/bin/{name}" if on_path else None) == command


def test_a_login_that_is_another_programs_is_told_as_it_is() -> None:
    """`claude /login` is no program of the adapter, and what a command line runs is on PATH or is named by a path."""
    zed = next(profile for profile in known_profiles() if profile.id == "claude-zed")
    package = Package("claude-zed", "1", "/roost/bin/claude-zed", Path("/roost"))
    assert own_login(zed, package, lambda _: None) == "claude /login"
    assert own_login(AUGGIE, CommandLine("auggie"), lambda _: None) == "auggie login"
    assert own_login(None, package) == ""


def test_an_installed_agent_with_a_login_of_its_own_is_listed_with_its_path(
    own: dict[str, str], tmp_path: Path
) -> None:
    root = tmp_path / "data" / "roost"
    folder = root / "pkgs" / "auggie" / "1"
    made = program(folder / "node_modules" / "@augmentcode" / "auggie" / "cli.js", "#!/usr/bin/env node\n")
    folder.parent.joinpath("current").symlink_to("1")
    manifest = {"name": "auggie", "version": "1", "agent": {"acpEntrypoint": "auggie"}}
    (folder / "agentos-package.json").write_text(json.dumps(manifest))
    (root / "bin").mkdir()
    (root / "bin" / "auggie").symlink_to(made)
    told = f"auggie needs AUGMENT_SESSION_AUTH or a login: {root}/bin/auggie login"
    assert listed("auggie")["hint"] == told
    assert login_advice("auggie", Config(), {}, own) == told


def test_another_error_has_no_such_advice() -> None:
    assert "log in" not in roost("run", scripted("--v1"), "error -32603 no").stderr


def test_a_key_that_is_given_is_logged_in_by_where_the_agent_wants_that(tmp_path: Path) -> None:
    """From the configuration to the engine: the quirk of an agent that is known by the name it tells."""
    config = tmp_path / "mine.toml"
    config.write_text('[store]\nenabled = false\n[quirks.odd-agent]\nauthenticate = { web = ["A_KEY"] }\n')
    agent = scripted("--v1", "--gated", "--auth", AUTH, "--info", "odd-agent")
    assert roost("run", "--config", str(config), agent, "text hello").exit_code == 2
    result = roost("run", "--config", str(config), "--env", "A_KEY=k", agent, "text hello")
    assert (result.exit_code, "hello" in result.stdout) == (0, True), result.stderr
