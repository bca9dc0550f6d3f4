"""TCL, TRM, DIF, PLN as an agent keeps them: what a turn shows of its work."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import LocalProtocolError
from roost.sdk.turn import Turn

from .raw_client import Json, RawClient, started
from .steps import Handler, Steps, agent_of


async def after(handler: Handler, **more: Any) -> RawClient:
    """The client when the agent has worked on one prompt."""
    client = await started(agent_of(handler, **more))
    client.prompt(await client.new_session())
    await client.idle()
    return client


def tool_updates(client: RawClient) -> list[Json]:
    return [
        {k: v for k, v in u.items() if k not in ("sessionUpdate", "toolCallId")}
        for u in client.updates("tool_call_update")
    ]


async def test_t_10_a_tool_call_is_announced_with_its_title_and_completed_tcl_2() -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool(
            "Read a.txt", kind="read", name="read_file", locations=["/w/a.txt"], raw_input={"path": "a.txt"}
        ) as call:
            await call.text("contents")
            await call.update(raw_output={"bytes": 8})

    client = await after(work)
    assert tool_updates(client) == [
        {
            "name": "read_file",
            "title": "Read a.txt",
            "kind": "read",
            "status": "in_progress",
            "locations": [{"path": "/w/a.txt"}],
            "rawInput": {"path": "a.txt"},
        },
        {"rawOutput": {"bytes": 8}},
        {"status": "completed"},
    ]
    assert client.updates("tool_call_content_chunk")[0]["content"] == {
        "type": "content",
        "content": {"type": "text", "text": "contents"},
    }
    assert len({u["toolCallId"] for u in client.updates("tool_call_update")}) == 1


async def test_t_10_a_tool_that_fails_is_failed_tcl_7() -> None:
    async def work(turn: Turn) -> None:
        with pytest.raises(ValueError, match="x"):
            async with turn.tool("a"):
                raise ValueError("x")
        async with turn.tool("b") as call:
            await call.fail("it broke")

    assert [u["status"] for u in tool_updates(await after(work))] == ["in_progress", "failed"] * 2


async def test_t_10_a_cancelled_tool_is_cancelled_before_idle_tcl_7() -> None:
    steps = Steps()

    async def work(turn: Turn) -> None:
        async with turn.tool("a"):
            await steps.wait("x")

    client = await started(agent_of(work))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.cancel(session)
    await client.idle()
    assert [u.get("status") or u["state"] for u in client.updates()[-2:]] == ["cancelled", "idle"]


@pytest.mark.parametrize(("stop", "status"), [(None, "completed"), ("refusal", "failed"), ("cancelled", "cancelled")])
async def test_a_tool_call_left_open_is_closed_at_the_end_tcl_7(stop: Any, status: str) -> None:
    async def work(turn: Turn) -> Any:
        await turn.tool("left open").__aenter__()
        return stop

    assert tool_updates(await after(work))[-1] == {"status": status}


async def test_a_location_is_absolute_tcl_8() -> None:
    async def work(turn: Turn) -> None:
        with pytest.raises(LocalProtocolError):
            turn.tool("a", locations=["a.txt"])
        async with turn.tool("a", locations=[v2.ToolCallLocation(path="C:\\a", line=3)]) as call:
            await call.locate("/w/b")
            with pytest.raises(LocalProtocolError):
                await call.locate("b")

    assert tool_updates(await after(work))[0]["locations"] == [{"path": "C:\\a", "line": 3}]


async def test_t_27_a_diff_has_absolute_paths_and_a_patch_dif_3_dif_5() -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("Edit", kind="edit") as call:
            await call.diff("sub/a.txt", "a\n", "b\n")

    diff = (await after(work)).updates("tool_call_content_chunk")[0]["content"]
    assert diff == {
        "type": "diff",
        "changes": [{"operation": "modify", "path": "/w/sub/a.txt", "fileType": "text"}],
        "patch": {
            "format": "git_patch",
            "text": "diff --git /w/sub/a.txt /w/sub/a.txt\n--- /w/sub/a.txt\n+++ /w/sub/a.txt\n@@ -1 +1 @@\n-a\n+b\n",
        },
    }


async def test_a_terminal_streams_bytes_and_says_how_it_ended_trm_3_to_trm_7() -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("Run") as call:
            terminal = await call.terminal("make", cwd="sub")
            await terminal.write("h\u00e9".encode()[:2])
            await terminal.write("h\u00e9".encode()[2:])
            await terminal.exit(2)
            other = await call.terminal()
            await other.write(b"x" * 100_000)
            await other.replace("snapshot")
            await other.exit(signal="SIGKILL")

    client = await after(work)
    updates = client.updates("terminal_update")
    first, second = updates[0]["terminalId"], updates[2]["terminalId"]
    assert first != second
    assert {k: v for k, v in updates[0].items() if k in ("command", "cwd")} == {"command": "make", "cwd": "/w/sub"}
    assert updates[1]["exitStatus"] == {"exitCode": 2}
    assert [u.get("exitStatus") for u in updates[3:]] == [None, {"signal": "SIGKILL"}]
    chunks = client.updates("terminal_output_chunk")
    assert b"".join(b64decode(c["data"], validate=True) for c in chunks if c["terminalId"] == first) == b"h\xc3\xa9"
    assert sum(len(b64decode(c["data"])) for c in chunks if c["terminalId"] == second) == 100_000
    references = [c["content"]["terminalId"] for c in client.updates("tool_call_content_chunk")]
    assert references == [first, second]


async def test_t_23_ids_are_never_used_again_not_even_after_a_resume_trm_2_ses_18() -> None:
    async def work(turn: Turn) -> None:
        await turn.say("x")
        async with turn.tool("a") as call:
            await call.terminal()
        await turn.plan(["a"])

    client = await started(agent_of(work))
    session = await client.new_session()
    for _ in range(2):
        client.prompt(session)
    await client.idle(2)
    await client.call("session/close", {"sessionId": session})
    await client.call("session/resume", {"sessionId": session, "cwd": "/w"})
    client.prompt(session)
    await client.idle(3)
    for kind, key in (
        ("user_message", "messageId"),
        ("agent_message_chunk", "messageId"),
        ("terminal_output_chunk", "terminalId"),
        ("plan_update", "plan"),
    ):
        ids = [str(u[key]) for u in client.updates(kind)]
        assert len(set(ids)) == len(ids)
    assert len({u["terminalId"] for u in client.updates("terminal_update")}) == 3
    assert len({u["toolCallId"] for u in client.updates("tool_call_update")}) == 3


async def test_a_plan_is_told_whole_each_time_pln_1_pln_2() -> None:
    async def work(turn: Turn) -> None:
        plan = await turn.plan(["one", v2.PlanEntry(content="two", priority="high", status="pending")])
        await plan.start(0)
        await plan.complete(0)
        await plan.cancel(1)
        await plan.add("three")
        await turn.plan([], plan_id="mine")
        await plan.remove()

    client = await after(work)
    plans = [u["plan"] for u in client.updates("plan_update")]
    assert [[e["status"] for e in p["entries"]] for p in plans] == [
        ["pending", "pending"],
        ["in_progress", "pending"],
        ["completed", "pending"],
        ["completed", "cancelled"],
        ["completed", "cancelled", "pending"],
        [],
    ]
    assert plans[0]["entries"] == [
        {"content": "one", "priority": "medium", "status": "pending"},
        {"content": "two", "priority": "high", "status": "pending"},
    ]
    assert plans[-1] == {"type": "items", "planId": "mine", "entries": []}  # W5
    assert client.updates("plan_removed")[0]["planId"] == plans[0]["planId"]


async def test_a_command_runs_in_a_terminal_and_its_output_is_streamed() -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("Run", kind="execute") as call:
            terminal = await call.terminal("printf", cwd="/")
            result = await terminal.run("printf 'a\\nb'; pwd; exit 3", env={"X": "1"})
            await turn.say(f"{result.exit_code} {result.succeeded} {result.output_bytes}")

    client = await after(work)
    output = b"".join(b64decode(c["data"]) for c in client.updates("terminal_output_chunk"))
    assert output == b"a\nb/\n"
    assert client.updates("terminal_update")[-1]["exitStatus"] == {"exitCode": 3}
    assert client.said() == "3 False 5"


async def test_a_command_that_cannot_be_started_is_an_error_and_its_terminal_has_ended() -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("Run") as call:
            terminal = await call.terminal()
            with pytest.raises(OSError, match="nowhere"):
                await terminal.run(["/nowhere/at/all"])

    client = await after(work)
    assert client.updates("terminal_update")[-1]["exitStatus"] == {}


async def test_a_tool_call_may_be_patched_to_its_end_by_hand() -> None:
    async def work(turn: Turn) -> None:
        async with turn.tool("a", pending=True) as call:
            assert call.status == "pending"
            await call.start()
            await call.update(status="completed", title="b")
            assert (call.is_finished, call.title) == (True, "b")

    statuses = [u.get("status") for u in tool_updates(await after(work))]
    assert statuses == ["pending", "in_progress", "completed"]


async def test_work_that_outlives_its_turn_cannot_touch_its_tool_calls() -> None:
    kept: list[Any] = []

    async def work(turn: Turn) -> None:
        call = turn.tool("a")
        await call.__aenter__()
        kept.append(call)

    client = await after(work)
    count = len(client.messages)
    with pytest.raises(LocalProtocolError):
        await kept[0].text("late")
    kept[0].close("failed")
    await asyncio.sleep(0)
    assert len(client.messages) == count
