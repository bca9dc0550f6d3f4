"""A recorded conversation with our client in the recorder's place: whatever it did, done by the client's own calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from roost import connect
from roost.acp import v2
from roost.errors import LocalProtocolError, RoostError, RpcError
from roost.sdk.client import Client
from roost.sdk.client_turn import ClientTurn
from roost.sdk.session import Session
from tests.replay.recorded_agent import RecordedAgent
from tests.replay.recorded_channel import RecordedChannel
from tests.replay.recording import Json, Run

PATIENCE = 10.0  # seconds for one step, which takes milliseconds


class ClientPlay:
    """`ends`: the agent's process ends when all is said, else when all is done."""

    def __init__(self, run: Run, random: Random, *, ends: bool = False) -> None:
        self.run = run
        self.sessions: dict[str, Session] = {}
        self.turns: dict[str, list[ClientTurn]] = {}
        self.refused: list[int] = []
        """Ids of the recorded prompts that were refused."""
        self._random = random
        self._ends = ends
        self._channels: list[RecordedChannel] = []
        self._questions: dict[tuple[str, str], asyncio.Future[str | None]] = {}
        self._client: Client

    @property
    def agent(self) -> RecordedAgent:
        return self._channel.agent

    @property
    def _channel(self) -> RecordedChannel:
        return self._channels[-1]

    def accepted(self, prompt: Json) -> bool:
        return prompt["id"] not in self.refused

    async def play(self) -> None:
        tasks: list[asyncio.Task[None]] = []
        async with asyncio.timeout(PATIENCE), connect(self._open, on_permission=self._decide, strict=False) as client:
            self._client = client
            while not await self._is_over():
                tasks += await self._step()
            self._channel.end()
            await asyncio.gather(*tasks)

    async def _is_over(self) -> bool:
        """Whether nothing is left to do, once the client has heard everything that was said so far."""
        agent = self.agent
        await self._until(lambda: self._channel.is_quiet and (agent.awaits is not None or agent.is_over))
        return agent.awaits is None

    def _open(self) -> RecordedChannel:
        channel = RecordedChannel(self.run, self._random, ends=self._ends)
        self._channels.append(channel)
        return channel

    async def _step(self) -> list[asyncio.Task[None]]:
        """Does what the recorded client did next. It is skipped when our client does it here, or not at all."""
        line = self.agent.awaits
        assert line is not None
        action = self._action(line.message)
        tasks = [] if action is None else [asyncio.ensure_future(self._done(line.message or {}, action))]
        if tasks:
            await self._until(lambda: self.agent.awaits is not line or tasks[0].done(), *tasks)
        if self.agent.awaits is line:
            self.agent.skip()
            self._channel.go_on()
        return tasks

    async def _until(self, condition: Callable[[], bool], *tasks: asyncio.Task[None]) -> bool:
        """Waits for the agent, or one of the tasks, until it is so."""
        while not condition():
            self._channel.changed.clear()
            waiter = asyncio.ensure_future(self._channel.changed.wait())
            await asyncio.wait((waiter, *tasks), return_when=asyncio.FIRST_COMPLETED)
            waiter.cancel()
        return True

    async def _done(self, message: Json, action: Awaitable[Any]) -> None:
        try:
            await action
        except RpcError:
            if message.get("method") == "session/prompt":
                self.refused.append(message["id"])
        except RoostError:
            return  # it says why; what it did shows in the view

    # ---- what our client does

    def _action(self, message: Json | None) -> Awaitable[Any] | None:
        if message is None or ("id" not in message and message["method"] != "session/cancel"):
            return None
        if "method" not in message:
            return self._answer(message)
        params = message.get("params") or {}
        client = self._client
        session = client.sessions.get(params.get("sessionId", ""))
        match message["method"]:
            case "authenticate" | "auth/login":
                return client.login(params["methodId"])
            case "session/new":
                return self._kept(client.new_session(params["cwd"]))
            case "session/fork":
                return self._kept(client.fork_session(params["sessionId"], params["cwd"]))
            case "session/load":
                return self._kept(client.resume_session(params["sessionId"], params["cwd"], replay=True))
            case "session/resume":
                return self._kept(client.resume_session(params["sessionId"], params["cwd"]))
            case "session/list":
                return client.list_page(params.get("cwd"))
            case "session/delete":
                return client.delete_session(params["sessionId"])
            case "session/prompt" if session is not None:
                return self._prompt(session, params["prompt"])
            case "session/cancel" if session is not None:
                return session.cancel()
            case "session/close" if session is not None:
                return session.close()
            case "session/set_mode" if session is not None:
                return self._choose(session, "mode", params["modeId"])
            case "session/set_model" if session is not None:
                return self._choose(session, "model", params["modelId"])
            case "session/set_config_option" if session is not None:
                return session.set_config(params["configId"], params["value"])
        return None

    async def _kept(self, opening: Awaitable[Session]) -> None:
        session = await opening
        self.sessions[session.id] = session

    async def _prompt(self, session: Session, blocks: list[Json]) -> None:
        turn = session.prompt([v2.TextContent(text=block["text"]) for block in blocks])
        self.turns.setdefault(session.id, []).append(turn)
        await turn.finished()

    async def _choose(self, session: Session, category: str, value: str) -> None:
        found = [each for each in session.view.config_options if getattr(each, "category", None) == category]
        if not found:
            raise LocalProtocolError("the agent has no such setting")
        await session.set_config(found[0].config_id, value)

    # ---- permissions

    async def _decide(self, request: v2.RequestPermissionRequest) -> str | None:
        assert isinstance(request.subject, v2.ToolCallPermissionSubject)
        key = (request.session_id, request.subject.tool_call.tool_call_id)
        try:
            return await self._question(*key)
        finally:
            del self._questions[key]

    def _question(self, session_id: str, tool_call_id: str) -> asyncio.Future[str | None]:
        return self._questions.setdefault((session_id, tool_call_id), asyncio.get_running_loop().create_future())

    async def _answer(self, recorded: Json) -> None:
        """Answers a question as it was; what was asked but a permission is answered without us."""
        asked = [said for sign, said in self.agent.log if sign == "<" and "method" in said]
        [request] = [said for said in asked if said.get("id") == recorded["id"]]
        if request["method"] == "session/request_permission":
            params, outcome = request["params"], recorded["result"]["outcome"]
            self._question(params["sessionId"], params["toolCall"]["toolCallId"]).set_result(outcome.get("optionId"))
        line = self.agent.awaits
        await self._until(lambda: self.agent.awaits is not line)
