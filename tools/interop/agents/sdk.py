"""The examples in the official TypeScript SDK: no model behind them, the same turn whatever is prompted."""

from __future__ import annotations

from tools.interop.pins import Npm
from tools.interop.spec import Agent, Quirk

SDK = Npm("@agentclientprotocol/sdk", "1.9.0")
NO_MODEL = "it has no model: it says the same whatever it is prompted"

SDK_V1 = Agent(
    name="sdk-example",
    title="TypeScript SDK, example agent",
    pin=SDK,
    program="dist/examples/agent.js",
    setup="Nothing; it is an example, and only pretends.",
    scripted=False,
    lacks={
        "thinking": NO_MODEL,
        "run": NO_MODEL,
        "cancel_running": NO_MODEL,
        "switch": "it has neither modes nor options",
    },
    quirks=(
        Quirk("a turn takes five seconds of pretended work"),
        Quirk("it ends a turn that is cancelled at its permission by end_turn; Roost says cancelled", "cancel_asking"),
        Quirk("it keeps no sessions: a resumed one is told its transcript", "resume"),
    ),
)

SDK_DUAL = Agent(
    name="sdk-dual-version",
    title="TypeScript SDK, example of an agent for v1 and v2",
    pin=SDK,
    program="dist/examples/dual-version-agent.js",
    setup="Nothing; it is an example, and only pretends.",
    scripted=False,
    lacks={
        "thinking": NO_MODEL,
        "write": NO_MODEL,
        "deny": NO_MODEL,
        "run": NO_MODEL,
        "cancel_running": NO_MODEL,
        "cancel_asking": NO_MODEL,
        "switch": "it has no options",
        "resume": "it refuses the sessions of another process, as invalid parameters",
    },
    quirks=(
        Quirk("it speaks v2 when asked for it, and v1 else"),
        Quirk("it keeps its sessions in memory, and refuses others: after a crash it is told its transcript", "crash"),
    ),
)
