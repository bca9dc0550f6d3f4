"""An agent of ACP v1 with one of the ways of agents in the field: `odd_agent.py WAY`. Standard library only.

A prompt `NAME …` runs the scene of that name; what an agent hears it tells as text, so that a test can look at it.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
WAY = sys.argv[1] if len(sys.argv) > 1 else ""
SESSION = f"odd-{os.getpid()}"
MODES = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]}
OPTION = {
    "id": "size",
    "name": "Size",
    "type": "select",
    "currentValue": "s",
    "options": [{"value": "s", "name": "Small"}, {"value": "l", "name": "Large"}],
}
MODELS = {"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "M"}, {"modelId": "n", "name": "N"}]}

numbers = itertools.count()
backlog: list[Json] = []


def send(message: Any) -> None:
    sys.stdout.write((message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})) + "\n")
    sys.stdout.flush()


def read() -> Json | None:
    if backlog:
        return backlog.pop(0)
    line = sys.stdin.readline()
    if not line:
        return None
    message = json.loads(line)
    if isinstance(message, list):
        sys.exit(7)  # as agents do that never saw a batch
    return message  # type: ignore[no-any-return]


def ask(method: str, params: Json, id: Any) -> Json:
    """The whole response; what comes before it waits."""
    send({"id": id, "method": method, "params": params})
    return answer_to(id)


def answer_to(id: Any) -> Json:
    kept: list[Json] = []
    while True:
        message = read()
        if message is None:
            sys.exit(0)
        if "method" not in message and message.get("id") == id:
            backlog[:0] = kept
            return message
        kept.append(message)


def update(what: str, /, **members: Any) -> None:
    send({"method": "session/update", "params": {"sessionId": SESSION, "update": {"sessionUpdate": what, **members}}})


def say(text: str) -> None:
    update("agent_message_chunk", content={"type": "text", "text": text})


def permission(call: Json, options: list[tuple[str, str]], id: Any) -> str:
    listed = [{"optionId": name, "name": name, "kind": kind} for name, kind in options]
    answer = ask("session/request_permission", {"sessionId": SESSION, "toolCall": call, "options": listed}, id)
    outcome = answer["result"]["outcome"]
    return str(outcome.get("optionId", outcome["outcome"]))


YES_NO = [("yes", "allow_once"), ("no", "reject_once")]


def ids() -> None:
    for id in (0, 1, 2, 3, "srv_1", "3"):
        say(f"{id!r}={permission({'toolCallId': f't{id}', 'title': str(id)}, YES_NO, id)} ")


def unannounced() -> None:
    permission({"toolCallId": "late", "title": "Edit it", "kind": "edit", "status": "pending"}, YES_NO, 0)
    update("tool_call_update", toolCallId="late", status="completed")


def twice() -> None:
    update("tool_call", toolCallId="t", title="First", kind="edit")
    update("tool_call", toolCallId="t", title="Second", kind="edit", status="pending")
    update("tool_call_update", toolCallId="t", rawOutput={"done": True})
    update("tool_call_update", toolCallId="t", status="completed")


def bare() -> None:
    update("tool_call", toolCallId="t", title="Delete it", kind="delete", status="pending")
    options = [("proceed_always", "allow_always"), ("proceed_tool", "allow_always"), ("cancel", "reject_once")]
    say(permission({"toolCallId": "t"}, options, 0))


def vendor() -> None:
    send({"method": "qwen/notify/session/thing", "params": {"x": 1}})
    answer = ask("craft/drainQueue", {"sessionId": SESSION}, "v")
    say(str(answer["error"]["code"]))


def missing() -> None:
    answer = ask("fs/read_text_file", {"sessionId": SESSION, "path": f"{os.getcwd()}/not-there"}, 0)
    say(repr(answer["result"]["content"]) if "result" in answer else str(answer["error"]["code"]))


def shell() -> None:
    line = {"command": "echo one > f && cat f", "env": [{"name": "A", "value": "b"}], "outputByteLimit": 32000}
    made = ask("terminal/create", {"sessionId": SESSION, **line}, 0)["result"]["terminalId"]
    about = {"sessionId": SESSION, "terminalId": made}
    code = ask("terminal/wait_for_exit", about, 1)["result"]["exitCode"]
    said = ask("terminal/output", about, 2)["result"]["output"]
    ask("terminal/release", about, 3)
    slow = ask("terminal/create", {"sessionId": SESSION, "command": "sleep 60; echo never"}, 4)["result"]["terminalId"]
    about["terminalId"] = slow
    send({"id": 5, "method": "terminal/wait_for_exit", "params": about})
    send({"id": 6, "method": "terminal/release", "params": about})
    waited, released = answer_to(5), answer_to(6)
    say(f"{code} {said.strip()} {'result' in released} {'id' in waited}")


def noise() -> None:
    for text in ("Loading model …", "{not json", "[1, 2", "\x1b[31mred\x1b[0m", "null", '"text"', ""):
        send(text)
    send({"id": None, "error": {"code": -32700, "message": "Parse error"}})
    say("still here")


def flood() -> None:
    for _ in range(100):
        sys.stderr.write("INFO " + "x" * 60_000 + "\n")
    sys.stderr.flush()
    say("done")


def echo() -> None:
    update("user_message_chunk", content={"type": "text", "text": "echo"})
    say("answer")


def wait() -> None:
    """Until it is cancelled; agents that end such a turn by end_turn, with an error, or twice."""
    say("waiting")
    while True:
        message = read()
        if message is None:
            sys.exit(0)
        if message.get("method") == "session/cancel":
            return


def busy() -> None:
    """Asks something, so that there is time for another prompt, which it must not get."""
    say("begun ")
    permission({"toolCallId": "b", "title": "Go on"}, YES_NO, 0)
    say("interrupted" if any(each.get("method") == "session/prompt" for each in backlog) else "alone")


SCENES: dict[str, Callable[[], None]] = {
    scene.__name__: scene
    for scene in (ids, unannounced, twice, bare, vendor, missing, shell, noise, flood, echo, wait, busy)
}


def prompt(request: Json) -> None:
    text = request["params"]["prompt"][-1]["text"]
    name, _, rest = text.partition(" ")
    if name == "fail":
        send({"id": request["id"], "error": {"code": int(rest), "message": "the model failed"}})
        return
    if name == "die":
        os.kill(os.getpid(), 9)
    if name in SCENES:
        SCENES[name]()
    else:
        say(f"hello {text}")
    if name == "wait" and WAY == "errs_at_cancel":
        send({"id": request["id"], "error": {"code": -32603, "message": "aborted"}})
        return
    send({"id": request["id"], "result": {"stopReason": "end_turn"}})
    if name == "wait" and WAY == "late":
        say("too late")
        send({"id": request["id"], "result": {"stopReason": "cancelled"}})


def opening() -> Json:
    wants: dict[str, Json] = {
        "modes": {"modes": MODES},
        "options": {"configOptions": [OPTION]},
        "all": {"modes": MODES, "configOptions": [OPTION], "models": MODELS},
    }
    return wants.get(WAY, {"modes": MODES} if WAY == "talks_between" else {})


def answer(request: Json) -> None:
    method, id = request["method"], request.get("id")
    if method == "initialize":
        version = request["params"]["protocolVersion"] if WAY == "echoes_version" else 1
        can_load = WAY.startswith("forgets")
        send({"id": id, "result": {"protocolVersion": version, "agentCapabilities": {"loadSession": can_load}}})
    elif method == "session/new":
        if WAY == "early":
            update("available_commands_update", availableCommands=[{"name": "go", "description": "Goes"}])
            say("before the answer")
        send({"id": id, "result": {"sessionId": SESSION, **opening()}})
    elif method == "session/load":
        code = int(WAY.removeprefix("forgets"))
        send({"id": id, "error": {"code": code, "message": "No such session"}})
    elif method == "session/set_mode":
        send({"id": id, "result": {}})
        say(f"[MODE_UPDATE] {request['params']['modeId']}")
    elif method == "session/prompt":
        prompt(request)
    elif id is not None:
        send({"id": id, "error": {"code": -32601, "message": "Method not found"}})


def main() -> None:
    if WAY == "leaves_child":
        subprocess.Popen(["sleep", "60"], start_new_session=True)
    while (message := read()) is not None:
        if "method" in message:
            answer(message)
    while WAY in ("outlives_input", "leaves_child"):
        time.sleep(60)


if __name__ == "__main__":
    main()
