"""`roost resume SESSION [PROMPT]`: one more prompt to a session, which is woken for it."""

from __future__ import annotations

import click

from roost.cli.options import json_option, kept_session_options, log_level_option, policy_options, timeout_option


@click.command("resume")
@click.argument("session")
@click.argument("prompt", required=False)
@policy_options
@click.option(
    "--env", "env", multiple=True, metavar="NAME[=VALUE]", help="A variable for the agent: their values are not kept."
)
@timeout_option
@json_option("one JSON object for each event, and nothing else")
@log_level_option
@kept_session_options
def command(
    session: str,
    prompt: str | None,
    policy: str | None,
    env: tuple[str, ...],
    timeout: float | None,
    as_json: bool,
    log_level: str | None,
    socket: str | None,
    config_file: str | None,
    caller: str | None,
) -> int:
    """Go on with SESSION: give it PROMPT and show what its agent does.

    SESSION is an id or the beginning of one, see `roost ps`. PROMPT is read from standard input when it is `-` or
    missing. A session that sleeps is woken: by its agent when that remembers it, else by a new agent that is told where
    to read what was said.

    Exit status: as `roost run`.
    """
    import asyncio
    import os

    from roost.cli.configuration import wanted
    from roost.cli.errand import Order
    from roost.cli.permission import Policy
    from roost.cli.run import advice, environment_of, permissions, prompt_of, run_errand
    from roost.daemon import log

    log.set_up(log_level)
    text = prompt_of(prompt)
    chosen, keyboard = permissions(None if policy is None else Policy(policy))
    order = Order(
        wanted=wanted(config_file, socket, caller),
        session=session,
        prompt=text,
        env=environment_of(env, os.environ.get),
        policy=chosen,
        timeout=timeout,
        advice=None if as_json else advice(socket, caller),
    )
    return asyncio.run(run_errand(order, keyboard, as_json))
