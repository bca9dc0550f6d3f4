"""What recorded v1 clients sent, `acpx` among them, sent to an agent written with our library: it serves them all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost import Agent, Turn
from roost.acp import v2
from roost.sdk.serve import serve
from roost.transport.messages import message_pair
from tests.replay.recording import Json, Line, Run, runs
from tests.sdk.raw_client import RawClient

V1_UPDATES = {
    *("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"),
    *(
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
    ),
}
V1_STOPS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
KNOWN = {"initialize", "session/new", "session/prompt", "session/list", "session/load", "session/resume"}
UNKNOWN = {"no/such_method", "_no.such/ext"}

RUNS = [
    run
    for run in runs()
    if [line.message["params"]["protocolVersion"] for line in run.requests("initialize")][:1] == [1]
]


class RecordedClient:
    """Sends the client's lines of a run. What depends on the recorded agent, ids of sessions, is that of ours."""

    def __init__(self, run: Run, client: RawClient) -> None:
        self._client = client
        self._lines = run.lines
        self._sessions: dict[str, str] = {}
        self._asked = {
            line.message["id"]: line.message
            for line in run.lines
            if line.from_agent and line.message and "method" in line.message and "id" in line.message
        }
        self.requests: list[Json] = []
        self.junk = 0
        """Lines that are no JSON; one that is a batch is answered as such."""

    async def play(self) -> None:
        first = next(
            index
            for index, line in enumerate(self._lines)
            if not line.from_agent and line.message and line.message.get("method") == "initialize"
        )
        for line in self._lines[first:]:
            if not line.from_agent:
                await self._send(line)
        await self._all_answered()
        await self._client.until(lambda: len(self.parse_errors) >= self.junk)

    @property
    def parse_errors(self) -> list[Json]:
        """Errors about no request."""
        single = [each for each in self._client.messages if isinstance(each, dict)]
        return [each["error"] for each in single if "error" in each and each["id"] is None]

    async def _send(self, line: Line) -> None:
        message = line.message
        if message is None and line.text:  # framing skips blank lines
            self.junk += not line.text.startswith("[")
            self._client.send(line.text.encode())
        elif message is None:
            return
        elif "method" not in message:
            await self._answer(message)
        elif "id" not in message:
            self._client.send(self._ours(message))
        else:
            await self._all_answered()
            self.requests.append(message)
            self._client.send(self._ours(message))
            if message["method"] != "session/prompt":
                await self._client.response(message["id"])
                self._learn(message)

    def _ours(self, message: Json) -> Json:
        params = message.get("params") or {}
        known = self._sessions.get(params.get("sessionId"))
        return message if known is None else {**message, "params": {**params, "sessionId": known}}

    def _learn(self, request: Json) -> None:
        answers = [
            line.message
            for line in self._lines
            if line.from_agent
            and line.message
            and line.message.get("id") == request["id"]
            and "method" not in line.message
        ]
        recorded = (answers[0].get("result") or {}).get("sessionId") if answers else None
        ours = (self._client.responses(request["id"])[0].get("result") or {}).get("sessionId")
        if recorded and ours:
            self._sessions[recorded] = ours

    async def _answer(self, recorded: Json) -> None:
        """A permission's, with the outcome there was; our agent asks for nothing else."""
        if self._asked[recorded["id"]]["method"] != "session/request_permission":
            return
        client = self._client
        await client.until(lambda: client.asked or self._is_answered())
        if client.asked:
            client.reply(client.asked.pop(0), recorded["result"])

    def _is_answered(self) -> bool:
        return all(self._client.responses(request["id"]) for request in self.requests)

    async def _all_answered(self) -> None:
        await self._client.until(lambda: self._is_answered() or self._client.asked)
        while self._client.asked and not self._is_answered():  # the recorded client was asked less
            self._client.reply(self._client.asked.pop(0), {"outcome": {"outcome": "cancelled"}})
            await self._client.until(lambda: self._is_answered() or self._client.asked)


