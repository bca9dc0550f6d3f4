"""SES-13 to SES-16, SES-30, SEC-6: the list of an agent's sessions, and who sees what in it."""

from __future__ import annotations

from base64 import b64encode

import pytest

from roost.acp import v2
from roost.sdk.limits import AgentLimits
from roost.sdk.turn import Turn

from .agent_history import NewStore, history, resume_params, work
from .raw_client import Json, connect, started, text_block
from .steps import agent_of, echo


async def test_s_11_no_sessions_is_an_empty_list_ses_13(new_store: NewStore) -> None:
    client = await started(agent_of(echo, store=new_store()))
    assert await client.call("session/list", {}) == {"sessions": []}


async def test_s_12_s_13_every_session_is_on_one_page_and_the_filter_comes_first_ses_13_ses_15() -> None:
    agent = agent_of(echo, limits=AgentLimits(page_sessions=7))
    agent.now = lambda: "2026-01-01T00:00:00.000000Z"  # type: ignore[method-assign]  # a tie everywhere
    client = await started(agent)
    made = {cwd: [await client.new_session(cwd=cwd) for _ in range(20)] for cwd in ("/a", "/b")}
    for params, expected in (({}, made["/a"] + made["/b"]), ({"cwd": "/b"}, made["/b"]), ({"cwd": "/a/"}, [])):
        seen: list[str] = []
        sizes: list[int] = []
        cursor: Json = {}
        while True:
            page = await client.call("session/list", {**params, **cursor})
            seen += [s["sessionId"] for s in page["sessions"]]
            sizes.append(len(page["sessions"]))
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert sorted(seen) == sorted(expected)
        assert all(size == 7 for size in sizes[:-1])


async def test_the_newest_session_comes_first_with_what_is_known_of_it_ses_14_ses_15(new_store: NewStore) -> None:
    client = await started(agent_of(work, store=new_store(), roots=True))
    old = await client.new_session(additionalDirectories=["/r"])
    new = await client.new_session()
    client.prompt(old, "this")
    await client.idle()
    listed = (await client.call("session/list", {}))["sessions"]
    assert [s["sessionId"] for s in listed] == [old, new]
    assert listed[0]["title"] == "About this"
    assert listed[0]["additionalDirectories"] == ["/r"]
    assert listed[0]["updatedAt"] > listed[1]["updatedAt"]
    assert set(listed[1]) == {"sessionId", "cwd", "updatedAt"}


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({"cursor": "garbage"}, id="S-14"),
        pytest.param({"cursor": b64encode(b"none").decode()}, id="S-14 base64"),
        pytest.param({"cursor": ""}, id="S-14 empty"),
        pytest.param({"cursor": 5}, id="S-15 cursor"),
        pytest.param({"cwd": 5}, id="S-15"),
        pytest.param({"cwd": "relative"}, id="SES-13"),
    ],
)
async def test_a_bad_cursor_or_filter_is_an_error_ses_13_ses_16(params: Json) -> None:
    client = await started(agent_of(echo))
    assert (await client.error("session/list", params))["code"] == -32602


async def test_s_37_the_title_is_a_patch_ses_30() -> None:
    async def rename(turn: Turn) -> None:
        await turn.session_info(title="a")
        await turn.session.update(v2.SessionInfoUpdate())
        assert turn.session.title == "a"
        await turn.session_info(title=None)
        assert turn.session.title is None

    client = await started(agent_of(rename))
    client.prompt(await client.new_session())
    await client.idle()
    assert [u.get("title", "absent") for u in client.updates("session_info_update")] == ["a", "absent", None]


async def test_s_38_one_users_sessions_do_not_exist_for_another_sec_6(new_store: NewStore) -> None:
    agent = agent_of(work, store=new_store(), fork=True)
    alice, _ = connect(agent, principal="alice")
    bob, _ = connect(agent, principal="bob")
    await alice.initialize()
    await bob.initialize()
    session = await history(alice)
    prompt = {"sessionId": session, "prompt": [text_block("x")]}
    for method, params in (
        ("session/prompt", prompt),
        ("session/resume", resume_params(session)),
        ("session/close", {"sessionId": session}),
        ("session/fork", {"sessionId": session, "cwd": "/w"}),
        ("session/set_config_option", {"type": "id", "sessionId": session, "configId": "a", "value": "b"}),
    ):
        assert (await bob.error(method, params))["code"] == -32002, method
    await bob.call("session/delete", {"sessionId": session})
    bob.cancel(session)
    assert await bob.call("session/list", {}) == {"sessions": []}
    assert len((await alice.call("session/list", {}))["sessions"]) == 1
