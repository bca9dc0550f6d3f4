"""PRM-1 to PRM-11: a prompt from acceptance to idle, seen from a raw client."""

from __future__ import annotations

from typing import Any

import pytest

from roost.errors import LocalProtocolError, RpcError
from roost.sdk.agent import Agent
from roost.sdk.turn import Turn

from .raw_client import shape, started, text_block
from .steps import Steps, agent_of, echo


async def test_p_01_a_prompt_is_accepted_reported_worked_on_and_ended_prm_3_to_prm_8() -> None:
    client = await started(agent_of(echo))
    session = await client.new_session()
    id = client.prompt(session, "hello")
    await client.idle()
    assert shape(client)[2:] == [f"response {id}", "user_message", "running", "agent_message_chunk", "idle"]
    assert (await client.response(id))["result"] == {"messageId": "msg-1-1"}
    assert client.states() == ["running", "idle:end_turn"]
    user = client.updates("user_message")[0]
    assert user["content"] == [text_block("hello")]
    assert user["messageId"]


async def test_p_02_the_response_does_not_wait_for_the_work_prm_3() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("model")

    client = await started(agent_of(slow))
    session = await client.new_session()
    id = client.prompt(session)
    assert (await client.response(id))["result"] == {"messageId": "msg-1-1"}
    assert client.states() in ([], ["running"])
    steps.go("model")
    await client.idle()


@pytest.mark.parametrize(
    ("returned", "state"),
    [
        (None, "idle:end_turn"),
        ("max_tokens", "idle:max_tokens"),
        ("refusal", "idle:refusal"),
        ("_acme/odd", "idle:_acme/odd"),
        (5, "idle:end_turn"),
    ],
)
async def test_p_03_every_prompt_ends_with_one_idle_and_its_stop_reason_prm_8_prm_9(returned: Any, state: str) -> None:
    async def answer(turn: Turn) -> Any:
        return returned

    client = await started(agent_of(answer))
    session = await client.new_session()
    for _ in range(3):
        client.prompt(session)
    await client.idle(3)
    await client.settle()
    assert client.states() == ["running", state] * 3


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param([{"type": "image", "data": "", "mimeType": "image/png"}], id="P-04 image"),
        pytest.param([{"type": "audio", "data": "", "mimeType": "audio/wav"}], id="P-04 audio"),
        pytest.param([{"type": "resource", "resource": {"text": "x", "uri": "file:///a"}}], id="P-04 resource"),
        pytest.param([{"type": "text"}], id="P-05"),
        pytest.param([], id="P-06"),
        pytest.param([{"type": "_x", "n": 1}], id="P-08"),
        pytest.param([text_block("a"), {"type": "future"}], id="P-08 future"),
        pytest.param(None, id="missing"),
        pytest.param("text", id="scalar"),
    ],
)
async def test_a_prompt_with_what_was_not_advertised_is_refused_and_not_reported_prm_1_prm_2(prompt: Any) -> None:
    client = await started(agent_of(echo))
    session = await client.new_session()
    error = await client.error("session/prompt", {"sessionId": session, "prompt": prompt})
    assert error["code"] == -32602
    assert error["data"]["path"].startswith("prompt")
    assert client.updates() == []


async def test_p_04_what_was_advertised_is_accepted_prm_1() -> None:
    client = await started(agent_of(echo, accepts=["image", "audio", "embedded_context"]))
    session = await client.new_session()
    blocks = [
        {"type": "image", "data": "", "mimeType": "image/png"},
        {"type": "audio", "data": "", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"text": "x", "uri": "file:///a"}},
    ]
    await client.call("session/prompt", {"sessionId": session, "prompt": blocks})
    await client.idle()
    assert client.updates("user_message")[0]["content"] == blocks


async def test_p_07_a_resource_link_is_always_accepted_prm_1() -> None:
    client = await started(agent_of(echo))
    session = await client.new_session()
    link = {"type": "resource_link", "name": "a", "uri": "file:///a", "_meta": {"x": 1}}
    await client.call("session/prompt", {"sessionId": session, "prompt": [link]})
    await client.idle()
    assert client.updates("user_message")[0]["content"] == [link]


async def test_p_09_an_agent_that_fails_says_so_and_comes_to_idle_prm_11(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(turn: Turn) -> None:
        await turn.say("working")
        raise RuntimeError("secret 4711")

    client = await started(agent_of(broken))
    session = await client.new_session()
    client.prompt(session)
    await client.idle()
    assert client.states() == ["running", "idle:_error"]
    assert len(client.updates("agent_message_chunk")) == 2
    assert "secret" not in client.said()
    assert len({u["messageId"] for u in client.updates("agent_message_chunk")}) == 2
    assert "secret 4711" in caplog.text
    client.prompt(session)
    await client.idle(2)


async def test_p_09_what_an_author_raises_for_the_user_is_shown_prm_11() -> None:
    async def broken(turn: Turn) -> None:
        raise RpcError(-32603, "The model is overloaded.")

    client = await started(agent_of(broken))
    client.prompt(await client.new_session())
    await client.idle()
    assert client.said() == "The model is overloaded."


async def test_an_unknown_session_is_not_found_err_3() -> None:
    client = await started(agent_of(echo))
    error = await client.error("session/prompt", {"sessionId": "nobody", "prompt": [text_block("x")]})
    assert (error["code"], error["data"]) == (-32002, {"sessionId": "nobody"})


async def test_a_prompt_handler_is_a_coroutine_function() -> None:
    with pytest.raises(LocalProtocolError):
        Agent("x", "1").prompt(lambda turn: None)  # type: ignore[arg-type,return-value]
