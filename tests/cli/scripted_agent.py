"""An agent in one file of the standard library, whose prompt says what it does. `--v1` speaks ACP v1.

Run it as `python -I -S scripted_agent.py [--v1] [FLAG]`; the prompt is WORD [ARGUMENT]. `--session=ID` chooses the
session's id; with `--memory=FILE` it remembers its prompts there, and knows the session of that file again.
"""

import base64
import json
import os
import signal
import subprocess
import sys

V1 = "--v1" in sys.argv
FLAGS = dict(word.split("=", 1) for word in sys.argv if word.startswith("--") and "=" in word)
SESSION = FLAGS.get("--session", "session-1")
MEMORY = FLAGS.get("--memory")
REASONS = {}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(kind, /, **members):
    send({"method": "session/update", "params": {"sessionId": SESSION, "update": {"sessionUpdate": kind, **members}}})


def text(words):
    return {"type": "text", "text": words}


def say(words, message="m1"):
    update("agent_message_chunk", content=text(words), **({} if V1 else {"messageId": message}))


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def ask(**params):
    """Asks and waits; the outcome as text. A cancel meanwhile is seen too."""
    send({"id": "ask", "method": "session/request_permission", "params": {"sessionId": SESSION, **params}})
    while True:
        message = read()
        if message.get("id") == "ask":
            outcome = message["result"]["outcome"]
            return outcome.get("optionId", outcome["outcome"])
        if message.get("method") == "session/cancel":
            REASONS["cancel"] = True


OPTIONS = [
    {"optionId": "yes-1", "name": "Yes", "kind": "allow_once"},
    {"optionId": "yes-2", "name": "Always", "kind": "allow_always"},
    {"optionId": "no-1", "name": "No", "kind": "reject_once"},
]


def story(cwd):
    path = f"{cwd}/greet.py"
    patch = f"diff --git {path} {path}\n--- {path}\n+++ {path}\n@@ -1 +1 @@\n-print('hi')\n+print('hello')\n"
    steps = [{"content": "Read the code", "priority": "high", "status": "in_progress"}]
    steps.append({"content": "Change it", "priority": "medium", "status": "pending"})
    update("agent_thought_chunk", messageId="t1", content=text("I look at the file\nfirst."))
    update("plan_update", plan={"type": "items", "planId": "p", "entries": steps})
    say("I will ")
    say("change the greeting.\nIt is short.")
    call = {"title": "Edit greet.py", "kind": "edit", "status": "in_progress"}
    update("tool_call_update", toolCallId="c1", locations=[{"path": path, "line": 1}], **call)
    diff = {"type": "diff", "changes": [{"operation": "modify", "path": path}], "patch": {}}
    diff["patch"] = {"format": "git_patch", "text": patch}
    update("tool_call_update", toolCallId="c1", status="completed", content=[diff])
    update("terminal_update", terminalId="t", command="python greet.py", cwd=cwd)
    for chunk in (b"hel", b"lo \x1b[31mworld\x1b[0m \xe2\x82", b"\xac\n\x1b]52;c;ZXZpbA==\x07done\n"):
        update("terminal_output_chunk", terminalId="t", data=base64.b64encode(chunk).decode())
    update("terminal_update", terminalId="t", exitStatus={"exitCode": 0})
    chosen = ask(
        title="Run the tests",
        description="They take a minute.",
        subject={"type": "command", "command": "make test", "cwd": cwd},
        options=OPTIONS,
    )
    steps = [{**step, "status": "completed"} for step in steps]
    update("plan_update", plan={"type": "items", "planId": "p", "entries": steps})
    say(f"You chose {chosen}.", "m2")
    update("usage_update", used=1200, size=200000, cost={"amount": 0.25, "currency": "USD"})


def story_v1(cwd):
    path = f"{cwd}/greet.py"
    update("agent_thought_chunk", content=text("Let me see."))
    update("plan", entries=[{"content": "Change it", "priority": "low", "status": "in_progress"}])
    say("Changing it.")
    update("tool_call", toolCallId="c1", title="Edit greet.py", kind="edit", status="pending")
    diff = {"type": "diff", "path": path, "oldText": "a\nb\n", "newText": "a\nc\n"}
    update("tool_call_update", toolCallId="c1", status="completed", content=[diff], locations=[{"path": path}])
    call = {"toolCallId": "c2", "title": "make test", "kind": "execute", "rawInput": {"command": "make test"}}
    chosen = ask(toolCall=call, options=OPTIONS)
    say(f"You chose {chosen}.")


