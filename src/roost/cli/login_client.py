"""A connection to an agent that is started here, to log in or out: no session, no sidecar, nothing kept."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from roost.cli.agent_here import AgentHere
from roost.cli.failure import failure_of
from roost.cli.status import ExitStatus, Failure, say, say_lines
from roost.errors import AgentExited, ProcessError, RoostError, TransportError
from roost.sdk.client import Client
from roost.sdk.client_elicitation import UrlQuestion
from roost.sdk.client_limits import ClientLimits
from roost.sdk.connect import connect
from roost.transport.child import ChildLimits, Launch

T = TypeVar("T")

# As many lines as a failure shows.
_LAST_LINES = 20


class Talk:
    """One agent, for as long as a command needs it. `aloud`: what it writes to stderr is for the person to read."""

    def __init__(self, here: AgentHere, *, as_json: bool, timeout: float | None) -> None:
        self._here = here
        self._timeout = timeout
        self._output = sys.stderr if as_json else sys.stdout  # stdout is for JSON alone
        self._stderr: deque[str] = deque(maxlen=_LAST_LINES)
        self.aloud = False

    def run(self, do: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        """What `do` returns. Raises Failure for everything that goes wrong with the agent."""
        name = self._here.name
        try:
            return asyncio.run(self._connected(do))
        except TimeoutError as error:
            raise Failure(ExitStatus.CUT_SHORT, f"the time was up (--timeout {self._timeout:g})") from error
        except AgentExited as error:
            raise Failure(ExitStatus.AGENT_FAILED, f"agent {name} failed: {error}", self._said()) from error
        except TransportError as error:
            raise Failure(ExitStatus.AGENT_FAILED, f"agent {name} failed: {error}", self._said()) from error
        except RoostError as error:
            raise failure_of(name, error, self._said()) from error

    async def _connected(self, do: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        async with asyncio.timeout(self._timeout), self._connect() as client:
            return await do(client)

    def _connect(self) -> Client:
        quirks, plan = self._here.quirks, self._here.plan
        limits, child_limits = ClientLimits(), ChildLimits()
        if quirks.initialize_timeout is not None:
            patience = max(limits.start_timeout, quirks.initialize_timeout)
            limits = ClientLimits(start_timeout=patience, negotiation_timeout=patience)
        if quirks.input_close_grace is not None:
            child_limits = ChildLimits(exit_grace=quirks.input_close_grace)
        return connect(
            Launch(argv=plan.argv, cwd=plan.cwd, env=dict(plan.env), inherit_env=False),
            on_url=self._show_url,
            terminal_login=self._run_at_terminal,
            on_stderr=self._heard,
            speaks=quirks.speaks,
            limits=limits,
            child_limits=child_limits,
        )

    def _said(self) -> str:
        return "" if self.aloud else "\n".join(self._stderr)

    def _heard(self, line: str) -> None:
        if self.aloud:
            say_lines(line)
        else:
            self._stderr.append(line)

    def _show_url(self, question: UrlQuestion) -> bool:
        """Nothing is opened here: it is shown, with what is odd about it, and the person does as they like."""
        say(f"{self._here.name} asks you to visit {question.shown_url} ({question.message})")
        for warning in question.warnings:
            say(f"mind: {warning}")
        return question.is_safe

    async def _run_at_terminal(self, launch: Launch) -> int:
        """The agent's own program, with this terminal for its own: Ctrl-C is for it, and we wait for what it does."""
        try:
            process = await asyncio.create_subprocess_exec(
                *launch.argv, cwd=launch.cwd, env=launch.environment(), stdout=self._output.fileno()
            )
        except (OSError, ValueError) as error:
            raise ProcessError(f"cannot start {launch.argv[0]}: {error}") from error
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            code = await process.wait()
        except asyncio.CancelledError:  # the time is up
            if process.returncode is None:
                process.terminate()
                await process.wait()
            raise
        finally:
            signal.signal(signal.SIGINT, before)
        if code == -signal.SIGINT:
            raise Failure(ExitStatus.CUT_SHORT, "interrupted")
        return code
