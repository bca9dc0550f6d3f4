"""Agents are found as the reference lays them out, and what is wrong with one is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roost.errors import ConfigError, SidecarError
from roost.process.packages import (
    CommandLine,
    Packages,
    default_roots,
    is_command_line,
    parse_command_line,
)
from roost.process.runtimes.base import RuntimeSettings
from roost.process.runtimes.javascript import JavaScriptRuntime
from roost.process.runtimes.python import PythonRuntime
from roost.process.runtimes.registry import Runtimes
from roost.process.runtimes.sniff import FileKind
from roost.process.shipped import SHIPPED_AGENTS, shipped_command, shipped_file

JS = "#!/usr/bin/env node\n"


def runtimes(*present: str) -> Runtimes:
    """A machine on which only these programs are, and nothing that runs WebAssembly."""
    settings = RuntimeSettings(
        python="python3", path="/p", which=lambda name, _: f"/p/{name}" if name in present else None
    )
    return Runtimes(settings, {"JAVA_SCRIPT": JavaScriptRuntime, "PYTHON": PythonRuntime})


def packages(*roots: Path, shipped=None) -> Packages:
    return Packages(roots, runtimes("node", "python3"), shipped or {})


def install(root: Path, name: str, text: str = JS, manifest: object = None, entrypoint: str = "") -> Path:
    """A package as the reference lays it out; its folder."""
    folder = root / "pkgs" / name / "1.0"
    folder.mkdir(parents=True)
    (folder.parent / "current").symlink_to("1.0")
    if manifest is None:
        manifest = {"name": name, "version": "1.0", "agent": {"acpEntrypoint": entrypoint or f"{name}-acp"}}
    (folder / "agentos-package.json").write_text(json.dumps(manifest))
    file = folder / "agent"
    file.write_text(text)
    file.chmod(0o755)
    (root / "bin").mkdir(exist_ok=True)
    link = root / "bin" / (entrypoint or f"{name}-acp")
    if not link.exists():
        link.symlink_to(f"../pkgs/{name}/1.0/agent")
    return folder


def wire_text(name: str) -> str:
    return (
        f'unknown agent type "{name}": no projected /opt/agentos/pkgs/{name} package with an agent.acpEntrypoint'
        " — pass its package to AgentOs software"
    )


def detail(found: Packages, name: str) -> str:
    """The one text of the wire is checked, the text for people is returned."""
    with pytest.raises(SidecarError) as error:
        found.find(name)
    assert error.value.code == "invalid_state"
    assert str(error.value) == wire_text(name)
    text = found.explain(name)
    assert text is not None
    assert error.value.__notes__ == [text]
    return text


def test_a_package_is_found_with_all_it_says(tmp_path):
    agent = {"acpEntrypoint": "pi-acp", "env": {"A": "1"}, "launchArgs": ["--acp"]}
    install(tmp_path, "pi", JS, {"name": "pi", "version": "0.3", "agent": agent}, "pi-acp")
    found = packages(tmp_path).find("pi")
    assert found.name == "pi"
    assert found.version == "0.3"
    assert found.root == tmp_path
    assert found.folder == tmp_path / "pkgs/pi/current"
    assert found.manifest == tmp_path / "pkgs/pi/current/agentos-package.json"
    assert found.entrypoint == str(tmp_path / "bin/pi-acp")
    assert dict(found.env) == {"A": "1"}
    assert found.launch_args == ("--acp",)
    assert found.kind is FileKind.JAVA_SCRIPT
    assert found.installed
    assert packages(tmp_path).explain("pi") is None


def test_an_unknown_agent_has_the_wires_text_and_people_are_told_where_was_looked(tmp_path):
    text = detail(packages(tmp_path, tmp_path / "other"), "nope")
    assert str(tmp_path / "pkgs") in text
    assert str(tmp_path / "other/pkgs") in text


DAMAGES = {
    "no manifest": (lambda folder: (folder / "agentos-package.json").unlink(), "has no manifest"),
    "not JSON": (lambda folder: (folder / "agentos-package.json").write_text("{"), "is not JSON"),
    "no agent block": (lambda folder: (folder / "agentos-package.json").write_text("{}"), "has no agent block"),
    "empty entrypoint": (
        lambda folder: (folder / "agentos-package.json").write_text('{"agent":{"acpEntrypoint":""}}'),
        "has an empty agent.acpEntrypoint",
    ),
    "entrypoint elsewhere": (
        lambda folder: (folder / "agentos-package.json").write_text('{"agent":{"acpEntrypoint":"../../x"}}'),
        "must not begin with a dot",
    ),
    "too large": (lambda folder: (folder / "agentos-package.json").write_text(" " * 300_000), "is larger than"),
    "manifest is a folder": (
        lambda folder: ((folder / "agentos-package.json").unlink(), (folder / "agentos-package.json").mkdir()),
        "is not a file",
    ),
    "no current version": (lambda folder: (folder.parent / "current").unlink(), "has no current version"),
    "dangling current": (
        lambda folder: ((folder.parent / "current").unlink(), (folder.parent / "current").symlink_to("2.0")),
        "has no current version",
    ),
    "current leads out": (
        lambda folder: ((folder.parent / "current").unlink(), (folder.parent / "current").symlink_to("/etc")),
        "leads out of",
    ),
    "manifest leads out": (
        lambda folder: (
            (folder / "agentos-package.json").unlink(),
            (folder / "agentos-package.json").symlink_to("/etc/passwd"),
        ),
        "leads out of",
    ),
    "entrypoint leads out": (
        lambda folder: (
            (folder.parents[2] / "bin/pi-acp").unlink(),
            (folder.parents[2] / "bin/pi-acp").symlink_to("/bin/sh"),
        ),
        "leads out of",
    ),
    "package leads out": (
        lambda folder: (
            folder.parent.rename(folder.parents[3] / "outside"),
            (folder.parents[1] / "pi").symlink_to(folder.parents[3] / "outside"),
        ),
        "leads out of",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_case_016_every_damage_is_unknown_on_the_wire_and_told_to_people(tmp_path, damage):
    root = tmp_path / "root"
    folder = install(root, "pi")
    do, text = DAMAGES[damage]
    do(folder)
    found = packages(root)
    assert text in detail(found, "pi")
    assert found.list() == []
    assert ("pi" in found.damaged()) == (damage not in ("no agent block", "empty entrypoint"))


@pytest.mark.parametrize("name", ["", ".", "..", "../pi", "a/b", "a\\b", "pi\0", "x" * 300])
def test_a_name_that_leads_elsewhere_is_never_looked_for(tmp_path, name, monkeypatch):
    install(tmp_path, "pi")
    assert "is no agent's name" in detail(packages(tmp_path / "pkgs", tmp_path), name)


def test_links_within_the_root_are_followed(tmp_path):
    install(tmp_path, "pi")
    (tmp_path / "pkgs/alias").symlink_to("pi")
    assert packages(tmp_path).find("alias").entrypoint == str(tmp_path / "bin/pi-acp")


def test_a_root_that_is_itself_a_link_is_a_root(tmp_path):
    install(tmp_path / "real", "pi")
    (tmp_path / "link").symlink_to("real")
    assert packages(tmp_path / "link").find("pi").installed


def test_the_first_root_wins_also_when_its_package_is_damaged(tmp_path):
    install(tmp_path / "one", "pi", entrypoint="one-acp")
    install(tmp_path / "two", "pi", entrypoint="two-acp")
    both = packages(tmp_path / "one", tmp_path / "two")
    assert both.find("pi").entrypoint.endswith("one-acp")
    (tmp_path / "one/pkgs/pi/1.0/agentos-package.json").unlink()
    assert "has no manifest" in detail(both, "pi")
    assert packages(tmp_path / "two", tmp_path / "one").find("pi").entrypoint.endswith("two-acp")


def test_case_098_the_list_is_sorted_over_all_roots_and_holds_each_name_once(tmp_path):
    for root, name in [("one", "zed"), ("two", "alpha"), ("two", "zed"), ("one", "mid")]:
        install(tmp_path / root, name)
    install(tmp_path / "one", "library", manifest={"name": "library"})
    (tmp_path / "one/pkgs/.hidden").mkdir()
    (tmp_path / "one/pkgs/file").write_text("")
    found = packages(tmp_path / "one", tmp_path / "two", tmp_path / "none", shipped={"json": "json", "mid": "json"})
    assert [package.name for package in found.list()] == ["alpha", "json", "mid", "zed"]
    assert [package.root for package in found.list()] == [tmp_path / "two", None, tmp_path / "one", tmp_path / "one"]


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        pytest.param(lambda file: None, None, id="as it should be"),
        pytest.param(lambda file: file.unlink(), "does not exist", id="missing"),
        pytest.param(lambda file: (file.unlink(), file.mkdir()), "is not a file", id="a folder"),
        pytest.param(lambda file: file.write_text("#!/usr/bin/bun\n"), None, id="another JavaScript"),
        pytest.param(lambda file: file.write_bytes(b"\0asm\1\0\0\0"), "no runtime for WEB_ASSEMBLY", id="no runtime"),
        pytest.param(lambda file: file.write_text("console.log()"), None, id="taken for JavaScript"),
        pytest.param(lambda file: file.write_bytes(b"\x7fELF"), None, id="native"),
        pytest.param(lambda file: (file.write_bytes(b"\x7fELF"), file.chmod(0o644)), "not executable", id="no x bit"),
        pytest.param(lambda file: (file.write_text(JS), file.chmod(0o644)), None, id="scripts need no x bit"),
    ],
)
def test_case_098_installed_is_told_truly(tmp_path, change, missing):
    change(install(tmp_path, "pi") / "agent")
    found = packages(tmp_path).find("pi")
    assert found.installed == (missing is None)
    if missing is not None:
        assert missing in str(found.missing)
    assert packages(tmp_path).explain("pi") == found.missing
    assert packages(tmp_path).list() == [found]


@pytest.mark.parametrize(("text", "program"), [(JS, "node"), ("#!/usr/bin/python3\n", "python3")])
def test_an_agent_whose_runtime_is_missing_is_not_installed(tmp_path, text, program):
    install(tmp_path, "pi", text)
    found = Packages([tmp_path], runtimes(), {}).find("pi")
    assert not found.installed
    assert str(found.missing).startswith(f"{program} was not found: install")


def test_too_many_packages_are_not_all_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr("roost.process.packages.MAX_PACKAGES", 3)
    for number in range(6):
        install(tmp_path, f"agent{number}")
    assert len(packages(tmp_path).list()) == 3


def test_shipped_agents_are_packages_without_a_folder(monkeypatch):
    found = Packages([], runtimes(), {"json": "json.tool"}).find("json")
    assert found.command == shipped_command("json.tool")
    assert found.command[1:] == ("-P", "-m", "json.tool")
    assert found.entrypoint == shipped_file("json.tool")
    assert found.installed
    assert found.root is None
    gone = Packages([], runtimes(), {"gone": "no.such.module"}).find("gone")
    assert not gone.installed
    assert gone.missing == "module no.such.module is missing from this installation of Roost"


def test_an_installed_package_replaces_a_shipped_one(tmp_path):
    install(tmp_path, "wren")
    assert Packages([tmp_path], runtimes("node"), SHIPPED_AGENTS).find("wren").root == tmp_path


@pytest.mark.parametrize("text", ["cat ", "a b", "./x", "/bin/cat", "~/x", "a\tb", " "])
def test_a_space_or_a_slash_makes_a_command_line(text):
    assert is_command_line(text)


@pytest.mark.parametrize("text", ["pi", "claude-code", "", "..", "~x"])
def test_a_plain_word_is_a_name(text):
    assert not is_command_line(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node 'my agent.js' --acp", CommandLine("node", ("my agent.js", "--acp"))),
        ("./agent", CommandLine("./agent")),
        ("~/agent ~ ~/x a~/b", CommandLine("/h/agent", ("/h", "/h/x", "a~/b"))),
        ('a "b\\"c" $HOME `d` ; | >', CommandLine("a", ('b"c', "$HOME", "`d`", ";", "|", ">"))),
    ],
)
def test_a_command_line_is_split_as_a_shell_would_and_nothing_is_run(monkeypatch, text, expected):
    monkeypatch.setenv("HOME", "/h")
    assert parse_command_line(text) == expected


@pytest.mark.parametrize(
    ("text", "fault"), [("a 'b", "cannot be split"), ("  ", "names no program"), ("'' /", "names no program")]
)
def test_a_command_line_that_is_none_says_so(text, fault):
    with pytest.raises(ConfigError, match=fault):
        parse_command_line(text)
    with pytest.raises(SidecarError, match=fault) as error:
        packages().resolve(text)
    assert error.value.code == "invalid_state"


def test_an_agent_type_is_resolved_to_a_package_or_a_command(tmp_path):
    install(tmp_path, "pi")
    assert packages(tmp_path).resolve("pi") == packages(tmp_path).find("pi")
    assert packages(tmp_path).resolve("pi --acp") == CommandLine("pi", ("--acp",))
    with pytest.raises(SidecarError, match="unknown agent type"):
        packages(tmp_path).resolve("nope")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "/users/u"}, ("/opt/agentos", "/users/u/.local/share/roost")),
        ({"HOME": "/users/u", "XDG_DATA_HOME": "/d"}, ("/opt/agentos", "/d/roost")),
        ({"HOME": "/users/u", "XDG_DATA_HOME": "d"}, ("/opt/agentos", "/users/u/.local/share/roost")),
        ({}, ("/opt/agentos",)),
    ],
)
def test_default_roots(environment, expected):
    assert tuple(map(str, default_roots(environment))) == expected
