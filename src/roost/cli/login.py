"""`roost login AGENT [METHOD]` and `roost logout AGENT`: an agent's own logins, listed and done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from roost.cli.options import config_option, json_option
from roost.cli.status import ExitStatus, Failure

if TYPE_CHECKING:
    from roost.cli.agent_here import AgentHere
    from roost.cli.login_methods import Method
    from roost.errors import RpcError
    from roost.sdk.client import Client

# What a login may need that a turn does not: the way to a browser, and to the key ring that keeps what comes of it.
LOGIN_NAMES = (
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "BROWSER",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_CONNECTION",
    "SSH_TTY",
)

# `opencode auth login`: something to type.
_COMMAND = re.compile(r"`[^`\s]+ [^`]+`")


def login_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What both commands have: `--env`, `--timeout`, `--config`."""
    command = config_option(command)
    patience = click.FloatRange(min=0, min_open=True)
    command = click.option("--timeout", type=patience, metavar="SECONDS", help="Then stop.")(command)
    return click.option(
        "--env",
        "env",
        multiple=True,
        metavar="NAME[=VALUE]",
        help="A variable for the agent, which does not get yours; without a value, the one it has here.",
    )(command)


@click.command("login")
@click.argument("agent")
@click.argument("method", required=False)
@json_option("one JSON object for each way to log in, or for the login that was done")
@login_options
def command(
    agent: str, method: str | None, as_json: bool, env: tuple[str, ...], timeout: float | None, config_file: str | None
) -> None:
    """Log in to AGENT by METHOD; without METHOD, list the ways there are.

    What comes of a login is kept by the agent itself. Roost asks for no secret and keeps none: of a login that is
    variables it says which, and they are given with --env when the agent is run.
    """
    from roost.cli.login_client import Talk
    from roost.cli.login_methods import methods_of

    here = _here(agent, env, config_file)
    talk = Talk(here, as_json=as_json, timeout=timeout)

    async def listed(client: Client) -> list[Method]:
        return methods_of(client, here.plan.env)

    async def logged_in(client: Client) -> tuple[Method, str]:
        talk.aloud = True
        return await _log_in(here, client, method or "")

    if method is None:
        methods = talk.run(listed)
        for line in _json_lines(here, methods) if as_json else _table(here, methods):
            click.echo(line)
    else:
        done, sentence = talk.run(logged_in)
        told = {"agent": here.name, "methodId": method, "kind": done.kind, "message": sentence}
        _tell(as_json, told, sentence)


@click.command("logout")
@click.argument("agent")
@json_option("one JSON object")
@login_options
def logout(agent: str, as_json: bool, env: tuple[str, ...], timeout: float | None, config_file: str | None) -> None:
    """Log out of AGENT, where it has a way to."""
    from roost.cli.login_client import Talk
    from roost.cli.login_methods import knows_logout

    here = _here(agent, env, config_file)

    async def logged_out(client: Client) -> None:
        if not knows_logout(client):
            raise Failure(ExitStatus.USAGE, f"{here.name} has no way to log out")
        await client.logout()

    Talk(here, as_json=as_json, timeout=timeout).run(logged_out)
    sentence = f"logged out of {here.name}"
    _tell(as_json, {"agent": here.name, "message": sentence}, sentence)


def _here(agent: str, env: tuple[str, ...], config_file: str | None) -> AgentHere:
    import os

    from roost.cli.agent_here import agent_here
    from roost.cli.configuration import read_config
    from roost.cli.run import environment_of

    given = environment_of(env, os.environ.get)
    return agent_here(agent, read_config(config_file), env=given, let_through=LOGIN_NAMES)


