"""ELI as an agent keeps it: forms and addresses, and whose answers count."""

from __future__ import annotations

from typing import Any

import pytest

from roost.errors import LocalProtocolError
from roost.sdk.agent_auth import LoginCall
from roost.sdk.elicitation import Action
from roost.sdk.forms import Form
from roost.sdk.turn import Turn

from .raw_client import Json, started
from .steps import agent_of

ELICITATION = "elicitation/create"
BOTH = {"elicitation": {"form": {}, "url": {}}}


def a_form() -> Form:
    return Form("Who").text("name", min_length=2, required=True).flag("sure")


async def elicited(answer: Any, capabilities: Any = BOTH) -> Any:
    seen: list[Any] = []

    async def ask(turn: Turn) -> None:
        seen.append(await turn.elicit("Who are you?", a_form()))

    client = await started(agent_of(ask), capabilities=capabilities)
    client.answers[ELICITATION] = lambda params: answer
    client.prompt(await client.new_session())
    await client.idle()
    return seen[0], client


@pytest.mark.parametrize(
    ("answer", "action", "values"),
    [
        pytest.param({"action": "accept", "content": {"name": "Jo"}}, Action.ACCEPTED, {"name": "Jo"}, id="accept"),
        pytest.param({"action": "accept", "content": {"name": "J"}}, Action.INVALID, {}, id="R-18 invalid"),
        pytest.param({"action": "accept"}, Action.INVALID, {}, id="R-23 nothing where something is required"),
        pytest.param({"action": "decline", "content": {"name": "Jo"}}, Action.DECLINED, {}, id="R-22"),
        pytest.param({"action": "cancel"}, Action.CANCELLED, {}, id="cancel"),
        pytest.param({"action": "_x", "content": {"name": "Jo"}}, Action.INVALID, {}, id="R-21"),
        pytest.param({}, Action.INVALID, {}, id="malformed"),
    ],
)
async def test_only_good_values_of_an_accepted_form_count_eli_10(answer: Json, action: Action, values: Json) -> None:
    answer_seen, _ = await elicited(answer)
    assert (answer_seen.action, answer_seen.values) == (action, values)
    assert bool(answer_seen) is (action is Action.ACCEPTED)


async def test_r_23_an_optional_form_may_be_accepted_empty_eli_10() -> None:
    seen: list[Any] = []

    async def ask(turn: Turn) -> None:
        seen.append(await turn.elicit("Who?", Form().flag("sure")))

    client = await started(agent_of(ask), capabilities=BOTH)
    client.answers[ELICITATION] = lambda params: {"action": "accept", "content": None}
    client.prompt(await client.new_session())
    await client.idle()
    assert (bool(seen[0]), seen[0].values) == (True, {})


async def test_r_18_faults_are_named_eli_9() -> None:
    answer, _ = await elicited({"action": "accept", "content": {"name": 5, "x": 1}})
    assert answer.faults == {"name": "is not text", "x": "is not a field of this form"}


@pytest.mark.parametrize("capabilities", [None, {}, {"elicitation": {}}, {"elicitation": {"url": {}}}])
async def test_r_16_a_client_without_forms_is_not_asked_eli_1_ini_19(capabilities: Any) -> None:
    answer, client = await elicited({"action": "accept", "content": {"name": "Jo"}}, capabilities)
    assert answer.action is Action.UNAVAILABLE
    assert not [m for m in client.messages if m.get("method") == ELICITATION]
    assert client.states() == ["running", "idle:end_turn"]


async def test_a_form_is_sent_with_its_mode_scope_and_schema_eli_2_eli_6() -> None:
    async def ask(turn: Turn) -> None:
        await turn.elicit("Who?", a_form(), tool_call_id="t1")

    client = await started(agent_of(ask), capabilities=BOTH)
    session = await client.new_session()
    client.prompt(session)
    request = await client.asked_for(ELICITATION)
    assert request["params"] == {
        "mode": "form",
        "message": "Who?",
        "requestedSchema": {
            "type": "object",
            "title": "Who",
            "properties": {"name": {"type": "string", "minLength": 2}, "sure": {"type": "boolean"}},
            "required": ["name"],
        },
        "sessionId": session,
        "toolCallId": "t1",
    }
    assert client.states() == ["running", "requires_action"]
    client.reply(request, {"action": "decline"})
    await client.idle()
    assert client.states() == ["running", "requires_action", "running", "idle:end_turn"]


