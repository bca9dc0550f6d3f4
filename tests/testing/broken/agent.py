"""An ACP v2 agent in plain Python, without Roost: right as it stands, and wrong in one way for each name it is given.

    python agent.py [FAULT ...]

The prompts: `tool`, `ask FILE`, `slow`, `terminal`, `plan`, `config`, `think`; anything else is said back.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

FAULTS = set(sys.argv[1:])
BLOCKS = {"text": "text", "resource_link": "uri"}
MODES = ["careful", "bold"]
ANSWERED = object()


class Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        self.error = {"code": code, "message": message}


def faulty(name: str) -> bool:
    return name in FAULTS


def invalid(message: str) -> Refused:
    return Refused(-32602, message)


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


class Agent:
    def __init__(self, out: asyncio.StreamWriter) -> None:
        self.out = out
        self.sessions: dict[str, Session] = {}
        self.asking: dict[str, asyncio.Future[Any]] = {}
        self.initialized = False
        self.count = 0
        self.batch: list[Any] | None = None
        self.batched: set[str] = set()

    def new_id(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}-{self.count}-{os.urandom(4).hex()}"

    # ---- sending

    def write(self, message: Any) -> None:
        if faulty("other-jsonrpc") and "result" in message:
            message = {**message, "jsonrpc": "1.0"}
        self.out.write(json.dumps(message).encode() + b"\n")

    def notify(self, method: str, params: Any) -> None:
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Any) -> Any:
        id = self.new_id("q")
        self.asking[id] = asyncio.get_running_loop().create_future()
        self.write(
            {"jsonrpc": "2.0", "id": None if faulty("null-request-id") else id, "method": method, "params": params}
        )
        try:
            return await self.asking[id]
        finally:
            del self.asking[id]

    def answer(self, id: Any, result: Any) -> None:
        self.respond(id, {"result": result})

    def refuse(self, id: Any, error: Any) -> None:
        if faulty("stack-trace-in-error"):
            error = {**error, "data": "Traceback (most recent call last):\n  File x"}
        self.respond(id, {"error": error})

    def respond(self, id: Any, body: dict[str, Any]) -> None:
        if faulty("ids-as-strings") and id not in (None, 1, 2):  # or nobody would hear of the rest
            id = str(id)
        response = {"jsonrpc": "2.0", "id": id, **body}
        if faulty("result-and-error") and "error" in body:
            response["result"] = None
        if self.batch is not None and not (faulty("batch-in-pieces")):
            self.batch.append(response)
        else:
            self.write(response)
            if faulty("answers-twice") and "error" in body and id is not None:
                self.write(response)

    # ---- receiving

    def take(self, line: bytes) -> None:
        if not line.strip():
            if faulty("blank-lines-are-errors"):
                self.refuse(None, {"code": -32700, "message": "Parse error"})
            return
        try:
            value = json.loads(line.decode())
        except (ValueError, RecursionError) as error:
            if faulty("dies-of-garbage"):
                raise
            if faulty("dies-of-bad-utf8") and isinstance(error, UnicodeDecodeError):
                raise
            if not faulty("silent-on-garbage"):
                self.refuse(None, {"code": -32700, "message": "Parse error"})
            return
        if isinstance(value, list):
            self.take_batch(value)
        else:
            self.take_one(value)

    def take_batch(self, values: list[Any]) -> None:
        if faulty("no-batches"):
            self.refuse(None, {"code": -32600, "message": "Invalid request"})
            return
        if not values:
            error = {"code": -32600, "message": "Invalid request"}
            self.write([] if faulty("empty-for-empty") else {"jsonrpc": "2.0", "id": None, "error": error})
            return
        self.batch = []
        for value in values:
            self.take_one(value)
        batch, self.batch = self.batch, None
        if batch or faulty("empty-for-notifications"):
            self.write(batch)

    def take_one(self, message: Any) -> None:
        if not isinstance(message, dict):
            self.refuse(None, {"code": -32600, "message": "Invalid request"})
            return
        if "method" not in message and ("result" in message or "error" in message):
            future = self.asking.get(message["id"]) if isinstance(message.get("id"), str) else None
            if future is not None and not future.done():
                future.set_result(message)
            elif faulty("answers-responses"):
                self.refuse(message.get("id"), {"code": -32600, "message": "Unknown response"})
            return
        id = message.get("id")
        legal = id is None or isinstance(id, str) or (type(id) is int) or faulty("any-id")
        sound = message.get("jsonrpc") == "2.0" or faulty("any-jsonrpc")
        if (
            not (isinstance(message.get("method"), str) and legal and sound)
            or "result" in message
            or "error" in message
        ):
            self.refuse(id if legal else None, {"code": -32600, "message": "Invalid request"})
            return
        self.call(message["method"], message.get("params"), "id" in message, id)

    def call(self, method: str, params: Any, wanted: bool, id: Any) -> None:
        name = method.replace("/", "_").replace("$", "protocol")
        handler = getattr(self, f"do_{name}", None)
        try:
            if not self.initialized and method != "initialize" and not faulty("no-initialize-needed"):
                raise Refused(-32600, "initialize comes first")
            if handler is None:
                raise Refused(-32603 if faulty("odd-code-for-unknown") else -32601, "Method not found")
            if params is None:
                params = {}
            if not isinstance(params, dict):
                raise invalid("params is not an object")
            result = handler(params, id)
        except Refused as error:
            if wanted or faulty("answers-notifications"):
                if faulty("silent-on-unknown") and error.error["code"] == -32601 and method.startswith("_acme"):
                    return
                self.refuse(id, error.error)
            return
        except Exception as error:
            if faulty("dies-of-bad-params"):
                raise
            if wanted:
                self.refuse(id, {"code": -32602, "message": f"Invalid params: {type(error).__name__}"})
            return
        if wanted and result is not NotImplemented:
            self.answer(id, result)

    def find(self, params: dict[str, Any]) -> Session:
        session = self.sessions.get(params["sessionId"])
        if session is None or not session.open:
            raise Refused(-32002, "Session not found")
        return session

    # ---- methods

    def do_initialize(self, params: dict[str, Any], id: Any) -> Any:
        version = params.get("protocolVersion")
        if self.initialized and not faulty("initialize-again"):
            raise Refused(-32600, "initialized already")
        if (type(version) is not int or not 0 <= version < 65536) and not faulty("any-version"):
            raise invalid("protocolVersion")
        if version != 1 and not isinstance(params.get("info"), dict):
            raise invalid("info")
        if faulty("chokes-on-v1") and "clientInfo" in params:
            raise invalid("info")
        if faulty("chokes-on-capabilities") and not isinstance(params.get("capabilities"), dict):
            raise invalid("capabilities")
        self.initialized = True
        answered = version if faulty("echoes-the-version") else "2" if faulty("version-as-string") else 2
        prompt: Any = {"image": True} if faulty("boolean-capability") else {}
        session: dict[str, Any] = {"prompt": prompt, "delete": {}, "mcp": {}}
        result = {
            "protocolVersion": 1 if faulty("v1") else answered,
            "info": {"name": "plain", "version": "1"},
            "capabilities": {"session": session},
        }
        if faulty("no-info"):
            del result["info"]
        if faulty("auth-methods") or faulty("any-login"):
            result["authMethods"] = [{"type": "agent", "methodId": "key", "name": "Key"}]
        if faulty("terminal-auth-for-all"):
            result["authMethods"] = [{"type": "terminal", "methodId": "t", "name": "Terminal"}]
        return result

    def do_auth_login(self, params: dict[str, Any], id: Any) -> Any:
        if not faulty("auth-methods") and not faulty("any-login"):
            raise Refused(-32000 if faulty("auth-required-for-nothing") else -32601, "Method not found")
        if params.get("methodId") != "key" and not faulty("any-login"):
            raise invalid("methodId")
        return {}

    def do_auth_logout(self, params: dict[str, Any], id: Any) -> Any:
        if not faulty("auth-methods") and not faulty("any-login"):
            raise Refused(-32601, "Method not found")
        return {}

    def do_session_new(self, params: dict[str, Any], id: Any) -> Any:
        cwd = params["_meta"]["cwd"] if faulty("meta-as-params") and "_meta" in params else params["cwd"]
        if not cwd.startswith("/") and not faulty("relative-cwd"):
            raise invalid("cwd")
        if params.get("additionalDirectories") and not faulty("ignores-directories"):
            raise invalid("additionalDirectories")
        if params.get("mcpServers") and not faulty("ignores-mcp-servers"):
            raise invalid("mcpServers")
        sid = "session-1" if faulty("one-session-id") else self.new_id("s")
        self.sessions[sid] = session = Session(self, sid, cwd)
        if faulty("update-of-nothing"):
            Session(self, "nobody", cwd).state("idle")
        return {"sessionId": sid, "configOptions": session.config()}

    def do_session_list(self, params: dict[str, Any], id: Any) -> Any:
        cwd, cursor = params.get("cwd"), params.get("cursor")
        if not isinstance(cwd, str | None) or (isinstance(cwd, str) and not cwd.startswith("/")):
            if not faulty("lenient-list"):
                raise invalid("cwd")
            cwd = None
        if not isinstance(cursor, str | None) or (cursor and not cursor.isdigit() and not faulty("any-cursor")):
            raise invalid("cursor")
        everything = sorted(self.sessions.values(), key=lambda session: session.id)
        chosen = [s for s in everything if cwd is None or faulty("no-filter") or s.cwd == cwd]
        start = int(cursor) if cursor and cursor.isdigit() else 0
        overlap = 1 if faulty("pages-overlap") else 0
        page = chosen[max(0, start - overlap) : start + 2]
        more = {"nextCursor": str(start + 2)} if start + 2 < len(chosen) else {}
        if faulty("endless-pages"):
            more = {"nextCursor": "0"}
        entries = [{"sessionId": s.id, "cwd": s.cwd} for s in page]
        return {"sessions": entries, **more}

    def do_session_resume(self, params: dict[str, Any], id: Any) -> Any:
        session = self.sessions.get(params["sessionId"])
        if session is None:
            if faulty("resumes-anything"):
                return {}
            raise Refused(-32002, "Session not found")
        if params["cwd"] != session.cwd:
            raise invalid("cwd")
        replay = params.get("replayFrom")
        if replay is not None and replay.get("type") != "start":
            raise invalid("replayFrom")
        session.open = True
        if (replay is not None and not faulty("no-replay")) or faulty("always-replays"):
            for update in session.history:
                fields = {key: value for key, value in update.items() if key != "sessionUpdate"}
                session.tell(update["sessionUpdate"], remember=False, **fields)
        return {"configOptions": session.config()}

    def do_session_close(self, params: dict[str, Any], id: Any) -> Any:
        session = self.find(params)
        closing = asyncio.ensure_future(session.close())
        closing.add_done_callback(lambda _: self.answer(id, {}))
        return NotImplemented

    def do_session_delete(self, params: dict[str, Any], id: Any) -> Any:
        if not faulty("deletes-nothing"):
            session = self.sessions.pop(params["sessionId"], None)
            if session is not None:
                session.cancel()
            elif faulty("delete-once"):
                raise Refused(-32002, "Session not found")
        return {}

    def do_session_prompt(self, params: dict[str, Any], id: Any) -> Any:
        if faulty("prompts-anything") and params["sessionId"] not in self.sessions:
            return {}
        session, blocks = self.find(params), params["prompt"]
        if not blocks and not faulty("empty-prompt"):
            raise invalid("prompt")
        for index, block in enumerate(blocks):
            member = BLOCKS.get(block["type"])
            if member is None and faulty("ignores-blocks"):
                continue
            if member is None or not isinstance(block[member], str) or (member == "uri" and "name" not in block):
                if faulty("reports-then-refuses"):
                    session.tell("user_message", messageId=self.new_id("m"), content=blocks)
                raise invalid(f"prompt[{index}]")
        session.submit(id, blocks)
        return NotImplemented

    def do_session_cancel(self, params: dict[str, Any], id: Any) -> Any:
        session = self.sessions.get(params["sessionId"])
        if session is not None:
            session.cancel()
        elif faulty("cancel-of-nothing-fails"):
            self.refuse(None, {"code": -32002, "message": "Session not found"})

    def do_session_set_config_option(self, params: dict[str, Any], id: Any) -> Any:
        session = self.find(params)
        config, kind, value = (
            params["configId"],
            params.get("type", "id" if faulty("untyped-config") else None),
            params["value"],
        )
        if config == "mode" and kind == "id" and (value in MODES or faulty("any-value")):
            session.mode = value
        elif config == "loud" and kind == "boolean" and isinstance(value, bool):
            listed = session.config()
            listed[1]["currentValue"] = value
            return {"configOptions": listed}
        else:
            raise invalid("value")
        listed = session.config()
        return {"configOptions": listed[:1] if faulty("part-of-config") else listed}

    def do_protocol_cancel_request(self, params: dict[str, Any], id: Any) -> Any:
        withdrawn = params.get("requestId")
        for session in self.sessions.values():
            for waiting in session.queue:
                if type(waiting[0]) is type(withdrawn) and waiting[0] == withdrawn:
                    session.queue.remove(waiting)
                    if faulty("withdrawn-prompts-run"):
                        session.queue.append((ANSWERED, waiting[1]))
                    self.refuse(withdrawn, {"code": -32800, "message": "Cancelled"})
                    return
        if faulty("answers-withdrawals"):
            self.refuse(withdrawn, {"code": -32800, "message": "Cancelled"})


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=64 * 1024 if faulty("short-lines") else 64 * 1024 * 1024)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    agent = Agent(asyncio.StreamWriter(transport, protocol, reader, loop))
    if faulty("banner"):
        agent.out.write(b"Welcome to the agent!\n")
    if faulty("log-on-stdout"):
        agent.out.write(b'{"level":"info","msg":"started"}\n')
    while line := await reader.readline():
        agent.take(line)
        await agent.out.drain()
    if faulty("survives-eof"):
        await asyncio.sleep(60)
    if faulty("exit-code"):
        sys.exit(3)


if __name__ == "__main__":
    asyncio.run(main())
