"""The steps of the scripted agent, each a function of the agent and the rest of its line."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from roost.testing.scripted.agent import FAR, Failed, ScriptedAgent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BLOCK = 65536  # bytes written at once; a pipe's capacity on Linux
_NOISE = (b"not json at all", b"{", b'{"level":"info","msg":"log"}', b"123", b'"scalar"', b"[]", b"\xff\xfe\x00")
_PARENT = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(3600)'])\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(3600)\n"
)
_children: list[Any] = []


# ---- what an agent says


def _chunk(agent: ScriptedAgent, kind: str, words: str) -> dict[str, Any]:
    payload: dict[str, Any] = {"sessionUpdate": kind, "content": {"type": "text", "text": words}}
    if agent.version == 2:
        payload["messageId"] = agent.fresh("msg")
    return payload


def _say(agent: ScriptedAgent, payload: dict[str, Any]) -> None:
    agent.update(payload.pop("sessionUpdate"), **payload)


def text(agent: ScriptedAgent, words: str) -> None:
    _say(agent, _chunk(agent, "agent_message_chunk", words))


def thought(agent: ScriptedAgent, words: str) -> None:
    _say(agent, _chunk(agent, "agent_thought_chunk", words))


def chunks(agent: ScriptedAgent, rest: str) -> None:
    """All of one message; not kept for a replay, so that a flood costs its reader more than its writer."""
    count, size = (int(word) for word in rest.split())
    params = {"sessionId": agent.session, "update": _chunk(agent, "agent_message_chunk", "x" * size)}
    line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode() + b"\n"
    at_once = max(1, _BLOCK // len(line))
    for start in range(0, count, at_once):
        agent.write(line * min(at_once, count - start))


def tool(agent: ScriptedAgent, rest: str) -> None:
    id, _, rest = rest.partition(" ")
    status, _, title = rest.partition(" ")
    status = status or "pending"
    kind = "tool_call" if agent.version == 1 and status == "pending" else "tool_call_update"
    agent.update(kind, toolCallId=id, status=status, title=title or id, kind="other")


def plan(agent: ScriptedAgent, words: str) -> None:
    entries = [{"content": words, "priority": "medium", "status": "pending"}]
    if agent.version == 2:
        agent.update("plan_update", plan={"type": "items", "planId": "plan", "entries": entries})
    else:
        agent.update("plan", entries=entries)


def update(agent: ScriptedAgent, rest: str) -> None:
    _say(agent, json.loads(rest))


# ---- what it asks


def permission(agent: ScriptedAgent, title: str) -> None:
    kinds = ("allow_once", "allow_always", "reject_once", "reject_always")
    options = [{"optionId": f"opt-{kind}", "name": kind.replace("_", " "), "kind": kind} for kind in kinds]
    title = title or "something"
    call = {"toolCallId": agent.fresh("tool"), "title": title, "status": "pending", "kind": "execute"}
    params: dict[str, Any] = {"sessionId": agent.session, "options": options}
    if agent.version == 2:
        agent.update("tool_call_update", **call)
        agent.update("state_update", state="requires_action")
        params |= {"title": title, "subject": {"type": "tool_call", "toolCall": call}}
    else:
        params["toolCall"] = call
    answer = agent.ask("session/request_permission", params)
    if answer is None:
        return
    if agent.version == 2:
        agent.update("state_update", state="running")
    outcome = answer["result"].get("outcome", {}) if "result" in answer else answer.get("error", {})
    text(agent, f"permission: {outcome.get('optionId') or outcome.get('outcome') or outcome.get('code')}")


def request(agent: ScriptedAgent, rest: str) -> None:
    begin(agent, f"it {rest}")
    finish(agent, "it")


def begin(agent: ScriptedAgent, rest: str) -> None:
    name, _, rest = rest.partition(" ")
    method, _, params = rest.partition(" ")
    members = json.loads(params.replace("$terminal", agent.terminal) or "{}")
    agent.begun[name] = agent.begin(method, {"sessionId": agent.session, **members})


def finish(agent: ScriptedAgent, name: str) -> None:
    answer = agent.answer_to(agent.begun.pop(name))
    if answer is not None:
        outcome = answer.get("result", answer.get("error"))
        if isinstance(outcome, dict):
            agent.terminal = outcome.get("terminalId", agent.terminal)
        text(agent, json.dumps(outcome, sort_keys=True))


# ---- what is no message


def raw(agent: ScriptedAgent, words: str) -> None:
    agent.write(words.encode() + b"\n")


def raw_bytes(agent: ScriptedAgent, digits: str) -> None:
    agent.write(bytes.fromhex(digits))


def garbage(agent: ScriptedAgent, rest: str) -> None:
    for index in range(int(rest)):
        agent.write(_NOISE[index % len(_NOISE)] + b"\n")


def long(agent: ScriptedAgent, rest: str) -> None:
    _flood(agent.write, int(rest), b"x" * _BLOCK)
    agent.write(b"\n")


def stdout(agent: ScriptedAgent, rest: str) -> None:
    _flood(agent.write, int(rest), (b"o" * 71 + b"\n") * (_BLOCK // 72))
    agent.write(b"\n")


def stderr(agent: ScriptedAgent, rest: str) -> None:
    _flood(_write_error, int(rest), (b"e" * 71 + b"\n") * (_BLOCK // 72))


def note(agent: ScriptedAgent, words: str) -> None:
    _write_error(words.encode() + b"\n")


def _write_error(data: bytes) -> None:
    while data:
        data = data[os.write(2, data) :]


def _flood(write: Callable[[bytes], None], size: int, block: bytes) -> None:
    while size > 0:
        write(block[:size])
        size -= len(block)


# ---- time, and the end


def sleep(agent: ScriptedAgent, rest: str) -> None:
    until = time.monotonic() + float(rest)
    while (left := until - time.monotonic()) > 0 and agent.session not in agent.cancelled:
        agent.hear(left)


def wait(agent: ScriptedAgent, rest: str) -> None:
    while agent.session not in agent.cancelled:
        agent.hear(FAR)


def stall(agent: ScriptedAgent, rest: str) -> None:
    time.sleep(FAR)


def silent(agent: ScriptedAgent, rest: str) -> None:
    agent.silent = True


def child(agent: ScriptedAgent, rest: str) -> None:
    import subprocess

    pids: list[int] = []
    for _ in range(int(rest or 1)):
        command = [sys.executable, "-S", "-c", _PARENT]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert process.stdout is not None
        _children.append(process)  # nobody's loss: it goes when the agent's tree goes
        pids += [process.pid, int(process.stdout.readline())]
    text(agent, "pids " + " ".join(map(str, pids)))


def ignore_term(agent: ScriptedAgent, rest: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def leave(agent: ScriptedAgent, rest: str) -> None:
    os._exit(int(rest or 0))


def kill(agent: ScriptedAgent, rest: str) -> None:
    os.kill(os.getpid(), signal.Signals[rest] if rest.startswith("SIG") else int(rest))
    time.sleep(FAR)


def stop(agent: ScriptedAgent, rest: str) -> None:
    agent.reason = rest


def error(agent: ScriptedAgent, rest: str) -> None:
    code, _, words = rest.partition(" ")
    raise Failed(int(code), words or "failed")


def no_idle(agent: ScriptedAgent, rest: str) -> None:
    agent.idle = False


STEPS: dict[str, Callable[[ScriptedAgent, str], None]] = {
    "text": text,
    "thought": thought,
    "chunks": chunks,
    "tool": tool,
    "plan": plan,
    "update": update,
    "permission": permission,
    "request": request,
    "begin": begin,
    "finish": finish,
    "raw": raw,
    "bytes": raw_bytes,
    "garbage": garbage,
    "long": long,
    "stdout": stdout,
    "stderr": stderr,
    "note": note,
    "sleep": sleep,
    "wait": wait,
    "stall": stall,
    "silent": silent,
    "child": child,
    "ignore-term": ignore_term,
    "exit": leave,
    "kill": kill,
    "stop": stop,
    "error": error,
    "no-idle": no_idle,
}
