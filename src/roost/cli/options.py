"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

LOG_LEVELS = ("debug", "info", "warning", "error")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def socket_option(does: str) -> Decorator:
    """`--socket PATH`; None when it is not given."""
    return click.option(
        "--socket",
        metavar="PATH",
        type=click.Path(dir_okay=False),
        envvar="ROOST_SOCKET",
        help=f"{does} Default: $ROOST_SOCKET, else what is configured, else roost/roost.sock in $XDG_RUNTIME_DIR.",
    )


def config_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--config PATH`, as `config_file`; None when it is not given."""
    return click.option(
        "--config",
        "config_file",
        metavar="PATH",
        type=click.Path(dir_okay=False),
        envvar="ROOST_CONFIG",
        help="The configuration. Default: $ROOST_CONFIG, else roost/config.toml in $XDG_CONFIG_HOME.",
    )(command)


def caller_option(does: str) -> Decorator:
    """`--caller NAME`; None when it is not given."""
    return click.option("--caller", metavar="NAME", help=f"{does} Default: `cli`, or what is configured.")


def json_option(prints: str) -> Decorator:
    """`--json`, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {prints}.")


def kept_session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every command has that is about kept sessions: `--socket`, `--config`, `--caller`."""
    command = caller_option("Whose sessions.")(command)
    command = config_option(command)
    return socket_option("The daemon to ask; when none listens there, the journal is read by this program.")(command)
