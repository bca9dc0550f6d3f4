"""python -m tools.gen_bare: what it writes is what the repository holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.gen_bare.__main__ import ROOT, TARGETS, main

MODULES = [target for _, target, _ in TARGETS]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "schema", tmp_path / "schema")
    (tmp_path / "src/roost/sidecar/gen").mkdir(parents=True)
    return tmp_path


def test_the_generated_modules_are_up_to_date() -> None:
    assert main(["--check"]) == 0


def test_it_writes_the_same_bytes_each_time(root: Path) -> None:
    assert main([], root) == 0
    assert [(root / target).read_bytes() for target in MODULES] == [(ROOT / target).read_bytes() for target in MODULES]
    assert main(["--check"], root) == 0


@pytest.mark.parametrize("target", MODULES)
def test_check_names_the_file_that_differs_and_leaves_it(
    root: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main([], root)
    edited = (root / target).read_bytes() + b"\n"
    (root / target).write_bytes(edited)
    assert main(["--check"], root) == 1
    told = capsys.readouterr().err
    assert [other for other in MODULES if other in told] == [target]
    assert (root / target).read_bytes() == edited


def test_check_names_the_file_that_is_missing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"], root) == 1
    told = capsys.readouterr().err
    assert all(target in told for target in MODULES)


def test_a_schema_that_is_not_the_pinned_one_is_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = root / "schema/roost_frames.v1.bare"
    schema.write_bytes(schema.read_bytes() + b"\n")
    assert main([], root) == 1
    assert "schema/roost_frames.v1.bare is not the one pinned" in capsys.readouterr().err
