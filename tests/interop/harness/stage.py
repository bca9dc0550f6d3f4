"""Where one agent is tried: a sidecar with a journal, a scripted model, a home and a workspace that are nobody's."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from roost.host import Host, PermissionRequest, Session, embedded
from roost.testing.llm import Ask, Directives, ModelServer
from tests.interop.harness.offline import offline
from tests.interop.harness.story import Story
from tools.interop.spec import Agent, Place

CALLER = "interop"
OPEN_TIMEOUT = 40.0  # slow agents take ten seconds to start on two busy cores
TURN_TIMEOUT = 30.0
DYING_TIMEOUT = 2.0  # from its SIGKILL, which has been sent, to the end of a process with much memory
MARK = "ROOST_INTEROP_RUN"

Decide = Callable[[PermissionRequest], Awaitable[str]]


async def allow(request: PermissionRequest) -> str:
    return "once"


async def reject(request: PermissionRequest) -> str:
    return "reject"


class Stage:
    """Sessions are reused where that can be: `session()` is one that is idle, `discard()` takes it out of use."""

    def __init__(
        self, agent: Agent, model: ModelServer, place: Place, extra: Mapping[str, str], root: Path | None = None
    ) -> None:
        self.agent = agent
        self.model = model
        self.place = place
        self.decide: Decide = allow
        self.permissions: list[PermissionRequest] = []
        self.note = ""  # what is worth telling beside "works"
        self._extra = dict(extra)
        self._root = root
        self._journal = place.home.parent / "journal.sqlite"
        self._stack = AsyncExitStack()
        self._host: Host | None = None
        self._session: Session | None = None
        self._mark = uuid.uuid4().hex
        self._count = 0

    # ---- the sidecar

    async def host(self) -> Host:
        if self._host is None:
            self._host = await self._stack.enter_async_context(
                embedded(caller=CALLER, journal=self._journal, roots=None if self._root is None else [self._root])
            )
            self._host.on_permission = self._decided
        return self._host

    async def restart_daemon(self) -> None:
        """The daemon ends, and another one opens the same journal."""
        await self.close()
        await self.host()

    async def close(self) -> None:
        stack, self._stack = self._stack, AsyncExitStack()
        self._host = self._session = None
        await stack.aclose()

    # ---- sessions

    async def session(self) -> Session:
        if self._session is None:
            self._session = await self.open()
        return self._session

    async def open(self) -> Session:
        """Another session, which the caller closes."""
        host = await self.host()
        async with asyncio.timeout(OPEN_TIMEOUT * self.agent.slow):
            return await host.create_session(
                self.command,
                cwd=str(self.place.cwd),
                env=self.environment(),
            )

    async def resumed(self, session_id: str) -> Session:
        host = await self.host()
        async with asyncio.timeout(OPEN_TIMEOUT * self.agent.slow):
            self._session = await host.resume_session(
                session_id,
                self.command,
                cwd=str(self.place.cwd),
                env=self.environment(),
            )
        return self._session

    async def another(self) -> Session:
        """A new one in place of the one at hand."""
        if self._session is not None:
            await self._session.close()
            self._session = None
        return await self.session()

    async def known(self, session: Session) -> Session:
        """The same session after its agent is gone, for its owner to go on with."""
        self._session = (await self.host()).known_session(session.id, 2)
        return self._session

    def used_up(self) -> None:
        """The session at hand has ended."""
        self._session = None

    async def discard(self) -> None:
        """After something went wrong: whatever state it is in, nobody goes on with it."""
        self.decide = allow
        if self._session is not None:
            await self.close()

    @property
    def command(self) -> str:
        return shlex.join(self.agent.command) if self._root is None else self.agent.name

    def environment(self) -> dict[str, str]:
        home = self.place.home
        folders = {f"XDG_{kind}_HOME": str(home / folder) for kind, folder in XDG.items()}
        own = {"HOME": str(home), **folders, "NO_COLOR": "1", MARK: self._mark}
        return {**own, **self._extra, **self.agent.env(self.place)}

    async def _decided(self, request: PermissionRequest) -> str:
        self.permissions.append(request)
        return await self.decide(request)

    # ---- turns

    def fresh(self, kind: str) -> str:
        """A name that nothing else of this stage has."""
        self._count += 1
        return f"{kind}-{self._count}"

    def story(self) -> Story:
        return Story(self.agent.own_updates)

    async def tell(self, session: Session, prompt: str) -> Story:
        """A whole turn."""
        async with asyncio.timeout(TURN_TIMEOUT * self.agent.slow):
            return await self.story().follow(session.prompt(prompt))

    async def asked(self, matching: Callable[[Ask], bool]) -> Ask:
        async with asyncio.timeout(TURN_TIMEOUT * self.agent.slow):
            return await self.model.asked(matching)

    # ---- processes

    def running(self) -> list[str]:
        """`PID COMMAND` of what was started here."""
        return running_with(f"{MARK}={self._mark}")

    async def nothing_left(self) -> None:
        """Nothing that was started here runs any longer."""
        await gone(f"{MARK}={self._mark}")


async def gone(mark: str) -> None:
    """Whatever has this mark is gone: what was killed a moment ago may be dying still."""
    loop = asyncio.get_running_loop()
    while left := running_with(mark):
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(int(left[0].split()[0]))
            ended = loop.create_future()
            loop.add_reader(fd, lambda ended=ended: ended.done() or ended.set_result(None))
            try:
                await asyncio.wait_for(ended, DYING_TIMEOUT)
            except TimeoutError:
                raise AssertionError(f"still there: {left}") from None
            finally:
                loop.remove_reader(fd)
                os.close(fd)


def running_with(mark: str) -> list[str]:
    """What runs with this in its environment, its parents gone or not: `PID COMMAND`. Only Linux tells."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                found.append(f"{folder.name} {words[:200]}")
        except OSError:
            continue
    return found


XDG = {"CONFIG": ".config", "DATA": ".local/share", "STATE": ".local/state", "CACHE": ".cache", "RUNTIME": ".run"}


@asynccontextmanager
async def staged(agent: Agent, folder: Path, *, root: Path | None = None) -> AsyncIterator[Stage]:
    """`root`: where Roost has installed it, so that it is run by its name."""
    home, cwd = folder / "home", folder / "work"
    for each in (home, cwd):
        each.mkdir(parents=True)
    with offline() as extra:
        async with ModelServer(Directives(aside="A title")) as model:
            place = Place(home, cwd, model.url)
            for name, content in agent.files(place).items():
                path = home / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
            stage = Stage(agent, model, place, extra, root)
            try:
                yield stage
            finally:
                await stage.close()
                await stage.nothing_left()


def kill(pid: int) -> None:
    os.kill(pid, 9)
