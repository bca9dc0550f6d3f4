"""An agent on the official Python SDK (ACP v1): streams what a prompt asks for, `COUNT SIZE`, and lists no sessions.

python official_agent.py        exits 3 when the SDK is not installed
"""

from __future__ import annotations

import asyncio
import sys

try:
    import acp
    from acp.schema import InitializeResponse, ListSessionsResponse, NewSessionResponse, PromptResponse
except ImportError:
    sys.exit(3)

ENVELOPE = 190  # bytes of an update that are not its text
WORDS = "I will look at the parser first, then fix the failing test. "


class Streamer(acp.Agent):
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, **more):
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd, **more):
        return NewSessionResponse(session_id="bench")

    async def list_sessions(self, **more):
        return ListSessionsResponse(sessions=[])

    async def prompt(self, prompt, session_id, **more):
        count, size = map(int, prompt[0].text.split()[:2])
        room = max(1, size - ENVELOPE)
        text = (WORDS * (room // len(WORDS) + 1))[:room]
        for _ in range(count):
            await self.client.session_update(session_id, acp.update_agent_message_text(text))
        return PromptResponse(stop_reason="end_turn")


asyncio.run(acp.run_agent(Streamer(), use_unstable_protocol=True))
