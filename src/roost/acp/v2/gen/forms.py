"""The restricted JSON schema of elicitation forms, and the values that answer them.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TYPE_CHECKING, TypeAlias

from msgspec import field

from roost.wire.model import (
    FirstOf,
    Int64,
    Items,
    JsonObject,
    Lenient,
    Model,
    NeverType,
    OpenUnion,
    Uint32,
    Uint64,
    Unknown,
    Untagged,
)


class StringFormat:
    """A format a string field asks for.

    Names for some values; fields hold any str. Unstable. Schema: #/$defs/StringFormat.
    """

    EMAIL: Final = "email"
    URI: Final = "uri"
    DATE: Final = "date"
    DATE_TIME: Final = "date-time"


class EnumOption(Model, frozen=True, kw_only=True):
    """A value with a title.

    Unstable. Schema: #/$defs/EnumOption.
    """

    const: str
    title: str
    description: Lenient[str | None] = None
    meta: Lenient[JsonObject | None] = None


class StringPropertySchema(Model, frozen=True, kw_only=True, tag_field="type", tag="string"):
    """A text field, or a choice of texts.

    Unstable. Schema: #/$defs/StringPropertySchema.
    """

    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    min_length: Uint32 | None = None
    max_length: Uint32 | None = None
    pattern: str | None = None
    format: str | None = None  # StringFormat
    default: Lenient[str | None] = None
    enum: list[str] | None = None
    one_of: list[EnumOption] | None = None
    meta: Lenient[JsonObject | None] = None


class NumberPropertySchema(Model, frozen=True, kw_only=True, tag_field="type", tag="number"):
    """A number field.

    Unstable. Schema: #/$defs/NumberPropertySchema.
    """

    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    minimum: float | None = None
    maximum: float | None = None
    default: Lenient[float | None] = None
    meta: Lenient[JsonObject | None] = None


class IntegerPropertySchema(Model, frozen=True, kw_only=True, tag_field="type", tag="integer"):
    """A whole number field.

    Unstable. Schema: #/$defs/IntegerPropertySchema.
    """

    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    minimum: Int64 | None = None
    maximum: Int64 | None = None
    default: Lenient[Int64 | None] = None
    meta: Lenient[JsonObject | None] = None


class BooleanPropertySchema(Model, frozen=True, kw_only=True, tag_field="type", tag="boolean"):
    """A yes-or-no field.

    Unstable. Schema: #/$defs/BooleanPropertySchema.
    """

    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    default: Lenient[bool | None] = None
    meta: Lenient[JsonObject | None] = None


class StringMultiSelectItems(Model, frozen=True, kw_only=True, tag_field="type", tag="string"):
    """The texts a multiple choice offers.

    Unstable. Schema: #/$defs/StringMultiSelectItems.
    """

    enum: list[str]
    meta: Lenient[JsonObject | None] = None


class TitledMultiSelectItems(Model, frozen=True, kw_only=True):
    """The texts a multiple choice offers, with titles.

    Unstable. Schema: #/$defs/TitledMultiSelectItems.
    """

    any_of: list[EnumOption]
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    TaggedMultiSelectItems: TypeAlias = StringMultiSelectItems | Unknown
else:
    TaggedMultiSelectItems = Annotated[
        StringMultiSelectItems | NeverType,
        OpenUnion("type", {"string": StringMultiSelectItems}),
    ]
"""The choices that name their type.

Told apart by `type`. Stable.
"""


if TYPE_CHECKING:
    MultiSelectItems: TypeAlias = TaggedMultiSelectItems | TitledMultiSelectItems
else:
    MultiSelectItems = Annotated[Untagged, FirstOf(TaggedMultiSelectItems, TitledMultiSelectItems)]
"""What a multiple choice offers.

The first that fits, in this order. Unstable. Schema: #/$defs/MultiSelectItems.
"""


class MultiSelectPropertySchema(Model, frozen=True, kw_only=True, tag_field="type", tag="array"):
    """A multiple choice field.

    Unstable. Schema: #/$defs/MultiSelectPropertySchema.
    """

    title: Lenient[str | None] = None
    description: Lenient[str | None] = None
    min_items: Uint64 | None = None
    max_items: Uint64 | None = None
    items: MultiSelectItems
    default: Lenient[Items[str] | None] = None
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    ElicitationPropertySchema: TypeAlias = (
        StringPropertySchema
        | NumberPropertySchema
        | IntegerPropertySchema
        | BooleanPropertySchema
        | MultiSelectPropertySchema
        | Unknown
    )
else:
    ElicitationPropertySchema = Annotated[
        (
            StringPropertySchema
            | NumberPropertySchema
            | IntegerPropertySchema
            | BooleanPropertySchema
            | MultiSelectPropertySchema
        ),
        OpenUnion("type", {
            "string": StringPropertySchema,
            "number": NumberPropertySchema,
            "integer": IntegerPropertySchema,
            "boolean": BooleanPropertySchema,
            "array": MultiSelectPropertySchema,
        }),
    ]
"""One field of a form.

Told apart by `type`. Unstable. Schema: #/$defs/ElicitationPropertySchema.
"""

ElicitationSchemaType: TypeAlias = Literal["object"]
"""The type of a form: always an object.

Unstable. Schema: #/$defs/ElicitationSchemaType.
"""


class ElicitationSchema(Model, frozen=True, kw_only=True):
    """A form: its fields and which of them must be filled in.

    Unstable. Schema: #/$defs/ElicitationSchema.
    """

    type: Lenient[ElicitationSchemaType] = field(default_factory=lambda: "object")
    title: Lenient[str | None] = None
    properties: dict[str, ElicitationPropertySchema] = field(default_factory=lambda: {})
    required: list[str] | None = None
    description: Lenient[str | None] = None
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    ElicitationContentValue: TypeAlias = str | Int64 | float | bool | list[str]
else:
    ElicitationContentValue = Annotated[str | Int64 | float | bool | list[str], FirstOf(str, Int64, float, bool, list[str])]
"""The value of one form field.

The first that fits, in this order. Unstable. Schema: #/$defs/ElicitationContentValue.
"""
