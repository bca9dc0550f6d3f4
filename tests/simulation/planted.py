"""Plants bugs in a copy of the sources, one after the other, and counts the schedules until each is caught.

`python -m tests.simulation.planted [NAME …]`. The checkout is not touched. It fails when a bug is not caught, or when
the place where it goes is not there any more: then it has to be planted somewhere else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "roost"
PATIENCE = 1000
SECONDS = 250.0  # no new schedule after that
TIMEOUT = SECONDS + 50.0


class Bug(NamedTuple):
    """What is put in the place of what; `old` stands there once."""

    file: str
    old: str
    new: str
    about: str = ""  # which schedules are tried; all kinds, if nothing is said


REPLY = "            self._context.emit(Reply(event.connection, event.request, outcome.response))\n"
BUGS = {
    "a reply is dropped": Bug(
        "sidecar/engine.py",
        REPLY,
        "            if event.request % 7:\n                self._context.emit("
        "Reply(event.connection, event.request, outcome.response))\n",
    ),
    "a reply is sent twice": Bug(
        "sidecar/engine.py", REPLY, REPLY + "            if event.request % 5 == 0:\n    " + REPLY
    ),
    "an answer overtakes the events before it": Bug(
        "sidecar/link.py",
        "                self.sink.noticed(line, UPDATE, notice.params.update.session_update)\n",
        "                told = notice.params.update.session_update\n"
        "                stage.after(0.0, lambda line=line, told=told: self.sink.noticed(line, UPDATE, told))\n",
    ),
    "events of one chunk change places": Bug(
        "sidecar/link.py",
        "        for line in lines:\n            try:",
        "        for line in sorted(lines):\n            try:",
    ),
    "what follows an answer in its chunk is lost": Bug(
        "sidecar/link.py",
        "                self._read_other(line)\n",
        "                calls = len(self._calls)\n                self._read_other(line)\n"
        "                if len(self._calls) < calls:\n                    return\n",
    ),
    "an agent whose start failed is not ended": Bug(
        "sidecar/bootstrap.py",
        '    bootstrap.asks.close("the session could not be opened")\n',
        '    bootstrap.asks.close("the session could not be opened")\n    return\n',
    ),
    "a request has no deadline": Bug(
        "sidecar/prompt.py",
        "        answer: Answer = yield stage.within(limits.request_timeout, wait)\n",
        "        answer: Answer = yield wait\n",
    ),
    "the driver does not hear of an earlier deadline": Bug(
        "daemon/driver.py",
        "if deadline is not None and (self._alarm_at is None or deadline < self._alarm_at):",
        "if deadline is not None and self._alarm_at is None:",
    ),
    "a question is answered twice": Bug(
        "sidecar/callbacks.py",
        "        if self._open.pop(ask.inbound.token, None) is None:\n",
        "        if self._open.get(ask.inbound.token) is None:\n",
    ),
    "silence is consent": Bug(
        "sidecar/permissions.py",
        '        if option.kind == "reject_once" and option.id is not None:\n',
        '        if option.kind == "allow_once" and option.id is not None:\n',
    ),
    "a session is anybody's who knows its id": Bug(
        "sidecar/wake.py",
        "        session = caller.sessions.get(session_id)\n        if session is not None:\n",
        "        session = next((s for s in context.sessions if s.id == session_id), None)\n"
        "        if session is not None:\n",
    ),
    "agents are read though their caller does not": Bug(
        "sidecar/engine.py",
        "        for session in connection.hears:\n            session.link.brake.wait_for(connection.number)\n",
        "",
    ),
    "an agent at its end is read without end": Bug(
        "sidecar/brake.py", "            self._last_words -= size\n", "            self._last_words -= 0\n"
    ),
    "sessions outlive their unnamed caller": Bug(
        "sidecar/engine.py", "        if not connection.caller.named:\n", "        if False:\n"
    ),
    "a crash is told to nobody": Bug(
        "sidecar/restart.py",
        "    session.publish_exit(dead, exit_code, recovery.restart, recovery.count)\n",
        "",
    ),
    "bytes are decoded before they are lines": Bug(
        "sidecar/link.py",
        "            self._read(self._framer.feed(chunk))\n",
        '            self._read(self._framer.feed(chunk.decode("utf-8", "replace").encode()))\n',
    ),
    "a prompt is sent before it is durable": Bug(
        "sidecar/prompt.py",
        "    session.turn_kept = False\n    yield from journal.promise()\n",
        "    session.turn_kept = False\n",
    ),
    "a sleeping session is woken twice": Bug(
        "sidecar/wake.py",
        "        if not (yield from quiet(context, connection, session_id)):\n            break\n",
        "        break\n",
    ),
    "a replay is told to everybody": Bug(
        "sidecar/replay.py",
        "publish_notice(context, [connection], session.id, line)",
        "publish_notice(context, session.audience, session.id, line)",
    ),
    "a replay begins too late": Bug(
        "sidecar/replay.py", "is_whole = session.link, 0, session", "is_whole = session.link, 2, session"
    ),
    "an agent is not read after a replay": Bug(
        "sidecar/replay.py", "        link.brake.go_on_for(REPLAY)\n", "        pass\n"
    ),
    "prompts wait for ever after a replay": Bug(
        "sidecar/replay.py",
        "        session.call_up(session.life is Life.LIVE)\n",
        "        pass\n",
    ),
    "a session that is logged out goes on": Bug(
        "sidecar/emulation.py",
        "    return request.method in METHODS or is_logged_out(context, connection, request.session_id)\n",
        "    return request.method in METHODS\n",
    ),
    "a closed session keeps its agent": Bug(
        "sidecar/emulation.py",
        "            yield from close_session(context, connection, AcpCloseSessionRequest(session.id))\n",
        "            pass\n",
    ),
    "a deleted session stays in the journal": Bug(
        "sidecar/inventory.py", "    context.keeper.tell(DeleteSession(record.session_id))\n", ""
    ),
    "nobody logs in for an agent that wants it": Bug("sidecar/login.py", "    if method is None:\n", "    if True:\n"),
    "a grace of the agent's own is not heeded": Bug(
        "sidecar/closing.py",
        "limits.input_close_grace if own_grace is None else own_grace",
        "limits.input_close_grace",
    ),
    "a yes counts more than once": Bug(
        "acp/bridge/agent_services.py", "            del turn.grants[index]\n", "", "services"
    ),
    "a yes is led elsewhere by a link": Bug(
        "acp/bridge/grants.py", "(wish.plain and wish.asked in self.files)", "wish.asked in self.files", "services"
    ),
    "what is not refused is allowed": Bug(
        "acp/bridge/agent_services.py",
        "self._decide(token, option in (ALLOW_ONCE, ALLOW_ALWAYS))",
        "self._decide(token, option != _REJECT)",
        "services",
    ),
    "a file that cannot be had is not told of": Bug(
        "acp/bridge/v1_agent.py",
        "        if self.service_requests.ended(token, done=False):\n            self.agent.fail(token, error)\n",
        "        self.service_requests.ended(token, done=False)\n",
        "services",
    ),
    "what was taken back is served": Bug(
        "acp/bridge/agent_services.py",
        "        self._bridge.emit(ServiceWithdrawn(token))\n",
        "",
        "services",
    ),
    "terminals outlive their agent": Bug(
        "sidecar/closing.py", "    if services_over is not None:\n", "    if False:\n", "services"
    ),
    "an ended session's terminals go on": Bug(
        "daemon/services.py",
        "        await asyncio.gather(*(places[key].close() for key in ended))\n",
        "",
        "services",
    ),
    "terminals are read though their agent is not": Bug(
        "daemon/driver.py", "            self._services.pause(command.process)\n", "            pass\n", "services"
    ),
    "a program may connect for an agent that is gone": Bug(
        "daemon/mcp_relay.py", "                self._take_back(process, relay)\n", "                pass\n", "services"
    ),
    "programs are read though their agent is not": Bug(
        "daemon/mcp_relay.py",
        "            channel.pause_reading()\n\n    def _resume",
        "            pass\n\n    def _resume",
        "services",
    ),
    "what a program says early changes places": Bug(
        "acp/bridge/mcp_connection.py",
        "        for event in early:\n            self._pass_on(event)\n        self._flush()\n\n    def _refused",
        "        for event in reversed(early):\n            self._pass_on(event)\n"
        "        self._flush()\n\n    def _refused",
        "services",
    ),
    "a program whose server refuses waits for ever": Bug(
        "acp/bridge/mcp_connection.py",
        "                self._answered(event, self._refusal)\n",
        "                pass\n",
        "services",
    ),
    "what is for one program is told to another": Bug(
        "acp/bridge/mcp_connection.py",
        "    def _flush(self) -> None:\n        for message in self._wire.drain():\n"
        "            self._relays.bridge.emit(McpRelaySaid(self.channel, message))\n",
        "    def _flush(self) -> None:\n        for message in self._wire.drain():\n"
        "            self._relays.bridge.emit(McpRelaySaid(1, message))\n",
        "services",
    ),
    "an agent is asked for what it cannot do": Bug(
        "sidecar/restart.py", '    if link.quirks.resume == "transcript":\n', "    if False:\n"
    ),
}


def main() -> int:
    wanted = sys.argv[1:] or list(BUGS)
    lost = 0
    for name in wanted:
        found = caught(BUGS[name])
        lost += found.startswith("NOT")
        print(f"{name:50} {found}", flush=True)
    return 1 if lost else 0


def caught(bug: Bug) -> str:
    """How it was caught, or a sentence that begins with NOT."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "roost")
        shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))
        place = copy / bug.file
        text = place.read_text()
        if text.count(bug.old) != 1:
            return f"NOT planted: its place in {bug.file} is there {text.count(bug.old)} times"
        place.write_text(text.replace(bug.old, bug.new))
        command = [sys.executable, "-m", "tests.simulation.run", "--from", "0", "--count", str(PATIENCE), "--first"]
        command += ["--for", str(SECONDS)]
        if bug.about:
            command += ["--about", bug.about]
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return f"caught: it hangs for {TIMEOUT:g} s"
    failure = re.search(r"^seed (\d+): (.*)", done.stderr, re.MULTILINE)
    if failure is None:
        return f"NOT caught: {done.stdout.strip()}"
    return f"seed {failure[1]}, after {int(failure[1]) + 1} schedules: {failure[2][:120]}"


if __name__ == "__main__":
    sys.exit(main())
