"""A daemon with a journal that can kill itself just before something is told.

    daemon.py SOCKET JOURNAL OPTIONS

Says `ready` on stdout when it listens, or what is wrong with the journal as JSON, and ends. OPTIONS is JSON: `limits`
and `store` are settings of the sidecar and of the store, `state` is the folder for notes on agents, `kill_at` names
the moment at which the process kills itself: the thing is about to leave it, and has not.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roost.daemon.daemon import Daemon
from roost.errors import StoreError
from roost.sidecar import commands
from roost.sidecar.gen.messages import AcpSessionRpcResponse
from roost.sidecar.limits import Limits
from roost.store.base import StoreLimits
from roost.store.sqlite import SqliteStore

# What is recognised on its way out, by the command that carries it.
MOMENTS: dict[str, tuple[type, Callable[[Any], bool]]] = {
    "session created": (commands.Reply, lambda command: type(command.response).__name__ == "AcpSessionCreatedResponse"),
    "prompt passed on": (commands.WriteAgent, lambda command: b"session/prompt" in command.data),
    "prompt accepted": (commands.Reply, lambda command: _answers(command, '"messageId"')),
    "decision passed on": (commands.WriteAgent, lambda command: b'"outcome"' in command.data),
    "turn's end told": (commands.Publish, lambda command: b'"idle"' in command.payload),
    "turn's end answered": (commands.Reply, lambda command: _answers(command, '"stopReason"')),
}


def _answers(command: commands.Reply, word: str) -> bool:
    return isinstance(command.response, AcpSessionRpcResponse) and word in command.response.response


def kill_at(daemon: Daemon, moment: str) -> None:
    command_type, is_it = MOMENTS[moment]
    do = daemon.driver._do[command_type]

    def do_or_die(command: Any) -> None:
        if is_it(command):
            os.kill(os.getpid(), signal.SIGKILL)
        do(command)

    daemon.driver._do[command_type] = do_or_die


async def main(socket: str, journal: str, options: dict[str, Any]) -> None:
    store = SqliteStore(Path(journal), limits=StoreLimits(**options.get("store", {})))
    state = options.get("state")
    daemon = Daemon(
        limits=Limits(**options.get("limits", {})), state_dir=None if state is None else Path(state), store=store
    )
    try:
        await daemon.open()
    except StoreError as error:
        print(json.dumps({"code": error.code, "text": str(error)}), flush=True)
        return
    if "kill_at" in options:
        kill_at(daemon, options["kill_at"])
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    await daemon.listen_unix(socket)
    print("ready", flush=True)
    await over.wait()
    await daemon.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
