"""docs/configuration.md has every setting as it is: UPDATE_GOLDEN=1 writes its tables."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from roost.daemon.config import SECTIONS, Config, read
from roost.daemon.settings_page import meanings_of, settings, toml_value
from roost.sidecar.limits import Limits

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
MARK = "\n## Every setting\n"


def tables() -> str:
    lines: list[str] = []
    section = ""
    for setting in settings(Config()):
        if setting.section != section:
            section = setting.section
            lines += ["", f"### [{section}]", "", "| setting | default | is | means |", "| --- | --- | --- | --- |"]
        default = "-" if setting.default is None else f"`{toml_value(setting.default)}`"
        lines.append(f"| `{setting.name}` | {default} | {setting.kind} | {setting.meaning.replace('|', '/')} |")
    return "\n".join(lines) + "\n"


def test_the_tables_of_the_page_are_what_the_program_has() -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, mark, shown = text.partition(MARK)
    assert mark
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(head + mark + tables(), encoding="utf-8")
        return
    assert shown == tables()


def test_the_example_of_the_page_is_a_configuration(tmp_path: Path) -> None:
    example = PAGE.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    assert set(tomllib.loads(example)) <= set(SECTIONS)
    file = tmp_path / "config.toml"
    file.write_text(example)
    assert read(file).given


def test_a_meaning_is_the_comment_beside_the_setting() -> None:
    assert meanings_of(Limits)["stderr_tail"].startswith("of an agent's stderr")
