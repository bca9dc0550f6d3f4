"""Documents as a client shares them (NES-2, NES-3)."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.acp import v2
from roost.errors import LimitError, LocalProtocolError
from roost.sdk.client_limits import ClientLimits
from roost.sdk.documents import OpenDocument
from roost.sdk.text_document import TextDocument
from roost.wire.decode import convert
from tests.sdk.nes_session import URI, position, started, with_document
from tests.sdk.raw_agent import ALL, bounded, connected, settled


def capabilities(sync: Any = "incremental", events: Any = None, **more: Any) -> dict[str, Any]:
    changed = copy.deepcopy(ALL)
    changed["nes"]["events"]["document"]["didChange"] = {"syncKind": sync}
    if events is not None:
        changed["nes"]["events"] = events
    return changed | more


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

    id = "n1"

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
