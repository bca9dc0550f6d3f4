"""`roost run AGENT [PROMPT]`: one prompt to one agent, shown as it works."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from roost.cli.options import (
    caller_option,
    config_option,
    json_option,
    log_level_option,
    policy_options,
    socket_option,
    timeout_option,
)
from roost.cli.status import ExitStatus, say

if TYPE_CHECKING:
    from roost.cli.errand import Order
    from roost.cli.keyboard import Keyboard
    from roost.cli.permission import Policy


@click.command("run")
@click.argument("agent")
@click.argument("prompt", required=False)
@policy_options
@click.option(
    "--cwd", type=click.Path(exists=True, file_okay=False), default=".", help="Where the agent works. Default: here."
)
@click.option(
    "--env",
    "env",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="A variable for the agent, which does not get yours; without a value, the one it has here.",
)
@timeout_option
@json_option("one JSON object for each event, and nothing else")
@click.option(
    "--protocol", type=click.Choice(["1", "2"]), default="2", show_default=True, help="The ACP version to speak."
)
@log_level_option
@socket_option("The daemon to use; when none listens there, the agent runs inside this program.")
@config_option
@caller_option("Who owns the session, so that it is found again.")
@click.option("--no-journal", is_flag=True, help="Keep nothing: the session is closed at the end.")
def command(
    agent: str,
    prompt: str | None,
    policy: str | None,
    cwd: str,
    env: tuple[str, ...],
    timeout: float | None,
    as_json: bool,
    protocol: str,
    log_level: str | None,
    socket: str | None,
    config_file: str | None,
    caller: str | None,
    no_journal: bool,
) -> int:
    """Give PROMPT to AGENT and show what it does.

    AGENT is the name of an installed agent (see `roost agents`) or a command line, quoted as one word. PROMPT is read
    from standard input when it is `-` or missing. At the end the session falls asleep, and `roost resume` goes on
    with it.

    Exit status: 0 the turn ended, 1 the command was misused, 2 the agent failed, 3 refused, cancelled or cut short.
    """
    import asyncio
    import os

    from roost.cli.configuration import wanted
    from roost.cli.errand import Order
    from roost.cli.permission import Policy
    from roost.daemon import log

    log.set_up(log_level)
    text = prompt_of(prompt)
    chosen, keyboard = permissions(None if policy is None else Policy(policy))
    order = Order(
        wanted=wanted(config_file, socket, caller, journal=not no_journal),
        agent=_text(agent, "AGENT"),
        prompt=text,
        cwd=_text(os.path.abspath(cwd), "--cwd"),
        env=environment_of(env, os.environ.get),
        policy=chosen,
        timeout=timeout,
        protocol_version=int(protocol),
        advice=None if as_json else advice(socket, caller),
    )
    return asyncio.run(run_errand(order, keyboard, as_json))


def advice(socket: str | None, caller: str | None) -> str:
    """The command that goes on with a session, but for its id: with the options that were given here."""
    import shlex

    words = ["roost", "resume"]
    if caller is not None:
        words += ["--caller", caller]
    context = click.get_current_context()
    if socket is not None and context.get_parameter_source("socket") is click.core.ParameterSource.COMMANDLINE:
        words += ["--socket", socket]
    return shlex.join(words)


async def run_errand(order: Order, keyboard: Keyboard | None, as_json: bool) -> int:
    import sys

    from roost.cli.errand import Errand
    from roost.cli.keyboard import is_terminal
    from roost.cli.output import Output, abandon
    from roost.cli.palette import palette_for
    from roost.cli.screen import Screen
    from roost.cli.view import JsonView, TextView, View

    def closed(error: OSError) -> None:
        abandon(sys.stdout)
        if not isinstance(error, BrokenPipeError):  # whoever closes a pipe knows
            say(f"cannot write to standard output: {error.strerror}")
        errand.output_closed()

    output = Output(sys.stdout, closed)
    view: View
    if as_json:
        view = JsonView(output)
    else:
        asks = keyboard is not None and is_terminal(sys.stdout)
        view = TextView(Screen(output, palette_for(sys.stdout)), order.cwd, asks=asks)
    errand = Errand(order, view, keyboard)
    try:
        status = await errand.run()
    finally:
        output.flush()
    return status if output.error is None else ExitStatus.CUT_SHORT


def prompt_of(argument: str | None) -> str:
    import sys

    from roost.cli.keyboard import is_terminal

    if argument is not None and argument != "-":
        text = _text(argument, "the prompt")
    elif sys.stdin is None:
        raise click.UsageError("there is no prompt: standard input is closed")
    else:
        if is_terminal(sys.stdin):
            say("type the prompt, and end it with Ctrl-D")
        try:
            text = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as error:
            raise click.UsageError(f"the prompt is not UTF-8 (byte {error.start})") from error
    if not text.strip():
        raise click.UsageError("the prompt is empty")
    return text


def permissions(policy: Policy | None) -> tuple[Policy, Keyboard | None]:
    """Who decides, and where a person is asked."""
    from roost.cli.keyboard import at_terminal, controlling_terminal
    from roost.cli.permission import Policy

    if policy in (Policy.ALLOW, Policy.DENY):
        return policy, None
    keyboard = at_terminal()
    if keyboard is None and policy is Policy.ASK:
        keyboard = controlling_terminal()
        if keyboard is None:
            raise click.UsageError("--ask needs a terminal, and there is none; use --allow or --deny")
    return (Policy.ABSENT, None) if keyboard is None else (Policy.ASK, keyboard)


def environment_of(settings: Iterable[str], look_up: Callable[[str], str | None]) -> dict[str, str]:
    env = {}
    for setting in settings:
        name, given, value = setting.partition("=")
        if not name:
            raise click.UsageError(f"--env {setting}: a variable needs a name")
        found = value if given else look_up(name)
        if found is None:
            raise click.UsageError(f"--env {name}: there is no such variable here; give it a value with {name}=VALUE")
        env[_text(name, "--env")] = _text(found, f"--env {name}")
    return env


def _text(argument: str, what: str) -> str:
    """What the system gave us, as the text it is; in a locale without UTF-8 Python does not read it as that."""
    import os

    try:
        return os.fsencode(argument).decode()
    except UnicodeError as error:
        raise click.UsageError(f"{what} is not UTF-8") from error
