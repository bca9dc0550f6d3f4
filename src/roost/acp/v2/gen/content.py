"""Content blocks: what messages and tool results are made of.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, Final, TYPE_CHECKING, TypeAlias

from roost.acp.v2.gen.ids import MediaType
from roost.wire.model import FirstOf, Int64, Items, JsonObject, Lenient, Model, OpenUnion, Unknown, Untagged


class Role:
    """Whom a piece of content is meant for.

    Names for some values; fields hold any str. Stable. Schema: #/$defs/Role.
    """

    ASSISTANT: Final = "assistant"
    USER: Final = "user"


class Annotations(Model, frozen=True, kw_only=True):
    """Hints on how to show a piece of content.

    Stable. Schema: #/$defs/Annotations.
    """

    audience: Lenient[Items[str] | None] = None  # Role
    last_modified: Lenient[str | None] = None
    priority: Lenient[float | None] = None
    meta: Lenient[JsonObject | None] = None


class IconTheme:
    """The background an icon is drawn for.

    Names for some values; fields hold any str. Stable. Schema: #/$defs/IconTheme.
    """

    LIGHT: Final = "light"
    DARK: Final = "dark"


class Icon(Model, frozen=True, kw_only=True):
    """A picture that stands for a resource.

    Stable. Schema: #/$defs/Icon.
    """

    src: str
    mime_type: Lenient[MediaType | None] = None
    sizes: Lenient[Items[str] | None] = None
    theme: Lenient[str | None] = None  # IconTheme


class TextResourceContents(Model, frozen=True, kw_only=True):
    """A resource's text, carried in the message.

    Stable. Schema: #/$defs/TextResourceContents.
    """

    text: str
    uri: str
    mime_type: Lenient[MediaType | None] = None
    meta: Lenient[JsonObject | None] = None


class BlobResourceContents(Model, frozen=True, kw_only=True):
    """A resource's bytes in base64, carried in the message.

    Stable. Schema: #/$defs/BlobResourceContents.
    """

    blob: str
    uri: str
    mime_type: Lenient[MediaType | None] = None
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    EmbeddedResourceResource: TypeAlias = TextResourceContents | BlobResourceContents
else:
    EmbeddedResourceResource = Annotated[Untagged, FirstOf(TextResourceContents, BlobResourceContents)]
"""The carried resource: text before bytes when both are there.

The first that fits, in this order. Stable. Schema: #/$defs/EmbeddedResourceResource.
"""


class TextContent(Model, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Text, usually Markdown.

    Stable. Schema: #/$defs/TextContent.
    """

    text: str
    annotations: Lenient[Annotations | None] = None
    meta: Lenient[JsonObject | None] = None


class ImageContent(Model, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image in base64.

    Stable. Schema: #/$defs/ImageContent.
    """

    data: str
    mime_type: MediaType
    uri: Lenient[str | None] = None
    annotations: Lenient[Annotations | None] = None
    meta: Lenient[JsonObject | None] = None


class AudioContent(Model, frozen=True, kw_only=True, tag_field="type", tag="audio"):
    """A sound in base64.

    Stable. Schema: #/$defs/AudioContent.
    """

    data: str
    mime_type: MediaType
    annotations: Lenient[Annotations | None] = None
    meta: Lenient[JsonObject | None] = None


class ResourceLink(Model, frozen=True, kw_only=True, tag_field="type", tag="resource_link"):
    """A pointer to something the receiver can fetch itself.

    Stable. Schema: #/$defs/ResourceLink.
    """

    name: str
    uri: str
    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    icons: Lenient[Items[Icon] | None] = None
    mime_type: Lenient[MediaType | None] = None
    size: Lenient[Int64 | None] = None
    annotations: Lenient[Annotations | None] = None
    meta: Lenient[JsonObject | None] = None


class EmbeddedResource(Model, frozen=True, kw_only=True, tag_field="type", tag="resource"):
    """A resource with its contents.

    Stable. Schema: #/$defs/EmbeddedResource.
    """

    resource: EmbeddedResourceResource
    annotations: Lenient[Annotations | None] = None
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    ContentBlock: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | Unknown
else:
    ContentBlock = Annotated[
        TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource,
        OpenUnion("type", {
            "text": TextContent,
            "image": ImageContent,
            "audio": AudioContent,
            "resource_link": ResourceLink,
            "resource": EmbeddedResource,
        }),
    ]
"""One piece of a message, a prompt or a tool's result.

Told apart by `type`. Stable. Schema: #/$defs/ContentBlock.
"""
