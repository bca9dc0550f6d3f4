"""What a session consists of, piece by piece: messages and thoughts, tool calls, plans, and what is not known yet.

Entries are live: the fold changes them as updates come. Everyone else reads. Terminals have a file of their own.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from roost.acp.v2.gen.content import ContentBlock, TextContent
from roost.acp.v2.gen.plans import PlanUpdateContent
from roost.acp.v2.gen.tools import ToolCallContent, ToolCallLocation, ToolCallStatus, ToolKind
from roost.acp.view_terminal import Terminal
from roost.acp.view_weight import weigh_block
from roost.wire.model import JsonObject, Unknown

MessageKind: TypeAlias = Literal["user_message", "agent_message", "agent_thought"]

UNFINISHED: Final = (ToolCallStatus.PENDING, ToolCallStatus.IN_PROGRESS)
FINISHED: Final = (ToolCallStatus.COMPLETED, ToolCallStatus.FAILED, ToolCallStatus.CANCELLED)


class Message:
    """What the user said, the agent says, or thinks: blocks in the order they came (MSG-2). Blocks are never merged.

    `dropped_blocks` were let go from the front.
    """

    __slots__ = ("content", "dropped_blocks", "kind", "message_id", "meta", "position", "weight")

    def __init__(self, kind: MessageKind, message_id: str) -> None:
        self.kind: MessageKind = kind
        self.message_id = message_id
        self.content: list[ContentBlock] = []
        self.meta: JsonObject | None = None
        self.dropped_blocks = 0
        self.position = 0
        self.weight = 0

    @property
    def text(self) -> str:
        """The text blocks, joined; other blocks are left out."""
        return "".join([block.text for block in self.content if isinstance(block, TextContent)])

    def __repr__(self) -> str:
        return f"Message({self.kind}, {self.message_id!r}, {len(self.content)} blocks)"


class ToolCall:
    """Something the agent does. `raw_input` and `raw_output` are None when absent: no JSON null can be stored (TCL-3).

    `kind` and `name` are hints for display, never grounds for a decision (TCL-9). `dropped_blocks` as in `Message`.
    """

    __slots__ = (
        "content",
        "dropped_blocks",
        "kind",
        "locations",
        "meta",
        "name",
        "position",
        "raw_input",
        "raw_output",
        "status",
        "title",
        "tool_call_id",
        "weight",
    )

    def __init__(self, tool_call_id: str) -> None:  # the defaults of TCL-1
        self.tool_call_id = tool_call_id
        self.name: str | None = None
        self.title = ""
        self.kind: str = ToolKind.OTHER
        self.status: str = ToolCallStatus.PENDING
        self.content: list[ToolCallContent] = []
        self.locations: list[ToolCallLocation] = []
        self.raw_input: Any = None
        self.raw_output: Any = None
        self.meta: JsonObject | None = None
        self.dropped_blocks = 0
        self.position = 0
        self.weight = 0

    @property
    def is_finished(self) -> bool:
        """Whether it is completed, failed or cancelled. An unknown status is not (TCL-5)."""
        return self.status in FINISHED

    def __repr__(self) -> str:
        return f"ToolCall({self.tool_call_id!r}, {self.status})"


class Plan:
    """A plan in its latest form (PLN-1). `value` is an `Unknown` for a form this version does not know."""

    __slots__ = ("plan_id", "position", "value", "weight")

    kind: Final[Literal["plan"]] = "plan"

    def __init__(self, plan_id: str, value: PlanUpdateContent) -> None:
        self.plan_id = plan_id
        self.value = value
        self.position = 0
        self.weight = 0

    def __repr__(self) -> str:
        return f"Plan({self.plan_id!r})"


class OtherUpdate:
    """An update this version does not know, kept whole: an extension, or a later version of the protocol (FWD-7)."""

    __slots__ = ("position", "update", "weight")

    kind: Final[Literal["other"]] = "other"

    def __init__(self, update: Unknown) -> None:
        self.update = update
        self.position = 0
        self.weight = 0

    def __repr__(self) -> str:
        return f"OtherUpdate({self.update.tag!r})"


Entry: TypeAlias = Message | ToolCall | Terminal | Plan | OtherUpdate
EntryKey: TypeAlias = tuple[str, str | int]


def shed(entry: Entry, excess: int) -> None:
    """Takes about `excess` bytes from the front of one entry, as far as it has a front; its weight says how many."""
    if isinstance(entry, Terminal):
        entry.weight -= entry.retain(max(0, entry.retained - excess))
    elif isinstance(entry, Message | ToolCall):
        freed = count = 0
        for block in entry.content:
            if freed >= excess:
                break
            freed += weigh_block(block)
            count += 1
        del entry.content[:count]
        entry.dropped_blocks += count
        entry.weight -= freed
