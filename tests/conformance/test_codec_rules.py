"""The rules about variants, enums and unions, each over everything in the schema it is about."""

from __future__ import annotations

import json
from typing import Any, Literal, get_args, get_origin

import pytest

from roost.acp import v2
from roost.errors import CodecError
from roost.wire.decode import decode, encode
from roost.wire.model import Unknown
from tests.acp.codec import UNIONS, load
from tests.oracle.acp_instances import example
from tests.oracle.acp_reference import DEFS

UNION_IDS = list(UNIONS)


def tagged(name: str, tag: Any) -> dict[str, Any]:
    tag_field, _, needs = UNIONS[name]
    return {tag_field: tag, **needs}


@pytest.mark.parametrize("name", UNION_IDS)
def test_an_unknown_variant_is_kept_whole_and_written_back_as_it_was_fwd_2(name: str) -> None:
    value = {"zz": [1, {"b": None, "a": 1.5}], **tagged(name, "_acme/x"), "aa": "\u00fc"}
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    kept = decode(getattr(v2, name), text)
    assert isinstance(kept, Unknown)
    assert kept.is_custom
    assert encode(kept) == text


@pytest.mark.parametrize("name", UNION_IDS)
def test_a_known_tag_with_a_bad_body_is_no_unknown_variant_fwd_3(name: str) -> None:
    tag_field, known, _ = UNIONS[name]
    for tag in known.split():
        bare = {tag_field: tag}
        try:
            value = load(getattr(v2, name), bare)
        except CodecError:
            continue
        assert not isinstance(value, Unknown), tag  # it needs nothing but its tag


@pytest.mark.parametrize("name", [name for name in UNION_IDS if name != "MultiSelectItems"])
@pytest.mark.parametrize("tag", [None, 5, True, [], {}])
def test_a_tag_that_is_no_string_or_missing_is_an_error_fwd_4(name: str, tag: Any) -> None:
    value = tagged(name, tag)
    with pytest.raises(CodecError):
        load(getattr(v2, name), value)
    del value[UNIONS[name][0]]
    with pytest.raises(CodecError):
        load(getattr(v2, name), value)


@pytest.mark.parametrize(
    ("name", "member"), [(name, member) for name, (_, _, needs) in UNIONS.items() for member in needs if needs[member]]
)
def test_some_unknown_variants_need_members_too_fwd_5(name: str, member: str) -> None:
    value = tagged(name, "_acme/x")
    assert isinstance(load(getattr(v2, name), value), Unknown)
    del value[member]
    with pytest.raises(CodecError) as refusal:
        load(getattr(v2, name), value)
    if member != "sessionId":  # either scope would do there, and neither is named
        assert refusal.value.path == (member,)


def test_unions_without_tags_are_tried_in_the_order_of_the_schema_fwd_6() -> None:
    both = {"uri": "file:///x", "text": "t", "blob": "QQ=="}
    assert isinstance(load(v2.EmbeddedResource, {"resource": both}).resource, v2.TextResourceContents)
    blob = load(v2.EmbeddedResource, {"resource": {"uri": "file:///x", "blob": "QQ=="}}).resource
    assert isinstance(blob, v2.BlobResourceContents)
    titled = load(v2.MultiSelectItems, {"anyOf": [{"const": "a", "title": "A"}]})
    assert isinstance(titled, v2.TitledMultiSelectItems)
    assert isinstance(load(v2.MultiSelectItems, {"type": "string", "enum": ["a"]}), v2.StringMultiSelectItems)
    content = load(
        v2.CreateElicitationResponse, {"action": "accept", "content": {"a": 1, "b": 1.5, "c": ["x"]}}
    ).content
    assert [type(content[key]) for key in "abc"] == [int, float, list]


SELECT = {"type": "select", "configId": "c", "name": "n", "currentValue": "v"}
CHOICE = {"value": "v", "name": "n"}


