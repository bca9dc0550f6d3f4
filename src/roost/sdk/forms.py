"""Forms: building one, and checking what was filled in. Both sides check: nobody trusts the other's check (ELI-9)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from roost.acp import v2
from roost.errors import CodecError, LocalProtocolError
from roost.sdk.patterns import matches

FormValue: TypeAlias = str | int | float | bool | list[str]


# Words nobody uses for anything else, in one field's name and title.
_SECRET: Final = re.compile(
    r"\b(password|passwd|passphrase|credentials?|(api|private|secret|access)[ -]?key|(access|auth|bearer)[ -]?token)\b",
    re.IGNORECASE,
)
_HUMP: Final = re.compile(r"_|(?<=[a-z])(?=[A-Z])")


class Form:
    """Builds the schema of a form, field by field, in order.

        Form("Release").text("version", "Version", pattern=r"^\\d+\\.\\d+$", required=True).choice(
            "channel", "Channel", {"stable": "Stable", "beta": "Beta"}
        )

    Never ask for secrets by a form: a URL is for that, and a field that looks like one is refused (ELI-12).
    """

    def __init__(self, title: str | None = None, description: str | None = None) -> None:
        self._title = title
        self._description = description
        self._properties: dict[str, v2.ElicitationPropertySchema] = {}
        self._required: list[str] = []

    def field(self, name: str, schema: v2.ElicitationPropertySchema, *, required: bool = False) -> Form:
        """Any field, by its schema. LocalProtocolError: there is one of that name."""
        if name in self._properties:
            raise LocalProtocolError(f"the form has a field {name} already")
        self._properties[name] = schema
        if required:
            self._required.append(name)
        return self

    def text(self, name: str, title: str | None = None, *, required: bool = False, **more: Any) -> Form:
        """A text field; `more` as in StringPropertySchema: min_length, max_length, pattern, format, default, …"""
        return self.field(name, v2.StringPropertySchema(title=title, **more), required=required)

    def choice(
        self, name: str, title: str | None, options: Mapping[str, str], *, required: bool = False, **more: Any
    ) -> Form:
        """One of several texts, each with its title."""
        schema = v2.StringPropertySchema(title=title, one_of=_options(name, options), **more)
        return self.field(name, schema, required=required)

    def choices(
        self, name: str, title: str | None, options: Mapping[str, str], *, required: bool = False, **more: Any
    ) -> Form:
        """Any of several texts; `more`: min_items, max_items, default, description."""
        items = v2.TitledMultiSelectItems(any_of=_options(name, options))
        return self.field(name, v2.MultiSelectPropertySchema(title=title, items=items, **more), required=required)

    def integer(self, name: str, title: str | None = None, *, required: bool = False, **more: Any) -> Form:
        """A whole number; `more`: minimum, maximum, default, description."""
        return self.field(name, v2.IntegerPropertySchema(title=title, **more), required=required)

    def number(self, name: str, title: str | None = None, *, required: bool = False, **more: Any) -> Form:
        """A number; `more` as for `integer`."""
        return self.field(name, v2.NumberPropertySchema(title=title, **more), required=required)

    def flag(self, name: str, title: str | None = None, *, required: bool = False, **more: Any) -> Form:
        """Yes or no."""
        return self.field(name, v2.BooleanPropertySchema(title=title, **more), required=required)

    def schema(self) -> v2.ElicitationSchema:
        """LocalProtocolError: the form has no field."""
        if not self._properties:
            raise LocalProtocolError("a form has at least one field")
        return v2.ElicitationSchema(
            title=self._title,
            description=self._description,
            properties=dict(self._properties),
            required=list(self._required) or None,
        )


def _options(name: str, options: Mapping[str, str]) -> list[v2.EnumOption]:
    if not options:
        raise LocalProtocolError(f"the field {name} offers nothing to choose from (ELI-7)")
    return [v2.EnumOption(const=const, title=title) for const, title in options.items()]


def check_no_secrets(schema: v2.ElicitationSchema) -> None:
    """LocalProtocolError: a field is named, or titled, like a password or a key. Its answer would pass through here."""
    for name, field in (schema.properties or {}).items():
        title = getattr(field, "title", None)
        words = _HUMP.sub(" ", f"{name} {title if isinstance(title, str) else ''}")
        if _SECRET.search(words):
            raise LocalProtocolError(f"the field {name} asks for a secret: use a URL (ELI-12)")


def defaults_of(schema: v2.ElicitationSchema) -> dict[str, FormValue]:
    """What a form is filled in with before the user touches it (ELI-9)."""
    found: dict[str, FormValue] = {}
    for name, field in schema.properties.items():
        default = None if isinstance(field, v2.Unknown) else field.default
        if default is not None:
            found[name] = default
    return found


def faults_of(schema: v2.ElicitationSchema, values: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with the values of a form: a sentence for each field at fault; empty when all is well.

    What cannot be checked counts as wrong, except a `format` nobody here knows, which is only a hint (ELI-8).
    """
    faults = {name: "is required" for name in schema.required or () if name not in values}
    for name, value in values.items():
        field = schema.properties.get(name)
        fault = "is not a field of this form" if field is None else _fault(field, value)
        if fault is not None:
            faults[name] = fault
    return faults


