"""Members: lenient, strict, required, patches (C-13 to C-23, C-37, C-44). Every one of the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import CodecError
from roost.wire.decode import encode
from roost.wire.model import UNSET
from tests.acp.codec import TYPES, admits_anything, attribute, cases, default_of, load, members, wrong_for
from tests.oracle.acp_instances import JSON_KINDS, example
from tests.oracle.acp_reference import DEFS, PATCHES


@cases("optional lenient", "optional lenient skip", "patch", "patch skip", "required lenient skip")
def test_a_lenient_member_never_fails_its_object(name: str, wire: str, schema: Any) -> None:
    """C-13"""
    for value in JSON_KINDS:
        assert isinstance(load(getattr(v2, name), {**example(DEFS[name]), wire: value}), getattr(v2, name))


@cases("optional lenient", "optional lenient skip")
def test_a_malformed_lenient_member_reads_as_if_it_were_not_there(name: str, wire: str, schema: Any) -> None:
    """C-13, C-20"""
    if admits_anything(schema):
        return
    losses: list[Any] = []
    value = load(getattr(v2, name), {**example(DEFS[name]), wire: wrong_for(schema)}, losses)
    assert getattr(value, attribute(wire)) == default_of(name, wire)
    assert [path for path, _ in losses] == [(wire,)]


@cases("required strict", "optional strict", "required strict skip")
def test_a_malformed_strict_member_is_an_error_with_its_path(name: str, wire: str, schema: Any) -> None:
    """C-14"""
    if admits_anything(schema):
        return
    with pytest.raises(CodecError) as refusal:
        load(getattr(v2, name), {**example(DEFS[name]), wire: wrong_for(schema)})
    assert refusal.value.path[0] == wire


@cases("required strict", "required strict skip", "required lenient skip")
def test_a_required_member_may_not_be_missing(name: str, wire: str, schema: Any) -> None:
    """C-14, C-15, C-16"""
    instance = example(DEFS[name])
    del instance[wire]
    with pytest.raises(CodecError) as refusal:
        load(getattr(v2, name), instance)
    assert refusal.value.path == (wire,)


L3 = "required lenient skip"


def test_the_required_lenient_arrays_are_the_nine_known_ones() -> None:
    """C-15; PlanItems, config options and commands also arrive inside unions."""
    assert {f"{name}.{wire}" for name, wire, _ in members(L3)} == {
        "AuthMethodEnvVar.vars",
        "ProviderInfo.supported",
        "SessionConfigSelectGroup.options",
        "ListSessionsResponse.sessions",
        "SetSessionConfigOptionResponse.configOptions",
        "PlanItems.entries",
        "AvailableCommandsUpdate.availableCommands",
        "ConfigOptionUpdate.configOptions",
        "DidChangeDocumentNotification.contentChanges",
    }


@cases(L3)
def test_a_required_lenient_array_is_empty_when_malformed(name: str, wire: str, schema: Any) -> None:
    """C-15"""
    instance = example(DEFS[name])
    kind = getattr(v2, name)
    for malformed in (None, 5, {}, "x"):
        value = load(kind, {**instance, wire: malformed})
        assert getattr(value, attribute(wire)) == []
        assert json.loads(encode(value))[wire] == []  # W5
    good = instance[wire][0]
    losses: list[Any] = []
    value = load(kind, {**instance, wire: [5, good, None]}, losses)
    assert getattr(value, attribute(wire)) == getattr(load(kind, instance), attribute(wire))
    assert [path for path, _ in losses] == [(wire, 0), (wire, 2)]


def test_diff_changes_skip_bad_items_and_forgive_nothing_else() -> None:
    """C-16"""
    good = {"operation": "add", "path": "/x"}
    for malformed in (None, {}, 5):
        with pytest.raises(CodecError):
            load(v2.Diff, {"changes": malformed})
    with pytest.raises(CodecError):
        load(v2.Diff, {})
    assert load(v2.Diff, {"changes": [{"operation": "add"}, good, 5]}).changes == [v2.DiffAdd(path="/x")]


@cases("patch", "patch skip")
def test_a_patch_member_tells_omitted_null_and_value_apart(name: str, wire: str, schema: Any) -> None:
    """C-17, C-19"""
    kind = getattr(v2, name)
    instance = example(DEFS[name])
    value = instance.pop(wire)
    omitted = load(kind, instance)
    assert getattr(omitted, attribute(wire)) is UNSET
    assert wire not in json.loads(encode(omitted))
    cleared = load(kind, {**instance, wire: None})
    assert getattr(cleared, attribute(wire)) is None
    assert json.loads(encode(cleared))[wire] is None
    set_ = load(kind, {**instance, wire: value})
    assert getattr(set_, attribute(wire)) not in (UNSET, None)
    assert json.loads(encode(set_))[wire] == value
    if not admits_anything(schema):
        assert getattr(load(kind, {**instance, wire: wrong_for(schema)}), attribute(wire)) is UNSET


@cases("patch skip")
def test_a_patch_array_of_nothing_but_bad_items_clears_and_says_so(name: str, wire: str, schema: Any) -> None:
    """C-18"""
    losses: list[Any] = []
    value = load(getattr(v2, name), {**example(DEFS[name]), wire: [5, {}]}, losses)
    assert getattr(value, attribute(wire)) == []
    assert [path for path, _ in losses] == [(wire, 0), (wire, 1)]
    assert json.loads(encode(value))[wire] == []


@pytest.mark.parametrize("name", [name for name in TYPES if "_meta" in DEFS[name]["properties"]])
def test_meta_that_is_no_object_is_not_there(name: str) -> None:
    """C-20"""
    for malformed in (5, "x", [], True):
        value = load(getattr(v2, name), {**example(DEFS[name]), "_meta": malformed})
        assert value.meta is (UNSET if name in PATCHES else None)


@pytest.mark.parametrize("name", [name for name in TYPES if "_meta" in DEFS[name]["properties"]])
def test_meta_is_carried_untouched(name: str) -> None:
    """C-21"""
    meta = {"a": {"b": [1, None, 1.5, 12345678901234567890123]}, "traceparent": "00-x"}
    value = load(getattr(v2, name), {**example(DEFS[name]), "_meta": meta})
    assert value.meta == meta
    assert json.loads(encode(value))["_meta"] == meta


@pytest.mark.parametrize("malformed", [True, False, "x", [], 1])
def test_a_capability_marker_that_is_no_object_means_unsupported(malformed: Any) -> None:
    """C-22"""
    marked = ["session", "auth", "providers", "nes"]
    value = load(v2.AgentCapabilities, dict.fromkeys(marked, malformed))
    assert value == v2.AgentCapabilities()
    session = load(v2.SessionCapabilities, {"delete": malformed, "fork": {}, "mcp": {"stdio": malformed}})
    assert session.delete is None
    assert session.fork == v2.SessionForkCapabilities()
    assert session.mcp == v2.McpCapabilities()


def test_an_exit_status_can_be_empty_absent_or_null() -> None:
    """C-23"""
    assert load(v2.TerminalUpdate, {"terminalId": "t", "exitStatus": {}}).exit_status == v2.TerminalExitStatus()
    assert load(v2.TerminalUpdate, {"terminalId": "t"}).exit_status is UNSET
    assert load(v2.TerminalUpdate, {"terminalId": "t", "exitStatus": None}).exit_status is None


@pytest.mark.parametrize("name", TYPES)
def test_unknown_members_are_ignored(name: str) -> None:
    """C-37"""
    losses: list[Any] = []
    instance = example(DEFS[name])
    value = load(getattr(v2, name), {"zzz": [1], **instance, "aaa": {"b": None}}, losses)
    assert value == load(getattr(v2, name), instance)
    assert losses == []


def test_an_environment_variable_is_a_secret_and_needed_by_default() -> None:
    """C-44"""
    variable = load(v2.AuthEnvVar, {"name": "TOKEN"})
    assert (variable.secret, variable.optional) == (True, False)
    assert load(v2.AuthEnvVar, {"name": "TOKEN", "secret": "no", "optional": 1}) == variable


def test_what_was_forgiven_inside_something_dropped_is_not_told_twice() -> None:
    """L20"""
    losses: list[Any] = []
    bad = {"type": "select", "configId": "c", "name": "n", "description": 5}  # forgivable, but there is no currentValue
    good = {"type": "boolean", "configId": "d", "name": "n", "description": 5, "currentValue": True}
    load(v2.ConfigOptionUpdate, {"configOptions": [bad, good]}, losses)
    assert losses == [
        (("configOptions", 0), "item dropped: missing (at currentValue)"),
        (("configOptions", 1, "description"), "default used: expected a string or null"),
    ]


def test_what_was_forgiven_in_an_alternative_that_does_not_fit_is_not_told() -> None:
    """L20"""
    losses: list[Any] = []
    load(v2.EmbeddedResource, {"resource": {"uri": "u", "mimeType": 5, "blob": ""}}, losses)
    assert [path for path, _ in losses] == [("resource", "mimeType")]
    form = {"mode": "form", "message": "m", "requestedSchema": {}, "toolCallId": 5, "requestId": 1}
    losses.clear()
    load(v2.CreateElicitationRequest, form, losses)
    assert losses == []
    # The first would do as a plain value, forgiving its description; the second makes groups of both.
    options = [
        {"value": "v", "name": "n", "description": 5, "groupId": "g", "options": []},
        {"groupId": "h", "name": "n", "options": []},
    ]
    select = {"type": "select", "configId": "c", "name": "n", "currentValue": "v", "options": options}
    assert len(load(v2.SessionConfigOption, select, losses).options) == 2
    assert losses == []


def test_losses_are_told_in_the_order_of_the_fields_each_at_its_place() -> None:
    """L20"""
    losses: list[Any] = []
    nes = {"events": {"document": {"didOpen": 5}}, "context": {"recentFiles": {"maxCount": -1}}}
    load(v2.AgentCapabilities, {"nes": nes}, losses)
    assert [path for path, _ in losses] == [
        ("nes", "events", "document", "didOpen"),
        ("nes", "context", "recentFiles", "maxCount"),
    ]
    losses.clear()
    update = {"toolCallId": "t", "locations": [{"path": "/x", "line": -1}, {"line": 5}], "content": 5}
    load(v2.ToolCallUpdate, update, losses)
    assert [path for path, _ in losses] == [("content",), ("locations", 0, "line"), ("locations", 1)]


@pytest.mark.parametrize("given", [{}, {"type": "other"}, {"properties": {}}, {"type": None, "title": 5}])
def test_a_form_always_says_that_it_is_an_object_and_what_its_properties_are(given: Any) -> None:
    """ELI-6. Readers forgive what writers may not leave out."""
    schema = load(v2.ElicitationSchema, given)
    assert schema == v2.ElicitationSchema()
    assert json.loads(encode(schema)) == {"type": "object", "properties": {}}


@pytest.mark.parametrize("properties", [None, [], 5])
def test_properties_that_are_none_are_no_form(properties: Any) -> None:
    """ELI-6"""
    with pytest.raises(CodecError) as caught:
        load(v2.ElicitationSchema, {"properties": properties})
    assert caught.value.path == ("properties",)
