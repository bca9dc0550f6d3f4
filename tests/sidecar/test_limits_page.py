"""docs/limits.md is what the settings say."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from roost.sidecar.limits import Limits
from tools.gen_limits import ROOT, SOURCE, TARGET, UndocumentedSetting, main, render, settings


def copied(folder: Path) -> Path:
    for path in (SOURCE, TARGET):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    return folder


def test_the_page_is_up_to_date() -> None:
    assert main(["--check"]) == 0


def test_every_setting_is_on_the_page_with_its_default() -> None:
    found = {setting.name: setting.default for setting in settings((ROOT / SOURCE).read_text(encoding="utf-8"))}
    assert found == msgspec.structs.asdict(Limits())


def test_a_page_that_differs_is_found_out_and_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = copied(tmp_path)
    assert main(["--check"], root) == 0
    (root / TARGET).write_text("old", encoding="utf-8")
    assert main(["--check"], root) == 1
    assert "gen_limits" in capsys.readouterr().err
    assert main([], root) == 0
    assert (root / TARGET).read_text(encoding="utf-8") == (ROOT / TARGET).read_text(encoding="utf-8")


@pytest.mark.parametrize("comment", ["", "  # a meaning", "  # a meaning -> ", "  #  -> a consequence"])
def test_a_setting_without_both_halves_of_its_comment_is_an_error(comment: str, tmp_path: Path) -> None:
    source = f"class Limits:\n    restarts: int = 3{comment}\n"
    with pytest.raises(UndocumentedSetting, match="restarts"):
        render(source)
    root = copied(tmp_path)
    (root / SOURCE).write_text(source, encoding="utf-8")
    assert main(["--check"], root) == 1
