"""What a user may write, and what each form is taken for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.catalogue.spec import Spec, parse_spec
from roost.errors import CatalogueError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "gemini").mkdir()
    (tmp_path / "agent.js").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("gemini", Spec("registry", "gemini")),
        ("gemini@0.6.0", Spec("registry", "gemini", "0.6.0")),
        ("npm:x", Spec("npm", "x")),
        ("npm:@a/b", Spec("npm", "@a/b")),
        ("npm:@a/b@1.2.3-rc.1", Spec("npm", "@a/b", "1.2.3-rc.1")),
        ("npm:x@^1.2 || 3", Spec("npm", "x", "^1.2 || 3")),
        ("npm:x@next", Spec("npm", "x", "next")),
        ("pypi:x", Spec("pypi", "x")),
        ("pypi:x[a,b]==1.2.post1", Spec("pypi", "x[a,b]", "1.2.post1")),
        ("pypi:x == 1", Spec("pypi", "x", "1")),
        ("pypi:x@1", Spec("pypi", "x", "1")),
        ("node ./agent.js --acp", Spec("command", "node ./agent.js --acp")),
        ("./agent.js", Spec("command", "./agent.js")),
    ],
)
def test_every_form_is_told_apart(text: str, spec: Spec) -> None:
    assert parse_spec(text) == spec


def test_a_program_by_its_path_is_one_word_of_a_command(here: Path) -> None:
    (here / "an agent.js").write_text("")
    assert parse_spec("./an agent.js") == Spec("command", "'./an agent.js'")


def test_a_folder_is_one_that_is_written_as_a_path(here: Path) -> None:
    for text in ("./folder", "folder/", str(here / "folder")):
        assert parse_spec(text) == Spec("folder", os.path.realpath(here / "folder"))
    assert parse_spec(".").kind == "folder"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "neither"),
        ("npm:", "no package of npm"),
        ("npm:../x", "no package of npm"),
        ("npm:x@", "no package of npm"),
        ("npm:x@--global", "no package of npm"),
        ("npm:-g", "no package of npm"),
        ("npm:file:x", "no package of npm"),
        ("npm:git+ssh://x", "no package of npm"),
        ("pypi:", "no package of PyPI"),
        ("pypi:--pre", "no package of PyPI"),
        ("pypi:x>=1", "no package of PyPI"),
        ("pypi:./x", "no package of PyPI"),
        ("@a/b", "is written npm:@a/b"),
        ("./none", "no folder and no program"),
        ("gemini@", "neither"),
        ("-x", "neither"),
    ],
)
def test_what_is_none_of_them_is_an_error_that_helps(text: str, told: str) -> None:
    with pytest.raises(CatalogueError, match=told) as caught:
        parse_spec(text)
    assert caught.value.code == "unknown"


@given(st.text(max_size=40))
def test_any_text_is_a_spec_or_an_error(text: str) -> None:
    try:
        spec = parse_spec("npm:" + text)
    except CatalogueError:
        return
    assert not spec.name.startswith("-")
    assert not spec.version.startswith("-")
