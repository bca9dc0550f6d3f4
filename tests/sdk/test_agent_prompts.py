"""PRM-1 to PRM-20 and MSG-1: a prompt from acceptance to idle, seen from a raw client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import LocalProtocolError, RpcError
from roost.sdk.agent import Agent
from roost.sdk.limits import AgentLimits
from roost.sdk.turn import Turn

from .raw_client import RawClient, connect, started, text_block
from .steps import Steps, agent_of, echo


def shape(client: RawClient) -> list[str]:
    """The stream in short: responses by id, updates by kind."""
    out = []
    for message in client.messages:
        if message.get("method") == "session/update":
            update = message["params"]["update"]
            kind = update["sessionUpdate"]
            out.append(update["state"] if kind == "state_update" else kind)
        elif "method" in message:
            out.append(message["method"])
        else:
            out.append(f"response {message['id']}" if "result" in message else f"error {message['id']}")
    return out


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


async def test_p_10_a_second_prompt_is_held_and_accepted_when_it_is_its_turn_prm_14() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait(turn.text)

    client = await started(agent_of(slow))
    session = await client.new_session()
    one, two, three = (client.prompt(session, name) for name in ("one", "two", "three"))
    await steps.reached("one")
    await client.settle()
    assert client.responses(one)
    assert not client.responses(two)
    for name in ("one", "two", "three"):
        steps.go(name)
    await client.idle(3)
    assert shape(client)[2:] == [
        f"response {one}",
        "user_message",
        "running",
        f"response {client._next_id}",
        "idle",
        f"response {two}",
        "user_message",
        "running",
        "idle",
        f"response {three}",
        "user_message",
        "running",
        "idle",
    ]
    assert [u["content"][0]["text"] for u in client.updates("user_message")] == ["one", "two", "three"]


async def test_p_11_a_held_prompt_can_be_withdrawn_and_is_never_inserted_can_12() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")

    client = await started(agent_of(slow))
    session = await client.new_session()
    client.prompt(session, "one")
    two = client.prompt(session, "two")
    client.withdraw(two)
    assert (await client.response(two))["error"]["code"] == -32800
    steps.go("x")
    await client.idle()
    await client.settle()
    assert [u["content"][0]["text"] for u in client.updates("user_message")] == ["one"]
    assert client.states() == ["running", "idle:end_turn"]


async def test_withdrawing_an_accepted_prompt_has_no_effect_can_12() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")

    client = await started(agent_of(slow))
    session = await client.new_session()
    id = client.prompt(session)
    await client.response(id)
    client.withdraw(id)
    await client.settle()
    assert client.states() == ["running"]
    steps.go("x")
    await client.idle()
    assert client.states() == ["running", "idle:end_turn"]
    assert len(client.responses(id)) == 1


async def test_p_12_a_full_queue_refuses_and_changes_nothing_prm_14() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")

    client = await started(agent_of(slow, limits=AgentLimits(queued_prompts=2)))
    session = await client.new_session()
    for _ in range(3):
        client.prompt(session)
    error = await client.error("session/prompt", {"sessionId": session, "prompt": [text_block("too many")]})
    assert error == {
        "code": -32005,
        "message": "Limit exceeded: queued_prompts",
        "data": {"limit": "queued_prompts", "bound": 2},
    }
    steps.go("x")
    await client.idle(3)
    assert client.states() == ["running", "idle:end_turn"] * 3


async def test_p_13_cancel_ends_with_one_idle_and_nothing_after_it_prm_16() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        try:
            await steps.wait("x")
        finally:
            await turn.say("last words")

    client = await started(agent_of(slow))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.cancel(session)
    await client.idle()
    await client.settle()
    assert client.states() == ["running", "idle:cancelled"]
    assert shape(client)[-3:] == ["agent_message_chunk", "idle", f"response {client._next_id}"]


async def test_p_13_an_agent_that_ignores_cancel_is_left_behind_prm_16(caplog: pytest.LogCaptureFixture) -> None:
    left = asyncio.Event()
    steps = Steps()
    refused: list[Exception] = []

    async def deaf(turn: Turn) -> None:
        try:
            while not left.is_set():
                try:
                    await steps.wait("x")
                except asyncio.CancelledError:
                    await left.wait()
            await turn.say("too late")
        except LocalProtocolError as error:
            refused.append(error)

    client = await started(agent_of(deaf, limits=AgentLimits(cancel_grace=0.01)))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.cancel(session)
    await client.idle()
    assert client.states() == ["running", "idle:cancelled"]
    left.set()
    await client.settle()
    await client.settle()
    assert client.updates("agent_message_chunk") == []
    assert "does not end when cancelled" in caplog.text


async def test_p_14_cancel_when_idle_or_unknown_is_nothing_prm_17() -> None:
    client = await started(agent_of(echo))
    session = await client.new_session()
    client.cancel(session)
    client.cancel("nobody")
    client.notify("session/cancel", {})
    await client.settle()
    assert client.updates() == []


async def test_p_15_cancel_right_behind_the_prompt_prm_19() -> None:
    client = await started(agent_of(echo))
    session = await client.new_session()
    client.send(
        client.message("session/prompt", {"sessionId": session, "prompt": [text_block("x")]}, "p"),
        client.message("session/cancel", {"sessionId": session}),
    )
    await client.idle()
    await client.settle()
    assert (await client.response("p"))["result"] == {"messageId": "msg-1-1"}
    assert client.states() == ["running", "idle:cancelled"]


@pytest.mark.parametrize("error", [RuntimeError("aborted"), RpcError(-32603, "aborted"), KeyError("x")])
async def test_p_16_whatever_a_library_raises_on_cancel_it_is_cancelled_prm_16(error: Exception) -> None:
    steps = Steps()

    async def library(turn: Turn) -> None:
        try:
            await steps.wait("x")
        except asyncio.CancelledError:
            raise error from None

    client = await started(agent_of(library))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.cancel(session)
    await client.idle()
    assert client.states() == ["running", "idle:cancelled"]
    assert client.said() == ""


async def test_p_16_a_cancelled_turn_that_returns_normally_is_cancelled_prm_16() -> None:
    steps = Steps()

    async def swallows(turn: Turn) -> None:
        try:
            await steps.wait("x")
        except asyncio.CancelledError:
            return

    client = await started(agent_of(swallows))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.cancel(session)
    await client.idle()
    assert client.states() == ["running", "idle:cancelled"]


async def test_p_19_two_cancels_make_one_idle_prm_16() -> None:
    steps = Steps()

    async def tidy(turn: Turn) -> None:
        try:
            await steps.wait("x")
        finally:
            await steps.wait("tidying")

    client = await started(agent_of(tidy))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.cancel(session)
    await steps.reached("tidying")
    client.cancel(session)
    await client.settle()
    steps.go("tidying")
    await client.idle()
    await client.settle()
    assert client.states() == ["running", "idle:cancelled"]


async def test_p_20_a_prompt_right_behind_a_cancel_is_worked_on_prm_10() -> None:
    steps = Steps()

    async def answer(turn: Turn) -> None:
        if turn.text == "one":
            await steps.wait("x")
        await turn.say(turn.text)

    client = await started(agent_of(answer))
    session = await client.new_session()
    client.prompt(session, "one")
    await steps.reached("x")
    client.cancel(session)
    client.prompt(session, "two")
    await client.idle(2)
    assert client.states() == ["running", "idle:cancelled", "running", "idle:end_turn"]
    assert client.said() == "two"


async def test_cancel_drops_what_is_queued_and_says_so_prm_18() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")

    client = await started(agent_of(slow))
    session = await client.new_session()
    client.prompt(session)
    queued = [client.prompt(session), client.prompt(session)]
    await steps.reached("x")
    client.cancel(session)
    idle = await client.idle()
    for id in queued:
        assert (await client.response(id))["error"]["code"] == -32800
    assert idle["stopReason"] == "cancelled"
    assert idle["_meta"] == {"roost": {"droppedPrompts": 2}}
    assert len(client.updates("user_message")) == 1


async def test_p_33_pieces_in_a_row_are_one_message_and_the_next_is_another_msg_1() -> None:
    async def answer(turn: Turn) -> None:
        await turn.say("a")
        await turn.say("b")
        await turn.think("c")
        await turn.say("d")
        async with turn.tool("look"):
            pass
        await turn.say("e")
        turn.new_message()
        await turn.say("f")

    client = await started(agent_of(answer))
    client.prompt(await client.new_session())
    await client.idle()
    ids = {u["content"]["text"]: u["messageId"] for u in client.updates("agent_message_chunk")}
    thought = client.updates("agent_thought_chunk")[0]["messageId"]
    assert ids["a"] == ids["b"]
    assert len({*ids.values(), thought, client.updates("user_message")[0]["messageId"]}) == 6


async def test_p_34_a_slash_command_is_parsed_and_reported_as_typed_msc_2() -> None:
    agent = agent_of(echo)

    @agent.command("plan", "Plans", hint="what")
    async def plan(turn: Turn, arguments: str) -> None:
        await turn.say(f"<{turn.command}|{arguments}>")

    client = await started(agent)
    session = await client.new_session()
    for text in ("/plan x y", "/plan", "/plan\nnext line", "/planx", "plan", "/unknown a"):
        client.prompt(session, text)
    await client.idle(6)
    assert client.said() == "<plan|x y><plan|><plan|next line>/planxplan/unknown a"
    assert client.updates("user_message")[0]["content"][0]["text"] == "/plan x y"
    assert client.updates("available_commands_update") == [
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [{"name": "plan", "description": "Plans", "input": {"type": "text", "hint": "what"}}],
        }
    ]


async def test_p_36_usage_of_unknown_size_is_not_told_msc_4() -> None:
    async def answer(turn: Turn) -> None:
        await turn.usage(10, None)
        await turn.usage(10, 100)
        await turn.usage(20, 100, amount=0.5, currency="EUR")
        turn.spent = v2.Usage(total_tokens=3, input_tokens=1, output_tokens=2)
        with pytest.raises(LocalProtocolError):
            await turn.usage(1, 2, amount=1, currency="euro")

    client = await started(agent_of(answer))
    client.prompt(await client.new_session())
    idle = await client.idle()
    assert client.updates("usage_update") == [
        {"sessionUpdate": "usage_update", "used": 10, "size": 100},
        {"sessionUpdate": "usage_update", "used": 20, "size": 100, "cost": {"amount": 0.5, "currency": "EUR"}},
    ]
    assert idle["usage"] == {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}  # PRM-20


async def test_after_its_end_a_turn_says_nothing() -> None:
    kept: list[Turn] = []

    async def answer(turn: Turn) -> None:
        kept.append(turn)

    client = await started(agent_of(answer))
    client.prompt(await client.new_session())
    await client.idle()
    with pytest.raises(LocalProtocolError):
        await kept[0].say("late")
    await kept[0].session.update(v2.AgentMessageChunk(message_id="bg", content=v2.TextContent(text="background")))
    await client.until(lambda: client.said() == "background")  # PRM-12: background updates while idle
    assert client.states() == ["running", "idle:end_turn"]


async def test_raw_updates_pass_and_wrong_ones_do_not_ext_2() -> None:
    from roost.errors import CodecError

    async def answer(turn: Turn) -> None:
        await turn.raw_update({"sessionUpdate": "_acme/graph", "n": [1, None]})
        with pytest.raises(CodecError):
            await turn.raw_update({"no tag": 1})
        with pytest.raises(CodecError):
            await turn.raw_update(v2.AgentMessageChunk(message_id="m", content="text"))  # type: ignore[arg-type]
        with pytest.raises(CodecError):
            await turn.say("\ud800")

    client = await started(agent_of(answer))
    client.prompt(await client.new_session())
    await client.idle()
    assert client.updates("_acme/graph") == [{"sessionUpdate": "_acme/graph", "n": [1, None]}]
    assert client.states() == ["running", "idle:end_turn"]


async def test_e_44_meta_is_carried_and_never_merged_ext_6() -> None:
    seen: list[Any] = []

    async def answer(turn: Turn) -> None:
        seen.append((turn.session.id, turn.meta, turn.trace))

    client = await started(agent_of(answer))
    session = await client.new_session()
    meta = {"sessionId": "other", "prompt": 5, "traceparent": "00-1", "baggage": 7}
    client.prompt(session, "x", _meta=meta)
    await client.idle()
    assert seen == [(session, meta, {"traceparent": "00-1"})]


async def test_an_unknown_session_is_not_found_err_3() -> None:
    client = await started(agent_of(echo))
    error = await client.error("session/prompt", {"sessionId": "nobody", "prompt": [text_block("x")]})
    assert (error["code"], error["data"]) == (-32002, {"sessionId": "nobody"})


async def test_a_prompt_handler_is_a_coroutine_function() -> None:
    with pytest.raises(LocalProtocolError):
        Agent("x", "1").prompt(lambda turn: None)  # type: ignore[arg-type,return-value]


async def test_a_slow_client_slows_the_agent_down_std_8() -> None:
    """Nothing is lost or grows without a bound: while the client does not read, the agent waits."""
    said = 0

    async def flood(turn: Turn) -> None:
        nonlocal said
        for _ in range(4000):
            await turn.say("x" * 1000)
            said += 1

    client, _ = connect(agent_of(flood), high_water=64 * 1024)
    await client.initialize()
    session = await client.new_session()
    client.pause()
    client.prompt(session)
    seen = -1
    async with asyncio.timeout(10):
        while said != seen or said == 0:
            seen = said
            for _ in range(20):
                await asyncio.sleep(0)
    assert 0 < said < 400
    client.resume()
    await client.idle()
    assert len(client.said()) == 4_000_000


async def test_h_01_content_with_line_breaks_stays_on_one_line_std_1() -> None:
    client = await started(agent_of(echo))
    client.prompt(await client.new_session(), "a\nb\r\nc\u2028d")  # the raw client asserts on every message
    await client.idle()
    assert client.said() == "a\nb\r\nc\u2028d"


async def test_a_cancel_reaches_an_agent_that_never_waits_for_anything() -> None:
    async def busy(turn: Turn) -> None:
        while True:
            await turn.say("x" * 1000)

    client = await started(agent_of(busy))
    session = await client.new_session()
    client.prompt(session)
    await client.until(lambda: client.updates("agent_message_chunk"))
    client.cancel(session)
    await client.idle()
    assert client.states() == ["running", "idle:cancelled"]
