"""Changes to files as a tool call shows them.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, Final, TYPE_CHECKING, TypeAlias

from roost.acp.v2.gen.ids import AbsolutePath, MediaType
from roost.wire.model import Items, JsonObject, Lenient, Model, OpenUnion, Unknown


class DiffFileType:
    """What kind of file a change is about.

    Names for some values; fields hold any str. Stable. Schema: #/$defs/DiffFileType.
    """

    TEXT: Final = "text"
    BINARY: Final = "binary"
    DIRECTORY: Final = "directory"
    SYMLINK: Final = "symlink"


class DiffPatchFormat:
    """How a patch is written.

    Names for some values; fields hold any str. Stable. Schema: #/$defs/DiffPatchFormat.
    """

    GIT_PATCH: Final = "git_patch"


class DiffPatch(Model, frozen=True, kw_only=True):
    """The changes as one patch text.

    Stable. Schema: #/$defs/DiffPatch.
    """

    format: str  # DiffPatchFormat
    text: str


class DiffPathChange(Model, frozen=True, kw_only=True):
    """A change to the file at `path`.

    Stable. Schema: #/$defs/DiffPathChange.
    """

    path: AbsolutePath


class DiffPathPairChange(Model, frozen=True, kw_only=True):
    """A change that takes a file from `old_path` to `path`.

    Stable. Schema: #/$defs/DiffPathPairChange.
    """

    old_path: AbsolutePath
    path: AbsolutePath


class DiffAdd(DiffPathChange, frozen=True, kw_only=True, tag_field="operation", tag="add"):
    """A file was added.

    Stable. Schema: #/$defs/DiffPathChange.
    """

    file_type: Lenient[str | None] = None  # DiffFileType
    mime_type: Lenient[MediaType | None] = None
    meta: Lenient[JsonObject | None] = None


class DiffDelete(DiffPathChange, frozen=True, kw_only=True, tag_field="operation", tag="delete"):
    """A file was deleted.

    Stable. Schema: #/$defs/DiffPathChange.
    """

    file_type: Lenient[str | None] = None  # DiffFileType
    mime_type: Lenient[MediaType | None] = None
    meta: Lenient[JsonObject | None] = None


class DiffModify(DiffPathChange, frozen=True, kw_only=True, tag_field="operation", tag="modify"):
    """A file's contents changed.

    Stable. Schema: #/$defs/DiffPathChange.
    """

    file_type: Lenient[str | None] = None  # DiffFileType
    mime_type: Lenient[MediaType | None] = None
    meta: Lenient[JsonObject | None] = None


class DiffMove(DiffPathPairChange, frozen=True, kw_only=True, tag_field="operation", tag="move"):
    """A file was moved.

    Stable. Schema: #/$defs/DiffPathPairChange.
    """

    file_type: Lenient[str | None] = None  # DiffFileType
    mime_type: Lenient[MediaType | None] = None
    meta: Lenient[JsonObject | None] = None


class DiffCopy(DiffPathPairChange, frozen=True, kw_only=True, tag_field="operation", tag="copy"):
    """A file was copied.

    Stable. Schema: #/$defs/DiffPathPairChange.
    """

    file_type: Lenient[str | None] = None  # DiffFileType
    mime_type: Lenient[MediaType | None] = None
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    DiffChange: TypeAlias = DiffAdd | DiffDelete | DiffModify | DiffMove | DiffCopy | Unknown
else:
    DiffChange = Annotated[
        DiffAdd | DiffDelete | DiffModify | DiffMove | DiffCopy,
        OpenUnion("operation", {
            "add": DiffAdd,
            "delete": DiffDelete,
            "modify": DiffModify,
            "move": DiffMove,
            "copy": DiffCopy,
        }),
    ]
"""What happened to one file.

Told apart by `operation`. Stable. Schema: #/$defs/DiffChange.
"""


class Diff(Model, frozen=True, kw_only=True, tag_field="type", tag="diff"):
    """Changes to files, with a patch when there is one.

    Stable. Schema: #/$defs/Diff.
    """

    changes: Items[DiffChange]
    patch: Lenient[DiffPatch | None] = None
    meta: Lenient[JsonObject | None] = None
