"""`[quirks.AGENT]`: what a user says about agents."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from roost.daemon.config import ConfigFaults, read
from roost.daemon.config_quirks import KINDS, section_of
from roost.daemon.settings_page import meanings_of, settings, toml_value
from roost.sidecar.quirks import Quirks

TEXT = """
[limits]
sleep_after = 60
[quirks.gemini]
resume = "native"
initialize_timeout = 90
[quirks."@me/agent"]
authenticate = { api-key = ["MY_KEY", "MY_URL"], web = [] }
speaks = 1
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def faults(file: Path, text: str) -> tuple[str, ...]:
    file.write_text(text)
    with pytest.raises(ConfigFaults) as caught:
        read(file)
    return caught.value.faults


def test_quirks_are_read_as_the_engine_has_them(file: Path) -> None:
    file.write_text(TEXT)
    config = read(file)
    assert config.quirks == {
        "gemini": {"resume": "native", "initialize_timeout": 90.0},
        "@me/agent": {"authenticate": {"api-key": ("MY_KEY", "MY_URL"), "web": ()}, "speaks": 1},
    }
    assert config.limits.sleep_after == 60


def test_every_quirk_can_be_set_and_its_kind_is_in_words() -> None:
    assert tuple(KINDS) == Quirks.__struct_fields__


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("quirks = 1", "quirks has one section for each agent, [quirks.AGENT]"),
        ("[quirks]\nresume = 'native'", "quirks.resume has to be a section, [quirks.resume]"),
        ("[quirks.a]\nresme = 'x'", "quirks.a.resme is no setting; did you mean quirks.a.resume?"),
        ("[quirks.a]\nresume = 'x'", 'quirks.a.resume has to be "native" or "transcript", not \'x\''),
        ("[quirks.a]\nspeaks = 3", "quirks.a.speaks has to be 1 or 2, not 3"),
        ("[quirks.a]\ninput_close_grace = -1", "quirks.a.input_close_grace has to be a number, not -1"),
        ("[quirks.a]\nauthenticate = 'k'", "quirks.a.authenticate has to be a table of logins, each with a list of"),
        ("[quirk.a]\nspeaks = 1", "quirk is no section; did you mean quirks?"),
    ],
)
def test_a_mistake_is_named_with_its_key(file: Path, text: str, fault: str) -> None:
    (found,) = faults(file, text)
    assert found.startswith(fault)


def test_mistakes_of_agents_are_told_with_all_others(file: Path) -> None:
    assert len(faults(file, "[quirks.a]\nx = 1\nspeaks = 7\n[limits]\nsleep_aftr = 1\n")) == 3


def test_what_is_shown_is_a_file_that_says_the_same(file: Path) -> None:
    file.write_text(TEXT)
    lines = []
    for setting in settings(read(file)):
        if setting.section.startswith("quirks"):
            lines += [f"[{setting.section}]"] if f"[{setting.section}]" not in lines else []
            lines.append(f"{setting.name} = {toml_value(setting.value)}")
            assert setting.meaning
    assert tomllib.loads("\n".join(lines)) == {"quirks": tomllib.loads(TEXT)["quirks"]}


@pytest.mark.parametrize("agent", ["a", "a-b_c1", "@me/agent", 'a"b', "ü", "a.b", "a\x7f"])
def test_a_section_s_title_leads_back_to_its_agent(agent: str) -> None:
    assert tomllib.loads(f"[{section_of(agent)}]\n") == {"quirks": {agent: {}}}


PAGE = Path(__file__).parents[2].joinpath("docs", "configuration.md").read_text(encoding="utf-8")


def test_the_page_has_every_quirk_as_it_is() -> None:
    section = PAGE.partition("\n## Quirks of agents\n")[2].partition("\n## ")[0]
    meanings = meanings_of(Quirks)
    for name, kind in KINDS.items():
        assert f"| `{name}` | {kind} | {meanings[name]} |\n" in section


def test_the_example_of_the_page_is_a_configuration(file: Path) -> None:
    file.write_text(PAGE.partition("\n## Quirks of agents\n")[2].partition("```toml\n")[2].partition("```")[0])
    assert set(read(file).quirks) == {"gemini", "@me/agent"}
