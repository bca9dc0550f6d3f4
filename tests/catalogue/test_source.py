"""Which of a package's programs is the agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.catalogue.source import checked_program, choose_program, name_of_package
from roost.errors import CatalogueError


@pytest.mark.parametrize(
    ("programs", "wanted", "known_as", "chosen"),
    [
        (["a"], "", "p", "a"),
        (["a", "p"], "", "p", "p"),
        (["a", "b-acp"], "", "p", "b-acp"),
        (["acp-b", "tacpole"], "", "p", "acp-b"),
        (["a", "p"], "a", "p", "a"),
    ],
)
def test_a_program_is_chosen(programs: list[str], wanted: str, known_as: str, chosen: str) -> None:
    assert choose_program(dict.fromkeys(programs, ""), wanted, known_as, "x") == chosen


@pytest.mark.parametrize(
    ("programs", "wanted", "told"),
    [
        ([], "", "no program that could be an agent"),
        (["b", "a"], "", r"choose one with --command \(there are: a, b\)"),
        (["a-acp", "b-acp"], "", "several programs"),
        (["a"], "b", r"no program 'b' \(there are: a\)"),
    ],
)
def test_a_guess_is_not_made(programs: list[str], wanted: str, told: str) -> None:
    with pytest.raises(CatalogueError, match=told) as caught:
        choose_program(dict.fromkeys(programs, ""), wanted, "p", "x")
    assert caught.value.code == "unsuitable"


@pytest.mark.parametrize(
    ("package", "name"), [("@a/b", "b"), ("b", "b"), ("b[c]", "b"), ("@google/gemini-cli", "gemini-cli")]
)
def test_an_agent_is_called_as_its_package(package: str, name: str) -> None:
    assert name_of_package(package) == name


def test_a_program_is_a_file_of_its_package(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "x").write_text("")
    (folder / "link").symlink_to("bin/x")
    (folder / "out").symlink_to("/bin/sh")
    assert checked_program(folder, "./link", "p") == "bin/x"
    assert (folder / "bin" / "x").stat().st_mode & 0o111
    for program in ("none", "bin", "out", "../folder/../../etc/hostname"):
        with pytest.raises(CatalogueError) as caught:
            checked_program(folder, program, "p")
        assert caught.value.code == "damaged"
