"""`roost check`: whether an agent keeps the rules of ACP v2, and where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roost.cli.status import ExitStatus, Failure

if TYPE_CHECKING:
    from roost.testing.conformance import Patience, Prompts, Report
    from roost.transport.child import Launch

# A program may take a while to load, and a turn may ask a model, several times; an answer need not. Ours.
_START = 3
_TURN = 12


@click.command("check")
@click.argument("agent", metavar="AGENT", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the whole report.")
@click.option("--prompt", "texts", multiple=True, metavar="TEXT", help="A prompt to send; may be given several times.")
@click.option("--slow", metavar="TEXT", help="A prompt that works for several seconds, to be cancelled.")
@click.option("--asks", metavar="TEXT", help="A prompt that makes the agent ask a permission.")
@click.option("--login", metavar="METHOD", help="Log in with this method where sessions need a login.")
@click.option("--only", multiple=True, metavar="CHECK", help="Run these checks alone: `prompt`, `cancel.idle` …")
@click.option("--env", multiple=True, metavar="NAME[=VALUE]", help="A variable the agent gets.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help=f"How long an answer may take that needs no model; the end of a turn {_TURN} times as long.",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=4, show_default=True, help="Agents run at a time.")
@click.option("--verbose", is_flag=True, help="Tell of checks that passed, too.")
@click.option("--list", "listing", is_flag=True, help="List the checks with their rules.")
def command(
    agent: str | None,
    as_json: bool,
    texts: tuple[str, ...],
    slow: str | None,
    asks: str | None,
    login: str | None,
    only: tuple[str, ...],
    env: tuple[str, ...],
    timeout: float,
    jobs: int,
    verbose: bool,
    listing: bool,
) -> ExitStatus | None:
    """Check AGENT, a package's name or a command line, against the rules of ACP v2.

    The agent is started anew for each check and spoken to in plain JSON, well-formed or not; its sessions are in
    folders made for them. Prompts are sent to it, so it may call its model, and permissions it asks are mostly given.
    The exit status is 1 when a MUST is broken, and 2 when there was nothing to check.
    """
    import asyncio

    from roost.testing.conformance import check_agent

    if listing:
        _list()
        return None
    if agent is None:
        raise click.UsageError("which AGENT? A package's name, or a command line in quotes")
    _check_names(only)
    report = asyncio.run(
        check_agent(
            _launch(agent, env),
            name=agent,
            prompts=_prompts(texts, slow, asks),
            patience=_patience(timeout),
            only=only,
            login=login,
            jobs=jobs,
        )
    )
    _print(report, as_json, verbose)
    if report.trouble is not None:
        return ExitStatus.AGENT_FAILED
    return None if report.conforms else ExitStatus.USAGE


def _launch(agent: str, settings: tuple[str, ...]) -> Launch:
    """How to start it: as the daemon would, but in the directory of whoever asks."""
    import os

    from roost.cli.agent_argument import agent_type_of
    from roost.cli.catalogue import agents_here
    from roost.cli.run import environment_of
    from roost.daemon.catalogue import runtime_of
    from roost.errors import ProcessError, SidecarError
    from roost.process.launch import plan_agent
    from roost.process.packages import Package, Packages, default_roots, is_command_line
    from roost.process.runtimes.registry import Runtimes
    from roost.sidecar.gen.messages import AcpRuntimeKind
    from roost.transport.child import Launch

    env = environment_of(settings, os.environ.get)
    agent_type = agent_type_of(agent, () if is_command_line(agent) else agents_here(os.environ))
    try:
        found = Packages(default_roots(os.environ)).resolve(agent_type)
        kind = runtime_of(found) if isinstance(found, Package) else None
        plan = plan_agent(
            found,
            runtime=(AcpRuntimeKind.JAVA_SCRIPT if kind is None else kind).name,
            args=found.launch_args,
            env=env,
            cwd=os.getcwd(),
            own_env=os.environ,
            runtimes=Runtimes(),
        )
    except (ProcessError, SidecarError) as error:
        raise Failure(ExitStatus.AGENT_FAILED, f"agent {agent} cannot be run: {error}") from error
    return Launch(argv=plan.argv, cwd=plan.cwd, env=dict(plan.env), inherit_env=False)


def _prompts(texts: tuple[str, ...], slow: str | None, asks: str | None) -> Prompts | None:
    """None: those known for the agent."""
    from roost.testing.conformance import Prompts

    if not texts and slow is None and asks is None:
        return None
    return Prompts(texts=texts or Prompts().texts, slow=slow, asks=asks)


def _patience(timeout: float) -> Patience:
    from roost.testing.conformance import Patience

    return Patience(start_timeout=timeout * _START, answer_timeout=timeout, turn_timeout=timeout * _TURN)


def _check_names(only: tuple[str, ...]) -> None:
    from roost.testing.conformance import all_checks

    for one in only:
        if not any(check.id == one or check.id.startswith(f"{one}.") for check in all_checks()):
            raise click.UsageError(f"--only {one}: there is no such check; `roost check --list` has their names")


def _list() -> None:
    from roost.testing.conformance import all_checks
    from roost.testing.conformance.judge import TOPICS

    for check in all_checks():
        click.echo(f"{check.id:28} {check.level:6}  {' '.join(check.rules)}")
    for topic, (_, rules) in TOPICS.items():
        click.echo(f"{'trace.' + topic:28} {'MUST':6}  {' '.join(rules)}")


def _print(report: Report, as_json: bool, verbose: bool) -> None:
    from roost.acp.view_text import reveal
    from roost.testing.conformance.report import lines
    from roost.wire.decode import encode

    if as_json:
        whole = {"conforms": report.conforms, **_plain(report)}
        click.echo(encode(whole).decode())
        return
    for line in lines(report, verbose=verbose):
        click.echo(reveal(line))  # it quotes the agent


def _plain(report: Report) -> dict[str, object]:
    from msgspec.structs import asdict

    return asdict(report)
