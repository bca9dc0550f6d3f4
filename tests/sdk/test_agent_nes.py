"""NES-1 to NES-10: next-edit suggestions, and documents kept in step."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.sdk.agent import Agent
from roost.sdk.agent_nes import AgentNesSession, SuggestCall
from roost.sdk.limits import AgentLimits
from roost.sdk.text_document import TextDocument

from .raw_client import Json, RawClient, connect, started
from .steps import agent_of, echo

ALL_KINDS = {"nes": {"jump": {}, "rename": {}, "searchAndReplace": {}}}


def nes_agent(suggest: Any, **more: Any) -> Agent:
    agent = Agent("nes", "1", **more)
    agent.suggest(focus=True, save=True)(suggest)

    @agent.extension("_settle/ping")
    def ping(params: Any, link: Any) -> None: ...

    return agent


async def nothing(call: SuggestCall) -> list[Any]:
    return []


async def start(client: RawClient) -> str:
    return (await client.call("nes/start", {}))["sessionId"]  # type: ignore[no-any-return]


def opened(session: str, text: str, uri: str = "file:///a", version: int = 1) -> Json:
    return {"sessionId": session, "uri": uri, "languageId": "py", "version": version, "text": text}


def at(line: int, character: int) -> Json:
    return {"line": line, "character": character}


def suggest_params(session: str, position: Json | None = None, **more: Any) -> Json:
    return {
        "sessionId": session,
        "uri": "file:///a",
        "version": 1,
        "position": position or at(0, 0),
        "triggerKind": "manual",
        **more,
    }


async def test_sessions_of_suggestions_have_ids_of_their_own_nes_1_nes_8() -> None:
    client = await started(nes_agent(nothing, limits=AgentLimits(nes_sessions=2)))
    one, two = await start(client), await start(client)
    assert one != two
    assert (await client.error("nes/start", {}))["code"] == -32005
    assert await client.call("nes/suggest", suggest_params(one)) == {"suggestions": []}
    assert await client.call("nes/close", {"sessionId": one}) == {}
    assert (await client.error("nes/close", {"sessionId": one}))["code"] == -32002
    assert (await client.error("nes/suggest", suggest_params(one)))["code"] == -32002
    assert (await client.error("session/prompt", {"sessionId": two, "prompt": []}))["code"] == -32601


async def test_a_login_may_be_needed_nes_1() -> None:
    agent = nes_agent(nothing, login_required=True)

    @agent.login("a", "A")
    async def login(call: Any) -> None: ...

    client = await started(agent)
    assert (await client.error("nes/start", {}))["code"] == -32000


async def test_suggestions_are_made_from_the_document_and_the_cursor_nes_5() -> None:
    async def suggest(call: SuggestCall) -> list[Any]:
        assert call.document is not None
        assert call.offset is not None
        return [call.edit(call.offset, call.offset + 3, "new")]

    client = await started(nes_agent(suggest))
    session = await start(client)
    client.notify("document/didOpen", opened(session, "a\nold b"))
    result = await client.call("nes/suggest", suggest_params(session, at(1, 0)))
    assert result["suggestions"] == [
        {
            "kind": "edit",
            "suggestionId": "sug-1",
            "uri": "file:///a",
            "edits": [{"range": {"start": at(1, 0), "end": at(1, 3)}, "newText": "new"}],
        }
    ]


@pytest.mark.parametrize(
    ("capabilities", "kinds"),
    [
        (None, ["edit", "_own"]),
        ({"nes": {"jump": {}}}, ["edit", "jump", "_own"]),
        ({"nes": {"rename": True}}, ["edit", "_own"]),
        (ALL_KINDS, ["edit", "jump", "rename", "searchAndReplace", "_own"]),
    ],
)
async def test_o_20_a_client_is_sent_what_it_can_carry_out_nes_5(capabilities: Any, kinds: list[str]) -> None:
    zero = v2.Position(line=0, character=0)

    async def suggest(call: SuggestCall) -> list[Any]:
        edit = v2.NesTextEdit(range=v2.Range(start=zero, end=zero), new_text="x")
        return [
            v2.NesEditSuggestion(suggestion_id="1", uri="u", edits=[edit]),
            v2.NesJumpSuggestion(suggestion_id="2", uri="u", position=zero),
            v2.NesRenameSuggestion(suggestion_id="3", uri="u", position=zero, new_name="n"),
            v2.NesSearchAndReplaceSuggestion(suggestion_id="4", uri="u", search="a", replace="b"),
            v2.Unknown.of({"kind": "_own", "suggestionId": "5"}, "kind"),
        ]

    client = await started(nes_agent(suggest), capabilities=capabilities)
    result = await client.call("nes/suggest", suggest_params(await start(client)))
    assert [s["kind"] for s in result["suggestions"]] == kinds


async def test_o_21_an_edit_without_edits_is_never_sent_nes_5() -> None:
    async def suggest(call: SuggestCall) -> list[Any]:
        return [v2.NesEditSuggestion(suggestion_id="1", uri="u", edits=[])]

    client = await started(nes_agent(suggest))
    assert (await client.error("nes/suggest", suggest_params(await start(client))))["code"] == -32603


async def test_o_22_a_superseded_request_can_be_withdrawn_nes_6() -> None:
    async def suggest(call: SuggestCall) -> list[Any]:
        if call.request.version == 1:
            await asyncio.Event().wait()
        return []

    client = await started(nes_agent(suggest))
    session = await start(client)
    old = client.request("nes/suggest", suggest_params(session))
    client.withdraw(old)
    assert await client.call("nes/suggest", suggest_params(session, version=2)) == {"suggestions": []}
    assert (await client.response(old))["error"]["code"] == -32800


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (None, None),
        ([], None),
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-7", "utf-32"], "utf-32"),
        (["utf-16"], "utf-16"),
        ("utf-8", None),
    ],
)
async def test_o_19_the_clients_first_choice_is_taken_nes_4(offered: Any, chosen: str | None) -> None:
    client, link = connect(nes_agent(nothing))
    capabilities = {} if offered is None else {"positionEncodings": offered}
    answer = await client.initialize(capabilities=capabilities)
    assert answer["capabilities"].get("positionEncoding") == chosen
    assert link.position_encoding == (chosen or "utf-16")


def document(link: Any, session: str) -> TextDocument:
    return link.nes[session].documents["file:///a"]  # type: ignore[no-any-return]


async def test_o_17_edits_are_applied_one_after_the_other_nes_3() -> None:
    client, link = connect(nes_agent(nothing))
    await client.initialize()
    session = await start(client)
    client.notify("document/didOpen", opened(session, "one\ntwo\nthree\n"))
    changes = [
        {"range": {"start": at(0, 0), "end": at(1, 0)}, "text": ""},
        {"range": {"start": at(1, 0), "end": at(1, 5)}, "text": "3"},
        {"range": {"start": at(0, 3), "end": at(0, 3)}, "text": "!\n"},
    ]
    client.notify(
        "document/didChange", {"sessionId": session, "uri": "file:///a", "version": 2, "contentChanges": changes}
    )
    await client.settle()
    assert (document(link, session).text, document(link, session).version) == ("two!\n\n3\n", 2)
    full = {"sessionId": session, "uri": "file:///a", "version": 3, "contentChanges": [{"text": "all new"}]}
    client.notify("document/didChange", full)
    await client.settle()
    assert document(link, session).text == "all new"


async def test_o_23_an_edit_that_was_lost_makes_the_text_unknown_until_it_comes_whole_nes_10() -> None:
    seen: list[Any] = []

    async def suggest(call: SuggestCall) -> list[Any]:
        seen.append((call.document, call.offset))
        return []

    client, link = connect(nes_agent(suggest))
    await client.initialize()
    session = await start(client)
    client.notify("document/didOpen", opened(session, "abc"))
    change = {"sessionId": session, "uri": "file:///a", "version": 2}
    good = {"range": {"start": at(0, 0), "end": at(0, 1)}, "text": ""}
    client.notify("document/didChange", {**change, "contentChanges": [good, {"text": 5}]})
    await client.call("nes/suggest", suggest_params(session))
    assert seen == [(None, None)]
    client.notify("document/didChange", {**change, "version": 3, "contentChanges": [good]})
    await client.settle()
    assert document(link, session).text is None
    client.notify("document/didChange", {**change, "version": 4, "contentChanges": [{"text": "whole"}, good]})
    await client.settle()
    assert document(link, session).text == "hole"


async def test_documents_are_closed_focused_and_saved_nes_2() -> None:
    saved: list[str] = []
    agent = nes_agent(nothing)
    agent.suggestion_hooks(saved=lambda session, document: saved.append(document.uri))
    client, link = connect(agent)
    await client.initialize()
    session = await start(client)
    where = {"sessionId": session, "uri": "file:///a"}
    client.notify("document/didOpen", opened(session, "abc"))
    client.notify(
        "document/didFocus",
        {**where, "version": 1, "position": at(0, 1), "visibleRange": {"start": at(0, 0), "end": at(0, 3)}},
    )
    client.notify("document/didSave", where)
    client.notify("document/didSave", {**where, "uri": "file:///other"})
    client.notify("document/didOpen", opened("nobody", "x"))
    await client.settle()
    focused: Any = link.nes[session].focused
    assert (focused.uri, focused.focus) == ("file:///a", v2.Position(line=0, character=1))
    assert saved == ["file:///a"]
    client.notify("document/didClose", where)
    await client.settle()
    assert (link.nes[session].documents, link.nes[session].focused) == ({}, None)


async def test_documents_are_bounded() -> None:
    client, link = connect(nes_agent(nothing, limits=AgentLimits(documents=2, document_bytes=10)))
    await client.initialize()
    session = await start(client)
    for uri in ("file:///a", "file:///b", "file:///c"):
        client.notify("document/didOpen", opened(session, "x" * 6, uri))
    await client.settle()
    documents = link.nes[session].documents
    assert {uri: d.text for uri, d in documents.items()} == {"file:///a": "x" * 6, "file:///b": None}


async def test_an_author_hears_what_became_of_suggestions_nes_7() -> None:
    heard: list[Any] = []
    agent = nes_agent(nothing)
    agent.suggestion_hooks(
        accepted=lambda session, event: heard.append(("accept", event.suggestion_id)),
        rejected=lambda session, event: heard.append(("reject", event.suggestion_id, event.reason)),
    )
    client = await started(agent)
    session = await start(client)
    client.notify("nes/accept", {"sessionId": session, "suggestionId": "1"})
    client.notify("nes/reject", {"sessionId": session, "suggestionId": "2", "reason": "ignored"})
    client.notify("nes/reject", {"sessionId": session, "suggestionId": "3", "reason": 5})
    client.notify("nes/reject", {"sessionId": "nobody", "suggestionId": "4"})
    await client.settle()
    assert heard == [("accept", "1"), ("reject", "2", "ignored"), ("reject", "3", None)]


async def test_document_events_that_were_not_asked_for_are_dropped_err_4() -> None:
    agent = Agent("nes", "1")
    agent.suggest(documents=None)(nothing)

    @agent.extension("_settle/ping")
    def ping(params: Any, link: Any) -> None: ...

    client, link = connect(agent)
    answer = await client.initialize()
    assert answer["capabilities"] == {"nes": {}}
    session = await start(client)
    client.notify("document/didOpen", opened(session, "x"))
    await client.settle()
    sessions: dict[str, AgentNesSession] = link.nes
    assert sessions[session].documents == {}


async def test_an_agent_may_do_both() -> None:
    agent = agent_of(echo)
    agent.suggest()(nothing)
    client = await started(agent)
    await start(client)
    client.prompt(await client.new_session(), "hi")
    await client.idle()
    assert client.said() == "hi"
