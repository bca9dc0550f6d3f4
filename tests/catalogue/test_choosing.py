"""From what is asked for to what installs it: which distribution, and what the registry adds."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from roost.catalogue.choosing import choose, distribution_of
from roost.catalogue.machine import Machine
from roost.catalogue.registry import Registry, read_registry
from roost.catalogue.settings import CatalogueSettings
from roost.catalogue.spec import parse_spec
from roost.errors import CatalogueError
from roost.process.runtimes.base import RuntimeSettings
from tests.catalogue.rig import House, machine

NPX: dict[str, Any] = {"npx": {"package": "@a/b@1.0.0", "cmd": "b", "args": ["--acp"]}}
UVX: dict[str, Any] = {"uvx": {"package": "b[acp]==1.0.0"}}


def binary(*platforms: str) -> dict[str, Any]:
    return {"binary": {name: {"archive": "https://example.invalid/b.tgz", "cmd": "b"} for name in platforms}}


def registry(distribution: dict[str, Any]) -> Registry:
    entry = {"id": "mine", "name": "Mine", "version": "1.0.0", "distribution": distribution}
    return read_registry(json.dumps({"agents": [entry]}).encode(), "here")


def without_npm() -> Machine:
    return Machine({"PATH": os.defpath}, CatalogueSettings(npm="none"), RuntimeSettings())


HERE = machine().platform


@pytest.mark.parametrize(
    ("distribution", "with_npm", "without"),
    [
        ({**NPX, **UVX, **binary(HERE)}, "npx", "uvx"),
        ({**NPX, **binary(HERE)}, "npx", "binary"),
        ({**UVX, **binary(HERE)}, "uvx", "uvx"),
        (NPX, "npx", "npx"),
        (binary(HERE), "binary", "binary"),
        (binary("plan9-sparc"), "", ""),
    ],
)
def test_the_first_distribution_this_machine_can_use_is_taken(
    tmp_path: Path, distribution: dict[str, Any], with_npm: str, without: str
) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\n")
    npm.chmod(0o755)
    entry = registry(distribution).entries["mine"]
    assert distribution_of(entry, machine(npm=str(npm))) == with_npm
    assert distribution_of(entry, without_npm()) == without


@pytest.mark.parametrize(
    ("asked", "name", "spec", "pinned", "exact"),
    [
        ("mine", "mine", "mine", False, "1.0.0"),
        ("mine@0.9.0", "mine", "mine@0.9.0", True, "0.9.0"),
        ("npm:@a/b", "b", "npm:@a/b", False, ""),
        ("npm:@a/b@1.2.3", "b", "npm:@a/b@1.2.3", True, "1.2.3"),
        ("npm:@a/b@^1", "b", "npm:@a/b@^1", False, ""),
        ("pypi:c[d]", "c", "pypi:c[d]", False, ""),
        ("pypi:c[d]==2", "c", "pypi:c[d]==2", True, "2"),
    ],
)
def test_an_exact_version_is_a_pin_and_the_registrys_is_none(
    asked: str, name: str, spec: str, pinned: bool, exact: str
) -> None:
    chosen = choose(parse_spec(asked), machine(), lambda: registry(NPX), print)
    assert (chosen.name, chosen.spec, chosen.pinned, chosen.source.exact) == (name, spec, pinned, exact)
    assert chosen.registry_id == ("mine" if "@a/b" in asked or "mine" in asked else "")


@pytest.mark.parametrize("package", ["@a/b@--global", "../x", "file:x"])
def test_an_entry_whose_package_cannot_be_is_damaged(package: str) -> None:
    with pytest.raises(CatalogueError, match=r"entry mine, distribution\.npx\.package: ") as caught:
        choose(parse_spec("mine"), machine(), lambda: registry({"npx": {"package": package}}), print)
    assert caught.value.code == "damaged"


def test_an_archive_is_there_in_the_registrys_version_alone() -> None:
    with pytest.raises(CatalogueError, match=r"the registry has mine 1\.0\.0, and no 2\.0\.0") as caught:
        choose(parse_spec("mine@2.0.0"), machine(), lambda: registry(binary(HERE)), print)
    assert caught.value.code == "unknown"


def test_a_registry_that_says_otherwise_how_an_agent_is_run_is_heard(house: House, tmp_path: Path) -> None:
    npm = tmp_path / "npm"
    manifest = '{"version": "1.0.0", "bin": {"b": "x", "c": "x"}}'
    npm.write_text(
        "#!/bin/sh\n"
        f"if [ $1 = view ]; then echo '{manifest}'; exit; fi\n"
        f"mkdir -p node_modules/@a/b; echo '{manifest}' > node_modules/@a/b/package.json\n"
        "printf '#!/bin/sh\\n' > node_modules/@a/b/x\n"
    )
    npm.chmod(0o755)
    on = machine(npm=str(npm))
    now = registry(NPX)
    house.installer(on, lambda: now).install("mine")
    assert house.installer(on, lambda: now).update("mine").changed is False
    now = registry({"npx": {**NPX["npx"], "args": ["serve"]}})
    assert house.installer(on, lambda: now).update("mine").changed is True
    assert house.packages().find("mine").launch_args == ("serve",)