def test_choices_are_grouped_by_their_group_id_and_none_are_ungrouped_cfg_10() -> None:
    def options(*listed: Any) -> list[Any]:
        return load(v2.SessionConfigOption, {**SELECT, "options": list(listed)}).options  # type: ignore[no-any-return]

    group = {"groupId": "g", "name": "G", "options": [CHOICE]}
    assert options() == []
    assert [type(option) for option in options(CHOICE)] == [v2.SessionConfigSelectOption]
    assert [type(option) for option in options(group)] == [v2.SessionConfigSelectGroup]
    with pytest.raises(CodecError):
        options(CHOICE, group)


CLOSED = ("TextDocumentSyncKind", "PositionEncodingKind", "ElicitationSchemaType")


@pytest.mark.parametrize("name", CLOSED)
def test_a_closed_enum_refuses_what_it_does_not_know_fwd_1(name: str) -> None:
    kind = getattr(v2, name)
    assert get_origin(kind) is Literal
    for value in get_args(kind):
        assert load(kind, value) == value
    for value in ("other", "_acme/x"):
        with pytest.raises(CodecError):
            load(kind, value)


# enum, where a value of it stands: type, the rest of the object, path to it
OPEN = [
    ("StopReason", v2.IdleStateUpdate, {"state": "idle"}, "stopReason"),
    ("ToolKind", v2.ToolCallUpdate, {"toolCallId": "t"}, "kind"),
    ("ToolCallStatus", v2.ToolCallUpdate, {"toolCallId": "t"}, "status"),
    ("PlanEntryStatus", v2.PlanEntry, {"content": "c", "priority": "high"}, "status"),
    ("PlanEntryPriority", v2.PlanEntry, {"content": "c", "status": "pending"}, "priority"),
    ("PermissionOptionKind", v2.PermissionOption, {"optionId": "o", "name": "n"}, "kind"),
    ("DiffPatchFormat", v2.DiffPatch, {"text": ""}, "format"),
    ("DiffFileType", v2.DiffAdd, {"operation": "add", "path": "/x"}, "fileType"),
]


@pytest.mark.parametrize(("enum", "kind", "rest", "member"), OPEN, ids=[row[0] for row in OPEN])
def test_an_open_enum_keeps_what_it_does_not_know_fwd_1(enum: str, kind: Any, rest: Any, member: str) -> None:
    assert not hasattr(getattr(v2, enum), "__origin__")
    for value in ("_acme/x", "future"):
        losses: list[Any] = []
        read = load(kind, {**rest, member: value}, losses)
        assert losses == []
        assert json.loads(encode(read))[member] == value


def test_members_nobody_knows_are_ignored_and_are_still_in_the_bytes_that_are_passed_on_fwd_10() -> None:
    from roost.rpc.messages import peek

    params = b'{"sessionId":"s","update":{"sessionUpdate":"_x","own":1},"extra":[1]}'
    envelope = peek(b'{"jsonrpc":"2.0","method":"session/update","params":%b,"more":true}' % params)
    assert bytes(envelope.params) == params  # type: ignore[arg-type]
    assert decode(v2.UpdateSessionNotification, params).session_id == "s"


EVENTS = ["didOpen", "didChange", "didClose", "didSave", "didFocus"]


def test_the_names_of_suggestions_and_document_events_are_camel_case_as_in_the_schema_nes_9() -> None:
    value = load(v2.NesSuggestion, {**example(DEFS["NesSearchAndReplaceSuggestion"]), "kind": "searchAndReplace"})
    assert isinstance(value, v2.NesSearchAndReplaceSuggestion)
    assert json.loads(encode(value))["kind"] == "searchAndReplace"
    assert isinstance(
        load(v2.NesSuggestion, {**tagged("NesSuggestion", "search_and_replace")}), Unknown
    )  # another kind, not another spelling
    events = load(v2.NesDocumentEventCapabilities, {event: {} for event in EVENTS})
    assert events.did_open is not None
    methods = [name for name in v2.NOTIFICATIONS if name.startswith("document/")]
    assert sorted(methods) == [f"document/{event}" for event in sorted(EVENTS)]
