"""Wren with a client that answers as it is told."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

from roost.agents.wren.agent import new_wren
from tests.sdk.raw_client import Json, RawClient, started

PERMISSION = "session/request_permission"


def chosen(option: str) -> Json:
    return {"outcome": {"outcome": "selected", "optionId": option}}


class Bird:
    """Wren in a workspace, with a client that permits what the test says."""

    def __init__(self, client: RawClient, session: str, asked: list[Json]) -> None:
        self.client = client
        self.session = session
        self.asked = asked
        self._turns = 0

    async def do(self, text: str) -> str:
        """What Wren says to a prompt."""
        before = len(self.client.said())
        self.client.prompt(self.session, text)
        self._turns += 1
        await self.client.idle(self._turns)
        return self.client.said()[before:]

    def tools(self) -> list[Json]:
        """The tool calls as they ended, in order."""
        calls: dict[str, Json] = {}
        for update in self.client.updates("tool_call_update"):
            calls.setdefault(update["toolCallId"], {}).update(update)
        return list(calls.values())

    def diffs(self) -> list[Json]:
        contents = [u["content"] for u in self.client.updates("tool_call_content_chunk")]
        return [content for content in contents if content["type"] == "diff"]

    def output(self) -> bytes:
        return b"".join(b64decode(u["data"]) for u in self.client.updates("terminal_output_chunk"))


async def wren_in(folder: Path, *options: str, capabilities: Any = None, **more: Any) -> Bird:
    """Wren in a folder; permissions are answered with these options in turn, the last one for ever."""
    client = await started(new_wren(), capabilities=capabilities)
    asked: list[Json] = []
    answers = list(options or ("allow_once",))

    def answer(params: Json) -> Any:
        asked.append(params)
        return chosen(answers.pop(0) if len(answers) > 1 else answers[0])

    client.answers[PERMISSION] = answer
    return Bird(client, await client.new_session(cwd=str(folder), **more), asked)
