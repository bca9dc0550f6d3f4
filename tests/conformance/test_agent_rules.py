"""Rules of the agent side that no other test is about, seen by a raw client."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from roost.agents.wren.agent import new_wren
from roost.errors import LocalProtocolError
from roost.sdk.elicitation import Action
from roost.sdk.forms import Form
from roost.sdk.turn import Turn
from tests.sdk.raw_client import Json, RawClient, connect, started, text_block
from tests.sdk.steps import Steps, agent_of, echo

PERMISSION = "session/request_permission"
ELICITATION = "elicitation/create"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/new", {"cwd": "relative"}),
        ("session/new", {"cwd": "/w", "mcpServers": [{"type": "sse", "name": "n", "url": "u"}]}),
        ("session/prompt", {"sessionId": "none", "prompt": [text_block("x")]}),
        ("session/prompt", {"sessionId": "none"}),
        ("session/list", {"cursor": "garbage"}),
        ("initialize", {"protocolVersion": 2}),
        ("_acme/unknown", {}),
        ("auth/login", {"methodId": "none"}),
    ],
)
async def test_the_message_of_an_error_is_one_short_sentence_err_5(method: str, params: Json) -> None:
    client = await started(agent_of(echo))
    message = (await client.error(method, params))["message"]
    assert 0 < len(message) < 120
    assert "\n" not in message
    assert ". " not in message


async def test_a_request_of_the_agent_has_an_id_of_its_own_that_is_not_null_id_5() -> None:
    async def ask(turn: Turn) -> None:
        for _ in range(3):
            await turn.permission("May I?")

    client = await started(agent_of(ask))
    client.answers[PERMISSION] = lambda params: {"outcome": {"outcome": "cancelled"}}
    client.prompt(await client.new_session())
    await client.idle()
    ids = [m["id"] for m in client.messages if m.get("method") == PERMISSION]
    assert len(set(ids)) == 3
    assert None not in ids


async def test_an_agent_withdraws_its_own_requests_and_by_a_notification_can_1() -> None:
    steps = Steps()

    async def ask(turn: Turn) -> None:
        await turn.permission("May I?", answer_timeout=0.01)
        await steps.wait("asked")

    client = await started(agent_of(ask))
    client.prompt(await client.new_session())
    request = await client.asked_for(PERMISSION)
    await steps.reached("asked")
    withdrawals = await client.until(lambda: [m for m in client.messages if m.get("method") == "$/cancel_request"])
    assert [("id" in m, m["params"]) for m in withdrawals] == [(False, {"requestId": request["id"]})]
    # The same id, sent by the client, names a request of the client: there is none.
    client.withdraw(request["id"])
    steps.go("asked")
    await client.idle()
    assert client.states()[-1] == "idle:end_turn"


async def test_what_is_due_comes_before_the_answer_to_a_withdrawn_request_can_6() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait(turn.text)
        await turn.say("done")

    client = await started(agent_of(slow))
    session = await client.new_session()
    client.prompt(session, "one")
    await steps.reached("one")
    waiting = client.prompt(session, "two")
    steps.go("one")
    steps.go("two")
    client.withdraw(waiting)
    response = await client.response(waiting)
    assert response["error"]["code"] == -32800
    await client.idle()
    await client.settle()
    assert client.said() == "done"
    assert len(client.responses(waiting)) == 1


async def test_logging_out_when_nobody_is_logged_in_succeeds_auth_11() -> None:
    agent = agent_of(echo)

    @agent.login("key", "Key")
    async def login(call: Any) -> None: ...

    client = await started(agent)
    for _ in range(2):
        assert await client.call("auth/logout", {}) == {}


async def test_a_session_may_be_gone_on_with_from_another_connection_ses_3() -> None:
    agent = agent_of(echo)
    one, two = await started(agent), await started(agent)
    session = await one.new_session()
    one.prompt(session, "from one")
    await one.idle()
    await two.call("session/resume", {"sessionId": session, "cwd": "/w", "replayFrom": {"type": "start"}})
    assert [u["content"] for u in two.updates("user_message")] == [[text_block("from one")]]
    two.prompt(session, "from two")
    await two.idle()
    assert two.said().endswith("from two")
    assert "from two" not in one.said()  # it is shown where it is attached


async def test_the_roots_of_a_session_are_its_directory_and_the_additional_ones_ses_7(tmp_path: Path) -> None:
    seen: list[Any] = []
    for name in ("w", "more", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "w" / "out").symlink_to(tmp_path / "other")

    async def look(turn: Turn) -> None:
        session = turn.session
        seen.append(session.roots)
        paths = ("x", str(tmp_path / "more" / "x"), str(tmp_path / "other" / "x"), "../other/x", "out/x", "../w2")
        seen.append([session.contains(path) for path in paths])

    client = await started(agent_of(look, roots=True))
    session = await client.new_session(cwd=str(tmp_path / "w"), additionalDirectories=[str(tmp_path / "more")])
    client.prompt(session)
    await client.idle()
    assert seen == [
        [str(tmp_path / "w"), str(tmp_path / "more")],
        [True, True, False, False, False, False],
    ]


async def test_a_terminal_is_replayed_as_one_snapshot_trm_11() -> None:
    async def run(turn: Turn) -> None:
        async with turn.tool("Run") as call:
            terminal = await call.terminal("make")
            for number in range(50):
                await terminal.write(f"line {number}\n".encode())
            await terminal.exit(0)

    client = await started(agent_of(run))
    session = await client.new_session()
    client.prompt(session)
    await client.idle()
    output = b"".join(base64.b64decode(u["data"]) for u in client.updates("terminal_output_chunk"))
    await client.call("session/close", {"sessionId": session})
    since = len(client.messages)
    await client.call("session/resume", {"sessionId": session, "cwd": "/w", "replayFrom": {"type": "start"}})
    told = [m["params"]["update"] for m in client.messages[since:] if m.get("method") == "session/update"]
    terminals = [u for u in told if u["sessionUpdate"].startswith("terminal_")]
    assert [u["sessionUpdate"] for u in terminals] == ["terminal_update"]
    assert base64.b64decode(terminals[0]["output"]["data"]) == output
    assert terminals[0]["exitStatus"] == {"exitCode": 0}


ANSWERS: list[tuple[str, Any]] = [
    ("decline", {"action": "decline"}),
    ("cancel", {"action": "cancel"}),
    ("decline with content", {"action": "decline", "content": {"name": "x"}}),
    ("unknown", {"action": "_later", "content": {"name": "x"}}),
    ("garbage", {"content": {"name": "x"}}),
    ("null", None),
]


@pytest.mark.parametrize(("name", "answer"), ANSWERS, ids=[name for name, _ in ANSWERS])
async def test_every_way_of_not_accepting_is_an_outcome_and_no_failure_eli_11_fwd_9(name: str, answer: Any) -> None:
    seen: list[Any] = []

    async def ask(turn: Turn) -> None:
        seen.append(await turn.elicit("Who?", Form().text("name", "Name")))

    client = await started(agent_of(ask), capabilities={"elicitation": {"form": {}}})
    client.answers[ELICITATION] = lambda params: answer
    client.prompt(await client.new_session())
    await client.idle()
    assert client.states()[-1] == "idle:end_turn"
    assert not seen[0].accepted
    assert seen[0].values == {}
    assert seen[0].action is not Action.ACCEPTED


SECRETS: list[tuple[str, str | None]] = [
    ("password", None), ("apiKey", None), ("api_key", None), ("value", "Your API key"), ("dbPassword", None),
    ("x", "Passphrase of the key"), ("access_token", None), ("accessToken", None), ("login", "Credentials"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "title"), SECRETS)
async def test_a_form_that_asks_for_a_secret_is_not_sent_eli_12(name: str, title: str | None) -> None:
    seen: list[Any] = []

    async def ask(turn: Turn) -> None:
        try:
            await turn.elicit("Log in", Form().text(name, title))
        except LocalProtocolError as error:
            seen.append(str(error))

    client = await started(agent_of(ask), capabilities={"elicitation": {"form": {}, "url": {}}})
    client.prompt(await client.new_session())
    await client.idle()
    assert len(seen) == 1
    assert "use a URL" in seen[0]
    assert not client.asked


@pytest.mark.parametrize("name", ["passwordless", "tokens", "secretary", "keys", "monkey", "token_count"])
async def test_other_words_are_no_secrets_eli_12(name: str) -> None:
    async def ask(turn: Turn) -> None:
        await turn.elicit("Well?", Form().text(name, name.title()))

    client = await started(agent_of(ask), capabilities={"elicitation": {"form": {}}})
    client.answers[ELICITATION] = lambda params: {"action": "decline"}
    client.prompt(await client.new_session())
    await client.idle()
    assert [m for m in client.messages if m.get("method") == ELICITATION]


async def test_a_link_in_a_prompt_is_not_read_outside_the_roots_sec_7(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    secret = tmp_path / "secret.txt"
    secret.write_text("4711 is the number")
    client = await started(new_wren())
    session = await client.new_session(cwd=str(tmp_path / "w"))
    link = {"type": "resource_link", "name": "secret.txt", "uri": secret.as_uri()}
    blocks = [text_block(f"find 4711\nread {secret}\nread ../secret.txt"), link]
    client.request("session/prompt", {"sessionId": session, "prompt": blocks})
    await client.idle()
    own = [m for m in client.messages if m.get("params", {}).get("update", {}).get("sessionUpdate") != "user_message"]
    assert "is the number" not in repr(own)


async def test_an_unasked_for_answer_on_another_connection_changes_nothing_ses_3_per_5() -> None:
    """SEC-5: an answer counts where it was asked for."""
    seen: list[Any] = []

    async def ask(turn: Turn) -> None:
        seen.append(await turn.permission("May I?"))

    agent = agent_of(ask)
    client, _ = connect(agent)
    await client.initialize()
    other: RawClient = await started(agent)
    client.prompt(await client.new_session())
    request = await client.asked_for(PERMISSION)
    other.reply(request, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
    await other.settle()
    assert seen == []
    client.reply(request, {"outcome": {"outcome": "selected", "optionId": "reject_once"}})
    await client.idle()
    assert not seen[0]
