"""Agents from npm: the machine's own, asking a registry on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from roost.catalogue.installed import with_record
from roost.catalogue.npm import npm_program, split_npm
from roost.catalogue.registry import read_registry
from roost.errors import CatalogueError
from roost.process.runtimes.base import RuntimeSettings
from roost.process.runtimes.registry import Runtimes
from tests.catalogue.rig import House, Web, machine, npm_environment, serve_npm

needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None or shutil.which("node") is None, reason="there is no npm here: install Node.js"
)


def run(house: House, name: str) -> str:
    plan = with_record(house.packages().find(name)).plan(
        cwd="/", own_env={"PATH": os.environ["PATH"]}, runtimes=Runtimes(RuntimeSettings())
    )
    return subprocess.run(plan.argv, env=plan.env, cwd=plan.cwd, capture_output=True, text=True, check=True).stdout


@needs_npm
def test_a_package_is_installed_and_updated_unless_it_is_pinned(house: House, served: Web, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    scripts = {"scripts": {"preinstall": f"touch {ran}", "install": f"touch {ran}", "postinstall": f"touch {ran}"}}
    serve_npm(served, "some-agent", {"1.0.0": scripts})
    on = machine(npm_environment(served, tmp_path))
    outcome = house.installer(on).install("npm:some-agent", args=("--acp",))
    assert (outcome.record.version, outcome.record.package, outcome.record.pinned) == ("1.0.0", "some-agent", False)
    assert run(house, "some-agent") == "agent --acp\n"
    assert not ran.exists()

    serve_npm(served, "some-agent", {"1.0.0": {}, "1.1.0": {}})
    outcome = house.installer(on).update("some-agent")
    assert (outcome.previous, outcome.record.version, outcome.changed) == ("1.0.0", "1.1.0", True)
    assert run(house, "some-agent") == "agent --acp\n"
    assert house.installer(on).update("some-agent").changed is False

    outcome = house.installer(on).install("npm:some-agent@1.0.0", args=("--acp",))
    assert (outcome.record.version, outcome.record.pinned) == ("1.0.0", True)
    outcome = house.installer(on).update("some-agent")
    assert (outcome.record.version, outcome.changed) == ("1.0.0", False)
    assert outcome.note == ("it is pinned to 1.0.0; `roost install npm:some-agent` lets it follow the newest again")


@needs_npm
def test_a_newer_node_is_asked_for_before_anything_is_downloaded(house: House, served: Web, tmp_path: Path) -> None:
    serve_npm(served, "some-agent", {"1.0.0": {"engines": {"node": ">=999"}}})
    with pytest.raises(CatalogueError, match="needs node >=999, and node is") as caught:
        house.installer(machine(npm_environment(served, tmp_path))).install("npm:some-agent")
    assert caught.value.code == "unsuitable"
    assert {path for path, _ in served.asked} == {"/some-agent"}
    assert not (house.root / "pkgs" / "some-agent").exists()


@needs_npm
def test_what_npm_does_not_know_is_unknown(house: House, served: Web, tmp_path: Path) -> None:
    serve_npm(served, "some-agent", {"1.0.0": {}})
    installer = house.installer(machine(npm_environment(served, tmp_path)))
    for spec in ("npm:none", "npm:some-agent@2.0.0", "npm:some-agent@^7"):
        with pytest.raises(CatalogueError) as caught:
            installer.install(spec)
        assert caught.value.code == "unknown", spec


@needs_npm
def test_a_tarball_that_is_not_what_npm_was_told_fails_and_changes_nothing(
    house: House, served: Web, tmp_path: Path
) -> None:
    serve_npm(served, "some-agent", {"1.0.0": {}})
    on = machine({**npm_environment(served, tmp_path), "SOME_TOKEN": "EINTEGRITY-geheim"})
    house.installer(on).install("npm:some-agent")
    serve_npm(served, "some-agent", {"1.0.0": {}, "2.0.0": {}})
    served.pages["/some-agent/-/some-agent-2.0.0.tgz"] = b"something else"
    with pytest.raises(CatalogueError, match=r"npm could not install some-agent@2\.0\.0") as caught:
        house.installer(on).update("some-agent")
    assert caught.value.code == "failed"
    assert "EINTEGRITY" in caught.value.detail
    assert run(house, "some-agent") == "agent \n"
    assert not house.left_behind()


@needs_npm
def test_an_entry_of_a_registry_says_which_version_and_how_it_is_run(house: House, served: Web, tmp_path: Path) -> None:
    serve_npm(served, "some-agent", {"1.0.0": {"bin": {"x": "index.js", "y": "index.js"}}, "2.0.0": {}})
    npx = {"package": "some-agent@1.0.0", "cmd": "y", "args": ["--acp"], "env": {"A": "b"}}
    text = {"agents": [{"id": "mine", "name": "Mine", "version": "1.0.0", "distribution": {"npx": npx}}]}
    registry = read_registry(json.dumps(text).encode(), "here")
    installer = house.installer(machine(npm_environment(served, tmp_path)), lambda: registry)
    outcome = installer.install("mine")
    assert (outcome.record.version, outcome.record.registry_id, outcome.record.pinned) == ("1.0.0", "mine", False)
    package = house.packages().find("mine")
    assert (package.launch_args, package.env) == (("--acp",), {"A": "b"})
    asked = len(served.asked)
    assert installer.update("mine").changed is False
    assert len(served.asked) == asked  # the registry says it all
    assert installer.install("mine@2.0.0", command="some-agent").record.pinned


@needs_npm
def test_a_folder_with_a_package_json_is_packed_by_npm(house: House, served: Web, tmp_path: Path) -> None:
    serve_npm(served, "dependency", {"1.0.0": {}})
    folder = tmp_path / "mine"
    folder.mkdir()
    manifest = {"name": "@me/mine", "version": "0.1.0", "bin": "./x.js", "dependencies": {"dependency": "1.0.0"}}
    (folder / "package.json").write_text(json.dumps({**manifest, "files": ["x.js"]}))
    (folder / "x.js").write_text("require('dependency/index.js'); console.log('mine')\n")
    (folder / "secret").write_text("")
    house.installer(machine(npm_environment(served, tmp_path))).install(str(folder))
    assert run(house, "mine") == "agent \nmine\n"
    assert not list((house.root / "pkgs/mine/current").rglob("secret"))
    assert not (house.root / "pkgs/mine/current/node_modules/@me/mine").is_symlink()


def test_an_npm_that_only_links_to_a_folder_is_too_old(house: House, tmp_path: Path) -> None:
    """As npm 6 and 7 do, and 8 in its first releases: the agent would change with its folder, or vanish with it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "package.json").write_text(json.dumps({"name": "@me/mine", "version": "1.0.0", "bin": "x.js"}))
    npm = tmp_path / "npm"
    npm.write_text(f"#!/bin/sh\nmkdir -p node_modules/@me && ln -s {folder} node_modules/@me/mine\n")
    npm.chmod(0o755)
    with pytest.raises(CatalogueError, match=f"{npm} is too old to install a folder.*npm 9 or later") as caught:
        house.installer(machine(npm=str(npm))).install(str(folder))
    assert caught.value.code == "unsuitable"
    assert not house.left_behind()


