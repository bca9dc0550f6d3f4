"""docs/quirks.md is what the profiles say."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.catalogue.profiles import known_profiles
from roost.sidecar.quirks import Quirks
from tools.gen_quirks import ROOT, TARGET, main, render


def test_the_page_is_up_to_date() -> None:
    assert main(["--check"]) == 0


def test_every_quirk_and_every_reason_is_on_the_page() -> None:
    page = (ROOT / TARGET).read_text(encoding="utf-8")
    for name in Quirks.__struct_fields__:
        assert f"| `{name}` |" in page
    for profile in known_profiles():
        section = page.partition(f"\n### {profile.title}\n")[2].partition("\n### ")[0]
        for name, quirk in profile.quirks.items():
            assert f"| `{name}` | " in section
            assert f" | {quirk.why} |" in section
        assert all(f"`{name}`" in section for key in profile.keys for name in key)


def test_a_page_that_differs_is_found_out_and_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / TARGET).parent.mkdir()
    assert main(["--check"], tmp_path) == 1
    assert "gen_quirks" in capsys.readouterr().err
    assert main([], tmp_path) == 0
    assert (tmp_path / TARGET).read_text(encoding="utf-8") == render(known_profiles())
