"""The profiles: each sound, each quirk with a reason, each agent found by what its files tell."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from msgspec.structs import asdict

from roost.catalogue.profiles import (
    LAUNCHER_TIMEOUT,
    Identity,
    Profile,
    Profiles,
    Quirk,
    known_profiles,
    override_quirks,
)
from roost.errors import ConfigError
from roost.sidecar.limits import Limits
from roost.sidecar.quirks import NO_QUIRKS, Quirks

KNOWN = known_profiles()
BY_ID = {profile.id: profile for profile in KNOWN}
each = pytest.mark.parametrize("profile", KNOWN, ids=[profile.id for profile in KNOWN])


@each
def test_a_profile_s_quirks_are_quirks_the_engine_knows(profile: Profile) -> None:
    quirks = profile.values()
    assert quirks == NO_QUIRKS or profile.quirks
    for name in profile.quirks:
        assert getattr(quirks, name) != getattr(NO_QUIRKS, name), f"{name} is what it would be anyway"


@each
def test_every_quirk_has_a_reason_in_words(profile: Profile) -> None:
    for name, quirk in profile.quirks.items():
        assert len(quirk.why.split()) >= 4, name
        assert not quirk.why.endswith("."), "it is shown within a sentence"


@each
def test_every_profile_says_how_its_agent_is_known_and_which_version_was_seen(profile: Profile) -> None:
    assert re.match(r"\d+\.\d+", profile.seen)
    assert profile.npm or profile.pypi
    assert all(note.endswith(".") for note in profile.notes)
    assert all(key and all(re.fullmatch(r"[A-Z][A-Z0-9_]*", name) for name in key) for key in profile.keys)


@each
def test_a_login_that_comes_first_is_one_of_the_ways_to_satisfy_the_agent(profile: Profile) -> None:
    for variables in profile.values().authenticate.values():
        assert variables in profile.keys


@each
def test_a_slow_start_is_longer_and_a_short_grace_shorter_than_usual(profile: Profile) -> None:
    quirks, usual = profile.values(), Limits()
    assert quirks.initialize_timeout is None or quirks.initialize_timeout > usual.initialize_timeout
    assert quirks.input_close_grace is None or quirks.input_close_grace != usual.input_close_grace


@pytest.mark.parametrize("field", ["id", "npm", "pypi", "programs", "infos"])
def test_no_name_is_of_two_agents(field: str) -> None:
    names: list[str] = []
    for profile in KNOWN:
        value = getattr(profile, field)
        names += [value] if field == "id" else value
    assert len(names) == len(set(names))


def test_no_agent_is_called_what_another_is() -> None:
    names = [name for profile in KNOWN for name in (profile.id, *profile.names)]
    assert len(names) == len(set(names))


def test_a_quirk_without_a_reason_is_no_quirk() -> None:
    with pytest.raises(msgspec.ValidationError, match="why"):
        msgspec.json.decode(b'{"is": 1}', type=Quirk)


def profile(id: str, quirks: dict[str, Any] | None = None, **fields: Any) -> Profile:
    told = {name: Quirk(value, "it was seen to be so") for name, value in (quirks or {}).items()}
    return Profile(id=id, title=id, seen="1", quirks=told, **fields)


MINE = profile("mine", {"speaks": 1}, npm=("@me/mine",), programs=("run-mine",), infos=("mine!",), names=("my-own",))
OTHER = profile("other", {"input_close_grace": 0}, pypi=("other",), programs=("run-other",))
TWO = (MINE, OTHER)


@pytest.mark.parametrize(
    ("identity", "found"),
    [
        (Identity(npm="@me/mine"), MINE),
        (Identity(pypi="other"), OTHER),
        (Identity(name="mine"), MINE),
        (Identity(name="my-own"), MINE),
        (Identity(program="run-other"), OTHER),
        (Identity(npm="@me/mine", program="run-other"), MINE),
        (Identity(name="mine", npm="@somebody/else"), None),
        (Identity(program="run-other", pypi="nobody"), None),
        (Identity(name="stranger", program="run-mine"), MINE),
        (Identity(), None),
    ],
)
def test_what_tells_most_decides_which_agent_it_is(identity: Identity, found: Profile | None) -> None:
    assert Profiles(known=TWO).find(identity) is found


def test_an_agent_nobody_knows_has_no_quirks() -> None:
    assert Profiles(known=TWO).quirks(Identity(name="stranger")) == NO_QUIRKS


@pytest.mark.parametrize("name", ["mine", "@me/mine", "my-own", "run-mine"])
def test_a_user_may_say_otherwise_under_any_name_of_an_agent(name: str) -> None:
    identity = Identity(name="my-own", npm="@me/mine", program="run-mine")
    found = Profiles({name: {"resume": "transcript"}}, TWO).quirks(identity)
    assert found == Quirks(speaks=1, resume="transcript")


def test_what_is_said_of_this_agent_wins_over_what_is_said_of_its_kind() -> None:
    said: dict[str, dict[str, Any]] = {"mine": {"initialize_timeout": 60.0, "speaks": 2}, "@me/mine": {"speaks": 1}}
    found = Profiles(said, TWO).quirks(Identity(npm="@me/mine"))
    assert (found.speaks, found.initialize_timeout) == (1, 60)


def test_a_user_may_take_a_quirk_away() -> None:
    assert Profiles({"other": {"input_close_grace": None}}, TWO).quirks(Identity(name="other")) == NO_QUIRKS


def test_a_user_may_give_quirks_to_an_agent_nobody_knows() -> None:
    profiles = Profiles({"stranger": {"speaks": 1}}, TWO)
    assert profiles.quirks(Identity(name="stranger")).speaks == 1
    assert profiles.by_info()["stranger"].speaks == 1


def test_what_a_launcher_runs_gets_the_time_to_be_fetched() -> None:
    profiles = Profiles(known=TWO)
    assert profiles.quirks(Identity(launched=True)).initialize_timeout == LAUNCHER_TIMEOUT
    found = profiles.quirks(Identity(npm="@me/mine", launched=True))
    assert (found.speaks, found.initialize_timeout) == (1, LAUNCHER_TIMEOUT)
    patient = Profiles({"mine": {"initialize_timeout": 900.0}}, TWO)
    assert patient.quirks(Identity(npm="@me/mine", launched=True)).initialize_timeout == 900


def test_an_agent_is_known_by_the_name_it_tells() -> None:
    table = Profiles({"mine": {"resume": "transcript"}}, TWO).by_info()
    assert table == {"mine!": Quirks(speaks=1, resume="transcript"), "mine": Quirks(resume="transcript")}


@pytest.mark.parametrize("fields", [{"speaks": 7}, {"spekas": 1}, {"initialize_timeout": -1}, {"authenticate": "x"}])
def test_an_override_that_cannot_be_is_an_error(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        override_quirks(NO_QUIRKS, fields)


def test_an_override_changes_nothing_else() -> None:
    before = Quirks(speaks=1, authenticate={"key": ("A",)}, missing_file="empty")
    after = override_quirks(before, {"input_close_grace": 2})
    assert asdict(after) == {**asdict(before), "input_close_grace": 2.0}


# What was seen of the agents, so that nobody loses it by an edit of the data.
SEEN: dict[str, dict[str, Any]] = {
    "gemini": {
        "authenticate": {"gemini-api-key": ("GEMINI_API_KEY",)},
        "resume": "transcript",
        "missing_file": "empty",
    },
    "claude-zed": {"input_close_grace": 0.0},
    "codex-zed": {"input_close_grace": 0.0, "speaks": 1},
    "codex-acp": {"input_close_grace": 0.0, "speaks": None},
    "qwen": {"initialize_timeout": 90.0},
    "fast-agent": {"speaks": 1, "input_close_grace": 4.0},
    "gptme": {"speaks": 1},
    "droid": {"speaks": 1},
    "openhands": {"speaks": 1, "input_close_grace": 0.0},
    "deepagents": {"speaks": 1},
}


@pytest.mark.parametrize("id", SEEN)
def test_what_was_seen_of_an_agent_is_in_its_profile(id: str) -> None:
    quirks = BY_ID[id].values()
    assert {name: getattr(quirks, name) for name in SEEN[id]} == SEEN[id]


def test_every_agent_of_the_shipped_registry_has_a_profile() -> None:
    from importlib import resources

    registry = msgspec.json.decode(resources.files("roost.catalogue").joinpath("registry.json").read_bytes())
    profiles = Profiles()
    for entry in registry["agents"]:
        assert profiles.find(Identity(name=entry["id"])) is not None, entry["id"]
