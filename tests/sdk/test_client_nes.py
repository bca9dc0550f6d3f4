"""Documents and edit suggestions as a client shares and asks for them (NES-1 to NES-10)."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.acp import v2
from roost.errors import CapabilityError, LimitError, LocalProtocolError, RemoteProtocolError, RpcError
from roost.sdk.client import Client
from roost.sdk.client_limits import ClientLimits
from roost.sdk.documents import OpenDocument
from roost.sdk.nes import NesSession
from roost.sdk.text_document import TextDocument
from roost.wire.decode import convert
from tests.sdk.raw_agent import ALL, RawAgent, bounded, connected, settled

URI = "file:///project/a.py"
EVERYTHING = v2.ClientNesCapabilities(
    jump=v2.NesJumpCapabilities(),
    rename=v2.NesRenameCapabilities(),
    search_and_replace=v2.NesSearchAndReplaceCapabilities(),
)


def capabilities(sync: Any = "incremental", events: Any = None, **more: Any) -> dict[str, Any]:
    changed = copy.deepcopy(ALL)
    changed["nes"]["events"]["document"]["didChange"] = {"syncKind": sync}
    if events is not None:
        changed["nes"]["events"] = events
    return changed | more


async def started(client: Client, agent: RawAgent, session_id: str = "n1") -> NesSession:
    starting = asyncio.ensure_future(client.start_nes())
    agent.reply(await agent.next("nes/start"), {"sessionId": session_id})
    nes: NesSession = await bounded(starting)
    return nes


async def with_document(client: Client, agent: RawAgent, text: str = "one\ntwo\n") -> tuple[NesSession, OpenDocument]:
    nes = await started(client, agent)
    document = nes.open_document(URI, "python", text)
    await agent.next("document/didOpen")
    return nes, document


def position(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


# --- documents ---


async def test_nes_2_a_document_is_told_of_from_opening_to_closing() -> None:
    async with connected() as (client, agent):
        nes = await started(client, agent)
        document = nes.open_document(URI, "python", "one\ntwo\n")
        assert (await agent.next("document/didOpen"))["params"] == {
            "sessionId": "n1",
            "uri": URI,
            "languageId": "python",
            "version": 1,
            "text": "one\ntwo\n",
        }
        document.replace(4, 7, "2")
        assert (await agent.next("document/didChange"))["params"] == {
            "sessionId": "n1",
            "uri": URI,
            "version": 2,
            "contentChanges": [{"range": {"start": position(1, 0), "end": position(1, 3)}, "text": "2"}],
        }
        document.set_text("new")
        assert (await agent.next("document/didChange"))["params"]["contentChanges"] == [{"text": "new"}]
        document.focus(1, visible=(0, 2))
        assert (await agent.next("document/didFocus"))["params"] == {
            "sessionId": "n1",
            "uri": URI,
            "version": 3,
            "position": position(0, 1),
            "visibleRange": {"start": position(0, 0), "end": position(0, 2)},
        }
        document.save()
        assert (await agent.next("document/didSave"))["params"] == {"sessionId": "n1", "uri": URI}
        document.close()
        document.close()
        assert (await agent.next("document/didClose"))["params"] == {"sessionId": "n1", "uri": URI}
        assert (document.text, document.version, nes.documents) == ("new", 3, {})
        for use in (document.save, lambda: document.set_text("x"), lambda: document.focus(0)):
            with pytest.raises(LocalProtocolError):
                use()
        await settled(client, agent)
        assert not agent.untaken


async def test_nes_3_a_full_sync_sends_the_whole_text_once() -> None:
    async with connected(capabilities("full")) as (client, agent):
        _, document = await with_document(client, agent)
        document.edit([(0, 3, "1"), (0, 0, "# ")])
        assert (await agent.next("document/didChange"))["params"]["contentChanges"] == [{"text": "# 1\ntwo\n"}]


async def test_nes_2_events_the_agent_does_not_want_are_not_sent_and_the_text_is_kept() -> None:
    for events in ({}, {"document": {}}, {"document": {"didChange": {"syncKind": "delta"}, "didOpen": True}}):
        async with connected(capabilities(events=events)) as (client, agent):
            nes = await started(client, agent)
            document = nes.open_document(URI, "python", "one")
            document.replace(0, 1, "O")
            document.focus(0)
            document.save()
            document.close()
            assert document.text == "One"
            await settled(client, agent)
            assert not agent.untaken


@pytest.mark.parametrize(
    ("encoding", "start", "end"),
    [("utf-8", 6, 10), ("utf-16", 4, 6), ("utf-32", 4, 5), (None, 4, 6)],
)
async def test_o_18_positions_are_counted_as_the_agent_chose(encoding: Any, start: int, end: int) -> None:
    chosen = {} if encoding is None else {"positionEncoding": encoding}
    offered: Any = ["utf-8", "utf-32", "utf-16"]
    async with connected(capabilities(**chosen), position_encodings=offered) as (client, agent):
        _, document = await with_document(client, agent, "x\n\u00e4b\u00e4:\U0001f600!\n")
        document.replace(6, 7, "?")
        (change,) = (await agent.next("document/didChange"))["params"]["contentChanges"]
        assert change == {"range": {"start": position(1, start), "end": position(1, end)}, "text": "?"}
        assert document.offset(v2.Position(line=1, character=start)) == 6


async def test_o_19_an_encoding_that_was_not_offered_is_not_used() -> None:
    offered: Any = ["utf-32"]
    async with connected(capabilities(positionEncoding="utf-8"), position_encodings=offered) as (client, agent):
        nes = await started(client, agent)
        assert nes.position_encoding == "utf-16"
    async with connected(capabilities(positionEncoding="utf-32"), position_encodings=offered) as (client, agent):
        assert (await started(client, agent)).position_encoding == "utf-32"


edits = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 4), st.text(alphabet="ab\n\r\u00e4\U0001f600", max_size=3)), max_size=5
)


class Sink:
    """Stands for a session: takes what a document tells."""

    session_id = "n1"

    def __init__(self, encoding: Any) -> None:
        self.position_encoding = encoding
        change = v2.NesDocumentDidChangeCapabilities(sync_kind="incremental")
        self.events = v2.NesDocumentEventCapabilities(did_change=change)
        self.told: list[Any] = []

    def account(self, document: object, size: int) -> None: ...

    def tell(self, notification: Any) -> None:
        self.told.append(convert(type(notification), notification))


@given(st.text(alphabet="ab\n\r\u00e4\U0001f600", max_size=12), edits, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_o_17_what_is_sent_makes_the_other_side_the_same_text(
    text: str, changes: list[tuple[int, int, str]], encoding: str
) -> None:
    sink = Sink(encoding)
    document = OpenDocument(sink, URI, "python", text, 1)  # type: ignore[arg-type]
    theirs = TextDocument(URI, "python", 1, text, encoding)
    for start, length, replacement in changes:
        start = min(start, len(document.text))
        end = min(start + length, len(document.text))
        expected = document.text[:start] + replacement + document.text[end:]
        document.replace(start, end, replacement)
        assert document.text == expected
    for notification in sink.told:
        theirs.edit(notification.version, notification.content_changes)
    assert (theirs.text, theirs.version) == (document.text, document.version)


async def test_a_place_inside_a_line_end_is_sent_as_the_one_before_it() -> None:
    async with connected() as (client, agent):
        _, document = await with_document(client, agent, "a\r\nb")
        document.replace(2, 3, "")
        (change,) = (await agent.next("document/didChange"))["params"]["contentChanges"]
        assert change == {"range": {"start": position(0, 1), "end": position(1, 0)}, "text": "\r"}
        assert document.text == "a\rb"


async def test_edits_outside_the_text_change_nothing() -> None:
    async with connected() as (client, agent):
        _, document = await with_document(client, agent, "abc")
        for edit in ((0, 4, ""), (2, 1, ""), (-1, 0, "")):
            with pytest.raises(LocalProtocolError):
                document.edit([(0, 1, "x"), edit])
        document.edit([])
        assert (document.text, document.version) == ("abc", 1)
        await settled(client, agent)
        assert not agent.untaken


async def test_a_document_is_open_once_and_all_of_them_are_bounded() -> None:
    async with connected(limits=ClientLimits(document_chars=10)) as (client, agent):
        nes = await started(client, agent)
        first = nes.open_document(URI, "python", "12345")
        with pytest.raises(LocalProtocolError):
            nes.open_document(URI, "python", "")
        with pytest.raises(LimitError):
            nes.open_document("file:///b", "python", "123456")
        with pytest.raises(LimitError):
            first.set_text("x" * 11)
        assert first.text == "12345"
        first.close()
        nes.open_document("file:///b", "python", "1234567890")
        await settled(client, agent)


# --- suggestions ---


def edit(suggestion_id: str = "e1", **more: Any) -> dict[str, Any]:
    change = {"range": {"start": position(0, 0), "end": position(0, 3)}, "newText": "1"}
    return {"kind": "edit", "suggestionId": suggestion_id, "uri": URI, "edits": [change], **more}


async def test_o_16_without_the_capability_nothing_is_started() -> None:
    async with connected({"session": {}}) as (client, _):
        with pytest.raises(CapabilityError):
            await client.start_nes()


async def test_a_suggestion_is_asked_for_applied_and_accepted() -> None:
    async with connected() as (client, agent):
        nes, document = await with_document(client, agent)
        asking = asyncio.ensure_future(nes.suggest(document, 4, selection=(0, 3), trigger="manual", meta={"k": 1}))
        request = await agent.next("nes/suggest")
        assert request["params"] == {
            "sessionId": "n1",
            "uri": URI,
            "version": 1,
            "position": position(1, 0),
            "selection": {"start": position(0, 0), "end": position(0, 3)},
            "triggerKind": "manual",
            "_meta": {"k": 1},
        }
        agent.reply(request, {"suggestions": [edit()]})
        (suggestion,) = await bounded(asking)
        document.apply(suggestion)
        assert document.text == "1\ntwo\n"
        await agent.next("document/didChange")
        nes.accept(suggestion)
        assert (await agent.next("nes/accept"))["params"] == {"sessionId": "n1", "suggestionId": "e1"}
        nes.reject(suggestion, "replaced")
        params = {"sessionId": "n1", "suggestionId": "e1", "reason": "replaced"}
        assert (await agent.next("nes/reject"))["params"] == params


async def test_o_22_a_newer_question_takes_the_older_one_back() -> None:
    async with connected() as (client, agent):
        nes, document = await with_document(client, agent)
        first = asyncio.ensure_future(nes.suggest(document, 0))
        old = await agent.next("nes/suggest")
        second = asyncio.ensure_future(nes.suggest(document, 1))
        withdrawn, new = await agent.next(), await agent.next()
        if withdrawn["method"] != "$/cancel_request":
            withdrawn, new = new, withdrawn
        assert withdrawn["params"] == {"requestId": old["id"]}
        agent.reply(old, {"suggestions": [edit("old")]})
        agent.reply(new, {"suggestions": [edit("new")]})
        assert await bounded(first) is None
        assert [suggestion.suggestion_id for suggestion in await bounded(second)] == ["new"]


async def test_nes_6_suggestions_for_a_text_that_has_changed_are_dropped() -> None:
    async with connected() as (client, agent):
        nes, document = await with_document(client, agent)
        for change in (lambda: document.replace(0, 1, "O"), document.close):
            asking = asyncio.ensure_future(nes.suggest(document, 0))
            request = await agent.next("nes/suggest")
            change()
            await agent.next()
            agent.reply(request, {"suggestions": [edit()]})
            assert await bounded(asking) is None


async def test_cancelling_the_wait_takes_the_question_back() -> None:
    async with connected() as (client, agent):
        nes, document = await with_document(client, agent)
        asking = asyncio.ensure_future(nes.suggest(document, 0))
        request = await agent.next("nes/suggest")
        asking.cancel()
        assert (await agent.next("$/cancel_request"))["params"] == {"requestId": request["id"]}


async def test_a_question_the_agent_gives_up_has_no_answer_and_one_it_refuses_raises() -> None:
    async with connected() as (client, agent):
        nes, document = await with_document(client, agent)
        asking = asyncio.ensure_future(nes.suggest(document, 0))
        agent.refuse(await agent.next("nes/suggest"), -32800)
        assert await bounded(asking) is None
        asking = asyncio.ensure_future(nes.suggest(document, 0))
        agent.refuse(await agent.next("nes/suggest"), -32603)
        with pytest.raises(RpcError):
            await bounded(asking)


JUMP = {"kind": "jump", "suggestionId": "j", "uri": URI, "position": position(0, 0)}
RENAME = {"kind": "rename", "suggestionId": "r", "uri": URI, "position": position(0, 0), "newName": "x"}
REPLACE = {"kind": "searchAndReplace", "suggestionId": "s", "uri": URI, "search": "a", "replace": "b"}
CUSTOM = {"kind": "_magic", "suggestionId": "c", "spell": 1}
FUTURE = {"kind": "delete", "suggestionId": "f"}


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (None, ["e1", "c"]),
        (EVERYTHING, ["e1", "j", "r", "s", "c"]),
        (v2.ClientNesCapabilities(rename=v2.NesRenameCapabilities()), ["e1", "r", "c"]),
    ],
)
async def test_o_20_o_21_only_what_can_be_taken_is_given(offered: Any, expected: list[str]) -> None:
    from roost.sdk.nes import suggestion_id_of

    async with connected(nes=offered) as (client, agent):
        nes, document = await with_document(client, agent)
        asking = asyncio.ensure_future(nes.suggest(document, 0))
        given_ones = [edit(), JUMP, RENAME, REPLACE, CUSTOM, FUTURE, edit("empty", edits=[])]
        agent.reply(await agent.next("nes/suggest"), {"suggestions": given_ones})
        suggestions = await bounded(asking)
        assert [suggestion_id_of(suggestion) for suggestion in suggestions] == expected
        nes.accept(suggestions[-1])
        assert (await agent.next("nes/accept"))["params"]["suggestionId"] == "c"


async def test_nes_5_one_malformed_suggestion_fails_the_answer() -> None:
    async with connected() as (client, agent):
        nes, document = await with_document(client, agent)
        for bad in ({"kind": "edit", "suggestionId": "x", "uri": URI}, {"kind": "_magic"}):
            asking = asyncio.ensure_future(nes.suggest(document, 0))
            agent.reply(await agent.next("nes/suggest"), {"suggestions": [edit(), bad]})
            with pytest.raises(RemoteProtocolError):
                await bounded(asking)


async def test_context_the_agent_did_not_ask_for_is_not_sent() -> None:
    files = [v2.NesRecentFile(uri=f"file:///{n}", language_id="p", text="") for n in range(3)]
    context = v2.NesSuggestContext(
        recent_files=files,
        open_files=[v2.NesOpenFile(uri=URI, language_id="p")],
        diagnostics=[],
        meta={"k": 1},
    )
    async with connected() as (client, agent):
        nes, document = await with_document(client, agent)
        asking = asyncio.ensure_future(nes.suggest(document, 0, context=context))
        request = await agent.next("nes/suggest")
        sent = request["params"]["context"]
        assert [file["uri"] for file in sent.pop("recentFiles")] == ["file:///1", "file:///2"]
        assert sent == {"diagnostics": [], "_meta": {"k": 1}}
        agent.reply(request, {"suggestions": []})
        assert await bounded(asking) == []


async def test_edits_refer_to_the_text_as_it_is_and_may_not_overlap() -> None:
    async with connected() as (client, agent):
        _, document = await with_document(client, agent, "one two three")

        def made(*edits: tuple[int, int, str]) -> v2.NesEditSuggestion:
            changes = [v2.NesTextEdit(range=document.range(start, end), new_text=text) for start, end, text in edits]
            return v2.NesEditSuggestion(suggestion_id="x", uri=URI, edits=changes)

        document.apply(made((0, 3, "1"), (8, 13, "3"), (4, 7, "2")))
        assert document.text == "1 2 3"
        for overlapping in (
            made((0, 3, "a"), (2, 4, "b")),
            v2.NesEditSuggestion(suggestion_id="x", uri="file:///b", edits=[]),
        ):
            with pytest.raises(LocalProtocolError):
                document.apply(overlapping)
        assert document.text == "1 2 3"


async def test_nes_8_closing_is_once_and_nothing_is_told_after_it() -> None:
    async with connected() as (client, agent):
        nes, document = await with_document(client, agent)
        asking = asyncio.ensure_future(nes.suggest(document, 0))
        await agent.next("nes/suggest")
        closing = asyncio.ensure_future(nes.close())
        methods = [await agent.next(), await agent.next()]
        request = next(m for m in methods if m["method"] == "nes/close")
        assert request["params"] == {"sessionId": "n1"}
        agent.reply(request)
        await bounded(closing)
        assert await bounded(asking) is None
        await nes.close()
        document.replace(0, 1, "x")
        with pytest.raises(LocalProtocolError):
            await nes.suggest(document, 0)
        with pytest.raises(LocalProtocolError):
            nes.open_document("file:///b", "p", "")
        await settled(client, agent)
        assert not agent.untaken


async def test_nes_1_suggestion_sessions_have_ids_of_their_own() -> None:
    async with connected() as (client, agent):
        await started(client, agent, "s1")
        await started(client, agent, "n2")
        again = asyncio.ensure_future(client.start_nes())
        agent.reply(await agent.next("nes/start"), {"sessionId": "n2"})
        with pytest.raises(RemoteProtocolError):
            await bounded(again)
