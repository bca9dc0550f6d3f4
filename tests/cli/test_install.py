"""`roost install`, `update`, `remove` and `agents --available`: what they do, say, and survive."""

from __future__ import annotations

import json
import os
import selectors
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.process.packages import Packages
from tests.catalogue.rig import agent_folder, web
from tests.cli.rig import PATIENCE, Program, ended, objects, program, roost, scripted

# Stands in for npm. What is to be installed, and whether it waits for a word in mid-work, is in files.
NPM = """#!/bin/sh
version=$(cat {0}/version)
if [ "$1" = view ]; then echo "{{\\"version\\": \\"$version\\"}}"; exit; fi
mkdir -p node_modules/some-agent
echo half > node_modules/some-agent/index.js
echo $$ > {0}/pid
echo > {0}/started
if [ -e {0}/wait ]; then read word < {0}/go; fi
echo "{{\\"version\\": \\"$version\\", \\"bin\\": \\"./index.js\\"}}" > node_modules/some-agent/package.json
printf '#!/bin/sh\\necho agent '$version'\\n' > node_modules/some-agent/index.js
"""


class FakeNpm:
    """The folder that the stand-in looks into, and its two pipes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in ("started", "go"):
            os.mkfifo(folder / name)
        self._started = os.open(folder / "started", os.O_RDWR | os.O_NONBLOCK)
        self._go = os.open(folder / "go", os.O_RDWR | os.O_NONBLOCK)
        self.program = folder / "npm"
        self.program.write_text(NPM.format(folder))
        self.program.chmod(0o755)
        self.version("1.0.0")

    def version(self, version: str) -> None:
        (self.folder / "version").write_text(version)

    def waits(self, yes: bool) -> None:
        (self.folder / "wait").touch() if yes else (self.folder / "wait").unlink(missing_ok=True)

    def until_at_work(self) -> int:
        """Its pid."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._started, selectors.EVENT_READ)
            assert selector.select(PATIENCE), "npm was not started"
        os.read(self._started, 100)
        return int((self.folder / "pid").read_text())

    def go_on(self) -> None:
        os.write(self._go, b"go\n")

    def close(self) -> None:
        os.close(self._started)
        os.close(self._go)


