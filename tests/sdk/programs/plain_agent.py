"""An agent in plain JSON, for tests where the process is the subject. The prompt's words say what it does.

Nothing of the library is used here. Words: `say X`, `flood` (600 kB on stderr), `noise`, `die` (exit code 3), `hang`
(never ends the turn), `closed` (closes stdout and lives on), `big` (a line over 2 MB), `env X`.
"""

import json
import os
import sys
import time
from itertools import count

numbers = count()


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(session, **fields):
    send(method="session/update", params={"sessionId": session, "update": fields})


def say(session, words):
    content = {"type": "text", "text": words}
    update(session, sessionUpdate="agent_message_chunk", messageId=f"m{next(numbers)}", content=content)


def prompt(params):
    session, words = params["sessionId"], params["prompt"][0]["text"]
    update(session, sessionUpdate="user_message", messageId=f"u{next(numbers)}", content=params["prompt"])
    update(session, sessionUpdate="state_update", state="running")
    verb, _, rest = words.partition(" ")
    if verb == "say":
        say(session, rest)
    elif verb == "flood":
        sys.stderr.write("e" * 600_000 + "\n")
        sys.stderr.flush()
        say(session, "flooded")
    elif verb == "noise":
        print('log: hello\n[1]\n"scalar"\n\x1b[31mred', flush=True)
        say(session, "noisy")
    elif verb == "die":
        sys.stderr.write("no key: set API_KEY\n")
        sys.stderr.flush()
        sys.exit(3)
    elif verb == "hang":
        return
    elif verb == "closed":
        os.close(1)
        time.sleep(60)
    elif verb == "big":
        say(session, "x" * 2_000_000)
        say(session, "small")
    elif verb == "env":
        say(session, os.environ.get(rest, "none"))
    update(session, sessionUpdate="state_update", state="idle", stopReason="end_turn")


def main():
    if "--mute" in sys.argv:
        time.sleep(60)
    if "--login" in sys.argv:
        sys.exit(0 if os.environ.get("MODE") == "login" else 5)
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params")
        if method == "initialize":
            result = {
                "protocolVersion": 9 if "--v9" in sys.argv else 2,
                "info": {"name": "plain", "version": "0"},
                "capabilities": {"session": {}},
                "authMethods": [
                    {
                        "type": "terminal",
                        "methodId": "tty",
                        "name": "T",
                        "args": ["--login"],
                        "env": [{"name": "MODE", "value": "login"}],
                    }
                ],
            }
            send(id=message["id"], result=result)
        elif method == "session/new":
            send(id=message["id"], result={"sessionId": "s1"})
        elif method == "session/prompt":
            send(id=message["id"], result={})
            prompt(params)
        elif method == "session/cancel":
            update(params["sessionId"], sessionUpdate="state_update", state="idle", stopReason="cancelled")
        elif "id" in message:
            send(id=message["id"], result={})


main()
