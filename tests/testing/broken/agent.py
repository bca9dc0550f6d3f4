"""The agent of one connection: what it hears, what it answers, and its methods."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from faults import ANSWERED, BLOCKS, MODES, Refused, faulty, invalid
from session import Session


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
