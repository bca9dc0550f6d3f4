"""Runs the checks against one agent, several at a time, each in a workspace of its own."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from roost.errors import LimitError, ProcessError
from roost.testing.conformance.bench import (
    INITIALIZE_V1,
    Bench,
    Profile,
    Prompts,
    Skip,
    Stop,
    initialize_params,
    result_of,
)
from roost.testing.conformance.findings import MUST, Findings, Report, Result, shown, status_of
from roost.testing.conformance.judge import TOPICS, Judge, Verdicts
from roost.testing.conformance.known import PROMPTS
from roost.testing.conformance.peer import Json, Patience, Peer, Silence, start
from roost.testing.conformance.registry import Check, all_checks
from roost.transport.child import Launch

JOBS: Final = 4
"""Agents running at a time; ours. An agent that keeps state in one place may need 1."""

_PROFILE_CAPABILITIES: Final[Json] = {"auth": {"terminal": {}}, "elicitation": {"form": {}, "url": {}}, "nes": {}}
_NOTES: Final = "one\ntwo\nthree\n// TODO: look at this\n"
"""What every workspace holds, as `notes.txt`."""


async def check_agent(
    launch: Launch,
    *,
    name: str = "",
    prompts: Prompts | None = None,
    patience: Patience | None = None,
    only: Sequence[str] = (),
    login: str | None = None,
    jobs: int = JOBS,
    on_result: Callable[[Result], None] | None = None,
) -> Report:
    """Checks the agent that `launch` starts; a Report, whatever it does.

    Without `prompts` those known for the agent are used, or a plain greeting. `only`: ids of checks, or their
    beginnings (`prompt`, `cancel.idle`); traces are judged in any case. `login`: the method to log in with where
    sessions need it. `on_result` hears each result as soon as it is there.
    """
    run = _Run(launch, prompts, patience or Patience(), login, on_result)
    return await run.all(name or launch.argv[0], only, jobs)


class _Run:
    def __init__(
        self,
        launch: Launch,
        prompts: Prompts | None,
        patience: Patience,
        login: str | None,
        on_result: Callable[[Result], None] | None,
    ) -> None:
        self._launch = launch
        self._prompts = prompts
        self._patience = patience
        self._login = login
        self._on_result = on_result
        self._verdicts = Verdicts()
        self._results: dict[str, Result] = {}
        self._folder = Path()

    async def all(self, name: str, only: Sequence[str], jobs: int) -> Report:
        with tempfile.TemporaryDirectory(prefix="roost-check-") as folder:
            self._folder = _real(folder)
            profile = await self._meet()
            if isinstance(profile, str):
                told = tuple(result for result in self._traces() if result.findings)
                return Report(agent=name, speaks=None, name=None, version=None, results=told, trouble=profile)
            info = profile.result.get("info")
            info = info if isinstance(info, dict) else {}
            version = profile.version if type(profile.version) is int else None
            chosen = [check for check in all_checks() if _is_chosen(check.id, only)]
            trouble = _other_version(version)
            if trouble is None:
                self._prompts = self._prompts or PROMPTS.get(str(info.get("name")), Prompts())
                await self._run_all(chosen, profile, jobs)
            results = [self._results[check.id] for check in chosen if check.id in self._results]
            if trouble is None:
                results += self._traces()
        return Report(
            agent=name,
            speaks=version,
            name=_text(info.get("name")),
            version=_text(info.get("version")),
            results=tuple(results),
            trouble=trouble,
        )

    async def _meet(self) -> Profile | str:
        """What the agent says of itself; or why that cannot be known."""
        try:
            peer = await start(self._launch, self._patience)
        except ProcessError as error:
            return str(error)
        try:
            answer = await peer.call("initialize", initialize_params(2, _PROFILE_CAPABILITIES))
            if not isinstance(answer.get("result"), dict):
                return await self._refused(answer)
            result: Json = answer["result"]
            session = await self._first_session(peer, result) if result.get("protocolVersion") == 2 else {}
        except Silence as silence:
            return f"expected {silence.expected}; {silence.came}"
        except LimitError as error:
            return str(error)
        finally:
            await peer.end()
            self._judge([peer])
        return Profile(
            version=result.get("protocolVersion"),
            result=result,
            session=session.get("result"),
            refusal=session if "error" in session else None,
        )

    async def _refused(self, answer: Json) -> str:
        """Some agents of version 1 refuse to read version 2 instead of answering 1: ask one in its own shape."""
        peer = await start(self._launch, self._patience)
        try:
            older = await peer.call("initialize", INITIALIZE_V1)
        except Silence:
            older = {}
        finally:
            await peer.end()
        if result_of(older).get("protocolVersion") == 1:
            return f"the agent speaks v1: it answers version 1 to its like, and to version 2 {shown(answer)}"
        return f"initialize with version 2 was refused: {shown(answer)}"

    async def _first_session(self, peer: Peer, result: Json) -> Json:
        capabilities = result.get("capabilities")
        if not isinstance(capabilities, dict) or not isinstance(capabilities.get("session"), dict):
            return {}
        if self._login is not None:
            await peer.call("auth/login", {"methodId": self._login}, self._patience.turn_timeout)
        answer = await peer.call("session/new", {"cwd": str(self._workspace("profile"))})
        return answer if result_of(answer) or "error" in answer else {"error": answer}

    def _workspace(self, name: str) -> Path:
        workspace = self._folder / name
        workspace.mkdir()
        (workspace / "notes.txt").write_text(_NOTES)
        return workspace

    async def _run_all(self, chosen: Sequence[Check], profile: Profile, jobs: int) -> None:
        gate = asyncio.Semaphore(jobs)

        async def one(check: Check) -> None:
            async with gate:
                result = await self._run(check, profile)
            self._results[check.id] = result
            if self._on_result is not None:
                self._on_result(result)

        async with asyncio.TaskGroup() as group:
            for check in chosen:
                group.create_task(one(check), name=f"roost-check {check.id}")

    async def _run(self, check: Check, profile: Profile) -> Result:
        began = time.monotonic()
        bench = Bench(
            self._launch,
            self._workspace(check.id),
            self._patience,
            self._prompts or Prompts(),
            profile,
            check.level,
            self._login,
        )
        reason = None
        try:
            await check.run(bench)
        except Stop:
            pass
        except Skip as skip:
            reason = skip.reason
        except Silence as silence:
            bench.fail(check.rules[0], silence.expected, silence.came)
        except (LimitError, ProcessError) as error:
            bench.fail(check.rules[0], "the agent to be started and heard", str(error), MUST)
        except (TypeError, AttributeError, KeyError, ValueError, IndexError) as error:
            # The agent's message was not of the shape the check reads it in; what it was, the traces say.
            bench.fail(check.rules[0], "messages of the protocol's shape", f"{type(error).__name__}: {error}", MUST)
        finally:
            await asyncio.gather(*(peer.end() for peer in bench.peers))
        self._judge(bench.peers)
        return _result(check.id, check.title, check.rules, bench.findings, reason, time.monotonic() - began)

    def _judge(self, peers: Sequence[Peer]) -> None:
        for peer in peers:
            Judge(self._verdicts).read(peer.timeline)

    def _traces(self) -> list[Result]:
        results = []
        for topic, (title, rules) in TOPICS.items():
            unseen = None if topic in self._verdicts.seen else "the agent showed none"
            result = _result(f"trace.{topic}", title, rules, self._verdicts.findings[topic], unseen, 0.0)
            results.append(result)
            if self._on_result is not None:
                self._on_result(result)
        return results


def _result(
    id: str, title: str, rules: tuple[str, ...], findings: Findings, reason: str | None, seconds: float
) -> Result:
    found = findings.all
    status = "skipped" if reason is not None and not found else status_of(found)
    return Result(
        id=id,
        title=title,
        rules=rules,
        status=status,
        findings=found,
        reason=reason if status == "skipped" else None,
        seconds=round(seconds, 3),
    )


def _real(folder: str) -> Path:
    """Without links: an agent may well resolve them, and answer with what it found."""
    return Path(os.path.realpath(folder))


def _is_chosen(id: str, only: Sequence[str]) -> bool:
    return not only or any(id == one or id.startswith(f"{one}.") for one in only)


def _other_version(version: int | None) -> str | None:
    if version == 2:
        return None
    if version == 1:
        return "the agent speaks v1: it answers version 1 when asked for 2, and these are the rules of v2"
    return f"the agent answers version {version} when asked for 2"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
