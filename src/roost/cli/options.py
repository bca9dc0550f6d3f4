"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

LOG_LEVELS = ("debug", "info", "warning", "error")

_DENY = "Permit nothing. The default where there is no terminal."
_ASK = "Ask at the terminal. The default where there is one."

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


def policy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--allow`, `--deny` and `--ask`, as `policy`, the name of one; None when none is given."""
    command = click.option("--ask", "policy", flag_value="ask", help=_ASK)(command)
    command = click.option("--deny", "policy", flag_value="deny", help=_DENY)(command)
    return click.option("--allow", "policy", flag_value="allow", help="Permit what the agent asks to be permitted.")(
        command
    )


def timeout_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--timeout SECONDS`; None when it is not given."""
    return click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Then stop.")(
        command
    )


def log_level_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--log-level LEVEL`; None when it is not given."""
    return click.option(
        "--log-level", type=click.Choice(LOG_LEVELS), help="Log what Roost itself does, to stderr. Default: nothing."
    )(command)


def kept_session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every command has that is about kept sessions: `--socket`, `--config`, `--caller`."""
    command = caller_option("Whose sessions.")(command)
    command = config_option(command)
    return socket_option("The daemon to ask; when none listens there, the journal is read by this program.")(command)
