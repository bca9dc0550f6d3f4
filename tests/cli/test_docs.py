"""docs/cli.md says what there is, and what there is it says."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from roost.cli.main import COMMANDS, main
from tests.cli.rig import objects, roost, scripted

PAGE = Path(__file__).parents[2].joinpath("docs", "cli.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return re.split(r"(?m)^## ", PAGE.partition(f"\n## {title}\n")[2])[0]


# Said once for all commands about kept sessions.
EVERYWHERE = {"--socket", "--config", "--caller"}


@pytest.mark.parametrize("name", ["ps", "resume", "log", "config"])
def test_every_option_of_a_command_about_sessions_is_on_the_page(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    real = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    shown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", section(f"roost {name}")))
    assert real <= shown | EVERYWHERE
    assert shown <= real


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_is_on_the_page(name: str) -> None:
    titles = " ".join(re.findall(r"(?m)^## (.*)$", PAGE))
    assert re.search(rf"\b{name}\b", titles) or name == "check"


@pytest.mark.parametrize("name", ["run", "agents", "daemon", "install"])
def test_every_option_is_on_the_page_and_every_one_there_exists(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    real = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    shown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", section(f"roost {name}")))
    assert shown - {"--acp"} <= real | {"--help"}
    assert real <= shown | {"--socket"}


@pytest.mark.parametrize(
    ("name", "title"),
    [("login", "roost login and logout"), ("logout", "roost login and logout"), ("exec", "roost exec")],
)
def test_every_option_of_a_command_that_starts_an_agent_itself_is_on_the_page(name: str, title: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    real = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    assert real <= set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", section(title)))


def test_every_json_event_is_on_the_page_with_its_members() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)` \| (.*?) \|", section("roost run").partition("### JSON")[2])
    page = {kind: set(re.findall(r"`(\w+)`", members)) - {"policy", "user", "nobody"} for kind, members in rows[1:]}
    seen: dict[str, set[str]] = {}
    for prompt in ("story", "stderr x", "crash 1"):
        for event in objects(roost("run", "--json", "--allow", scripted(), prompt)):
            seen.setdefault(event["type"], set()).update(set(event) - {"type"})
    assert set(page) == set(seen) | {"notification"}
    for kind, members in seen.items():
        assert members == page[kind], kind


def test_the_question_on_the_page_is_the_one_that_is_asked() -> None:
    from roost.cli.permission import Option
    from roost.cli.question import option_lines

    options = [
        Option("a", "Yes", "allow_once"),
        Option("b", "Always", "allow_always"),
        Option("c", "No", "reject_once"),
    ]
    assert "\n".join(option_lines(options)) in PAGE
