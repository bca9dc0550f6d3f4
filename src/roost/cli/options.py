"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

LOG_LEVELS = ("debug", "info", "warning", "error")


def socket_option(does: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--socket PATH`; None when it is not given."""
    return click.option(
        "--socket",
        metavar="PATH",
        type=click.Path(dir_okay=False),
        envvar="ROOST_SOCKET",
        help=f"{does} Default: $ROOST_SOCKET, else roost/roost.sock in $XDG_RUNTIME_DIR.",
    )