def work(words, cwd):
    """What the prompt asks for; the stop reason."""
    word, _, argument = words.strip().partition(" ")
    if word == "story":
        story_v1(cwd) if V1 else story(cwd)
    elif word == "say":
        say(argument)
    elif word == "stop":
        return argument
    elif word == "env":
        say(f"{argument}={os.environ.get(argument)}")
    elif word == "cwd":
        say(cwd)
    elif word == "recall":
        with open(MEMORY) as memory:
            say(f"remembered: {'; '.join(memory.read().splitlines())}", "m3")
    elif word == "flood":
        for number in range(int(argument)):
            say(f"line {number}\n")
    elif word == "stderr":
        os.write(2, argument.encode() + b"\n")
        ask(title="Go on", options=OPTIONS)  # the two streams have no order; this is after both were read
    elif word == "crash":
        os.write(2, b"first line\nthe reason\n")
        sys.exit(int(argument))
    elif word == "ask":
        say(f"answer: {ask(title='Do it', **json.loads(argument or '{}'))}", "m2")
    elif word == "ask-after":  # somebody has opened the pipe of that name
        say("thinking")
        with open(argument) as pipe:
            pipe.read()
        say(f"answer: {ask(title='Do it', options=OPTIONS)}", "m2")
    elif word == "ask-and-crash":
        send({"id": "q", "method": "session/request_permission", "params": {"title": "Do it", "options": OPTIONS}})
        os.write(2, b"gone\n")
        sys.exit(7)
    elif word == "wait":  # until cancelled
        say("waiting")
        while read().get("method") != "session/cancel":
            pass
        return "cancelled"
    elif word == "wait-and-end":  # waits to be cancelled, and says it ended
        while read().get("method") != "session/cancel":
            pass
        return "end_turn"
    elif word == "wedge":  # whatever anybody says
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        say(f"pids {os.getpid()}\n")
        while True:
            signal.pause()
    elif word == "family":  # a child that has a child, and all of them stay
        sleep = "import time; time.sleep(600)"
        code = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-ISc', '{sleep}'])"
        code += f"; print(p.pid, flush=True); {sleep}"
        child = subprocess.Popen([sys.executable, "-ISc", code], stdout=subprocess.PIPE, text=True)
        say(f"pids {os.getpid()} {child.pid} {child.stdout.readline().strip()}\n")
        while read().get("method") != "session/cancel":
            pass
        return "cancelled"
    return "cancelled" if REASONS.get("cancel") else "end_turn"


def prompted(message, cwd):
    words = message["params"]["prompt"][-1].get("text", "")
    if MEMORY:
        with open(MEMORY, "a") as memory:
            memory.write(f"{words}\n")
    if words == "refuse":
        error = {"code": -32602, "message": "no such prompt", "data": {"hint": "try another"}}
        os.write(2, b"refusing\n")
        return send({"id": message["id"], "error": error})
    usage = {"totalTokens": 150, "inputTokens": 120, "outputTokens": 30}
    if V1:
        return send({"id": message["id"], "result": {"stopReason": work(words, cwd), "usage": usage}})
    send({"id": message["id"], "result": {}})
    update("state_update", state="running")
    update("user_message", messageId="u1", content=[text(words)])
    return update("state_update", state="idle", stopReason=work(words, cwd), usage=usage)


def main():
    if "--exit-at-start" in sys.argv:
        os.write(2, b"no licence found\n")
        sys.exit(3)
    if "--garbage" in sys.argv:
        sys.stdout.write("Welcome to the agent!\n")
        sys.stdout.flush()
    cwd = ""
    while True:
        message = read()
        method = message.get("method")
        if method == "initialize" and "--silent" not in sys.argv:
            asked = message["params"]["protocolVersion"]
            if V1:
                result = {"protocolVersion": 1, "agentCapabilities": {}}
            else:
                result = {"protocolVersion": 2, "info": {"name": "scripted", "version": "1.2"}}
                result["capabilities"] = {"session": {"resume": {}} if MEMORY else {}}
            if "--other-version" in sys.argv:
                result["protocolVersion"] = 3 - asked
            send({"id": message["id"], "result": result})
        elif method == "session/new":
            cwd = message["params"]["cwd"]
            if "--early" in sys.argv:
                update("session_info_update", title="early bird")
            send({"id": message["id"], "result": {"sessionId": SESSION}})
        elif method == "session/resume" and MEMORY and os.path.exists(MEMORY):
            cwd = message["params"]["cwd"]
            send({"id": message["id"], "result": {}})
        elif method == "session/resume":
            data = {"sessionId": message["params"]["sessionId"]}
            send({"id": message["id"], "error": {"code": -32002, "message": "no such session", "data": data}})
        elif method == "session/prompt":
            prompted(message, cwd)
        elif method is not None and "id" in message and method != "initialize":
            send({"id": message["id"], "error": {"code": -32601, "message": f"method not found: {method}"}})


main()