@needs_npm
@pytest.mark.parametrize("stumbles", [1, 99])
def test_a_part_for_this_machine_that_npm_leaves_out_in_silence_is_got_or_told(
    house: House, served: Web, tmp_path: Path, stumbles: int
) -> None:
    """To npm it is optional, and for some agents it is the program."""
    here = {"os": [sys.platform]}
    serve_npm(served, "native", {"1.0.0": here})
    serve_npm(served, "foreign", {"1.0.0": {"os": ["win32"]}})
    parts = {"native": "1.0.0", "foreign": "1.0.0"}
    serve_npm(served, "some-agent", {"1.0.0": {"optionalDependencies": parts}})
    served.stumbles["/native/-/native-1.0.0.tgz"] = stumbles
    house.installer(machine(npm_environment(served, tmp_path))).install("npm:some-agent")
    assert run(house, "some-agent") == "agent \n"
    told = [line for line in house.said if "npm could not get native, made for machines like this one" in line]
    assert len(told) == (stumbles > 1)
    modules = house.root / "pkgs/some-agent/current/node_modules"
    assert (modules / "native").exists() is (stumbles == 1)


def test_a_machine_without_npm_is_told_how_to_get_one(house: House) -> None:
    with pytest.raises(CatalogueError, match=r"no-such-npm was not found: install Node\.js") as caught:
        house.installer(machine(npm="no-such-npm")).install("npm:some-agent")
    assert caught.value.code == "unsuitable"


