"""ELI-5 to ELI-9, R-18 to R-20: forms, and what is wrong with what was filled in."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp import v2
from roost.errors import LocalProtocolError
from roost.sdk.forms import Form, defaults_of, faults_of
from roost.wire.decode import decode, encode


def _form() -> v2.ElicitationSchema:
    return (
        Form("Release", "What to release")
        .text("version", "Version", pattern=r"^\d+\.\d+$", min_length=3, max_length=6, required=True)
        .choice("channel", "Channel", {"stable": "Stable", "beta": "Beta"}, default="stable")
        .choices("targets", "Targets", {"linux": "Linux", "mac": "macOS"}, min_items=1, max_items=1)
        .integer("retries", minimum=0, maximum=3)
        .number("ratio", minimum=0.5)
        .flag("dry", default=True)
        .text("contact", format="email")
        .text("site", format="uri")
        .text("day", format="date")
        .text("moment", format="date-time")
        .text("other", format="x-unknown")
        .schema()
    )


def test_a_form_is_written_with_its_type_and_its_properties_eli_6() -> None:
    assert encode(_form()).startswith(b'{"type":"object","title":"Release","properties":{"version":')
    again = decode(v2.ElicitationSchema, encode(_form()))
    assert again == _form()
    assert again.type == "object"


def test_defaults_fill_the_form_in_eli_9() -> None:
    assert defaults_of(_form()) == {"channel": "stable", "dry": True}


def test_good_values_have_no_faults() -> None:
    values = {
        "version": "1.20",
        "channel": "beta",
        "targets": ["mac"],
        "retries": 3,
        "ratio": 1,
        "dry": False,
        "contact": "a@example.org",
        "site": "https://example.org",
        "day": "2026-02-28",
        "moment": "2026-02-28T10:00:00Z",
        "other": "anything",
    }
    assert faults_of(_form(), values) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", "1"),
        ("version", "1.2.3"),
        ("version", "1.23456"),
        ("version", 1.2),
        ("channel", "Stable"),
        ("targets", []),
        ("targets", ["linux", "mac"]),
        ("targets", ["bsd"]),
        ("targets", "mac"),
        ("targets", [1]),
        ("retries", 4),
        ("retries", -1),
        ("retries", 1.0),
        ("retries", True),
        ("ratio", 0.4),
        ("ratio", float("nan")),
        ("ratio", True),
        ("dry", 1),
        ("contact", "nobody"),
        ("site", "example"),
        ("day", "2026-02-30"),
        ("day", "20260228"),
        ("moment", "2026-02-28T10:00:00"),
        ("moment", "2026-02-28"),
        ("nonsense", "x"),
    ],
)
def test_a_bad_value_is_named_with_its_field_r_18(name: str, value: Any) -> None:
    assert list(faults_of(_form(), {"version": "1.2", name: value})) == [name]


def test_a_missing_required_field_is_named_r_18() -> None:
    assert faults_of(_form(), {}) == {"version": "is required"}


def test_a_field_of_an_unknown_kind_cannot_be_filled_in_r_20() -> None:
    field = v2.Unknown.of({"type": "_color"})
    schema = Form().field("color", field).schema()
    assert list(faults_of(schema, {"color": "red"})) == ["color"]
    assert faults_of(schema, {}) == {}
    assert defaults_of(schema) == {}


def test_a_pattern_that_cannot_be_checked_fails_closed_eli_8() -> None:
    schema = Form().text("a", pattern=r"(?=x)").text("b", pattern="a{1,500}b").schema()
    assert list(faults_of(schema, {"a": "x", "b": "a" * 100_000})) == ["a", "b"]


def test_a_choice_of_nothing_is_refused_eli_7() -> None:
    with pytest.raises(LocalProtocolError):
        Form().choice("a", None, {})
    with pytest.raises(LocalProtocolError):
        Form().choices("a", None, {})


def test_a_form_without_fields_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        Form().schema()


def test_two_fields_of_one_name_are_refused() -> None:
    with pytest.raises(LocalProtocolError):
        Form().flag("a").flag("a")
