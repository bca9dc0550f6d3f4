"""Registries: the one that ships, others over it, and those that are damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roost.catalogue.npm import is_exact, split_npm
from roost.catalogue.profiles import Identity, Profiles
from roost.catalogue.pypi import split_pypi
from roost.catalogue.registry import bare_name, load_registry, read_registry, shipped_registry
from roost.catalogue.settings import CatalogueSettings
from roost.errors import CatalogueError, LimitError
from tests.catalogue.rig import Web

SETTINGS = CatalogueSettings()


def entry(identity: str, package: str = "p@1.0.0", version: str = "1.0.0") -> dict[str, object]:
    return {"id": identity, "name": identity, "version": version, "distribution": {"npx": {"package": package}}}


def text(*agents: object) -> bytes:
    return json.dumps({"version": "1", "agents": agents}).encode()


def test_the_registry_that_ships_is_sound_and_every_version_in_it_is_exact() -> None:
    registry = shipped_registry()
    assert not registry.faults
    assert len(registry.entries) >= 12
    for found in registry:
        if found.npx is not None:
            _, version = split_npm(found.npx.package)
            assert is_exact(version)
        else:
            assert found.uvx is not None
            _, version = split_pypi(found.uvx.package)
        assert version == found.version


def test_every_agent_of_it_has_a_profile_of_the_same_id() -> None:
    profiles = Profiles()
    for found in shipped_registry():
        package = found.npx or found.uvx
        assert package is not None
        kind = "npm" if found.npx else "pypi"
        name = bare_name(kind, package.package).partition("[")[0]
        profile = profiles.find(Identity(npm=name) if kind == "npm" else Identity(pypi=name))
        assert profile is not None, found.id


def test_a_registry_is_read_from_a_path_and_from_a_url(tmp_path: Path, served: Web) -> None:
    file = tmp_path / "registry.json"
    file.write_bytes(text(entry("a")))
    served.pages["/registry.json"] = file.read_bytes()
    there, here = load_registry(f"{served.url}/registry.json", SETTINGS), load_registry(file, SETTINGS)
    assert there.entries == here.entries
    assert list(here.entries) == ["a"]


def test_an_entry_that_is_no_good_harms_no_other_and_is_told_when_it_is_wanted() -> None:
    registry = read_registry(text(entry("a"), {"id": "b", "name": "B"}, 7, entry("a", "other@2")), "here")
    assert list(registry.entries) == ["a"]
    assert registry.entries["a"].npx is not None
    assert registry.entries["a"].npx.package == "p@1.0.0"
    assert registry.faults == {
        "b": "entry b, version: it is missing",
        "number 3": "entry number 3: an object is expected",
        "number 4": "entry a, id: there is an entry of that id before it",
    }
    with pytest.raises(CatalogueError, match="here: entry b, version: it is missing") as caught:
        registry.find("b")
    assert caught.value.code == "damaged"


def test_the_one_that_is_configured_counts_where_both_have_an_agent_also_when_its_entry_is_no_good() -> None:
    under = read_registry(text(entry("a", "old@1.0.0"), entry("b"), entry("c")), "under")
    over = read_registry(text(entry("a", "new@1.0.0"), {"id": "b"}), "over").over(under)
    assert [found.id for found in over] == ["a", "c"]
    assert over.of_package("npm", "new") is not None
    assert over.of_package("npm", "old") is None
    with pytest.raises(CatalogueError, match="entry b"):
        over.find("b")


def test_an_agent_that_is_not_there_is_told_with_the_ones_that_are_near() -> None:
    with pytest.raises(CatalogueError, match=r"no agent 'gemni' in here; did you mean gemini\?") as caught:
        read_registry(text(entry("gemini")), "here").find("gemni")
    assert caught.value.code == "unknown"


@pytest.mark.parametrize("whole", [b"", b"{", b"[]", b'{"agents": {}}', b"\xff", b"[" * 100_000])
def test_what_is_no_registry_is_an_error_that_names_it(whole: bytes) -> None:
    with pytest.raises(CatalogueError, match="this one is no registry") as caught:
        read_registry(whole, "this one")
    assert caught.value.code == "damaged"


def test_a_registry_has_a_bound_wherever_it_is(tmp_path: Path, served: Web) -> None:
    file = tmp_path / "registry.json"
    file.write_bytes(text(entry("a")))
    served.pages["/r"] = file.read_bytes()
    small = CatalogueSettings(registry_bytes=20)
    for source in (file, f"{served.url}/r"):
        with pytest.raises(LimitError) as caught:
            load_registry(source, small)
        assert caught.value.limit == "catalogue.registry_bytes"


def test_a_registry_that_is_not_there_is_unreachable(tmp_path: Path, served: Web) -> None:
    for source in (tmp_path / "none", f"{served.url}/none"):
        with pytest.raises(CatalogueError) as caught:
            load_registry(source, SETTINGS)
        assert caught.value.code == "unreachable"


@pytest.mark.parametrize(
    ("kind", "package", "bare"),
    [
        ("npm", "a@1", "a"),
        ("npm", "@a/b@1", "@a/b"),
        ("npm", "@a/b", "@a/b"),
        ("pypi", "a[b]==1", "a[b]"),
        ("pypi", "a", "a"),
    ],
)
def test_a_package_without_its_version(kind: str, package: str, bare: str) -> None:
    assert bare_name(kind, package) == bare
