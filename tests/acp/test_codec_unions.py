"""Unions: known tags, unknown tags, no tags (C-03 to C-09, C-28 to C-32, C-40, C-41)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import CodecError
from roost.wire.decode import decode, encode
from roost.wire.model import UNSET, Unknown
from tests.acp.codec import INIT, UNIONS, load
from tests.oracle.acp_reference import DEFS


@pytest.mark.parametrize("name", UNIONS)
@pytest.mark.parametrize("tag", ["_acme/x", "future_x", ""])
def test_an_unknown_tag_keeps_the_whole_payload_in_its_order(name: str, tag: str) -> None:
    """C-03, C-04"""
    field, _, needed = UNIONS[name]
    text = json.dumps({"z": {"y": [1, 1.0, 1e5, None]}, field: tag, **needed, "a": "é\u2028"}, ensure_ascii=False)
    value = decode(getattr(v2, name), text.encode())
    assert isinstance(value, Unknown)
    assert (value.tag_field, value.tag, value.is_custom) == (field, tag, tag.startswith("_"))
    assert encode(value) == text.encode()
    assert list(value.value()) == list(json.loads(text))


def tags_in_schema(schema: Any) -> set[str]:
    return {
        member["const"]
        for option in schema.get("anyOf", ())
        for member in option.get("properties", {}).values()
        if "const" in member
    }


@pytest.mark.parametrize("name", UNIONS)
def test_the_known_tags_are_those_of_the_schema(name: str) -> None:
    _, known, _ = UNIONS[name]
    assert set(known.split()) == tags_in_schema(DEFS[name])


def test_every_tagged_union_of_the_schema_is_here() -> None:
    assert set(UNIONS) == {name for name, schema in DEFS.items() if tags_in_schema(schema)}


# Nothing is required in these.
NEED_NOTHING = {
    ("SessionUpdate", "session_info_update"),
    ("StateUpdate", "running"),
    ("StateUpdate", "idle"),
    ("StateUpdate", "requires_action"),
    ("RequestPermissionOutcome", "cancelled"),
    ("ReplayFrom", "start"),
    ("CreateElicitationResponse", "accept"),
    ("CreateElicitationResponse", "decline"),
    ("CreateElicitationResponse", "cancel"),
    ("ElicitationPropertySchema", "string"),
    ("ElicitationPropertySchema", "number"),
    ("ElicitationPropertySchema", "integer"),
    ("ElicitationPropertySchema", "boolean"),
}
ARMS = [(name, tag) for name, (_, known, _) in UNIONS.items() for tag in known.split()]


@pytest.mark.parametrize(("name", "tag"), ARMS)
def test_a_known_tag_without_its_members_is_an_error_and_never_unknown(name: str, tag: str) -> None:
    """C-05"""
    field, _, needed = UNIONS[name]
    value = {field: tag, **({} if name == "AuthMethod" else needed)}
    if (name, tag) in NEED_NOTHING:
        assert not isinstance(load(getattr(v2, name), value), Unknown)
    else:
        with pytest.raises(CodecError):
            load(getattr(v2, name), value)


@pytest.mark.parametrize("name", UNIONS)
@pytest.mark.parametrize("tag", ["missing", 5, None, ["text"], {"a": 1}])
def test_a_tag_that_is_missing_or_no_string_is_an_error(name: str, tag: Any) -> None:
    """C-06"""
    field, _, needed = UNIONS[name]
    with pytest.raises(CodecError):
        load(getattr(v2, name), needed if tag == "missing" else {field: tag, **needed})


@pytest.mark.parametrize(
    ("name", "value", "missing"),
    [
        ("PlanUpdateContent", {"type": "_x"}, "planId"),  # C-07
        ("AuthMethod", {"type": "_x", "methodId": "m"}, "name"),  # C-08
        ("NesSuggestion", {"kind": "_x"}, "suggestionId"),  # C-09
        ("SessionConfigOption", {"type": "_x", "name": "n"}, "configId"),
        ("SetSessionConfigOptionRequest", {"type": "_x", "sessionId": "s", "configId": "c"}, "value"),
    ],
)
def test_an_unknown_variant_still_needs_its_identifying_members(name: str, value: Any, missing: str) -> None:
    """C-07, C-08, C-09"""
    with pytest.raises(CodecError) as refusal:
        load(getattr(v2, name), value)
    assert refusal.value.path == (missing,)


def test_an_unknown_auth_method_without_a_name_is_dropped_from_the_list() -> None:
    """C-08"""
    losses: list[Any] = []
    response = load(v2.InitializeResponse, {**INIT, "authMethods": [{"type": "_x", "methodId": "m"}]}, losses)
    assert response.auth_methods == []
    assert losses == [(("authMethods", 0), "item dropped: missing (at name)")]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([{"value": "v", "name": "n"}], [v2.SessionConfigSelectOption(value="v", name="n")]),
        (
            [{"groupId": "g", "name": "n", "options": []}],
            [v2.SessionConfigSelectGroup(group_id="g", name="n", options=[])],
        ),
        ([], []),
        ([{"value": "v", "name": "n"}, {"groupId": "g", "name": "n", "options": []}], None),
        ({}, None),
    ],
    ids=["flat", "grouped", "empty", "mixed", "no-array"],
)
def test_select_options_are_flat_or_grouped_and_never_mixed(options: Any, expected: Any) -> None:
    """C-28"""
    option = {"type": "select", "configId": "c", "name": "n", "currentValue": "v", "options": options}
    if expected is None:
        with pytest.raises(CodecError):
            load(v2.SessionConfigOption, option)
    else:
        assert load(v2.SessionConfigOption, option).options == expected


def test_the_three_forms_of_multiple_choice_items() -> None:
    """C-29"""
    field = {"type": "array"}
    titled = {"anyOf": [{"const": "a", "title": "A"}]}
    read = [
        load(v2.ElicitationPropertySchema, {**field, "items": items}).items
        for items in ({"type": "string", "enum": ["a"]}, {"type": "_x", "anyOf": []}, titled)
    ]
    assert read[0] == v2.StringMultiSelectItems(enum=["a"])
    assert isinstance(read[1], Unknown)
    assert read[2] == v2.TitledMultiSelectItems(any_of=[v2.EnumOption(const="a", title="A")])
    assert json.loads(encode(read[2])) == titled


def test_a_resource_with_text_and_blob_is_text() -> None:
    """C-30"""
    resource = {"uri": "u", "text": "t", "blob": "YQ=="}
    block = load(v2.ContentBlock, {"type": "resource", "resource": resource})
    assert block == v2.EmbeddedResource(resource=v2.TextResourceContents(uri="u", text="t"))
    blob = load(v2.ContentBlock, {"type": "resource", "resource": {"uri": "u", "blob": "YQ=="}})
    assert blob.resource == v2.BlobResourceContents(uri="u", blob="YQ==")


@pytest.mark.parametrize("content", [3, 3.5, True, ["a"], "s", 2**63 - 1, [], 2**53 + 1])
def test_an_elicitation_value_keeps_its_json_type(content: Any) -> None:
    """C-31"""
    answer = load(v2.CreateElicitationResponse, {"action": "accept", "content": {"k": content}})
    assert answer.content == {"k": content}
    assert type(answer.content["k"]) is type(content)
    assert json.loads(encode(answer)) == {"action": "accept", "content": {"k": content}}


@pytest.mark.parametrize("content", [[1], {}, None, ["a", None]])
def test_an_elicitation_value_of_another_type_is_an_error(content: Any) -> None:
    """C-31"""
    with pytest.raises(CodecError) as refusal:
        load(v2.CreateElicitationResponse, {"action": "accept", "content": {"k": content}})
    assert refusal.value.path == ("content", "k")


def test_an_elicitation_value_beyond_int64_is_a_double() -> None:
    """C-31: the integer alternative refuses it, the next one does not."""
    answer = load(v2.CreateElicitationResponse, {"action": "accept", "content": {"k": 2**63}})
    assert type(answer.content["k"]) is float


FORM = {"mode": "form", "message": "m", "requestedSchema": {}}


def test_an_elicitation_belongs_to_a_session_or_to_a_request() -> None:
    """C-32"""
    session = load(v2.CreateElicitationRequest, {**FORM, "sessionId": "s", "toolCallId": "t"})
    assert (session.session_id, session.tool_call_id, session.request_id) == ("s", "t", UNSET)
    request = load(v2.CreateElicitationRequest, {**FORM, "requestId": 5})
    assert (request.session_id, request.request_id) == (UNSET, 5)
    null = load(v2.CreateElicitationRequest, {**FORM, "requestId": None})
    assert null.request_id is None
    assert json.loads(encode(null))["requestId"] is None
    both = load(v2.CreateElicitationRequest, {**FORM, "sessionId": "s", "requestId": 5})
    assert (both.session_id, both.request_id) == ("s", UNSET)
    with pytest.raises(CodecError):
        load(v2.CreateElicitationRequest, FORM)
    other = load(v2.CreateElicitationRequest, {"mode": "_x", "message": "m", "requestId": 1})
    assert isinstance(other, Unknown)
    with pytest.raises(CodecError):
        load(v2.CreateElicitationRequest, {"mode": "_x", "message": "m"})


@pytest.mark.parametrize(
    "scope",
    [{}, {"session_id": "s", "request_id": 1}, {"request_id": 1, "tool_call_id": "t"}],
    ids=["none", "both", "mixed"],
)
def test_an_elicitation_cannot_be_built_without_exactly_one_scope(scope: dict[str, Any]) -> None:
    """C-32"""
    with pytest.raises(ValueError, match="exactly one of"):
        v2.CreateUrlElicitationRequest(message="m", elicitation_id="e", url="https://x", **scope)


@pytest.mark.parametrize("tag", ["notice", "compaction_update", "compaction_summary_chunk"])
def test_updates_of_a_later_draft_are_kept(tag: str) -> None:
    """C-40"""
    update = load(v2.UpdateSessionNotification, {"sessionId": "s", "update": {"sessionUpdate": tag, "x": 1}}).update
    assert isinstance(update, Unknown)
    assert (update.tag, update.is_custom) == (tag, False)


@pytest.mark.parametrize("tag", ["plan", "tool_call", "current_mode_update"])
def test_updates_of_v1_are_kept_as_unknown(tag: str) -> None:
    """C-41: what to say about them is for whoever shows or relays them."""
    update = load(v2.SessionUpdate, {"sessionUpdate": tag, "entries": []})
    assert isinstance(update, Unknown)


@pytest.mark.parametrize("name", ["ReplayFrom", "AvailableCommandInput"])
def test_a_union_with_one_known_arm_insists_on_its_tag_all_the_same(name: str) -> None:
    """C-06: msgspec alone would take an untagged object for the only arm there is."""
    with pytest.raises(CodecError):
        load(getattr(v2, name), {"hint": "h"})
    empty = load(getattr(v2, name), {"type": "", "never": 0})
    assert isinstance(empty, Unknown)
    assert empty.tag == ""


def test_a_state_is_written_with_both_of_its_tags() -> None:
    """W3"""
    notification = v2.UpdateSessionNotification(session_id="s", update=v2.IdleStateUpdate(stop_reason="refusal"))
    written = json.loads(encode(notification))["update"]
    assert written == {"sessionUpdate": "state_update", "state": "idle", "stopReason": "refusal"}


def test_the_constant_tag_of_a_state_alone_is_not_read() -> None:
    """The definition IdleStateUpdate has no member `state`; whatever is there is an unknown member."""
    losses: list[Any] = []
    assert load(v2.IdleStateUpdate, {"state": "running"}, losses) == v2.IdleStateUpdate()
    assert losses == []


def test_a_tool_call_is_tagged_as_an_update_and_untagged_inside_a_permission() -> None:
    """W3"""
    arm = v2.SessionToolCallUpdate(tool_call_id="t")
    assert isinstance(arm, v2.ToolCallUpdate)
    assert json.loads(encode(arm)) == {"sessionUpdate": "tool_call_update", "toolCallId": "t"}
    subject = v2.ToolCallPermissionSubject(tool_call=v2.ToolCallUpdate(tool_call_id="t"))
    assert json.loads(encode(subject)) == {"type": "tool_call", "toolCall": {"toolCallId": "t"}}
