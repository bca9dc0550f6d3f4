"""Plans, each replaced as a whole under its planId.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, Final, TYPE_CHECKING, TypeAlias

from roost.acp.v2.gen.ids import PlanId
from roost.wire.model import Items, JsonObject, Lenient, Model, OpenUnion, Unknown


class PlanEntryPriority:
    """How much an entry of a plan matters.

    Names for some values; fields hold any str. Stable. Schema: #/$defs/PlanEntryPriority.
    """

    HIGH: Final = "high"
    MEDIUM: Final = "medium"
    LOW: Final = "low"


class PlanEntryStatus:
    """How far an entry of a plan is.

    Names for some values; fields hold any str. Stable. Schema: #/$defs/PlanEntryStatus.
    """

    PENDING: Final = "pending"
    IN_PROGRESS: Final = "in_progress"
    COMPLETED: Final = "completed"
    CANCELLED: Final = "cancelled"


class PlanEntry(Model, frozen=True, kw_only=True):
    """One step of a plan.

    Stable. Schema: #/$defs/PlanEntry.
    """

    content: str
    priority: str  # PlanEntryPriority
    status: str  # PlanEntryStatus
    meta: Lenient[JsonObject | None] = None


class PlanItems(Model, frozen=True, kw_only=True, tag_field="type", tag="items"):
    """A plan as a list of steps.

    Stable. Schema: #/$defs/PlanItems.
    """

    plan_id: PlanId
    entries: Lenient[Items[PlanEntry]]
    meta: Lenient[JsonObject | None] = None


class PlanFile(Model, frozen=True, kw_only=True, tag_field="type", tag="file"):
    """A plan kept in a file.

    Unstable. Schema: #/$defs/PlanFile.
    """

    plan_id: PlanId
    uri: str
    meta: Lenient[JsonObject | None] = None


class PlanMarkdown(Model, frozen=True, kw_only=True, tag_field="type", tag="markdown"):
    """A plan as Markdown.

    Unstable. Schema: #/$defs/PlanMarkdown.
    """

    plan_id: PlanId
    content: str
    meta: Lenient[JsonObject | None] = None


class _OtherPlanUpdateContent(Model, frozen=True, kw_only=True):
    """What a variant of PlanUpdateContent needs beside its tag, whatever the tag."""

    plan_id: PlanId


if TYPE_CHECKING:
    PlanUpdateContent: TypeAlias = PlanItems | PlanFile | PlanMarkdown | Unknown
else:
    PlanUpdateContent = Annotated[
        PlanItems | PlanFile | PlanMarkdown,
        OpenUnion("type", {"items": PlanItems, "file": PlanFile, "markdown": PlanMarkdown}, _OtherPlanUpdateContent),
    ]
"""A whole plan, in one of its forms.

Told apart by `type`. Stable. Schema: #/$defs/PlanUpdateContent.
"""


class PlanUpdate(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="plan_update"):
    """Sets a plan; what it was before is gone.

    Stable. Schema: #/$defs/PlanUpdate.
    """

    plan: PlanUpdateContent
    meta: Lenient[JsonObject | None] = None


class PlanRemoved(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="plan_removed"):
    """A plan is no longer there.

    Unstable. Schema: #/$defs/PlanRemoved.
    """

    plan_id: PlanId
    meta: Lenient[JsonObject | None] = None
