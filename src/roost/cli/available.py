"""`roost agents --available`: the agents of the registry, what each needs, and which are installed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from roost.acp.view_text import reveal
from roost.catalogue.choosing import distribution_of
from roost.catalogue.download import shown_url
from roost.catalogue.entry import RegistryEntry
from roost.catalogue.install import Installer
from roost.catalogue.machine import Machine
from roost.catalogue.profiles import Identity, Profile, Profiles
from roost.catalogue.registry import Registry, bare_name
from roost.cli.configuration import read_config
from roost.cli.installation import failure_of, installer_of, machine_of, registry_of
from roost.cli.status import say
from roost.errors import CatalogueError, LimitError


class Available(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One line of the list. `source`: npm, pypi or binary, and None when this platform has none.

    `needs` are what has to be there to install and run it. `installed` is the version that is; None: it is not.
    """

    id: str
    name: str
    version: str
    description: str
    source: str | None
    package: str
    needs: list[str]
    installed: str | None
    pinned: bool


def lines(config_file: str | None, *, as_json: bool) -> Iterator[str]:
    """Raises Failure when the configured registry cannot be had. Entries that are no good are told on stderr."""
    config = read_config(config_file)
    machine = machine_of(config, os.environ)
    try:
        registry = registry_of(config)
    except (CatalogueError, LimitError) as error:
        raise failure_of(error) from error
    for fault in registry.faults.values():
        say(f"{registry.where}: {fault}")
    found = available(registry, machine, installer_of(config, os.environ, None, say))
    return iter([msgspec.json.encode(one).decode() for one in found] if as_json else table(found))


def available(registry: Registry, machine: Machine, installer: Installer) -> list[Available]:
    records = {record.registry_id: record for record in reversed(installer.records()) if record.registry_id}
    profiles = Profiles()
    found = []
    for entry in registry:
        kind = distribution_of(entry, machine)
        package = _package(entry, kind, machine)
        source = {"npx": "npm", "uvx": "pypi", "binary": "binary"}.get(kind)
        record = records.get(entry.id)
        found.append(
            Available(
                id=entry.id,
                name=entry.name,
                version=entry.version,
                description=entry.description,
                source=source,
                package=package,
                needs=_needs(kind, profiles.find(_identity(entry, kind, package)), machine),
                installed=None if record is None else record.version,
                pinned=record is not None and record.pinned,
            )
        )
    return found


def table(found: list[Available]) -> list[str]:
    rows: list[tuple[str, ...]] = [("NAME", "VERSION", "INSTALLED", "FROM", "NEEDS")]
    for one in found:
        installed = "-" if one.installed is None else f"{one.installed} (pinned)" if one.pinned else one.installed
        origin = "-" if one.source is None else one.package if one.source == "binary" else f"{one.source}:{one.package}"
        rows.append((one.id, one.version, installed, origin, "; ".join(one.needs) or "-"))
    rows = [tuple(map(reveal, row)) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows]


def _package(entry: RegistryEntry, kind: str, machine: Machine) -> str:
    match kind:
        case "npx" if entry.npx is not None:
            return bare_name("npm", entry.npx.package)
        case "uvx" if entry.uvx is not None:
            return bare_name("pypi", entry.uvx.package)
        case "binary":
            return shown_url(entry.binary[machine.platform].archive)
    return ""


def _identity(entry: RegistryEntry, kind: str, package: str) -> Identity:
    if kind == "npx":
        return Identity(name=entry.id, npm=package)
    return Identity(name=entry.id, pypi=package.partition("[")[0] if kind == "uvx" else "")


def _needs(kind: str, profile: Profile | None, machine: Machine) -> list[str]:
    """In words, what is missing marked as such."""
    needs = []
    if kind == "npx":
        wanted = f"node {profile.node}" if profile is not None and profile.node else "node"
        needs.append(wanted if machine.runtimes.find(machine.runtimes.javascript) else f"{wanted} (not found)")
        if machine.npm() is None:
            needs.append("npm (not found)")
    elif kind == "uvx":
        needs.append(f"Python {profile.python}" if profile is not None and profile.python else "Python")
    elif not kind:
        needs.append(f"another platform than {machine.platform}")
    if profile is not None and (profile.keys or profile.login):
        keys = [" and ".join(key) for key in profile.keys]
        needs.append(" or ".join([*keys, "a login"]))
    return needs
