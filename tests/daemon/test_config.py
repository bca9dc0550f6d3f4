"""The configuration file: everything in it counts, or the file is refused with a word about each mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from roost.daemon.config import (
    MAX_FILE_BYTES,
    SECTIONS,
    Config,
    ConfigFaults,
    default_file,
    default_of,
    fields_of,
    load,
    read,
    value_of,
)
from roost.daemon.settings_page import settings, toml_value
from roost.sidecar.limits import Limits
from roost.store.base import Retention, StoreLimits


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def faults(file: Path, text: str) -> tuple[str, ...]:
    file.write_text(text)
    with pytest.raises(ConfigFaults) as caught:
        read(file)
    assert str(file) in str(caught.value)
    return caught.value.faults


def test_without_a_file_everything_is_as_it_comes(tmp_path: Path) -> None:
    assert load(None, {"XDG_CONFIG_HOME": str(tmp_path)}) == Config()
    assert load(None, {}) == Config()


def test_a_file_that_was_named_has_to_be_there(file: Path) -> None:
    with pytest.raises(ConfigFaults, match="cannot be read: No such file"):
        load(file, {})


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}, "/c/roost/config.toml"),
        ({"HOME": "/h"}, "/h/.config/roost/config.toml"),
        ({"XDG_CONFIG_HOME": "c", "HOME": "/h"}, "/h/.config/roost/config.toml"),
        ({"XDG_CONFIG_HOME": "c"}, None),
    ],
)
def test_the_file_is_where_xdg_says(environment: dict[str, str], place: str | None) -> None:
    assert default_file(environment) == (None if place is None else Path(place))


def test_every_section_is_read_into_what_uses_it(file: Path) -> None:
    file.write_text(
        """
        [daemon]
        socket = "/run/r.sock"
        packages = ["/a", "/b"]
        log_level = "debug"
        let_through = ["LANG"]
        [cli]
        caller = "me"
        [runtimes]
        javascript = "bun"
        [limits]
        sleep_after = 60
        restarts = 0
        [store]
        path = "/j.db"
        durability = "optional"
        [store.limits]
        group_entries = 8
        [retention]
        max_age = 1e6
        max_bytes = 1000
        """
    )
    config = load(file, {})
    assert (config.daemon.socket, config.daemon.packages) == ("/run/r.sock", ("/a", "/b"))
    assert (config.daemon.log_level, config.daemon.let_through) == ("debug", ("LANG",))
    assert (config.cli.caller, config.runtimes.javascript) == ("me", "bun")
    assert config.limits == Limits(sleep_after=60.0, restarts=0)
    assert (config.store.path, config.store.durability) == ("/j.db", "optional")
    assert config.store_limits == StoreLimits(group_entries=8)
    assert config.retention == Retention(max_age=1e6, max_bytes=1000)
    assert config.path == file
    assert "limits.sleep_after" in config.given
    assert "limits.restart_backoff" not in config.given


@pytest.mark.parametrize("kind", [Limits, StoreLimits, Retention])
def test_no_setting_of_the_program_is_missing(kind: type[msgspec.Struct]) -> None:
    known = {tuple(fields_of(section)) for section in SECTIONS}
    assert tuple(field.name for field in msgspec.structs.fields(kind)) in known


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[limits]\nsleep_aftr = 1", "limits.sleep_aftr is no setting; did you mean limits.sleep_after?"),
        ("[limits]\nsocket = 'x'", "limits.socket is no setting; did you mean daemon.socket?"),
        ("[store]\nmax_age = 1", "store.max_age is no setting; did you mean retention.max_age?"),
        (
            "[store.limits]\ngroup_entrys = 1",
            "store.limits.group_entrys is no setting; did you mean store.limits.group_entries?",
        ),
        ("[deamon]\n", "deamon is no section; did you mean daemon?"),
        ("[zzz]\n", "zzz is no section; `roost config` lists what there is"),
        ("daemon = 1", "daemon has to be a section, [daemon]"),
        ("[store]\nlimits = 1", "store.limits has to be a section, [store.limits]"),
        ("[limits]\nrestarts = '3'", "limits.restarts has to be a whole number, not '3'"),
        ("[limits]\nrestarts = 1.5", "limits.restarts has to be a whole number, not 1.5"),
        ("[limits]\nrestarts = true", "limits.restarts has to be a whole number, not true"),
        ("[limits]\nsleep_after = '5m'", "limits.sleep_after has to be a number, not '5m'"),
        ("[limits]\nsleep_after = nan", "limits.sleep_after has to be at least 0, not nan"),
        ("[limits]\nsleep_after = -1", "limits.sleep_after has to be at least 0, not -1"),
        ("[limits]\nprocesses = 0", "limits.processes has to be at least 1, not 0"),
        ("[store.limits]\nqueued_bytes = -1", "store.limits.queued_bytes has to be at least 1, not -1"),
        ("[store]\nenabled = 1", "store.enabled has to be true or false, not 1"),
        ("[store]\ndurability = 'maybe'", 'store.durability has to be "required" or "optional", not \'maybe\''),
        ("[daemon]\npackages = '/a'", "daemon.packages has to be a list of texts, not '/a'"),
        ("[daemon]\npackages = [1]", "daemon.packages has to be a list of texts, not a list"),
        ('[daemon]\nsocket = "a\\u0000b"', "daemon.socket has a NUL in it"),
        ("[limits]\nline_bytes = 20000000", "limits: line_bytes cannot be more than max_frame_bytes"),
    ],
)
def test_a_mistake_is_named_with_its_key(file: Path, text: str, says: str) -> None:
    [fault] = faults(file, text)
    assert fault.startswith(says)


def test_all_mistakes_are_told_at_once(file: Path) -> None:
    assert len(faults(file, "[limits]\na = 1\nrestarts = ''\n[b]\n")) == 3


@pytest.mark.parametrize("text", ["[", "a = ", "[a]\n[a]\n", "x = " + "[" * 5000])
def test_what_is_no_toml_is_refused_with_the_place(file: Path, text: str) -> None:
    [fault] = faults(file, text)
    assert fault.startswith("it is no TOML")


def test_what_is_no_text_or_too_long_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigFaults, match="no TOML"):
        read(file)
    file.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(ConfigFaults, match="more than"):
        read(file)
    with pytest.raises(ConfigFaults, match="directory"):
        read(file.parent)


def test_every_setting_says_what_it_means() -> None:
    found = list(settings(Config()))
    assert [setting.key for setting in found if not setting.meaning] == []
    assert len({setting.key for setting in found}) == len(found) > 50


@pytest.mark.parametrize("value", ['a\x7f\\"\n\u20ac', ("a", "b'"), (), True, 0, 1.5, 1e22, "x"])
def test_a_value_is_written_as_it_is_read(value: Any) -> None:
    import tomllib

    read_back = tomllib.loads(f"v = {toml_value(value)}")["v"]
    assert read_back == (list(value) if isinstance(value, tuple) else value)


def test_the_defaults_are_the_programs_own() -> None:
    for section in SECTIONS:
        for name in fields_of(section):
            assert value_of(Config(), section, name) == default_of(section, name)
