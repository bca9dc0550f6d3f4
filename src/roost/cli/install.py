"""`roost install`, `roost update`, `roost remove`: agents brought here, renewed and taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from roost.cli.options import config_option, json_option
from roost.cli.status import ExitStatus, Failure, say

if TYPE_CHECKING:
    from roost.catalogue.install import Installer, Outcome
    from roost.daemon.config import Config

Work = Callable[[str], dict[str, Any]]


def root_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--root",
        metavar="PATH",
        type=click.Path(file_okay=False),
        help="Where agents are installed. Default: what is configured, else roost in $XDG_DATA_HOME.",
    )(command)


@click.command("install")
@click.argument("specs", nargs=-1, required=True, metavar="NAME|SPEC…")
@click.option("--name", metavar="NAME", help="What the agent is called here.")
@click.option("--command", "program", metavar="PROGRAM", help="Which of a package's programs the agent is.")
@click.option("--arg", "args", multiple=True, metavar="ARG", help="An argument it is run with. May be repeated.")
@click.option("--force", is_flag=True, help="Install again what is there, also in place of another agent.")
@root_option
@json_option("one JSON object for each agent")
@config_option
def command(
    specs: tuple[str, ...],
    name: str | None,
    program: str | None,
    args: tuple[str, ...],
    force: bool,
    root: str | None,
    as_json: bool,
    config_file: str | None,
) -> int:
    """Bring agents here, to be run by their names.

    NAME is an agent of the registry (`roost agents --available`), SPEC is npm:PACKAGE[@VERSION],
    pypi:PACKAGE[==VERSION], a folder, or a command line.
    """
    if len(specs) > 1 and (name is not None or program is not None or args):
        raise Failure(ExitStatus.USAGE, "--name, --command and --arg are for one agent")
    config, installer = _start(config_file, root)

    def install(spec: str) -> dict[str, Any]:
        outcome = installer.install(spec, name=name, command=program, args=args or None, force=force)
        return _told(installer, outcome, config, first=True)

    return _each(specs, "spec", install, as_json)


@click.command("update")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@root_option
@json_option("one JSON object for each agent")
@config_option
def update(names: tuple[str, ...], root: str | None, as_json: bool, config_file: str | None) -> int:
    """Bring agents to their newest versions.

    That is the registry's version, or the newest of npm or PyPI; without NAME for all that `roost install` brought
    from there. One that was installed as an exact version is pinned, and stays.
    """
    config, installer = _start(config_file, root)
    wanted = names or tuple(record.name for record in installer.records() if record.kind not in ("folder", "command"))
    if not wanted and not as_json:
        say(f"nothing in {installer.root} can be updated")
    return _each(wanted, "name", lambda name: _told(installer, installer.update(name), config, first=False), as_json)


@click.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@root_option
@json_option("one JSON object for each agent")
@config_option
def remove(names: tuple[str, ...], root: str | None, as_json: bool, config_file: str | None) -> int:
    """Take away agents that `roost install` brought.

    What they keep of their own, logins and settings, is theirs and stays.
    """
    _, installer = _start(config_file, root)

    def away(name: str) -> dict[str, Any]:
        record = installer.remove(name)
        say(f"{name} {record.version} is gone")
        return {"name": name, "version": record.version, "origin": record.origin, "removed": True}

    return _each(names, "name", away, as_json)


def _start(config_file: str | None, root: str | None) -> tuple[Config, Installer]:
    import os

    from roost.cli.configuration import read_config
    from roost.cli.installation import installer_of

    config = read_config(config_file)
    return config, installer_of(config, os.environ, root, say)


def _each(wanted: Iterable[str], key: str, work: Work, as_json: bool) -> int:
    """One after the other; one that fails does not keep the others from their turn. The exit status."""
    import msgspec

    from roost.cli.installation import failure_of
    from roost.errors import CatalogueError, LimitError

    status = ExitStatus.ENDED
    for one in wanted:
        try:
            told = work(one)
        except (CatalogueError, LimitError) as error:
            failure = failure_of(error)
            failure.show()
            status = max(status, failure.status)
            code = error.code if isinstance(error, CatalogueError) else "limit"
            told = {key: one, "error": str(error), "code": code}
        if as_json:
            click.echo(msgspec.json.encode(told).decode())
    return status


def _told(installer: Installer, outcome: Outcome, config: Config, *, first: bool) -> dict[str, Any]:
    """Says what came of it, and what the agent still needs; the same as an object."""
    from roost.cli.installation import state_of

    record = outcome.record
    ready, hint = state_of(installer.root, record.name, config)
    version = f"{record.version} (pinned)" if record.pinned else record.version
    if outcome.changed:
        before = f", was {outcome.previous}" if outcome.previous not in ("", record.version) else ""
        say(f"{record.name} {version} is installed{before}")
    else:
        say(f"{record.name} stays {version}: {outcome.note}")
    if hint and not ready:
        say(f"it cannot be run yet: {hint}")
    elif first and ready:
        say(f"{f'{hint}; ' if hint else ''}run it with: roost run {record.name} PROMPT")
    return {
        "name": record.name,
        "version": record.version,
        "previous": outcome.previous or None,
        "origin": record.origin,
        "registryId": record.registry_id or None,
        "pinned": record.pinned,
        "path": str(installer.root / "pkgs" / record.name / "current"),
        "changed": outcome.changed,
        "ready": ready,
        "hint": hint,
    }
