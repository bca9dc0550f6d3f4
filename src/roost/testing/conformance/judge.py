"""Judges everything an agent said, whatever it was asked: each line, each envelope, each type, each session's story.

A Judge reads one timeline from its beginning; what it finds goes to the topics of the report, `trace.…`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from roost.acp import v2
from roost.testing.conformance.findings import MUST, SHOULD, Findings, Level
from roost.testing.conformance.judge_session import SessionStory, judge_options
from roost.testing.conformance.peer import NOT_JSON, Entry, Json
from roost.testing.conformance.strict import examine

TOPICS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "lines": ("Standard output carries JSON, a message a line, and nothing else.", ("STD-2", "STD-1")),
    "envelope": (
        "Every message is one of JSON-RPC 2.0; requests are answered once, under their ids.",
        ("ENV-1", "ENV-3", "ENV-16", "ENV-17", "ID-2", "ID-5", "ENV-9", "BAT-8"),
    ),
    "errors": ("Errors have a code, one sentence, and no stack traces.", ("ERR-1", "ERR-5", "ERR-2", "ENV-15")),
    "types": (
        "What is sent is valid as it stands: nothing in it needs a forgiving reader.",
        ("ENV-14", "INI-12", "EXT-2"),
    ),
    "sessions": ("Updates and questions are about sessions there are.", ("SES-5", "SES-15", "SES-26")),
    "messages": ("Every message has an id of its own.", ("MSG-1", "PLN-6")),
    "states": ("Work begins with running and ends with one idle and its stop reason.", ("PRM-8", "PRM-9", "PRM-6")),
    "tools": (
        "Tool calls begin with a title and come to an end; paths are absolute.",
        ("TCL-1", "TCL-2", "TCL-7", "TCL-8"),
    ),
    "terminals": ("Terminals have ids of their own and output in base64.", ("TRM-2", "TRM-3", "TRM-5", "TRM-6")),
    "diffs": ("Diffs name absolute paths, and patches apply.", ("DIF-1", "DIF-3", "DIF-4", "DIF-5")),
    "plans": ("Plans come whole, under their ids.", ("PLN-1", "PLN-2", "PLN-3", "PLN-4")),
    "permissions": (
        "Permissions offer options of known kinds, for calls that were announced.",
        ("PER-1", "PER-2", "TCL-11"),
    ),
    "elicitations": ("Questions use what the client can show, and ask no secrets.", ("ELI-1", "ELI-2", "ELI-12")),
    "options": ("Config options come whole, each with a value it offers.", ("CFG-1", "CFG-3", "CFG-10")),
    "commands": ("Commands are named without the slash; usage is in numbers.", ("MSC-1", "MSC-4")),
}
"""What is judged of every trace: the title, and the rules."""

# The rule that a malformed one breaks, and the topic it is told under.
_PARAMS: Final[Mapping[str, tuple[str, str]]] = {
    "session/request_permission": ("PER-1", "permissions"),
    "elicitation/create": ("ELI-2", "elicitations"),
    "elicitation/complete": ("ELI-14", "elicitations"),
}
_RESULTS: Final[Mapping[str, str]] = {
    "initialize": "INI-12",
    "session/new": "SES-11",
    "session/list": "SES-13",
    "session/resume": "SES-11",
    "session/fork": "SES-29",
    "session/prompt": "PRM-3",
    "session/close": "SES-26",
    "session/delete": "SES-28",
    "session/set_config_option": "CFG-6",
    "providers/list": "PRV-1",
    "nes/start": "NES-1",
    "nes/suggest": "NES-5",
}
_UPDATES: Final[Mapping[str, tuple[str, str]]] = {
    "user_message": ("MSG-1", "messages"),
    "user_message_chunk": ("MSG-1", "messages"),
    "agent_message": ("MSG-1", "messages"),
    "agent_message_chunk": ("MSG-1", "messages"),
    "agent_thought": ("MSG-1", "messages"),
    "agent_thought_chunk": ("MSG-1", "messages"),
    "state_update": ("PRM-8", "states"),
    "tool_call_update": ("TCL-1", "tools"),
    "tool_call_content_chunk": ("TCL-4", "tools"),
    "terminal_update": ("TRM-3", "terminals"),
    "terminal_output_chunk": ("TRM-5", "terminals"),
    "plan_update": ("PLN-4", "plans"),
    "plan_removed": ("PLN-4", "plans"),
    "available_commands_update": ("MSC-1", "commands"),
    "config_option_update": ("CFG-1", "options"),
    "session_info_update": ("SES-30", "sessions"),
    "usage_update": ("MSC-4", "commands"),
}
_STACKS: Final = ("Traceback (most recent call last)", "\n    at ")
_HEAD: Final = 200  # bytes of a line of ours in which its id is looked for
_SENTENCE: Final = 300  # characters a message of an error may have before it is no sentence any more; ours


class Verdicts:
    """Findings by topic, over all traces."""

    def __init__(self) -> None:
        self.findings: dict[str, Findings] = {topic: Findings() for topic in TOPICS}
        self.seen: set[str] = set()
        """Topics there was anything to judge in."""

    def fail(self, topic: str, rule: str, expected: str, came: Any, level: Level = MUST) -> None:
        self.seen.add(topic)
        self.findings[topic].add(rule, expected, came, level)


class _Call(Struct):
    """A request of ours that is open."""

    method: str
    params: Json


class Judge:
    """Reads one timeline."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts
        self._calls: dict[str, list[_Call]] = {}  # by id as JSON
        self._answered: set[str] = set()
        self._asking: dict[str, str] = {}  # requests of the agent, by id as JSON: their method
        self._stories: dict[str, SessionStory] = {}
        self._known: set[str] = set()
        self._told: dict[str, Any] = {}  # the first update of each session
        self._malformed = False  # we sent something that may be answered under null
        self._capabilities: Json = {}
        self._auth_methods = True

    def read(self, timeline: list[Entry]) -> None:
        for entry in timeline:
            if entry.ours:
                self._sent(entry)
            else:
                self._came(entry)
        for session, update in self._told.items():
            if session not in self._known:
                self._fail("sessions", "SES-5", "no updates of sessions that were never made", update)

    def _fail(self, topic: str, rule: str, expected: str, came: Any, level: Level = MUST) -> None:
        self._verdicts.fail(topic, rule, expected, came, level)

    # ---- what we sent

    def _sent(self, entry: Entry) -> None:
        if entry.value is NOT_JSON:
            self._sent_bytes(entry.raw)
            return
        self._malformed = self._malformed or entry.value == []
        for part in entry.parts:
            if not isinstance(part, dict):
                self._malformed = True
            elif "method" in part:
                params = part.get("params")
                params = params if isinstance(params, dict) else {}
                if "id" in part:
                    self._calls.setdefault(json.dumps(part["id"]), []).append(_Call(part["method"], params))
                    if part.get("jsonrpc") != "2.0" or not _is_legal_id(part["id"]) or "result" in part:
                        self._malformed = True
                self._begin(part["method"], params)
            elif json.dumps(part.get("id")) in self._asking:
                self._asking.pop(json.dumps(part.get("id")))
            else:
                self._malformed = self._malformed or ("result" not in part and "error" not in part)

    def _sent_bytes(self, raw: bytes) -> None:
        """Whatever it was: anything may come back under null, and under the ids that can be seen in it."""
        self._malformed = True
        for id in re.findall(rb'"id":("[^"]*"|\d+)', raw[:_HEAD]):
            self._calls.setdefault(id.decode(), []).append(_Call("", {}))

    def _begin(self, method: str, params: Json) -> None:
        if method == "initialize" and isinstance(params.get("capabilities"), dict):
            self._capabilities = params["capabilities"]
        session = params.get("sessionId")
        if not isinstance(session, str):
            return
        if method == "session/resume":
            self._story(session).resuming(params.get("replayFrom") is not None)
            self._known.add(session)

    # ---- what came

    def _came(self, entry: Entry) -> None:
        self._verdicts.seen.update(("lines", "envelope", "types"))
        if entry.value is NOT_JSON:
            self._fail("lines", "STD-2", "nothing but JSON on standard output", entry.raw)
            return
        if entry.value == []:
            self._fail("envelope", "BAT-4", "no empty arrays", entry.raw)
        if isinstance(entry.value, list):
            updates = [p for p in entry.parts if isinstance(p, dict) and p.get("method") == "session/update"]
            if len(updates) > 1:
                self._fail("envelope", "BAT-8", "updates that depend on their order not in a batch", entry.raw, SHOULD)
        for part in entry.parts:
            if not isinstance(part, dict):
                self._fail("lines", "STD-2", "nothing but messages on standard output", entry.raw)
            else:
                self._message(part)

    def _message(self, part: Json) -> None:
        if not part.keys() & {"jsonrpc", "method", "id", "result", "error"}:
            self._fail("lines", "STD-2", "nothing but messages on standard output", part)
            return
        if part.get("jsonrpc") != "2.0":
            self._fail("envelope", "ENV-1", 'jsonrpc "2.0" in every message', part)
        for key in part.keys() - {"jsonrpc", "id", "method", "params", "result", "error", "_meta"}:
            self._fail("envelope", "EXT-2", f"no member {key!r} in a message", part, SHOULD)
        if "method" not in part:
            self._response(part)
            return
        if "result" in part or "error" in part:
            self._fail("envelope", "ENV-3", "a message with a method to have neither result nor error", part)
        if not isinstance(part["method"], str):
            self._fail("envelope", "ENV-3", "a method to be a string", part)
        elif "id" in part:
            self._request(part, part["method"])
        else:
            self._notification(part, part["method"])

    def _response(self, part: Json) -> None:
        if "result" in part and "error" in part:
            self._fail("envelope", "ENV-16", "a result or an error, not both", part)
        elif "result" not in part and "error" not in part:
            self._fail("envelope", "ENV-16", "a result or an error in a response", part)
        if "id" not in part:
            self._fail("envelope", "ENV-3", "an id in a response", part)
            return
        key = json.dumps(part["id"])
        calls = self._calls.get(key)
        call = calls.pop(0) if calls else None
        if call is not None:
            self._answered.add(key)
            self._answer(call, part)
        elif key in self._answered:
            self._fail("envelope", "ENV-17", "exactly one answer to a request", part)
        elif part["id"] is not None:
            self._fail("envelope", "ID-2", "an answer under the id of a request, of the same type", part)
        elif not self._malformed:
            self._fail("envelope", "ENV-7", "no answer to what was no request", part)
        if "error" in part:
            self._error(part)

    def _error(self, part: Json) -> None:
        self._verdicts.seen.add("errors")
        error = part["error"]
        found = examine(v2.Error, error)
        if found.value is None:
            self._fail("errors", "ERR-1", f"an error with code and message: {found.faults[0]}", part)
            return
        if "\n" in found.value.message.strip() or len(found.value.message) > _SENTENCE:
            self._fail("errors", "ERR-5", "one concise sentence as the message of an error", part, SHOULD)
        if any(stack in json.dumps(error).replace("\\n", "\n") for stack in _STACKS):
            self._fail("errors", "ENV-15", "no stack traces in errors", part, SHOULD)
        if found.value.code == -32000 and not self._auth_methods:
            self._fail("errors", "ERR-2", "no -32000 from an agent without login methods", part)

    def _answer(self, call: _Call, part: Json) -> None:
        if "result" not in part:
            return
        method = v2.REQUESTS.get(call.method)
        result = part["result"]
        if call.method == "initialize" and isinstance(result, dict) and result.get("protocolVersion") == 1:
            return  # in the shape of version 1, as asked for (INI-5)
        if method is not None and method.side != "client" and call.method != "mcp/message":
            value = self._typed(method.result, result, _RESULTS.get(call.method, "ENV-16"), "types", part)
            self._learn(call, value, part)

    def _learn(self, call: _Call, value: Any, part: Json) -> None:
        session = call.params.get("sessionId")
        match value:
            case v2.InitializeResponse():
                self._auth_methods = bool(value.auth_methods)
            case v2.NewSessionResponse() | v2.ForkSessionResponse():
                self._known.add(value.session_id)
                self._story(value.session_id)
                self._options(value.config_options, part)
            case v2.ResumeSessionResponse():
                self._story(str(session)).resumed()
                self._options(value.config_options, part)
            case v2.SetSessionConfigOptionResponse():
                self._options(value.config_options, part)
            case v2.PromptResponse():
                self._story(str(session)).accepted()
            case v2.CloseSessionResponse():
                self._story(str(session)).closed()
            case v2.ListSessionsResponse():
                self._sessions(value.sessions, part)

    def _options(self, options: Any, part: Json) -> None:
        if options:
            self._verdicts.seen.add("options")
            judge_options(options, lambda rule, expected, level: self._fail("options", rule, expected, part, level))

    def _sessions(self, sessions: list[v2.SessionInfo], part: Json) -> None:
        from roost.acp.paths import is_absolute
        from roost.testing.conformance.judge_session import is_time

        self._verdicts.seen.add("sessions")
        for info in sessions:
            if not is_absolute(info.cwd):
                self._fail("sessions", "SES-1", "absolute paths in session/list", part)
            if info.updated_at is not None and not is_time(info.updated_at):
                self._fail("sessions", "SES-15", "updatedAt as an RFC 3339 time", part)

    # ---- requests and notifications of the agent

    def _request(self, part: Json, method: str) -> None:
        key = json.dumps(part["id"])
        if part["id"] is None:
            self._fail("envelope", "ID-5", "no null ids in requests", part)
        elif not _is_legal_id(part["id"]):
            self._fail("envelope", "ID-1", "an id that is a string or a whole number", part)
        elif key in self._asking:
            self._fail("envelope", "ID-4", "no id used again while its request is open", part)
        self._asking[key] = method
        row = v2.REQUESTS.get(method)
        if not self._may_call(part, method, row):
            return
        if row is not None:
            rule, topic = _PARAMS.get(method, ("MCP-3", "types"))
            value = self._typed(row.params, part.get("params"), rule, topic, part)
            self._question(value, part)

    def _may_call(self, part: Json, method: str, row: Any) -> bool:
        if row is not None:
            if row.side == "agent":
                self._fail("envelope", "ENV-9", f"{method} not to be sent by an agent", part)
            return bool(row.side != "agent")
        if not method.startswith(("_", "$/")):
            self._fail("envelope", "EXT-3", "methods of the protocol, or of one's own with _ in front", part, SHOULD)
        return False

    def _notification(self, part: Json, method: str) -> None:
        row = v2.NOTIFICATIONS.get(method)
        if method in v2.REQUESTS and row is None:
            self._fail("envelope", "ENV-5", f"an id in the request {method}", part)
            return
        if not self._may_call(part, method, row) or row is None:
            return
        if method == "session/update":
            self._update(part)
        elif method == "$/cancel_request":
            self._typed(row.params, part.get("params"), "CAN-1", "types", part)
        else:
            rule, topic = _PARAMS.get(method, ("MCP-3", "types"))
            self._typed(row.params, part.get("params"), rule, topic, part)

    def _question(self, value: Any, part: Json) -> None:
        match value:
            case v2.RequestPermissionRequest():
                self._told.setdefault(value.session_id, part)
                self._story(value.session_id).permission(value, part)
            case v2.CreateFormElicitationRequest() | v2.CreateUrlElicitationRequest():
                mode = "form" if isinstance(value, v2.CreateFormElicitationRequest) else "url"
                offered = self._capabilities.get("elicitation")
                if not isinstance(offered, dict) or not isinstance(offered.get(mode), dict):
                    self._fail("elicitations", "ELI-1", f"no {mode} for a client that has not advertised it", part)
                if isinstance(value, v2.CreateFormElicitationRequest):
                    for name in value.requested_schema.properties or {}:
                        if any(word in name.lower() for word in ("password", "secret", "api_key", "apikey", "token")):
                            self._fail("elicitations", "ELI-12", "no secrets in forms", part, SHOULD)

    def _update(self, part: Json) -> None:
        params = part.get("params")
        update = params.get("update") if isinstance(params, dict) else None
        tag = update.get("sessionUpdate") if isinstance(update, dict) else None
        rule, topic = _UPDATES.get(str(tag), ("FWD-4", "types"))
        value = self._typed(v2.UpdateSessionNotification, params, rule, topic, part)
        if value is not None:
            self._told.setdefault(value.session_id, part)
            self._story(value.session_id).update(value.update, part)

    def _typed(self, kind: Any, plain: Any, rule: str, topic: str, part: Json) -> Any:
        self._verdicts.seen.add(topic)
        found = examine(kind, plain)
        for fault in found.faults:
            self._fail(topic, rule, f"what the schema asks for: {fault}", part)
        for path in found.foreign:
            self._fail(
                "types", "EXT-2", f"one's own data in _meta, and not as {path} (or a later draft's)", part, SHOULD
            )
        return found.value

    def _story(self, session: str) -> SessionStory:
        story = self._stories.get(session)
        if story is None:
            story = self._stories[session] = SessionStory(self._verdicts.fail, self._verdicts.seen)
        return story


def _is_legal_id(id: Any) -> bool:
    return id is None or isinstance(id, str) or type(id) is int
