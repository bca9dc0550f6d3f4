"""PER as an agent keeps it: only a clear yes is a yes, and every question comes to an end."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp import v2
from roost.errors import LocalProtocolError
from roost.sdk.permissions import Answer, Permission
from roost.sdk.turn import Turn

from .raw_client import Json, connect, started
from .steps import agent_of

PERMISSION = "session/request_permission"


def selected(option: Any) -> Json:
    return {"outcome": {"outcome": "selected", "optionId": option}}


async def outcome(answer: Any, **more: Any) -> Permission:
    """What the agent makes of one answer."""
    seen: list[Permission] = []

    async def ask(turn: Turn) -> None:
        seen.append(await turn.permission("May I?", **more))

    client = await started(agent_of(ask))
    client.answers[PERMISSION] = lambda params: answer
    client.prompt(await client.new_session())
    await client.idle()
    return seen[0]


@pytest.mark.parametrize(
    ("answer", "allowed", "kind"),
    [
        pytest.param(selected("allow_once"), True, Answer.CHOSEN, id="allow once"),
        pytest.param(selected("allow_always"), True, Answer.CHOSEN, id="allow always"),
        pytest.param(selected("reject_once"), False, Answer.CHOSEN, id="R-02 reject"),
        pytest.param(selected("reject_always"), False, Answer.CHOSEN, id="R-02 reject always"),
        pytest.param(selected("yes"), False, Answer.INVALID, id="R-03 not offered"),
        pytest.param(selected("Allow once"), False, Answer.INVALID, id="R-03 the label"),
        pytest.param({"outcome": {"outcome": "_later"}}, False, Answer.INVALID, id="R-04 unknown"),
        pytest.param({"outcome": {"outcome": "cancelled"}}, False, Answer.CANCELLED, id="R-04 cancelled"),
        pytest.param({"outcome": "allow_once"}, False, Answer.INVALID, id="R-04 malformed"),
        pytest.param({}, False, Answer.INVALID, id="R-04 empty"),
        pytest.param(None, False, Answer.INVALID, id="R-04 null"),
    ],
)
async def test_only_an_offered_allow_option_permits_per_5(answer: Any, allowed: bool, kind: Answer) -> None:
    permission = await outcome(answer)
    assert bool(permission) is allowed
    assert permission.answer is kind


async def test_what_an_option_is_called_does_not_matter_only_its_kind_per_5_per_7() -> None:
    options = [
        v2.PermissionOption(option_id="allow", name="Allow", kind="reject_once"),
        v2.PermissionOption(option_id="no", name="No", kind="allow_once"),
        v2.PermissionOption(option_id="odd", name="Odd", kind="_allow"),
    ]
    assert not await outcome(selected("allow"), options=options)
    assert await outcome(selected("no"), options=options)
    assert not await outcome(selected("odd"), options=options)


@pytest.mark.parametrize(
    ("code", "kind"), [(-32800, Answer.CANCELLED), (-32602, Answer.REFUSED), (-32603, Answer.REFUSED)]
)
async def test_r_04_an_error_is_no_approval_per_5_can_13(code: int, kind: Answer) -> None:
    seen: list[Permission] = []

    async def ask(turn: Turn) -> None:
        seen.append(await turn.permission("May I?"))

    client = await started(agent_of(ask))
    client.prompt(await client.new_session())
    client.refuse(await client.asked_for(PERMISSION), code)
    await client.idle()
    assert (bool(seen[0]), seen[0].answer) == (False, kind)


async def test_r_04_a_timeout_is_no_approval_and_withdraws_the_question_per_5() -> None:
    seen: list[Permission] = []

    async def ask(turn: Turn) -> None:
        seen.append(await turn.permission("May I?", answer_timeout=0.01))

    client = await started(agent_of(ask))
    client.prompt(await client.new_session())
    request = await client.asked_for(PERMISSION)
    await client.idle()
    assert (bool(seen[0]), seen[0].answer) == (False, Answer.TIMED_OUT)
    withdrawn = [m["params"]["requestId"] for m in client.messages if m.get("method") == "$/cancel_request"]
    assert withdrawn == [request["id"]]
    client.reply(request, selected("allow_once"))
    await client.settle()
    assert client.states() == ["running", "requires_action", "running", "idle:end_turn"]


async def test_r_04_a_client_that_leaves_permits_nothing_per_5_per_10() -> None:
    seen: list[Any] = []

    async def ask(turn: Turn) -> None:
        try:
            seen.append(await turn.permission("May I?"))
        finally:
            seen.append("end")

    client, link = connect(agent_of(ask))
    await client.initialize()
    client.prompt(await client.new_session())
    await client.asked_for(PERMISSION)
    client.close()
    await link.connection.wait_closed()
    assert seen[-1] == "end"
    assert not any(isinstance(answer, Permission) and answer for answer in seen)


async def test_t_11_the_tool_call_comes_before_the_question_and_the_state_says_so_prm_7_tcl_11() -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("Write a.txt", kind="edit", locations=["/w/a.txt"], pending=True) as call:
            if await call.permission():
                await call.text("done")

    client = await started(agent_of(work))
    client.prompt(await client.new_session())
    request = await client.asked_for(PERMISSION)
    kinds = [m["params"].get("update", {}).get("sessionUpdate") for m in client.messages if "method" in m]
    assert kinds == ["user_message", "state_update", "tool_call_update", "state_update", None]
    call = client.updates("tool_call_update")[0]
    assert request["params"]["title"] == "Write a.txt"
    assert request["params"]["subject"] == {
        "type": "tool_call",
        "toolCall": {
            "toolCallId": call["toolCallId"],
            "title": "Write a.txt",
            "kind": "edit",
            "status": "pending",
            "locations": [{"path": "/w/a.txt"}],
        },
    }
    client.reply(request, selected("allow_once"))
    await client.idle()
    assert client.states() == ["running", "requires_action", "running", "idle:end_turn"]
    assert [u["status"] for u in client.updates("tool_call_update")] == ["pending", "in_progress", "completed"]


@pytest.mark.parametrize(
    ("answer", "status"), [(selected("reject_once"), "failed"), ({"outcome": {"outcome": "cancelled"}}, "cancelled")]
)
async def test_r_02_a_tool_that_was_not_permitted_is_not_run_per_5(answer: Json, status: str) -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("Run", pending=True) as call:
            permission = await call.permission("Run it?", command="rm -rf /", cwd="sub")
            assert not permission

    client = await started(agent_of(work))
    client.answers[PERMISSION] = lambda params: answer
    client.prompt(await client.new_session())
    await client.idle()
    assert [u["status"] for u in client.updates("tool_call_update")] == ["pending", status]


async def test_a_command_subject_has_its_directory_per_3() -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("Run", pending=True) as call:
            await call.permission("Run it?", command="make", description="it builds", cwd="sub")

    client = await started(agent_of(work))
    client.prompt(await client.new_session())
    request = await client.asked_for(PERMISSION)
    call = client.updates("tool_call_update")[0]["toolCallId"]
    assert request["params"]["subject"] == {"type": "command", "command": "make", "cwd": "/w/sub", "toolCallId": call}
    assert request["params"]["description"] == "it builds"
    client.reply(request, selected("allow_once"))


async def test_r_10_several_questions_are_answered_each_by_its_own_per_9() -> None:
    import asyncio

    seen: list[bool] = []

    async def ask(turn: Turn) -> None:
        answers = await asyncio.gather(*(turn.permission(f"{n}?") for n in range(3)))
        seen.extend(map(bool, answers))

    client = await started(agent_of(ask))
    client.prompt(await client.new_session())
    await client.asked_for(PERMISSION, count=3)
    for index, option in ((1, "allow_once"), (2, "reject_once"), (0, "reject_once")):
        client.reply(client.asked[index], selected(option))
    await client.idle()
    assert seen == [False, True, False]
    assert client.states() == ["running", "requires_action", "running", "idle:end_turn"]


async def test_r_15_always_is_remembered_for_the_session_per_6() -> None:
    async def ask(turn: Turn) -> None:
        permission = await turn.permission("May I?", remember=turn.text)
        await turn.say(f"{bool(permission)} ")

    client = await started(agent_of(ask))
    chosen = ["allow_always", "reject_always", "allow_once", "allow_once", "reject_once"]
    client.answers[PERMISSION] = lambda params: selected(chosen.pop(0))
    session, other = await client.new_session(), await client.new_session()
    for text in ("write", "write", "run", "run", "read", "read"):
        client.prompt(session, text)
    await client.idle(6, session)
    client.prompt(other, "write")
    await client.idle(1, other)
    assert client.said() == "True True False False True True False "
    assert chosen == []


@pytest.mark.parametrize("options", [[], [v2.PermissionOption(option_id="a", name="A", kind="allow_once")] * 2])
async def test_r_05_options_are_at_least_one_and_can_be_told_apart_per_2(options: Any) -> None:
    async def ask(turn: Turn) -> None:
        with pytest.raises(LocalProtocolError):
            await turn.permission("May I?", options=options)

    client = await started(agent_of(ask))
    client.prompt(await client.new_session())
    await client.idle()
    assert client.states()[-1] == "idle:end_turn"


async def test_p_17_cancel_while_a_permission_is_pending_can_13_per_10() -> None:
    async def ask(turn: Turn) -> None:
        async with turn.tool("Write", pending=True) as call:
            await call.permission()

    client = await started(agent_of(ask))
    session = await client.new_session()
    client.prompt(session)
    request = await client.asked_for(PERMISSION)
    client.cancel(session)
    client.reply(request, {"outcome": {"outcome": "cancelled"}})
    await client.idle()
    await client.settle()
    assert client.states() == ["running", "requires_action", "idle:cancelled"]
    assert client.updates("tool_call_update")[-1]["status"] == "cancelled"
    withdrawn = [m["params"]["requestId"] for m in client.messages if m.get("method") == "$/cancel_request"]
    assert withdrawn in ([], [request["id"]])


async def test_p_18_an_answer_that_crosses_the_withdrawal_is_not_answered_can_13() -> None:
    async def ask(turn: Turn) -> None:
        await turn.permission("May I?")

    client = await started(agent_of(ask))
    session = await client.new_session()
    client.prompt(session)
    request = await client.asked_for(PERMISSION)
    client.cancel(session)
    await client.idle()
    client.reply(request, {"outcome": {"outcome": "cancelled"}})
    client.refuse(request, -32800)
    await client.settle()
    assert client.states() == ["running", "requires_action", "idle:cancelled"]
    assert not [m for m in client.messages if m.get("id") == request["id"] and "error" in m]


async def test_trace_context_passes_through_to_questions_ext_1() -> None:
    async def ask(turn: Turn) -> None:
        await turn.permission("May I?")

    client = await started(agent_of(ask))
    client.prompt(await client.new_session(), "x", _meta={"traceparent": "00-1", "other": 1})
    request = await client.asked_for(PERMISSION)
    assert request["params"]["_meta"] == {"traceparent": "00-1"}
    client.reply(request, selected("allow_once"))
    await client.idle()
