"""The official Python SDK's client: one prompt to an agent; prints what it saw as JSON.

    python py_v1_client.py CWD PROMPT allow|deny|cancel -- AGENT ARGUMENT...

`cancel` answers the permission as cancelled, and cancels the prompt. Exits with 3 when the SDK is not installed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

try:
    import acp
except ImportError:
    sys.exit(3)

CWD, PROMPT, POLICY = sys.argv[1:4]
AGENT = sys.argv[sys.argv.index("--") + 1 :]


class Client(acp.Client):
    agent: Any

    def __init__(self) -> None:
        self.seen: dict[str, Any] = {"text": "", "updates": [], "tools": {}, "asked": 0}

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        kind = update.session_update
        self.seen["updates"].append(kind)
        if kind == "agent_message_chunk":
            self.seen["text"] += update.content.text
        elif kind in ("tool_call", "tool_call_update") and update.status is not None:
            self.seen["tools"][update.tool_call_id] = update.status

    async def request_permission(self, options: Any, session_id: str, tool_call: Any, **kwargs: Any) -> Any:
        self.seen["asked"] += 1
        if POLICY == "cancel":
            await self.agent.cancel(session_id=session_id)
            return {"outcome": {"outcome": "cancelled"}}
        kind = "allow_once" if POLICY == "allow" else "reject_once"
        chosen = next(option.option_id for option in options if option.kind == kind)
        return {"outcome": {"outcome": "selected", "optionId": chosen}}


async def main() -> None:
    client = Client()
    async with acp.spawn_agent_process(client, *AGENT) as (agent, _):
        client.agent = agent
        hello = await agent.initialize(protocol_version=1)
        session = await agent.new_session(cwd=CWD, mcp_servers=[])
        end = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(PROMPT)])
        seen = {**client.seen, "protocolVersion": hello.protocol_version, "stopReason": end.stop_reason}
    print(json.dumps(seen))


asyncio.run(main())
