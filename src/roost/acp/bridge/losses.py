"""What cannot cross a bridge: the table users read in docs/bridge.md, and the count of what was lost where."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct


class Loss(Struct, frozen=True):
    """One thing one protocol can say and the other cannot. `toward` is the version that cannot."""

    toward: Literal[1, 2]
    lost: str
    instead: str


LOSSES: Final[dict[str, Loss]] = {
    # A v1 agent seen through v2.
    "client_files": Loss(2, "unsaved buffers of the editor", "the agent reads and writes the files on the disk"),
    "acceptance": Loss(2, "whether a prompt was accepted", "it is, unless the agent refuses it at once"),
    "message_id": Loss(2, "the agent's own message ids, where it has none", "ids counted per session"),
    "failed_turn": Loss(2, "the error a prompt ended with", "a message, and `idle` with stop reason `_error`"),
    "mode_meta": Loss(2, "`_meta` of modes and models that become options", "dropped"),
    "mode_duplicate": Loss(2, "modes and models of an agent that offers them as options too", "the options stand"),
    "user_echo": Loss(2, "the agent's echo of a prompt in its turn", "the prompt is reported once"),
    "emulated_list": Loss(2, "sessions of earlier runs, where the agent cannot list", "those of this connection"),
    "emulated_resume": Loss(2, "resuming without replay, where the agent can only load", "its replay is swallowed"),
    "swallowed_replay": Loss(2, "a history that is told though nobody asked for it", "swallowed until the answer"),
    "emulated_close": Loss(2, "closing, where the agent cannot", "its work is cancelled, the session left alone"),
    "emulated_logout": Loss(2, "logging out, where the agent cannot", "refused until a login; the agent restarts"),
    "mcp_sse": Loss(2, "MCP servers over SSE", "not offered"),
    "mcp_relay": Loss(2, "MCP over ACP, where the agent has it not", "a stdio server that is relayed to the client"),
    "diff_texts": Loss(2, "the texts of a very large diff", "the path that changed, without a patch"),
    "second_state": Loss(2, "states a v1 agent reports by itself", "those the bridge derives"),
    "early_update": Loss(2, "updates of sessions nobody opened", "dropped"),
    "late_answer": Loss(2, "answers after the time was up, and second ones", "dropped"),
    "vendor_traffic": Loss(2, "methods without an underscore that no version knows", "refused, or dropped"),
    "malformed_field": Loss(2, "a malformed optional field or list item", "left out"),
    "malformed_update": Loss(2, "an update without what it must have", "dropped"),
    "unknown_option_kind": Loss(2, "a permission option without id", "not offered"),
    # A v2 agent seen through v1.
    "message_rewrite": Loss(1, "a message that is rewritten or cleared", "what was streamed stays"),
    "message_meta": Loss(1, "`_meta` of whole messages", "dropped"),
    "state": Loss(1, "`requires_action`, and idle or running beside a turn", "a prompt's answer ends its turn"),
    "stop_reason": Loss(1, "stop reasons v1 has not", "`end_turn`, the reason in `_meta`"),
    "terminal": Loss(1, "display terminals", "their output as text in the tool call, the newest"),
    "command_subject": Loss(1, "a permission about a command line", "a tool call of kind `execute`"),
    "permission_text": Loss(1, "title and description of a permission", "the tool call's title, and text behind it"),
    "option_kind": Loss(1, "kinds of permission options v1 has not", "shown as `reject_once`, never as allowing"),
    "other_plan": Loss(1, "more plans than one", "the one updated last"),
    "plan_form": Loss(1, "plans as a file or as Markdown", "one entry"),
    "plan_status": Loss(1, "plan entries that were cancelled", "`completed`"),
    "tool_status": Loss(1, "tool calls that were cancelled", "`failed`, told in `_meta`"),
    "tool_kind": Loss(1, "kinds of tool calls v1 has not", "`other`"),
    "tool_clear": Loss(1, "clearing a title, an input or an output", "it stays as it was"),
    "diff_form": Loss(1, "moves, copies, binaries, and texts the patch does not hold", "the patch as text"),
    "content_form": Loss(1, "content blocks v1 has not", "a line of text that says so"),
    "link_icons": Loss(1, "icons of resource links", "dropped"),
    "command_input": Loss(1, "inputs of commands that are no text", "dropped"),
    "option_form": Loss(1, "config options of unknown types", "dropped"),
    "boolean_option": Loss(1, "switches, for a client that has none", "a choice of two"),
    "second_mode": Loss(1, "a second option about the mode", "an option only"),
    "auth_form": Loss(1, "login methods v1 has not, or whose variables repeat", "dropped"),
    "update_form": Loss(1, "kinds of updates v1 has not", "dropped"),
    "replay_cursor": Loss(1, "replay from elsewhere than the start", "v1 cannot ask for it"),
    "tool_content": Loss(1, "the oldest content of a tool call that has very much", "the newest is sent"),
}
"""By name, as `Losses` counts them."""


class Losses:
    """How often each happened on one bridge."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._fresh: list[str] = []

    def count(self, name: str) -> None:
        """`name` is one of LOSSES."""
        seen = self.counts.get(name, 0)
        if not seen:
            LOSSES[name]  # a name the table does not have is a mistake of ours
            self._fresh.append(name)
        self.counts[name] = seen + 1

    def fresh(self) -> list[str]:
        """Those that happened for the first time since the last call: each is told once."""
        fresh, self._fresh = self._fresh, []
        return fresh


def losses_table(toward: Literal[1, 2]) -> str:
    """The Markdown table of what a version cannot say."""
    rows = [f"| `{name}` | {loss.lost} | {loss.instead} |" for name, loss in LOSSES.items() if loss.toward == toward]
    return "\n".join(["| counted as | what is lost | what there is instead |", "| --- | --- | --- |", *rows, ""])