@pytest.fixture
def npm(tmp_path: Path, no_journal: None) -> Iterator[FakeNpm]:
    made = FakeNpm(tmp_path / "npm")
    with (tmp_path / "config" / "roost" / "config.toml").open("a") as file:
        file.write(f'[catalogue]\nnpm = "{made.program}"\n')
    yield made
    made.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where agents are installed when nobody says."""
    return tmp_path / "data" / "roost"


def versions(root: Path) -> dict[str, str]:
    """The agents that are whole, as a daemon would find them."""
    found = Packages((root,), shipped={}).list()
    assert all(package.missing is None for package in found)
    return {package.name: package.version for package in found}


def debris(root: Path) -> list[str]:
    return os.listdir(root / "pkgs" / ".staging")


def test_an_installed_agent_can_be_run_listed_and_removed(root: Path) -> None:
    result = roost("install", scripted(), "--name", "mine")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "roost: run it with: roost run mine PROMPT" in result.stderr.splitlines()
    assert roost("run", "mine", "story").exit_code == 0
    listed = {agent["name"]: agent for agent in objects(roost("agents", "--json"))}
    assert listed["mine"]["origin"] == scripted()
    assert scripted() in roost("agents").stdout
    result = roost("remove", "mine")
    assert result.exit_code == 0
    assert "mine" not in {agent["name"] for agent in objects(roost("agents", "--json"))}
    assert not (root / "bin" / "mine").is_symlink()


def test_with_json_there_is_one_object_for_each_and_one_that_fails_keeps_no_other_from_its_turn(
    root: Path, tmp_path: Path
) -> None:
    folder = agent_folder(tmp_path / "mine", "1.2")
    result = roost("install", "--json", "npm:--x", str(folder))
    assert result.exit_code == 1
    failed, done = objects(result)
    assert failed["spec"] == "npm:--x"
    assert failed["code"] == "unknown"
    assert failed["error"] in result.stderr
    assert done == {
        "name": "mine",
        "version": "1.2",
        "previous": None,
        "origin": str(folder),
        "registryId": None,
        "pinned": False,
        "path": str(root / "pkgs" / "mine" / "current"),
        "changed": True,
        "ready": True,
        "hint": None,
    }
    assert objects(roost("remove", "mine", "--json")) == [
        {"name": "mine", "version": "1.2", "origin": str(folder), "removed": True}
    ]


def test_an_update_says_from_where_to_where_and_leaves_what_is_pinned(npm: FakeNpm, root: Path) -> None:
    assert roost("install", "npm:some-agent").exit_code == 0
    assert roost("install", "npm:some-agent@1.0.0", "--name", "old").exit_code == 0
    npm.version("1.1.0")
    result = roost("update")
    assert result.exit_code == 0
    assert "roost: some-agent 1.1.0 is installed, was 1.0.0" in result.stderr.splitlines()
    assert "roost: old stays 1.0.0 (pinned): it is pinned to 1.0.0" in result.stderr
    assert versions(root) == {"some-agent": "1.1.0", "old": "1.0.0"}
    rows = {line.split()[0]: line for line in roost("agents").stdout.splitlines()}
    assert "1.0.0 (pinned)  npm:some-agent" in rows["old"]
    assert "1.1.0" in rows["some-agent"]


def test_nothing_to_update_is_said() -> None:
    result = roost("update")
    assert result.exit_code == 0
    assert "can be updated" in result.stderr
    assert objects(roost("update", "--json")) == []


def test_a_failure_of_npm_is_a_failure_with_its_last_lines(npm: FakeNpm, root: Path) -> None:
    npm.program.write_text("#!/bin/sh\necho it went wrong at https://user:geheim@example.org >&2; exit 3\n")
    result = roost("install", "npm:some-agent")
    assert result.exit_code == 2
    assert "roost: npm tells nothing about some-agent@latest: it exited with code 3" in result.stderr
    assert "  | it went wrong at https://***@example.org" in result.stderr
    assert "geheim" not in result.stderr


def test_options_for_one_agent_are_not_for_several() -> None:
    assert roost("install", "a", "b", "--name", "c").exit_code == 1


def test_another_root_is_installed_to_and_said_to_be_out_of_sight(tmp_path: Path) -> None:
    folder = agent_folder(tmp_path / "mine")
    result = roost("install", str(folder), "--root", str(tmp_path / "other"))
    assert result.exit_code == 0
    assert "is not among the folders that agents are looked for in" in result.stderr
    assert versions(tmp_path / "other") == {"mine": "1"}


def test_killed_in_mid_installation_the_old_version_works_and_the_next_one_clears_up(npm: FakeNpm, root: Path) -> None:
    assert roost("install", "npm:some-agent").exit_code == 0
    npm.until_at_work()
    npm.version("2.0.0")
    npm.waits(True)
    with program("update", "some-agent") as killed:
        pid = npm.until_at_work()
        os.kill(killed.pid, signal.SIGKILL)
        killed.end()
    assert ended(pid), "npm goes on without us"
    assert versions(root) == {"some-agent": "1.0.0"}
    assert len(debris(root)) == 1
    npm.waits(False)
    result = roost("update")
    assert result.exit_code == 0
    assert versions(root) == {"some-agent": "2.0.0"}
    assert not debris(root)


def test_interrupted_in_mid_installation_nothing_is_left(npm: FakeNpm, root: Path) -> None:
    npm.waits(True)
    with program("install", "npm:some-agent") as interrupted:
        pid = npm.until_at_work()
        interrupted.interrupt()
        assert interrupted.end() == 3
    assert ended(pid)
    assert versions(root) == {}
    assert not debris(root)


def test_of_two_at_once_the_second_waits_and_finds_it_done(npm: FakeNpm, root: Path) -> None:
    npm.waits(True)
    with program("install", "npm:some-agent") as first:
        npm.until_at_work()
        with program("install", "npm:some-agent") as second:
            second.until(f"process {first.pid} works on it; waiting")
            npm.waits(False)
            npm.go_on()
            assert (first.end(), second.end()) == (0, 0)
            assert b"some-agent stays 1.0.0: it is installed already" in second.stderr
    assert versions(root) == {"some-agent": "1.0.0"}
    assert not debris(root)


def test_two_agents_at_once_do_not_wait_for_each_other(npm: FakeNpm, root: Path, tmp_path: Path) -> None:
    npm.waits(True)
    with program("install", "npm:some-agent") as first:
        npm.until_at_work()
        assert roost("install", str(agent_folder(tmp_path / "mine"))).exit_code == 0
        assert versions(root) == {"mine": "1"}
        npm.waits(False)
        npm.go_on()
        assert first.end() == 0
    assert versions(root) == {"mine": "1", "some-agent": "1.0.0"}


def registry(tmp_path: Path, *agents: object) -> str:
    """A configuration with a registry beside it."""
    (tmp_path / "registry.json").write_text(json.dumps({"agents": agents}))
    file = tmp_path / "mine.toml"
    file.write_text('[catalogue]\nregistry = "registry.json"\n')
    return str(file)


def test_what_can_be_installed_is_listed_with_what_it_needs(npm: FakeNpm, tmp_path: Path) -> None:
    assert roost("install", "gemini").exit_code == 2  # the stand-in knows one package only
    listed = {one["id"]: one for one in objects(roost("agents", "--available", "--json"))}
    assert listed["gemini"]["source"] == "npm"
    assert listed["gemini"]["package"] == "@google/gemini-cli"
    assert listed["gemini"]["installed"] is None
    assert "GEMINI_API_KEY" in listed["gemini"]["needs"][1]
    assert listed["mistral-vibe"]["needs"][0] == "Python >=3.12"
    table = roost("agents", "--available").stdout.splitlines()
    assert table[0].split() == ["NAME", "VERSION", "INSTALLED", "FROM", "NEEDS"]
    assert [line.split()[0] for line in table[1:]] == sorted(listed)


def test_an_archive_is_listed_by_its_url_and_what_needs_nothing_says_so(tmp_path: Path) -> None:
    target = {"archive": "https://user:geheim@example.invalid/agent.tar.gz", "cmd": "agent"}
    binary = {f"{system}-{machine}": target for system in ("linux", "darwin") for machine in ("x86_64", "aarch64")}
    config = registry(tmp_path, {"id": "mine", "name": "M", "version": "1.0.0", "distribution": {"binary": binary}})
    (line,) = (
        line for line in roost("agents", "--available", "--config", config).stdout.splitlines() if line[:5] == "mine "
    )
    assert line.split() == ["mine", "1.0.0", "-", "https://example.invalid/agent.tar.gz", "-"]


def test_what_cannot_be_run_yet_is_installed_and_says_why(tmp_path: Path, root: Path) -> None:
    folder = agent_folder(tmp_path / "mine", program="#!/usr/bin/env node\n")
    config = tmp_path / "mine.toml"
    config.write_text('[runtimes]\njavascript = "/no/such/node"\n')
    result = roost("install", str(folder), "--json", "--config", str(config))
    assert result.exit_code == 0
    (told,) = objects(result)
    assert told["ready"] is False
    assert "/no/such/node" in told["hint"]
    assert f"roost: it cannot be run yet: {told['hint']}" in result.stderr.splitlines()
    assert "run it with" not in result.stderr


def test_a_configured_registry_comes_first_and_its_damage_is_told(npm: FakeNpm, tmp_path: Path) -> None:
    some = {"npx": {"package": "some-agent@1.0.0"}}
    config = registry(
        tmp_path,
        {"id": "mine", "name": "M", "version": "1.0.0", "distribution": some},
        {"id": "gemini", "name": "G", "version": 7},
    )
    with open(config, "a") as file:
        file.write(f'npm = "{npm.program}"\n')
    result = roost("install", "mine", "--config", config)
    assert result.exit_code == 0
    result = roost("agents", "--available", "--json", "--config", config)
    listed = {one["id"]: one for one in objects(result)}
    assert (listed["mine"]["installed"], listed["mine"]["pinned"]) == ("1.0.0", False)
    assert "gemini" not in listed
    assert "opencode" in listed
    assert f"{tmp_path}/registry.json" in result.stderr
    assert "entry gemini, version" in result.stderr
    assert roost("install", "gemini", "--config", config).exit_code == 2


def test_a_registry_at_a_url_is_asked_and_its_password_is_never_shown(npm: FakeNpm, tmp_path: Path) -> None:
    config = tmp_path / "mine.toml"
    entry = {"id": "mine", "name": "M", "version": "1.0.0", "distribution": {"npx": {"package": "some-agent@1.0.0"}}}
    with web() as served:
        url = served.url.replace("http://", "http://user:geheim@")
        served.pages["/registry.json"] = json.dumps({"agents": [entry, {"id": "bad"}]}).encode()
        config.write_text(f'[catalogue]\nnpm = "{npm.program}"\nregistry = "{url}/registry.json"\n')
        results = [
            roost("install", "mine", "--config", str(config)),
            roost("install", "bad", "--config", str(config)),
            roost("agents", "--available", "--config", str(config)),
        ]
        assert [result.exit_code for result in results] == [0, 2, 0]
        served.pages.clear()
        results.append(roost("install", "mine", "--config", str(config)))
        assert results[-1].exit_code == 2
        assert "the server says 404" in results[-1].stderr
    for result in results:
        assert "geheim" not in result.stdout + result.stderr
    for file in (tmp_path / "data").rglob("*.json"):
        assert "geheim" not in file.read_text()


def test_a_registry_that_is_not_there_is_told_and_packages_can_be_installed_all_the_same(
    npm: FakeNpm, tmp_path: Path
) -> None:
    config = registry(tmp_path)
    (tmp_path / "registry.json").unlink()
    with open(config, "a") as file:
        file.write(f'npm = "{npm.program}"\n')
    for args in (["agents", "--available"], ["install", "gemini"]):
        result = roost(*args, "--config", config)
        assert result.exit_code == 2
        assert "cannot be read" in result.stderr
    result = roost("install", "npm:some-agent", "--config", config)
    assert result.exit_code == 0
    assert "going on without that registry" in result.stderr


def test_a_program_is_a_program(npm: FakeNpm, root: Path) -> None:
    """What is installed from npm is run by its own file."""
    assert roost("install", "npm:some-agent").exit_code == 0
    agent = Program([str(root / "bin" / "some-agent")])
    assert (agent.end(), agent.stdout) == (0, b"agent 1.0.0\n")