async def test_r_17_a_url_is_asked_for_and_completed_eli_13_eli_14() -> None:
    seen: list[Any] = []

    async def ask(turn: Turn) -> None:
        for _ in range(2):
            answer = await turn.open_url("Log in", "https://example.org/login")
            seen.append(answer)
            await turn.complete_elicitation(answer.elicitation_id or "")

    client = await started(agent_of(ask), capabilities={"elicitation": {"url": {}}})
    urls: list[Json] = []

    def accept(params: Json) -> Json:
        urls.append(params)
        return {"action": "accept"}

    client.answers[ELICITATION] = accept
    client.prompt(await client.new_session())
    await client.idle()
    assert [answer.action for answer in seen] == [Action.ACCEPTED] * 2
    ids = [params["elicitationId"] for params in urls]
    assert len(set(ids)) == 2
    done = [m["params"]["elicitationId"] for m in client.messages if m.get("method") == "elicitation/complete"]
    assert done == ids


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", "https://", "ftp://x", "x", "http://[::1"]
)
async def test_r_25_only_web_addresses_are_sent_eli_15(url: str) -> None:
    async def ask(turn: Turn) -> None:
        with pytest.raises(LocalProtocolError):
            await turn.open_url("Log in", url)

    client = await started(agent_of(ask), capabilities=BOTH)
    client.prompt(await client.new_session())
    await client.idle()
    assert client.states()[-1] == "idle:end_turn"


async def test_r_27_a_login_asks_by_its_request_eli_2() -> None:
    async def nothing(turn: Turn) -> None: ...

    agent = agent_of(nothing)
    seen: list[Any] = []

    @agent.login("form", "Form")
    async def login(call: LoginCall) -> None:
        seen.append(await call.elicit("Who?", a_form()))
        seen.append(await call.open_url("Visit", "https://example.org"))

    client = await started(agent, capabilities=BOTH)
    client.answers[ELICITATION] = lambda params: {"action": "accept", "content": {"name": "Jo"}}
    client.send(client.message("auth/login", {"methodId": "form"}, "login-1"))
    await client.response("login-1")
    asked = [m["params"] for m in client.messages if m.get("method") == ELICITATION]
    assert [params["requestId"] for params in asked] == ["login-1", "login-1"]
    assert not any("sessionId" in params for params in asked)
    assert all(seen)


async def test_r_28_cancel_withdraws_an_open_elicitation_eli_17() -> None:
    async def ask(turn: Turn) -> None:
        await turn.elicit("Who?", a_form())

    client = await started(agent_of(ask), capabilities=BOTH)
    session = await client.new_session()
    client.prompt(session)
    request = await client.asked_for(ELICITATION)
    client.cancel(session)
    await client.idle()
    assert client.states() == ["running", "requires_action", "idle:cancelled"]
    assert [m["params"]["requestId"] for m in client.messages if m.get("method") == "$/cancel_request"] == [
        request["id"]
    ]


async def test_r_29_an_answer_on_another_connection_is_nothing_eli_4() -> None:
    seen: list[Any] = []

    async def ask(turn: Turn) -> None:
        seen.append(await turn.elicit("Who?", a_form()))

    agent = agent_of(ask)
    client = await started(agent, capabilities=BOTH)
    other = await started(agent, capabilities=BOTH)
    client.prompt(await client.new_session())
    request = await client.asked_for(ELICITATION)
    other.reply(request, {"action": "accept", "content": {"name": "Eve"}})
    await other.settle()
    assert seen == []
    client.reply(request, {"action": "accept", "content": {"name": "Jo"}})
    await client.idle()
    assert seen[0].values == {"name": "Jo"}
