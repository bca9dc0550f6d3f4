"""Everything of the schema, used by our client and our agent on each other: what docs/supported.md says, proved."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import RpcError
from roost.sdk.agent import Agent
from roost.sdk.connect import connect
from roost.sdk.turn import Turn
from roost.testing.conformance.judge import Judge, Verdicts
from roost.testing.conformance.peer import Entry
from roost.testing.conformance.strict import examine
from tests.conformance.tour import BLOCKS, Record, Said, tour
from tests.sdk.raw_client import initialize_params, started
from tests.sdk.steps import agent_of, echo
from tools.gen_supported import (
    AGENT_CAPABILITIES,
    CLIENT_CAPABILITIES,
    CONTENT_BLOCKS,
    ERROR_CODES,
    PAGE,
    UPDATES,
    rendered,
)


@pytest.fixture(scope="module")
def record() -> Record:
    return asyncio.run(tour())


def key(method: Any) -> str:
    return f"{method.name} ({method.kind})"


def senders(method: Any) -> tuple[str, ...]:
    """Who may send it: the side that does not implement it."""
    return {"agent": ("client",), "client": ("agent",), "both": ("client", "agent")}[method.side]


@pytest.mark.parametrize("method", v2.METHODS, ids=key)
def test_a_method_is_sent_and_answered(method: Any, record: Record) -> None:
    for side in senders(method):
        calls = record.calls(side, method.name, method.kind)
        assert calls, f"the {side} never sent it"
        for call in calls:
            found = examine(method.params, call.get("params", {}))
            assert (found.faults, found.foreign) == ((), ())
        if method.kind == "request":
            answered = [record.answer(side, call) for call in calls]
            results = [answer["result"] for answer in answered if "result" in answer]
            assert results, answered
            if method.name != "mcp/message":
                for result in results:
                    found = examine(method.result, result)
                    assert (found.faults, found.foreign) == ((), ())


def test_nothing_our_agent_said_breaks_a_rule_that_can_be_seen(record: Record) -> None:
    """C-45"""
    verdicts = Verdicts()
    entries = [
        Entry(one.side == "client", json.dumps(one.message).encode(), one.message) for one in record.said
    ]  # fmt: skip
    Judge(verdicts).read(entries)
    assert [finding for topic in verdicts.findings.values() for finding in topic.all] == []
    assert len(verdicts.seen) > 10


def tag_of(update: Any) -> Any:
    return update.__struct_config__.tag


@pytest.mark.parametrize("tag", UPDATES)
def test_an_update_is_told_by_the_agent_and_seen_by_the_client(tag: str, record: Record) -> None:
    told = [
        call["params"]["update"]
        for call in record.calls("agent", "session/update", "notification")
        if call["params"]["update"]["sessionUpdate"] == tag
    ]
    assert told
    for update in told:
        found = examine(v2.SessionUpdate, update)
        assert (found.faults, found.foreign) == ((), ())
    assert tag in {tag_of(update) for update in record.seen["updates"]}


def test_what_was_told_is_what_the_client_shows(record: Record) -> None:
    view = record.seen["view"]
    assert [message.kind for message in view.messages][:4] == [
        "user_message", "agent_thought", "agent_message", "user_message",
    ]  # fmt: skip
    call = next(iter(view.tool_calls.values()))
    assert (call.title, call.kind, call.name, call.status) == ("Edit", "edit", "edit", "completed")
    assert (call.raw_input, call.raw_output) == ({"x": 1}, [1])
    assert [type(content) for content in call.content] == [v2.Diff, v2.Terminal]
    terminal = view.terminal(call.content[1].terminal_id)
    assert (bytes(terminal.data), terminal.exit_status) == (b"made\n", v2.TerminalExitStatus(exit_code=0))
    assert {plan.plan_id for plan in view.plans.values()} == {"m", "f"}
    assert view.title == "A tour"
    assert [command.name for command in view.commands] == ["plan"]
    assert record.seen["updates"][-1].usage == v2.Usage(total_tokens=3, input_tokens=1, output_tokens=2)


@pytest.mark.parametrize("kind", CONTENT_BLOCKS)
def test_a_content_block_goes_to_the_agent_and_back(kind: str, record: Record) -> None:
    there, back = record.seen[f"block {kind}"]
    assert there == [BLOCKS[kind]]
    assert back == [BLOCKS[kind]]


def path_in(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


async def advertised(agent: Agent) -> Any:
    client = await started(agent)
    return client.messages[0]["result"]["capabilities"]


@pytest.mark.parametrize("path", AGENT_CAPABILITIES)
def test_an_agents_capability_is_advertised_when_it_is_there_and_heard_by_the_client(path: str, record: Record) -> None:
    (request,) = record.calls("client", "initialize", "request")
    told = record.answer("client", request)["result"]["capabilities"]
    value = path_in(told, path)
    assert value is not None
    heard: Any = record.seen["agent"].capabilities
    for step in path.split("."):
        heard = getattr(heard, "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in step))
        assert heard is not None
    bare = Agent("bare", "1", delete=False)
    assert path_in(asyncio.run(advertised(bare)), path) is None


@pytest.mark.parametrize("path", CLIENT_CAPABILITIES)
def test_a_clients_capability_is_advertised_when_it_is_there_and_heard_by_the_agent(path: str, record: Record) -> None:
    (request,) = record.calls("client", "initialize", "request")
    assert path_in(request["params"]["capabilities"], path) is not None
    heard: Any = record.seen["client"]
    for step in path.split("."):
        heard = getattr(heard, "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in step))
        assert heard is not None
    plain = asyncio.run(bare_client())
    assert path_in(plain["capabilities"], path) in (None, [])


async def bare_client() -> Any:
    said: list[Said] = []
    agent = agent_of(echo)

    @agent.override("initialize")
    def initialize(request: Any, incoming: Any, link: Any) -> Any:
        said.append(Said("client", {"capabilities": json.loads(v2_json(request.capabilities))}))
        link.advertised = agent.advertise(2, request.capabilities, link)
        return link.advertised

    async with connect(agent):
        return said[0].message


def v2_json(value: Any) -> bytes:
    from roost.wire.decode import encode

    return encode(value)


# ---- errors: how a client of ours comes to see each code


async def _parse_error(client: Any) -> None:
    client.send(b"{")


SITUATIONS: dict[int, tuple[str, Any]] = {
    -32700: ("a line that is not JSON", b"{"),
    -32600: ("a second initialize", ("initialize", initialize_params())),
    -32601: ("an unknown method", ("_acme/unknown", {})),
    -32602: ("a relative directory", ("session/new", {"cwd": "relative"})),
    -32603: ("a handler that raises", ("_acme/broken", {})),
    -32002: ("an unknown session", ("session/resume", {"sessionId": "none", "cwd": "/"})),
}


@pytest.mark.parametrize("code", ERROR_CODES)
async def test_an_error_code_is_sent_where_it_belongs_and_raised_at_the_other_end(code: int) -> None:
    agent = agent_of(echo)

    @agent.extension("_acme/broken")
    def broken(params: Any, link: Any) -> None:
        raise RuntimeError("secret")

    @agent.extension("_acme/error")
    def fail(params: Any, link: Any) -> None:
        raise RpcError(params["code"], "As you wish", {"any": [1, None]})

    async with connect(agent) as client:
        with pytest.raises(RpcError) as error:
            await client.call_extension("_acme/error", {"code": code})
        assert (error.value.code, error.value.data) == (code, {"any": [1, None]})
    raw = await started(agent)
    if code in SITUATIONS:
        what = SITUATIONS[code][1]
        if isinstance(what, bytes):
            raw.send(what)
            assert (await raw.response(None))["error"]["code"] == code
        else:
            assert (await raw.error(*what))["code"] == code
    elif code == -32800:
        assert (await _withdrawn())["error"]["code"] == code
    else:
        assert code == -32000
        gated = agent_of(echo, login_required=True)
        gated.login("key", "Key")(_log_in)
        assert (await (await started(gated)).error("session/new", {"cwd": "/w"}))["code"] == code


async def _log_in(call: Any) -> None: ...


async def _withdrawn() -> Any:
    async def wait(turn: Turn) -> None:
        await asyncio.Event().wait()

    client = await started(agent_of(wait))
    session = await client.new_session()
    await client.response(client.prompt(session))
    second = client.prompt(session)
    client.withdraw(second)
    return await client.response(second)


def test_the_tour_came_to_its_end(record: Record) -> None:
    seen = record.seen
    assert (seen["permission"], seen["command"], seen["logged out"], seen["left"], seen["fork"]) == (True,) * 5
    assert seen["form"].values == {"which": "a", "sure": True}
    assert seen["login form"].values == {"name": "me"}
    assert seen["url_done"] == "https://example.com/login"
    assert seen["mcp"] == {"tools": [], "method": "tools/list", "params": {"cursor": "x"}}
    assert seen["server asked"] == {"asked": "sampling/createMessage"}
    assert seen["cancelled"].was_cancelled
    assert [provider.provider_id for provider in seen["providers"]] == ["main", "other"]
    assert [option.current_value for option in seen["config"]] == ["b", True]
    assert seen["document"] == "\u00fctwo\n"
    assert len(seen["suggest"].context.recent_files) == 2
    assert (seen["accepted"], seen["rejected"]) == ("sug-1", "rejected")


def test_the_page_is_what_the_table_and_the_schema_say() -> None:
    assert PAGE.read_text() == rendered(), "run `python -m tools.gen_supported`"


def test_the_page_says_yes_everywhere() -> None:
    rows = _rows()
    assert len(rows) > 100
    assert all(row.endswith("| yes |") for row in rows)


def test_the_proofs_the_page_names_are_tests_here() -> None:
    text = Path(__file__).read_text()
    for row in _rows():
        name = row.partition("[")[2].partition("]")[0]
        assert f"def {name.replace(' ', '_')}(" in text, name


def _rows() -> list[str]:
    """What is supported; behind it stands what is lost, which `test_losses` compares."""
    supported, _, lost = PAGE.read_text().partition("\n## Lost between")
    assert lost
    return [line for line in supported.splitlines() if line.startswith("| `")]
