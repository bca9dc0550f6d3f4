"""A terminal as its agent shows one: bytes streamed as they come, and how the command ended (TRM-1 to TRM-8)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from roost.acp import v2

if TYPE_CHECKING:
    from roost.sdk.agent_session import AgentSession
    from roost.sdk.command import CommandResult

_CHUNK: Final = 64 * 1024  # bytes of output in one update; a pipe's capacity on Linux


class AgentTerminal:
    """One terminal, for display only. Made by `AgentToolCall.terminal`; its id is never used again."""

    def __init__(self, session: AgentSession, terminal_id: str, command: str | None, cwd: str) -> None:
        self._session = session
        self.id = terminal_id
        self.command = command
        self.cwd = cwd

    async def write(self, data: bytes | str) -> None:
        """Shows more output. Chunks may be cut anywhere, in a character too (TRM-5)."""
        raw = data.encode() if isinstance(data, str) else data
        for start in range(0, len(raw), _CHUNK):
            encoded = b64encode(raw[start : start + _CHUNK]).decode()
            await self._session.update(v2.TerminalOutputChunk(terminal_id=self.id, data=encoded))

    async def replace(self, data: bytes | str) -> None:
        """Shows this instead of everything shown so far (TRM-4)."""
        raw = data.encode() if isinstance(data, str) else data
        output = v2.TerminalOutput(data=b64encode(raw).decode())
        await self._session.update(v2.TerminalUpdate(terminal_id=self.id, output=output))

    async def exit(self, exit_code: int | None = None, signal: str | None = None) -> None:
        """The command has ended: with a code, by a signal, or nobody knows how (TRM-7)."""
        self.exit_now(exit_code, signal)
        await self._session.link.connection.drain()

    def exit_now(self, exit_code: int | None = None, signal: str | None = None) -> None:
        """`exit` for those who cannot wait, such as the end of something cancelled."""
        status = v2.TerminalExitStatus(exit_code=exit_code, signal=signal)
        self._session.emit(v2.TerminalUpdate(terminal_id=self.id, exit_status=status))

    async def run(
        self, command: str | Sequence[str], *, env: Mapping[str, str] | None = None, run_timeout: float | None = None
    ) -> CommandResult:
        """Runs a command here and streams its output; a text is given to the shell. Cancelling kills all it started.

        OSError: it could not be started. TimeoutError after `run_timeout` seconds, when it was killed.
        """
        from roost.sdk.command import run_command

        try:
            result = await run_command(command, cwd=self.cwd, env=env, output=self.write, run_timeout=run_timeout)
        except OSError:
            self.exit_now()
            raise
        except BaseException:
            self.exit_now(signal="SIGKILL")
            raise
        await self.exit(result.exit_code, result.signal)
        return result
