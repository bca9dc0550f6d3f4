"""`roost config`: what is set, and where that came from."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.cli.rig import objects, roost


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    return str(file)


def test_every_setting_is_listed_with_its_default_its_value_and_where_it_is_from(tmp_path: Path) -> None:
    file = written(tmp_path, "[limits]\nsleep_after = 60\n")
    found = {setting["key"]: setting for setting in objects(roost("config", "--json", "--config", file))}
    assert len(found) > 50
    setting = found["limits.sleep_after"]
    assert (setting["default"], setting["value"], setting["source"]) == (1800.0, 60.0, file)
    assert setting["type"] == "a number"
    assert "its agent is ended" in setting["meaning"]
    assert (found["limits.restarts"]["value"], found["limits.restarts"]["source"]) == (3, "default")


def test_what_is_printed_is_a_file_that_says_the_same(tmp_path: Path) -> None:
    text = '[daemon]\npackages = ["/a\\u001b", "b"]\n\n[store]\nenabled = false\n\n[retention]\nmax_age = 5.0\n'
    result = roost("config", "--config", written(tmp_path, text))
    assert tomllib.loads(result.stdout) == {
        "daemon": {"packages": ["/a\x1b", "b"]},
        "cli": {},
        "runtimes": {},
        "limits": {},
        "store": {"enabled": False, "limits": {}},
        "retention": {"max_age": 5.0},
        "catalogue": {},
    }
    assert "# sleep_after = 1800.0" in result.stdout.splitlines()


def test_the_socket_in_the_environment_wins_and_is_said_to() -> None:
    listed = objects(roost("config", "--json", env={"ROOST_SOCKET": "/run/x"}))
    socket = next(setting for setting in listed if setting["key"] == "daemon.socket")
    assert (socket["value"], socket["source"]) == ("/run/x", "$ROOST_SOCKET")


def test_a_file_can_be_checked(tmp_path: Path) -> None:
    file = written(tmp_path, "[limits]\n")
    assert roost("config", "--check", "--config", file).stdout == f"{file} is right\n"
    assert roost("config", "--check", env={"ROOST_CONFIG": file}).stdout == f"{file} is right\n"
    (tmp_path / "config" / "roost" / "config.toml").unlink()
    assert "everything is as it comes" in roost("config", "--check").stdout


def test_mistakes_are_a_misuse_of_every_command(tmp_path: Path) -> None:
    file = written(tmp_path, "[limits]\nsleep_aftr = 1\n")
    for args in (["config", "--check"], ["ps"], ["run", "wren", "help"], ["daemon"], ["agents"]):
        result = roost(*args, "--config", file)
        assert result.exit_code == 1
        assert result.stderr == f"roost: {file}: limits.sleep_aftr is no setting; did you mean limits.sleep_after?\n"
    both = written(tmp_path, "[limits]\nsleep_aftr = 1\nx = 1\n")
    assert roost("config", "--config", both).stderr.splitlines()[0] == f"roost: {both}: 2 mistakes"
