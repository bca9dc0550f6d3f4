"""Agents that are archives: compared, unpacked, run; and those that are refused before anything is kept."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from roost.catalogue.installed import with_record
from roost.catalogue.registry import Registry, read_registry
from roost.errors import CatalogueError, LimitError
from roost.process.runtimes.base import RuntimeSettings
from roost.process.runtimes.registry import Runtimes
from tests.catalogue.rig import House, Web, machine, tar_of, zip_of

PROGRAM = b"#!/bin/sh\necho agent $A $@\n"


def install(house: House, archive: str, cmd: str = "./dist/agent", version: str = "1.0.0", **more: Any) -> None:
    """As an entry of a registry that has nothing else."""
    target = {"archive": archive, "cmd": cmd, "args": ["--acp"], "env": {"A": "b"}, **more}
    here = machine().platform
    entry = {"id": "mine", "name": "Mine", "version": version, "distribution": {"binary": {here: target}}}
    registry = read_registry(json.dumps({"agents": [entry]}).encode(), "here")
    house.installer(machine(archive_bytes=100_000), lambda: registry).install("mine")


def run(house: House) -> str:
    plan = with_record(house.packages().find("mine")).plan(
        cwd="/", own_env={"PATH": os.environ["PATH"]}, runtimes=Runtimes(RuntimeSettings())
    )
    return subprocess.run(plan.argv, env=plan.env, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["/a.tar.gz", "/a.zip"])
def test_an_archive_is_compared_unpacked_and_run(house: House, served: Web, name: str) -> None:
    files = {"dist/agent": PROGRAM, "dist/data": b"x"}
    served.pages[name] = tar_of(files) if name.endswith("gz") else zip_of(files)
    install(house, f"{served.url}{name}?token=geheim", sha256=hashlib.sha256(served.pages[name]).hexdigest())  # type: ignore[arg-type]
    assert run(house) == "agent b --acp\n"
    record = with_record(house.packages().find("mine")).record
    assert record is not None
    assert (record.kind, record.package) == ("binary", served.url + name)
    assert not house.left_behind()


def test_a_bare_program_needs_no_archive(house: House, served: Web) -> None:
    served.pages["/downloads/agent-linux"] = PROGRAM
    install(house, f"{served.url}/downloads/agent-linux", cmd="./agent")
    assert run(house) == "agent b --acp\n"


def test_what_is_not_what_the_registry_says_is_not_even_unpacked(house: House, served: Web) -> None:
    served.pages["/a.tgz"] = tar_of({"dist/agent": PROGRAM})
    install(house, f"{served.url}/a.tgz")
    served.pages["/b.tgz"] = tar_of({"../out": b"x"})
    with pytest.raises(CatalogueError, match="its sha256 is") as caught:
        install(house, f"{served.url}/b.tgz", version="2.0.0", sha256="00" * 32)
    assert caught.value.code == "checksum"
    assert house.packages().find("mine").version == "1.0.0"
    assert not house.left_behind()


def test_over_plain_http_a_checksum_is_wanted(house: House) -> None:
    with pytest.raises(CatalogueError, match="anybody on the way could change it") as caught:
        install(house, "http://example.invalid/a.tgz")
    assert caught.value.code == "unsuitable"


@pytest.mark.parametrize("name", ["a.dmg", "a.DEB", "a.AppImage"])
def test_what_installs_itself_is_refused(house: House, name: str) -> None:
    with pytest.raises(CatalogueError, match="installs itself"):
        install(house, f"https://example.invalid/{name}")


@pytest.mark.parametrize(
    ("files", "cmd"),
    [({"a": b"x"}, "./none"), ({"dist/a": b"x"}, "dist"), ({"../out": b"x"}, "out")],
)
def test_an_archive_that_is_no_good_leaves_nothing(
    house: House, served: Web, tmp_path: Path, files: dict[str, bytes], cmd: str
) -> None:
    served.pages["/a.tgz"] = tar_of(files)
    with pytest.raises(CatalogueError) as caught:
        install(house, f"{served.url}/a.tgz", cmd=cmd)
    assert caught.value.code == "damaged"
    assert not (house.root / "pkgs" / "mine").exists()
    assert not house.left_behind()
    assert sorted(os.listdir(tmp_path)) == ["root"]


def link(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
@pytest.mark.parametrize("ours", ["agentos-package.json", "roost-install.json"])
def test_what_roost_writes_into_a_package_is_not_written_through_its_links(
    house: House, served: Web, ours: str, kind: bytes
) -> None:
    files = {"dist/agent": PROGRAM, "dist/data": b"{}", ours: link(ours, kind, "dist/data")}
    served.pages["/a.tgz"] = tar_of(files)
    install(house, f"{served.url}/a.tgz")
    assert run(house) == "agent b --acp\n"
    assert (house.root / "pkgs/mine/current/dist/data").read_bytes() == b"{}"
    assert with_record(house.packages().find("mine")).record is not None


@pytest.mark.parametrize(
    "ours",
    [
        {"agentos-package.json": b"[1"},
        {"agentos-package.json": b"\xff"},
        {"agentos-package.json": b'"' + b"x" * 300_000 + b'"'},
        {"agentos-package.json": b'{"a": [' + b"1," * 120_000 + b"1]}"},
        {"agentos-package.json": link("agentos-package.json", tarfile.DIRTYPE)},
        {"roost-install.json": link("roost-install.json", tarfile.DIRTYPE)},
        {"bin": b"a file"},
    ],
)
def test_an_archive_with_a_damaged_file_of_ours_is_told_and_leaves_nothing(
    house: House, served: Web, ours: dict[str, bytes | tarfile.TarInfo]
) -> None:
    served.pages["/a.tgz"] = tar_of({"dist/agent": PROGRAM, **ours})
    with pytest.raises(CatalogueError) as caught:
        install(house, f"{served.url}/a.tgz")
    assert caught.value.code == "damaged"
    assert not (house.root / "pkgs" / "mine").exists()
    assert not house.left_behind()


@pytest.mark.parametrize("target", ["dist", "."])
def test_a_package_whose_bin_is_a_link_is_run_all_the_same(house: House, served: Web, target: str) -> None:
    served.pages["/a.tgz"] = tar_of({"dist/agent": PROGRAM, "bin": link("bin", tarfile.SYMTYPE, target)})
    install(house, f"{served.url}/a.tgz")
    assert run(house) == "agent b --acp\n"


def test_a_package_that_has_its_agent_in_bin_already_keeps_it(house: House, served: Web) -> None:
    served.pages["/a.tgz"] = tar_of(
        {"dist/agent": PROGRAM, "bin/mine": link("bin/mine", tarfile.SYMTYPE, "../dist/agent")}
    )
    install(house, f"{served.url}/a.tgz")
    assert run(house) == "agent b --acp\n"
    assert os.readlink(house.root / "pkgs/mine/current/bin/mine") == "../dist/agent"


def test_a_package_whose_bin_holds_something_else_of_that_name_needs_another(house: House, served: Web) -> None:
    served.pages["/a.tgz"] = tar_of({"dist/agent": PROGRAM, "bin/mine": b"something else"})
    with pytest.raises(CatalogueError, match="that is not its agent; choose another --name") as caught:
        install(house, f"{served.url}/a.tgz")
    assert caught.value.code == "exists"
    assert not house.left_behind()


def test_an_archive_that_is_too_long_is_a_limit(house: House, served: Web) -> None:
    served.pages["/a.tgz"] = b"x" * 100_001
    with pytest.raises(LimitError) as caught:
        install(house, f"{served.url}/a.tgz")
    assert caught.value.limit == "catalogue.archive_bytes"
    assert not house.left_behind()


def test_an_agent_that_its_registry_has_dropped_stays_as_it_is(house: House, served: Web) -> None:
    served.pages["/a.tgz"] = tar_of({"dist/agent": PROGRAM})
    install(house, f"{served.url}/a.tgz")
    nothing = read_registry(b'{"agents": []}', "there")
    outcome = house.installer(registry=lambda: nothing).update("mine")
    assert (outcome.changed, outcome.record.version) == (False, "1.0.0")
    assert outcome.note == "it is no longer in there"
    damaged = read_registry(b'{"agents": [{"id": "mine"}]}', "there")
    with pytest.raises(CatalogueError, match="entry mine"):
        house.installer(registry=lambda: damaged).update("mine")


def test_a_registry_that_does_not_answer_is_asked_once(house: House, served: Web) -> None:
    """Else `roost update` would wait for it with every agent."""
    served.pages["/a.tgz"] = tar_of({"dist/agent": PROGRAM})
    install(house, f"{served.url}/a.tgz")
    asked = []

    def silent() -> Registry:
        asked.append(1)
        raise CatalogueError("it says nothing", "unreachable")

    installer = house.installer(registry=silent)
    for _ in range(2):
        with pytest.raises(CatalogueError, match="it says nothing"):
            installer.update("mine")
    assert len(asked) == 1


def test_an_agent_that_is_not_there_for_this_platform_is_told_with_those_it_is_for(house: House) -> None:
    entry = {
        "id": "mine",
        "name": "Mine",
        "version": "1",
        "distribution": {"binary": {"windows-x86_64": {"archive": "https://example.invalid/a.zip", "cmd": "a"}}},
    }
    registry = read_registry(json.dumps({"agents": [entry]}).encode(), "here")
    with pytest.raises(CatalogueError, match=r"the registry has it for windows-x86_64") as caught:
        house.installer(registry=lambda: registry).install("mine")
    assert caught.value.code == "unsuitable"