def agent_of(run: Run, outcomes: list[str]) -> Agent:
    """Says what it was told, and asks in each turn for what the recorded agent asked for in it."""
    agent = Agent("small", "1.0")
    asked: list[list[Json]] = []
    for line in run.lines:
        message = line.message or {}
        if message.get("method") == "session/prompt":
            asked.append([])
        elif message.get("method") == "session/request_permission":
            asked[-1].append(message["params"])

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.think("let me see")
        for params in asked.pop(0) if asked else ():
            options = [
                v2.PermissionOption(option_id=option["optionId"], name=option["name"], kind=option["kind"])
                for option in params["options"]
            ]
            async with turn.tool(params["toolCall"].get("title") or "work", kind="edit") as tool:
                permission = await tool.permission(options=options)
                outcomes.append("" if permission.option is None else permission.option.option_id)
                await tool.text("done" if permission else "not done")
        await turn.say(turn.text)

    return agent


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
async def test_an_agent_of_ours_answers_all_that_a_recorded_v1_client_sends(run: Run) -> None:
    here, there = message_pair()
    client = RawClient(here)
    outcomes: list[str] = []
    serving = asyncio.ensure_future(serve(agent_of(run, outcomes), there))
    recorded = RecordedClient(run, client)
    await recorded.play()
    assert_answered(recorded, client)
    assert_said_in_v1(recorded, client)
    client.close()
    async with asyncio.timeout(10):
        await serving


def assert_answered(recorded: RecordedClient, client: RawClient) -> None:
    """Each request once, in the shape of v1; each line that is none with an error."""
    initialized = 0
    for request in recorded.requests:
        [answer] = client.responses(request["id"])
        result = answer.get("result")
        match request["method"]:
            case "initialize":
                initialized += 1
                assert (result is None) is (initialized > 1)
                if result is not None:
                    assert result["protocolVersion"] == 1
                    assert result["agentInfo"] == {"name": "small", "version": "1.0"}
            case "session/new" if result is not None:
                assert isinstance(result["sessionId"], str)
            case "session/new":
                assert request["params"]["cwd"] == "rel/dir"
            case "session/prompt" if result is not None:
                assert result["stopReason"] in V1_STOPS
            case "session/list" if result is not None:
                assert isinstance(result["sessions"], list)
            case method if method in UNKNOWN:
                assert answer["error"]["code"] == -32601
            case _:
                assert ("result" in answer) != ("error" in answer)
    assert [error["code"] for error in recorded.parse_errors] == [-32700] * recorded.junk


def assert_said_in_v1(recorded: RecordedClient, client: RawClient) -> None:
    """Nothing of v2 leaks, and the text of every prompt that was taken came back."""
    updates = [
        each["params"] for each in client.messages if isinstance(each, dict) and each.get("method") == "session/update"
    ]
    assert {each["update"]["sessionUpdate"] for each in updates} <= V1_UPDATES
    said = "".join(
        each["update"]["content"]["text"]
        for each in updates
        if each["update"]["sessionUpdate"] == "agent_message_chunk"
    )
    for request in recorded.requests:
        result = client.responses(request["id"])[0].get("result") or {}
        if result.get("stopReason") == "end_turn":
            assert request["params"]["prompt"][0]["text"] in said


async def test_acpx_allows_what_it_was_asked_for() -> None:
    [run] = [run for run in RUNS if run.name.startswith("acpx-")]
    here, there = message_pair()
    client = RawClient(here)
    outcomes: list[str] = []
    serving = asyncio.ensure_future(serve(agent_of(run, outcomes), there))
    recorded = RecordedClient(run, client)
    await recorded.play()
    assert outcomes == ["allow"]
    calls: dict[str, Any] = {}
    for message in client.messages:
        update = message.get("params", {}).get("update", {})
        if update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
            calls.setdefault(update["toolCallId"], {}).update(update)
    [call] = calls.values()
    assert call["status"] == "completed"
    assert call["content"][-1]["content"]["text"] == "done"
    client.close()
    await serving
