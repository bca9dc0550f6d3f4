"""One question to a sidecar: run to its end, with every error of ours in words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

from roost.cli.configuration import Wanted
from roost.cli.status import ExitStatus, Failure
from roost.daemon import log
from roost.errors import ConnectionClosed, RoostError

T = TypeVar("T")
P = ParamSpec("P")


def ask_sidecar(
    question: Callable[Concatenate[Wanted, P], Awaitable[T]], wanted: Wanted, *args: P.args, **options: P.kwargs
) -> T:
    """Raises Failure for whatever went wrong."""

    async def asked() -> T:
        return await question(wanted, *args, **options)

    log.set_up(None)
    try:
        return asyncio.run(asked())
    except ConnectionClosed as error:
        raise Failure(ExitStatus.AGENT_FAILED, f"the daemon is gone: {error}") from error
    except RoostError as error:
        raise Failure(ExitStatus.AGENT_FAILED, str(error)) from error
