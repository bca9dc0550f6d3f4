"""`roost agents`: what can be run, and why not when it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from roost.cli.options import config_option, socket_option
from roost.cli.status import ExitStatus, Failure

if TYPE_CHECKING:
    from roost.cli.catalogue import Agent
    from roost.cli.configuration import Wanted


@click.command("agents")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each agent.")
@socket_option("The daemon to ask; when none listens there, this machine is looked at as a new one would.")
@click.option("--available", is_flag=True, help="List the agents that can be installed instead.")
@config_option
def command(as_json: bool, available: bool, socket: str | None, config_file: str | None) -> None:
    """List the agents that can be run by name. Any command line can be run as well."""
    if available:
        from roost.cli.available import lines

        for line in lines(config_file, as_json=as_json):
            click.echo(line)
        return
    import asyncio

    from roost.cli.configuration import wanted
    from roost.errors import RoostError

    try:
        agents = asyncio.run(_survey(wanted(config_file, socket)))
    except RoostError as error:
        raise Failure(ExitStatus.AGENT_FAILED, str(error)) from error
    for line in json_lines(agents) if as_json else table(agents):
        click.echo(line)


async def _survey(wanted: Wanted) -> Sequence[Agent]:
    import os

    from roost.cli.attach import is_nobody
    from roost.cli.catalogue import agents_here, agents_of
    from roost.cli.configuration import daemon_settings
    from roost.cli.login_advice import look_closely
    from roost.errors import TransportError
    from roost.host import connect

    look = look_closely(wanted.config, os.environ)
    try:
        async with connect(wanted.path) as host:
            entries = await host.list_agents()
    except TransportError as error:
        if not is_nobody(error):
            raise
        return agents_here(os.environ, daemon_settings(wanted.config, os.environ)["roots"], look)
    return agents_of(entries, os.environ, look)


def json_lines(agents: Sequence[Agent]) -> list[str]:
    import msgspec

    return [msgspec.json.encode(agent).decode() for agent in agents]


def table(agents: Sequence[Agent]) -> list[str]:
    """Columns for people: name, version, where from, and whether it can be run."""
    from roost.acp.view_text import reveal

    if not agents:
        return ["no agents are installed; any command line can be run: roost run 'COMMAND' PROMPT"]
    rows: list[tuple[str, ...]] = [("NAME", "VERSION", "FROM", "STATE")]
    for agent in agents:
        ready = "ready" if agent.hint is None else f"ready; {agent.hint}"
        state = ready if agent.installed else f"cannot be run: {agent.reason}"
        version = f"{agent.version} (pinned)" if agent.pinned else agent.version
        rows.append((agent.name, version or "-", agent.origin or agent.source or "-", state))
    rows = [tuple(map(reveal, row)) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows]