def _fault(field: v2.ElicitationPropertySchema, value: Any) -> str | None:
    match field:
        case v2.StringPropertySchema():
            return _text_fault(field, value) if isinstance(value, str) else "is not text"
        case v2.BooleanPropertySchema():
            return None if isinstance(value, bool) else "is neither true nor false"
        case v2.IntegerPropertySchema():
            if isinstance(value, bool) or not isinstance(value, int):
                return "is not a whole number"
            return _range_fault(value, field.minimum, field.maximum)
        case v2.NumberPropertySchema():
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                return "is not a number"
            return _range_fault(value, field.minimum, field.maximum)
        case v2.MultiSelectPropertySchema():
            return _choices_fault(field, value)
        case _:
            return "is of a kind that is not known here"


def _text_fault(field: v2.StringPropertySchema, value: str) -> str | None:
    if field.enum is not None and value not in field.enum:
        return "is not one of the choices"
    if field.one_of is not None and all(value != option.const for option in field.one_of):
        return "is not one of the choices"
    if field.min_length is not None and len(value) < field.min_length:
        return f"is shorter than {field.min_length}"
    if field.max_length is not None and len(value) > field.max_length:
        return f"is longer than {field.max_length}"
    if field.pattern is not None:
        try:
            found = matches(field.pattern, value)
        except CodecError:
            return "has a pattern that cannot be checked here"
        if not found:
            return "does not have the form it should"
    check = _FORMATS.get(field.format or "")
    return None if check is None or check(value) else f"is not a valid {field.format}"


def _range_fault(value: float, minimum: float | None, maximum: float | None) -> str | None:
    if minimum is not None and value < minimum:
        return f"is less than {minimum}"
    if maximum is not None and value > maximum:
        return f"is more than {maximum}"
    return None


def _choices_fault(field: v2.MultiSelectPropertySchema, value: Any) -> str | None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return "is not a list of texts"
    items = field.items
    if isinstance(items, v2.Unknown):
        return "is of a kind that is not known here"
    if isinstance(items, v2.StringMultiSelectItems):
        offered = set(items.enum)
    else:
        offered = {option.const for option in items.any_of}
    if not offered.issuperset(value):
        return "holds what is not one of the choices"
    if field.min_items is not None and len(value) < field.min_items:
        return f"has fewer than {field.min_items}"
    if field.max_items is not None and len(value) > field.max_items:
        return f"has more than {field.max_items}"
    return None


def _is_date(value: str) -> bool:
    from datetime import date

    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return len(value) == 10


def _is_date_time(value: str) -> bool:
    from datetime import datetime

    try:
        return datetime.fromisoformat(value).tzinfo is not None and "T" in value.upper()  # RFC 3339 wants an offset
    except ValueError:
        return False


# Each of these looks at a character once: nothing in them can run away.
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    v2.StringFormat.EMAIL: lambda value: _EMAIL.fullmatch(value) is not None,
    v2.StringFormat.URI: lambda value: _URI.fullmatch(value) is not None,
    v2.StringFormat.DATE: _is_date,
    v2.StringFormat.DATE_TIME: _is_date_time,
}
