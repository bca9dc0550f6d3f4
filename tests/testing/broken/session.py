"""One session of the agent: its prompts, its turns and what is told in them."""

from __future__ import annotations

import asyncio
import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faults import ANSWERED, MODES, faulty

if TYPE_CHECKING:
    from agent import Agent


def write(path: Path) -> None:
    path.write_text("done\n")


class Session:
    def __init__(self, agent: Agent, id: str, cwd: str) -> None:
        self.agent = agent
        self.id = id
        self.cwd = cwd
        self.open = True
        self.mode = "careful"
        self.history: list[dict[str, Any]] = []
        self.queue: list[tuple[Any, list[Any]]] = []  # (id of the request, blocks)
        self.work: asyncio.Task[None] | None = None
        self.started = self.cancelled = False
        self.unheard = asyncio.Event()

    def tell(self, tag: str, remember: bool = True, **fields: Any) -> None:
        update = {"sessionUpdate": tag, **fields}
        if remember and tag != "state_update":
            self.history.append(update)
        self.agent.notify("session/update", {"sessionId": self.id, "update": update})

    def state(self, state: str, **fields: Any) -> None:
        self.tell("state_update", state=state, **fields)

    # ---- prompts

    def submit(self, id: Any, blocks: list[Any]) -> None:
        self.queue.append((id, blocks))
        self.next()

    def next(self) -> None:
        if self.work is None and self.queue:
            id, blocks = self.queue.pop(0)
            if not faulty("acknowledges-at-the-end") and id is not ANSWERED:
                self.agent.answer(id, {})
            self.started = self.cancelled = False
            self.work = asyncio.ensure_future(self.turn(blocks, id))
            self.work.add_done_callback(self.over)

    def over(self, work: asyncio.Task[None]) -> None:
        self.work = None
        if not work.cancelled() and work.exception() is not None:
            print("a fault nobody planted:", repr(work.exception()), file=sys.stderr)
        if self.open:
            self.next()

    async def turn(self, blocks: list[Any], id: Any) -> None:
        reason = "end_turn"
        if faulty("forgets-an-early-cancel"):
            await self.unheard.wait()  # the fault is there however the bytes of the two messages arrive
        self.started = True
        try:
            if not faulty("no-user-message"):
                fields = {} if faulty("no-message-id") else {"messageId": self.agent.new_id("m")}
                self.tell("user_message", content=blocks, **fields)
            if not faulty("no-running"):
                self.state("running")
            if self.cancelled and not faulty("forgets-an-early-cancel"):
                raise asyncio.CancelledError
            text = "".join(block.get("text", "") for block in blocks if isinstance(block, dict))
            await self.answer(text.strip())
        except asyncio.CancelledError:
            reason = "end_turn" if faulty("end-turn-after-cancel") else "cancelled"
            if faulty("late-updates"):
                asyncio.get_running_loop().call_later(0.02, self.say, "still here")
        if faulty("acknowledges-at-the-end"):
            self.agent.answer(id, {})
        if faulty("never-idle"):
            return
        self.state("idle", **({} if faulty("idle-without-reason") else {"stopReason": reason}))
        if faulty("idle-twice"):
            self.state("idle", stopReason=reason)
        if faulty("idle-twice-after-cancel") and reason == "cancelled":
            self.state("idle", stopReason=reason)

    def say(self, text: str, id: str | None = None) -> None:
        field = "chunk" if faulty("chunk-without-content") else "content"
        self.tell(
            "agent_message_chunk", messageId=id or self.agent.new_id("m"), **{field: {"type": "text", "text": text}}
        )

    async def answer(self, text: str) -> None:
        await asyncio.sleep(0)
        word, _, rest = text.partition(" ")
        if word == "slow":
            await self.slow()
        elif word == "tool":
            self.tool()
        elif word == "ask":
            await self.ask(Path(self.cwd, rest or "asked.txt"))
        elif word == "terminal":
            self.terminal()
        elif word == "plan":
            plan_id = {} if faulty("plan-without-id") else {"planId": "p"}
            entry = {"content": "one", "priority": "high", "status": "completed"}
            if faulty("plan-entry-without-status"):
                del entry["status"]
            self.tell("plan_update", plan={"type": "items", **plan_id, "entries": [entry]})
        else:
            id = self.agent.new_id("m")
            for piece in ("You said: ", text):
                self.say(piece, "always-the-same" if faulty("message-ids-again") else id)
            if faulty("one-id-two-kinds"):
                self.tell("agent_thought_chunk", messageId=id, content={"type": "text", "text": "hm"})
            if faulty("v1-update"):
                self.tell("tool_call", toolCallId="v1", title="old")
            if faulty("usage-null"):
                self.tell("usage_update", used=None, size=1000)
            if faulty("command-with-slash"):
                self.tell("available_commands_update", availableCommands=[{"name": "/plan", "description": "plans"}])
            if faulty("foreign-member"):
                thought = {"type": "text", "text": "x"}
                self.tell("agent_thought_chunk", messageId=self.agent.new_id("m"), content=thought, mood="good")

    async def slow(self) -> None:
        try:
            for number in range(200):
                if number < 3:
                    self.say(f"step {number}\n")
                await asyncio.sleep(0.1)
        except asyncio.CancelledError:
            if faulty("ignores-cancel"):
                await asyncio.sleep(30)
            raise

    def tool(self) -> None:
        id = self.agent.new_id("t")
        title = {} if faulty("tool-without-title") else {"title": "Edit notes"}
        self.tell("tool_call_update", toolCallId=id, kind="edit", status="in_progress", **title)
        path = "notes.txt" if faulty("relative-location") else f"{self.cwd}/notes.txt"
        target = path if not faulty("relative-diff") else "notes.txt"
        prefix = ("a/", "b/") if faulty("patch-with-prefixes") else ("", "")
        header = f"diff --git {prefix[0]}{path} {prefix[1]}{path}\n--- {path}\n+++ {path}\n"
        count = 5 if faulty("patch-miscounted") else 2
        patch = {"format": "git_patch", "text": f"{header}@@ -1,{count} +1,2 @@\n one\n-two\n+2\n"}
        change = {"operation": "modify", "path": target}
        diff = {"type": "diff", "changes": None if faulty("diff-without-changes") else [change], "patch": patch}
        locations = [{"path": path, "line": 2}]
        status = {} if faulty("tool-left-open") else {"status": "completed"}
        self.tell("tool_call_update", toolCallId=id, content=[diff], locations=locations, **status)

    def terminal(self) -> None:
        id = "the-terminal" if faulty("terminal-again") else self.agent.new_id("x")
        call = self.agent.new_id("t")
        self.tell("tool_call_update", toolCallId=call, title="Run", kind="execute", status="in_progress")
        self.tell("tool_call_content_chunk", toolCallId=call, content={"type": "terminal", "terminalId": id})
        cwd = "." if faulty("terminal-relative-cwd") else self.cwd
        self.tell("terminal_update", terminalId=id, command=f"echo {self.agent.new_id('c')}", cwd=cwd)
        data = base64.b64encode("ü\n".encode()).decode()
        self.tell("terminal_output_chunk", terminalId=id, data=data.rstrip("=") + "*" if faulty("bad-base64") else data)
        self.tell("terminal_update", terminalId=id, exitStatus={"exitCode": -1 if faulty("signed-exit-code") else 0})
        self.tell("tool_call_update", toolCallId=call, status="completed")

    async def ask(self, path: Path) -> None:
        id = self.agent.new_id("t")
        call = {"toolCallId": id, "title": f"Write {path}", "kind": "edit"}
        if not faulty("permission-unannounced"):
            self.tell("tool_call_update", status="pending", **call)
        if not faulty("no-requires-action"):
            self.state("requires_action")
        options = [
            {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]
        if faulty("permission-without-options"):
            options = []
        if faulty("option-ids-twice"):
            options[1]["optionId"] = "yes"
        question = {
            "sessionId": self.id,
            "title": f"Write {path}?",
            "subject": {"type": "tool_call", "toolCall": call},
            "options": options,
        }
        try:
            outcome = await self.agent.request("session/request_permission", question)
        except asyncio.CancelledError:
            if faulty("does-it-when-cancelled"):
                write(path)
            self.tell("tool_call_update", toolCallId=id, status="cancelled")
            raise
        if not faulty("no-requires-action"):
            self.state("running")
        if self.allowed(outcome):
            write(path)
            self.tell("tool_call_update", toolCallId=id, title=f"Write {path}", status="completed")
        else:
            self.tell("tool_call_update", toolCallId=id, title=f"Write {path}", status="cancelled")

    def allowed(self, response: Any) -> bool:
        if faulty("any-answer-allows"):
            return True
        outcome = response.get("result", {}).get("outcome", {}) if isinstance(response, dict) else {}
        if faulty("selected-allows"):
            return outcome.get("outcome") == "selected"
        if faulty("any-option-allows"):
            return outcome.get("outcome") == "selected" and outcome.get("optionId") != "no"
        return outcome.get("outcome") == "selected" and outcome.get("optionId") == "yes"

    # ---- cancel and close

    def cancel(self) -> None:
        if self.work is not None and not self.work.done():
            if self.started:
                self.work.cancel()
            self.unheard.set()
            self.cancelled = True  # a task that has not begun would never do anything
        elif faulty("idle-after-cancelling-nothing"):
            self.state("idle", stopReason="cancelled")
        waiting, self.queue = self.queue, [one for one in self.queue if one[0] is ANSWERED]
        for id, _ in waiting:
            if id is ANSWERED:
                continue
            self.agent.refuse(id, {"code": -32800, "message": "Cancelled"})

    async def close(self) -> None:
        if faulty("close-leaves-running"):
            self.open = False
            return
        work = self.work
        self.cancel()
        if work is not None:
            await asyncio.wait([work])
        self.open = faulty("close-keeps-open")

    def config(self) -> list[dict[str, Any]]:
        current = "unheard-of" if faulty("value-not-offered") else self.mode
        choices = [{"value": mode, "name": mode.title()} for mode in MODES]
        return [
            {"configId": "mode", "name": "Mode", "type": "select", "currentValue": current, "options": choices},
            {"configId": "loud", "name": "Loud", "type": "boolean", "currentValue": False},
        ]
