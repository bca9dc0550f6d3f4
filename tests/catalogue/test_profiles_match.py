"""Which agent a command line or a package is."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from roost.catalogue.installed import Record, write_record
from roost.catalogue.profiles import Identity
from roost.catalogue.profiles_match import (
    identity_of,
    identity_of_command,
    identity_of_package,
    normalized,
    npm_folder_of,
    npm_name,
    npm_package_at,
)
from roost.process.packages import CommandLine, Package


@pytest.mark.parametrize(
    ("command", "npm"),
    [
        ("npx @google/gemini-cli --acp", "@google/gemini-cli"),
        ("npx -y @google/gemini-cli@0.61.0 --acp", "@google/gemini-cli"),
        ("/usr/bin/npx --yes opencode-ai@latest acp", "opencode-ai"),
        ("npx --package @github/copilot copilot --acp", "@github/copilot"),
        ("npx --package=@github/copilot@1 -- copilot --acp", "@github/copilot"),
        ("npx -p cline cline", "cline"),
        ("npx --registry http://r opencode-ai", "opencode-ai"),
        ("npm exec -- opencode-ai acp", "opencode-ai"),
        ("bunx droid exec", "droid"),
        ("pnpm dlx droid", "droid"),
        ("npx ./here", ""),
        ("npx github:me/mine", ""),
        ("npx git+https://host/me/mine", ""),
        ("npx", ""),
        ("npx -y", ""),
    ],
)
def test_a_launcher_of_npm_names_the_package(command: str, npm: str) -> None:
    assert identity_of_command(shlex.split(command), {}, "/") == Identity(npm=npm, launched=True)


@pytest.mark.parametrize(
    ("command", "pypi"),
    [
        ("uvx agentao==0.5.17 --acp --stdio", "agentao"),
        ("uvx --python 3.12 mistral-vibe", "mistral-vibe"),
        ("uvx --from 'hermes-agent[acp]==0.19.0' hermes acp", "hermes-agent"),
        ("uvx --from=Fast_Agent.MCP fast-agent acp", "fast-agent-mcp"),
        ("uvx agentao@latest", "agentao"),
        ("uv tool run agentao", "agentao"),
        ("pipx run --spec fast-agent-mcp fast-agent acp", "fast-agent-mcp"),
        ("uvx --from git+https://host/x y", ""),
        ("uvx ./here", ""),
    ],
)
def test_a_launcher_of_pypi_names_the_package(command: str, pypi: str) -> None:
    assert identity_of_command(shlex.split(command), {}, "/") == Identity(pypi=pypi, launched=True)


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """What npm leaves in a folder, with a link in `.bin`."""
    found = tmp_path / "node_modules"
    for package in ("@google/gemini-cli", "plain"):
        (found / package / "dist").mkdir(parents=True)
        (found / package / "dist" / "main.js").write_text("#!/usr/bin/env node\n")
        (found / package / "dist" / "main.js").chmod(0o755)
    (found / ".bin").mkdir()
    (found / ".bin" / "gemini").symlink_to("../@google/gemini-cli/dist/main.js")
    (found / ".bin" / "plain").symlink_to("../plain/dist/main.js")
    return found


def test_a_program_that_npm_has_installed_is_known_by_its_package(modules: Path) -> None:
    binaries = modules / ".bin"
    assert npm_package_at(str(binaries / "gemini")) == "@google/gemini-cli"
    assert npm_package_at(str(binaries / "plain")) == "plain"
    assert npm_folder_of(str(binaries / "plain")) == str(modules / "plain")
    found = identity_of_command(["gemini", "--acp"], {"PATH": str(binaries)}, "/")
    assert found == Identity(npm="@google/gemini-cli", program="gemini")
    found = identity_of_command([str(binaries / "gemini")], {}, "/")
    assert found == Identity(npm="@google/gemini-cli", program="gemini")
    found = identity_of_command(["./node_modules/.bin/plain"], {}, str(modules.parent))
    assert found == Identity(npm="plain", program="plain")


def test_a_file_given_to_an_interpreter_is_the_program(modules: Path) -> None:
    found = identity_of_command(["node", "--no-warnings", "node_modules/plain/dist/main.js"], {}, str(modules.parent))
    assert found == Identity(npm="plain", program="main.js")


@pytest.mark.parametrize("path", ["/nowhere/else", "/x/node_modules/.bin", "/x/node_modules/@scope"])
def test_a_file_of_no_package_has_none(path: str) -> None:
    assert npm_package_at(path) == ""


def test_a_program_that_is_not_there_is_known_by_its_name() -> None:
    assert identity_of_command(["vibe-acp"], {"PATH": "/nowhere"}, "/") == Identity(program="vibe-acp")


@pytest.mark.parametrize(
    ("spec", "name"),
    [("a", "a"), ("a@1", "a"), ("@s/a@^1.0", "@s/a"), ("@s/a", "@s/a"), ("s/a", ""), ("", ""), ("@", "")],
)
def test_a_spec_of_npm_without_its_version(spec: str, name: str) -> None:
    assert npm_name(spec) == name


@pytest.mark.parametrize(("spec", "name"), [("A_b.c", "a-b-c"), ("a[x,y]>=1", "a"), ("", ""), ("a/b", "")])
def test_a_spec_of_pypi_as_it_calls_it(spec: str, name: str) -> None:
    assert normalized(spec) == name


def package(folder: Path, entrypoint: str = "/opt/bin/agent") -> Package:
    return Package(name="given", version="1", entrypoint=entrypoint, root=folder, folder=folder)


@pytest.mark.parametrize(
    ("record", "identity"),
    [
        (
            {"kind": "npm", "package": "@s/a", "registry_id": "known"},
            Identity(name="known", npm="@s/a", program="agent"),
        ),
        ({"kind": "pypi", "package": "A_b[c]"}, Identity(name="given", pypi="a-b", program="agent")),
        ({"kind": "folder", "package": "/srv/x"}, Identity(name="given", program="agent")),
    ],
)
def test_an_installed_agent_is_known_by_its_record(tmp_path: Path, record: dict[str, str], identity: Identity) -> None:
    write_record(tmp_path, Record(name="given", version="1", spec="x", **record))  # type: ignore[arg-type]
    assert identity_of_package(package(tmp_path)) == identity


def test_a_package_put_there_by_hand_is_looked_into(tmp_path: Path, modules: Path) -> None:
    found = identity_of(package(tmp_path, str(modules / ".bin" / "gemini")), {}, "/")
    assert found == Identity(name="given", npm="@google/gemini-cli", program="gemini")


def test_a_command_line_is_known_with_its_arguments() -> None:
    command = CommandLine("npx", ("-y", "droid", "exec"))
    assert identity_of(command, {}, "/") == Identity(npm="droid", launched=True)