def test_an_npm_that_hangs_is_ended(house: House, tmp_path: Path) -> None:
    npm = tmp_path / "npm"
    npm.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    npm.chmod(0o755)
    with pytest.raises(CatalogueError, match=r"took more than 0\.5 s \(catalogue\.lookup_timeout\)"):
        house.installer(machine(npm=str(npm), lookup_timeout=0.5)).install("npm:some-agent")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("said", ["", "x", "[]", "7", '{"version": 7}', '{"version": "../../x"}', '[{"version": "1"}]'])
def test_an_npm_that_says_something_odd_is_an_error(house: House, tmp_path: Path, said: str) -> None:
    npm = tmp_path / "npm"
    npm.write_text(f"#!/bin/sh\necho '{said}'\n")
    npm.chmod(0o755)
    with pytest.raises(CatalogueError) as caught:
        house.installer(machine(npm=str(npm))).install("npm:some-agent")
    assert caught.value.code in ("damaged", "unknown")


def test_the_last_lines_of_npm_come_with_the_error_and_without_secrets(house: House, tmp_path: Path) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho https://u:geheim@x/ $MY_TOKEN >&2\nexit 7\n")
    npm.chmod(0o755)
    env = {"PATH": os.environ["PATH"], "MY_TOKEN": "geheimnis"}
    with pytest.raises(CatalogueError, match="it exited with code 7") as caught:
        house.installer(machine(env, npm=str(npm))).install("npm:some-agent")
    assert caught.value.detail == "https://***@x/ ***"


def test_a_program_that_is_not_in_its_package_is_damage(tmp_path: Path) -> None:
    home = tmp_path / "node_modules" / "p"
    home.mkdir(parents=True)
    for programs in ({"p": "none.js"}, {"p": "../../../../etc/hostname"}):
        (home / "package.json").write_text(json.dumps({"bin": programs}))
        with pytest.raises(CatalogueError) as caught:
            npm_program(tmp_path, "p", "")
        assert caught.value.code == "damaged"


@pytest.mark.parametrize(
    ("text", "parts"),
    [("a", ("a", "")), ("a@1", ("a", "1")), ("@a/b", ("@a/b", "")), ("@a/b@1.0.0", ("@a/b", "1.0.0"))],
)
def test_a_package_has_a_name_and_maybe_a_version(text: str, parts: tuple[str, str]) -> None:
    assert split_npm(text) == parts


@pytest.mark.parametrize("name", ["../../x", "", None, 7, "a b"])
def test_a_folder_whose_name_is_none_is_damaged(house: House, tmp_path: Path, name: object) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "package.json").write_text(json.dumps({"name": name, "version": "1.0.0", "bin": "x.js"}))
    with pytest.raises(CatalogueError, match="no name that npm would take") as caught:
        house.installer(machine()).install(str(folder), name="mine")
    assert caught.value.code == "damaged"
