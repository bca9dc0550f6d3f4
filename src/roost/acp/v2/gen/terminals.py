"""Terminals the agent runs and the client shows.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from roost.acp.v2.gen.ids import AbsolutePath, TerminalId
from roost.wire.model import JsonObject, Lenient, Model, UNSET, Uint32, UnsetType


class Terminal(Model, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """Shows a terminal inside a tool call.

    Stable. Schema: #/$defs/Terminal.
    """

    terminal_id: TerminalId
    meta: Lenient[JsonObject | None] = None


class TerminalOutput(Model, frozen=True, kw_only=True):
    """All output of a terminal so far, bytes in base64.

    Stable. Schema: #/$defs/TerminalOutput.
    """

    data: str
    meta: Lenient[JsonObject | None] = None


class TerminalExitStatus(Model, frozen=True, kw_only=True):
    """How a terminal's command ended; being there at all means it did.

    Stable. Schema: #/$defs/TerminalExitStatus.
    """

    exit_code: Lenient[Uint32 | None] = None
    signal: Lenient[str | None] = None
    meta: Lenient[JsonObject | None] = None


class TerminalUpdate(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="terminal_update"):
    """Creates or patches a terminal: what is omitted stays, null clears.

    Stable. Schema: #/$defs/TerminalUpdate.
    """

    terminal_id: TerminalId
    command: Lenient[str | None | UnsetType] = UNSET
    cwd: Lenient[AbsolutePath | None | UnsetType] = UNSET
    output: Lenient[TerminalOutput | None | UnsetType] = UNSET
    exit_status: Lenient[TerminalExitStatus | None | UnsetType] = UNSET
    meta: Lenient[JsonObject | None | UnsetType] = UNSET


class TerminalOutputChunk(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="terminal_output_chunk"):
    """More output of a terminal, bytes in base64, appended.

    Stable. Schema: #/$defs/TerminalOutputChunk.
    """

    terminal_id: TerminalId
    data: str
    meta: Lenient[JsonObject | None] = None
