"""The entry point: light, and with statuses of its own."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

import roost as package
from roost.cli.main import COMMANDS, main
from roost.cli.status import ExitStatus, Failure
from tests.cli.rig import roost

HEAVY = ("asyncio", "msgspec", "rich", "logging", "subprocess", "roost.host")


def loaded_by(code: str) -> list[str]:
    script = f"import sys\n{code}\nprint(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=True)
    return done.stderr.split()


@pytest.mark.parametrize("args", [["--version"], ["--help"], ["run", "--help"], ["daemon", "--help"]])
def test_what_needs_nothing_loads_nothing(args: list[str]) -> None:
    code = (
        f"from roost.cli.main import main\ntry:\n    main({args!r})\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert loaded_by(code) == []


def test_the_version_is_told() -> None:
    assert roost("--version").stdout == f"roost, version {package.__version__}\n"


def test_every_command_is_listed_with_what_it_does() -> None:
    result = roost("--help")
    for name in COMMANDS:
        assert f"  {name} " in result.stdout
        assert roost(name, "--help").exit_code == 0


def test_no_command_at_all_is_a_misuse() -> None:
    result = roost()
    assert result.exit_code == 1
    assert "Commands:" in result.stderr


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (click.UsageError("no"), 1, "Error: no"),
        (click.BadParameter("no"), 1, "no"),
        (Failure(ExitStatus.AGENT_FAILED, "a\x1b", "b\x1b[1m\n"), 2, "roost: a<U+001B>\n  | b\n"),
        (click.Abort(), 3, "roost: interrupted\n"),
        (KeyboardInterrupt(), 3, "roost: interrupted\n"),
        (BrokenPipeError(), 3, ""),
    ],
)
def test_each_end_has_its_status(error: BaseException, status: int, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(*_: object) -> object:
        raise error

    monkeypatch.setattr("roost.cli.run.prompt_of", ends)
    monkeypatch.setattr("roost.cli.output.abandon", lambda _: None)
    result = roost("run", "x", "y")
    assert result.exit_code == status
    assert says in result.stderr


def test_it_can_be_called_without_exiting() -> None:
    assert main.main(["--version"], standalone_mode=False) == 0
