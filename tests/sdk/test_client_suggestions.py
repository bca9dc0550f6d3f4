"""Edit suggestions as a client asks for them (NES-1 to NES-10)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import CapabilityError, LocalProtocolError, RemoteProtocolError, RpcError
from tests.sdk.nes_session import URI, position, started, with_document
from tests.sdk.raw_agent import bounded, connected, settled

EVERYTHING = v2.ClientNesCapabilities(
    jump=v2.NesJumpCapabilities(),
    rename=v2.NesRenameCapabilities(),
    search_and_replace=v2.NesSearchAndReplaceCapabilities(),
)


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