async def _log_in(here: AgentHere, client: Client, method_id: str) -> tuple[Method, str]:
    """The sentence says what was done. Raises Failure for what cannot be."""
    from roost.cli.login_methods import log_in_at_terminal, methods_of, variables_told
    from roost.errors import LocalProtocolError, ProcessError, RpcError

    methods = methods_of(client, here.plan.env)
    method = next((method for method in methods if method.method_id == method_id), None)
    if method is None or method.kind == "unknown":
        known = ", ".join(method.method_id for method in methods if method.kind != "unknown")
        raise Failure(ExitStatus.USAGE, f"{here.name} has no login {method_id}; it has: {known or 'none'}")
    try:
        if method.kind == "variables":
            return method, variables_told(here.name, here.argument, method)
        if method.kind == "terminal":
            _require_terminal(here, method)
            await log_in_at_terminal(client, method)
        else:
            _require_variables(here, method)
            await client.login(method_id)
    except RpcError as error:
        raise _refused(here, method, error) from error
    except (ProcessError, LocalProtocolError) as error:
        raise Failure(ExitStatus.AGENT_FAILED, f"the login {method_id} of {here.name} failed: {error}") from error
    return method, _done(here, method)


def _require_terminal(here: AgentHere, method: Method) -> None:
    import sys

    from roost.cli.keyboard import is_terminal

    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        sentence = f"the login {method.method_id} of {here.name} is done at a terminal, and there is none"
        raise Failure(ExitStatus.USAGE, sentence)


def _require_variables(here: AgentHere, method: Method) -> None:
    """An agent that takes its key from a variable may call that a login, and call it done without the variable."""
    wanted = here.quirks.authenticate.get(method.method_id, ())
    missing = [name for name in wanted if not here.plan.env.get(name)]
    if missing:
        given = " ".join(f"--env {name}" for name in missing)
        sentence = f"the login {method.method_id} of {here.name} is done with {' and '.join(missing)}: {given}"
        raise Failure(ExitStatus.USAGE, sentence)


def _done(here: AgentHere, method: Method) -> str:
    """Several agents call a login done that is a command to be typed elsewhere, and name it in its description."""
    if method.kind == "request" and _COMMAND.search(method.description):
        return f"{here.name} takes {method.method_id} for done; of this login it says: {method.description}"
    return f"logged in to {here.name} by {method.method_id}"


def _refused(here: AgentHere, method: Method, error: RpcError) -> Failure:
    """Several agents offer a login that is done elsewhere, and say where in its description."""
    where = f"; it is done with: {here.own_login}" if here.own_login else ""
    said = f"; of this login it says: {method.description}" if method.description else ""
    sentence = (
        f"the login {method.method_id} of {here.name} failed: {error.message} (error {error.code}){where or said}"
    )
    return Failure(ExitStatus.AGENT_FAILED, sentence)


# ---- what is printed


def _tell(as_json: bool, told: dict[str, Any], sentence: str) -> None:
    import msgspec

    from roost.acp.view_text import reveal

    click.echo(msgspec.json.encode(told).decode() if as_json else reveal(sentence))


def _json_lines(here: AgentHere, methods: Sequence[Method]) -> Iterator[str]:
    import msgspec

    for method in methods:
        yield msgspec.json.encode(method.to_json(here.name)).decode()


_KINDS = {"request": "request", "terminal": "at a terminal", "variables": "variables", "unknown": "not known here"}


def _table(here: AgentHere, methods: Sequence[Method]) -> Iterator[str]:
    """Columns for people, and how to go on."""
    import shlex

    from roost.acp.view_text import reveal

    if not methods:
        yield f"{here.name} offers no login{f'; it has one of its own: {here.own_login}' if here.own_login else ''}"
        return
    rows = [("METHOD", "KIND", "WHAT")]
    rows += [(method.method_id, _KINDS[method.kind], _what(method)) for method in methods]
    shown = [tuple(map(reveal, row)) for row in rows]
    first, second = (max(len(row[column]) for row in shown) for column in (0, 1))
    for row in shown:
        yield f"{row[0]:{first}}  {row[1]:{second}}  {row[2]}"
    yield f"log in with: roost login {reveal(shlex.quote(here.argument))} METHOD"


def _what(method: Method) -> str:
    parts = [method.name]
    if method.description and method.description != method.name:
        parts.append(method.description.rstrip("."))
    if method.variables:
        states = {True: "", False: ", not set here"}
        parts.append("; ".join(f"{one.name}{states[one.given or one.set]}" for one in method.variables))
    return ": ".join(parts)
