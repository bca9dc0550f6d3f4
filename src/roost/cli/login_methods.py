"""The logins an agent offers, whichever version of the protocol it speaks, and how each kind is done."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from roost.acp import v2
from roost.cli.status import ExitStatus, Failure
from roost.errors import ProcessError

if TYPE_CHECKING:
    from roost.sdk.client import Client

Kind = Literal["request", "terminal", "variables", "unknown"]

# Where the bridge to v1 notes what it makes up for.
_BRIDGE = "_bridge"


class Variable(msgspec.Struct, frozen=True):
    """One variable of a login. `given`: the agent gets it as things are; `set`: whoever runs this has it."""

    name: str
    label: str | None
    secret: bool
    optional: bool
    given: bool
    set: bool


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """One way to log in. `args` are the arguments its program gets at a terminal."""

    method_id: str
    kind: Kind
    name: str
    description: str = ""
    link: str = ""
    args: tuple[str, ...] = ()
    variables: tuple[Variable, ...] = ()
    by_the_protocol: bool = True  # False: of a kind that its version has no word for, told in `_meta`

    def to_json(self, agent: str) -> dict[str, Any]:
        told: dict[str, Any] = {"agent": agent, "methodId": self.method_id, "kind": self.kind, "name": self.name}
        told["description"] = self.description or None
        if self.kind == "terminal":
            told["args"] = list(self.args)
        if self.kind == "variables":
            told["link"] = self.link or None
            told["variables"] = [msgspec.structs.asdict(variable) for variable in self.variables]
        return told


def methods_of(client: Client, given: Mapping[str, str]) -> list[Method]:
    """The logins in the agent's order. `given`: the environment it gets."""
    return [_method(offered, given) for offered in client.auth_methods]


def _method(offered: v2.AuthMethod, given: Mapping[str, str]) -> Method:
    match offered:
        case v2.AuthMethodAgent(meta=meta) if meta is not None and meta.get("type") == "terminal":  # v1 had no type
            args = meta.get("args")
            words = tuple(word for word in args if isinstance(word, str)) if isinstance(args, list) else ()
            return Method(**_common(offered), kind="terminal", args=words, by_the_protocol=False)
        case v2.AuthMethodAgent():
            return Method(**_common(offered), kind="request")
        case v2.AuthMethodTerminal():
            return Method(**_common(offered), kind="terminal", args=tuple(offered.args))
        case v2.AuthMethodEnvVar():
            variables = tuple(_variable(one, given) for one in offered.vars)
            return Method(**_common(offered), kind="variables", variables=variables, link=offered.link or "")
        case v2.Unknown(raw=raw):
            members = msgspec.json.decode(raw)
            told = {name: value for name, value in members.items() if isinstance(value, str)}
            return Method(method_id=told.get("methodId", ""), kind="unknown", name=told.get("name", ""))


def _variable(one: v2.AuthEnvVar, given: Mapping[str, str]) -> Variable:
    return Variable(
        name=one.name,
        label=one.label,
        secret=one.secret,
        optional=one.optional,
        given=bool(given.get(one.name)),
        set=bool(os.environ.get(one.name)),
    )


def _common(offered: Any) -> dict[str, Any]:
    return {"method_id": offered.method_id, "name": offered.name, "description": offered.description or ""}


async def log_in_at_terminal(client: Client, method: Method) -> None:
    """Runs the agent's own program with the login's arguments. ProcessError when that comes to nothing."""
    if method.by_the_protocol:
        await client.login(method.method_id)
        return
    run, launch = client.options.terminal_login, client.launch
    assert run is not None
    assert launch is not None
    code = await run(launch.with_args(method.args))
    if code != 0:
        raise ProcessError(f"the login ended with exit code {code}", code)


def variables_told(agent: str, argument: str, method: Method) -> str:
    """What is to be done about variables: nothing of a secret passes through here.

    Raises Failure (USAGE) when one is not even set.
    """
    needed = [variable for variable in method.variables if not variable.optional]
    missing = [variable.name for variable in needed if not variable.given and not variable.set]
    wanted = [variable.name for variable in needed if not variable.given]
    run = f"roost run {shlex.quote(argument)} {' '.join(f'--env {name}' for name in wanted)}"
    if missing:
        link = f" ({method.link})" if method.link else ""
        names = " and ".join(missing)
        sentence = f"{agent} needs {names}, not set here{link}; set it, and give it to the agent: {run}"
        raise Failure(ExitStatus.USAGE, sentence)
    if wanted:
        return f"{' and '.join(wanted)} is set here; give it to the agent: {run}"
    return f"{agent} gets {' and '.join(variable.name for variable in needed) or 'nothing'} already"


def knows_logout(client: Client) -> bool:
    """Whether the agent itself can, and not only the bridge on its behalf."""
    note = (client.agent.meta or {}).get(_BRIDGE)
    emulated = note.get("emulated") if isinstance(note, dict) else None
    return bool(client.auth_methods) and not (isinstance(emulated, list) and "logout" in emulated)
