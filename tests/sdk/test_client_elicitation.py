"""Forms and URLs as a client takes them to the user (ELI-1 to ELI-17)."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest

from roost.acp import v2
from roost.sdk.client_elicitation import FormQuestion, UrlQuestion
from roost.sdk.client_limits import ClientLimits
from tests.sdk.raw_agent import LOGIN, RUNNING, bounded, connected, idle, in_session, settled

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "default": "ada"},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["a"]},
    },
    "required": ["name"],
}


def form(schema: Any = None, **more: Any) -> dict[str, Any]:
    scope = {} if "requestId" in more else {"sessionId": "s1"}
    return {"mode": "form", "message": "Who?", "requestedSchema": schema or SCHEMA, **scope, **more}


def url(address: str = "https://example.org/login?state=1", **more: Any) -> dict[str, Any]:
    return {"mode": "url", "message": "Log in", "elicitationId": "e1", "url": address, "sessionId": "s1", **more}


async def answer(params: dict[str, Any], **options: Any) -> dict[str, Any]:
    async with in_session(**options) as (_, agent):
        return await agent.answer_to(agent.request("elicitation/create", params))


async def test_a_form_that_was_filled_in_is_accepted() -> None:
    """ELI-9, ELI-16."""
    seen: list[FormQuestion] = []

    async def fill_in(question: FormQuestion) -> dict[str, Any]:
        seen.append(question)
        return {**question.defaults, "age": 36}

    response = await answer(form(toolCallId="t1", _meta={"k": 1}), on_form=fill_in)
    assert response["result"] == {"action": "accept", "content": {"name": "ada", "tags": ["a"], "age": 36}}
    (question,) = seen
    assert (question.message, question.session_id, question.tool_call_id, question.meta) == (
        "Who?",
        "s1",
        "t1",
        {"k": 1},
    )
    assert question.agent is not None
    assert question.agent.name == "raw"  # ELI-16


@pytest.mark.parametrize(
    ("did", "expected"),
    [
        (None, {"action": "decline"}),
        (False, {"action": "decline"}),
        (v2.DeclineElicitationResponse(), {"action": "decline"}),
        (v2.CancelElicitationResponse(), {"action": "cancel"}),
        ({"name": "bo"}, {"action": "accept", "content": {"name": "bo"}}),
    ],
)
async def test_what_the_user_did_is_what_is_sent(did: Any, expected: dict[str, Any]) -> None:
    assert (await answer(form(), on_form=lambda question: did))["result"] == expected


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"name": "x"},
        {"name": 5},
        {"name": "ada", "age": -1},
        {"name": "ada", "tags": ["c"]},
        {"name": "ada", "no": 1},
    ],
)
async def test_r_18_what_the_form_itself_refuses_is_not_sent(
    values: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert (await answer(form(), on_form=lambda question: values))["result"] == {"action": "cancel"}
    assert "filled in wrongly" in caplog.text
    assert "-1" not in caplog.text


async def test_r_18_a_handler_can_check_before_it_returns() -> None:
    faults: list[dict[str, str]] = []

    def fill_in(question: FormQuestion) -> dict[str, Any]:
        faults.append(question.faults({"name": "x"}))
        return {"name": "xy"}

    assert (await answer(form(), on_form=fill_in))["result"]["action"] == "accept"
    assert list(faults[0]) == ["name"]


async def test_r_19_a_pattern_that_would_run_away_does_not() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "(a+)+$"}}}
    started = time.process_time()
    response = await answer(form(schema), on_form=lambda question: {"x": "a" * 40 + "!"})
    assert response["result"] == {"action": "cancel"}
    assert time.process_time() - started < 2.0


async def test_r_16_a_mode_that_was_not_advertised_is_refused() -> None:
    for options in ({}, {"on_url": lambda question: True}):
        assert (await answer(form(), **options))["error"]["code"] == -32602
    for options in ({}, {"on_form": lambda question: {}}):
        assert (await answer(url(), **options))["error"]["code"] == -32602
    odd = {"mode": "_voice", "message": "?", "sessionId": "s1"}
    assert (await answer(odd, on_form=lambda q: {}, on_url=lambda q: True))["error"]["code"] == -32602


async def test_r_20_a_field_of_an_unknown_kind_is_declined_if_it_is_required_and_left_out_if_not() -> None:
    """ELI-5."""
    seen: list[FormQuestion] = []

    def fill_in(question: FormQuestion) -> dict[str, Any]:
        seen.append(question)
        return {"x": "1"}

    schema: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "string"}, "c": {"type": "_colour"}}}
    assert (await answer(form(schema), on_form=fill_in))["result"]["action"] == "accept"
    assert seen[0].unknown == ["c"]
    response = await answer(form({**schema, "required": ["c"]}), on_form=fill_in)
    assert response["result"] == {"action": "decline"}
    assert len(seen) == 1


async def test_x26_x27_a_form_that_is_malformed_is_refused() -> None:
    for schema in ({"properties": None}, {"properties": {"x": {"type": "string", "minLength": "3"}}}):
        assert (await answer(form(schema), on_form=lambda question: {}))["error"]["code"] == -32602


async def test_eli_2_an_elicitation_belongs_to_something() -> None:
    params = form()
    del params["sessionId"]
    assert (await answer(params, on_form=lambda question: {}))["error"]["code"] == -32602


async def test_eli_3_of_two_scopes_the_session_counts() -> None:
    seen: list[FormQuestion] = []
    await answer({**form(), "requestId": 7}, on_form=lambda question: seen.append(question))
    assert (seen[0].session_id, seen[0].request_id) == ("s1", None)


async def test_r_27_an_elicitation_may_be_about_a_login_under_way() -> None:
    seen: list[FormQuestion] = []

    def fill_in(question: FormQuestion) -> dict[str, Any]:
        seen.append(question)
        return {"name": "ada"}

    async with connected(initialize={"authMethods": [LOGIN]}, on_form=fill_in) as (client, agent):
        logging_in = asyncio.ensure_future(client.login("key"))
        request = await agent.next("auth/login")
        await agent.answer_to(agent.request("elicitation/create", form(requestId=request["id"])))
        assert (seen[0].session_id, seen[0].request_id) == (None, request["id"])
        assert client.link.connection.method_of(seen[0].request_id) == "auth/login"
        agent.reply(request)
        await bounded(logging_in)
        assert client.link.connection.method_of(request["id"]) is None


async def test_r_28_an_elicitation_of_a_cancelled_session_is_answered_cancel() -> None:
    asked = asyncio.Event()

    async def never(question: Any) -> None:
        asked.set()
        await asyncio.Event().wait()

    async with in_session(on_form=never, on_url=never) as (session, agent):
        agent.update("s1", RUNNING)
        ids = [agent.request("elicitation/create", params) for params in (form(), url())]
        await bounded(asked.wait())
        cancelling = asyncio.ensure_future(session.cancel())
        ids.append(agent.request("elicitation/create", form()))
        for request_id in ids:
            assert (await agent.answer_to(request_id))["result"] == {"action": "cancel"}
        agent.update("s1", idle("cancelled"))
        await bounded(cancelling)


async def test_a_withdrawn_elicitation_is_answered_so() -> None:
    asked = asyncio.Event()

    async def never(question: Any) -> None:
        asked.set()
        await asyncio.Event().wait()

    async with in_session(on_form=never) as (_, agent):
        request_id = agent.request("elicitation/create", form())
        await bounded(asked.wait())
        agent.notify("$/cancel_request", {"requestId": request_id})
        assert (await agent.answer_to(request_id))["error"]["code"] == -32800


async def test_a_handler_that_returns_what_is_no_answer_is_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        for did in (5, "yes", True):
            assert (await answer(form(), on_form=lambda question, did=did: did))["error"]["code"] == -32603
        content = v2.AcceptElicitationResponse(content={"a": "b"})
        assert (await answer(url(), on_url=lambda question: content))["error"]["code"] == -32603


# --- URLs ---


async def test_r_24_nothing_is_opened_before_the_user_agrees_and_all_of_it_is_shown() -> None:
    seen: list[UrlQuestion] = []

    async def look(question: UrlQuestion) -> bool:
        seen.append(question)
        return True

    address = "https://example.org/login?next=" + "x" * 3_000 + "&who=me"
    assert (await answer(url(address), on_url=look))["result"] == {"action": "accept"}
    assert seen[0].shown_url == address
    assert (seen[0].host, seen[0].warnings) == ("example.org", [])


async def test_a_url_may_be_declined() -> None:
    assert (await answer(url(), on_url=lambda question: False))["result"] == {"action": "decline"}
    assert (await answer(url(), on_url=lambda question: v2.CancelElicitationResponse()))["result"] == {
        "action": "cancel"
    }


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "ftp://example.org/",
        "//example.org/",
        "https://",
        "https:///path",
        "example.org",
        "",
        "http://[::1",
        "https://example.org:99999999/",
        "https://example.org/\u202egnp.exe",
        "https://example.org/a b",
        "https://example.org/\nSet-Cookie: x",
        " https://example.org/",
    ],
)
async def test_r_25_what_is_no_web_address_is_refused_without_asking(address: str) -> None:
    asked: list[UrlQuestion] = []
    response = await answer(url(address), on_url=lambda question: asked.append(question))
    assert response["result"] == {"action": "decline"}
    assert asked == []


@pytest.mark.parametrize(
    ("address", "host", "warnings"),
    [
        ("http://example.org/", "example.org", ["not encrypted"]),
        ("https://ex\u0430mple.org/", "xn--exmple-4nf.org", ["not what it looks like"]),
        ("https://xn--exmple-4nf.org/", "xn--exmple-4nf.org", ["not what it looks like"]),
        ("https://bank.example@evil.org/", "evil.org", ["user name"]),
        ("https://127.0.0.1/", "127.0.0.1", ["only a number"]),
        ("https://[::1]/", "::1", ["only a number"]),
        ("https://EXAMPLE.org/", "example.org", []),
    ],
)
def test_eli_15_the_user_is_warned_of_what_deceives(address: str, host: str, warnings: list[str]) -> None:
    request = v2.CreateUrlElicitationRequest(message="m", elicitation_id="e", url=address, session_id="s")
    question = UrlQuestion(request)
    assert question.is_safe
    assert question.host == host
    assert len(question.warnings) == len(warnings)
    for said, expected in zip(question.warnings, warnings, strict=True):
        assert expected in said


async def test_r_26_a_completion_is_heard_once_and_only_of_what_was_agreed_to() -> None:
    done: list[str] = []
    answers = iter([True, False, True])

    async def is_done(question: UrlQuestion) -> None:
        done.append(question.elicitation_id)

    limits = ClientLimits(url_elicitations=1)
    async with in_session(on_url=lambda q: next(answers), on_url_done=is_done, limits=limits) as (session, agent):
        for name in ("yes", "no"):
            await agent.answer_to(agent.request("elicitation/create", url(elicitationId=name)))
        for name in ("yes", "no", "never", "yes"):
            agent.notify("elicitation/complete", {"elicitationId": name})
        await settled(session.client, agent)
        assert done == ["yes"]
        await agent.answer_to(agent.request("elicitation/create", url(elicitationId="old")))
        agent.notify("elicitation/complete", {})
        agent.notify("elicitation/complete", {"elicitationId": "old"})
        await settled(session.client, agent)
        assert done == ["yes", "old"]
