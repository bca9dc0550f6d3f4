"""Which version of ACP each agent was found to speak, so that it is asked for that the next time.

Advice, never more: an agent that does not answer to it is asked for the other version, and that is learned then. Where
there is a journal it outlives the daemon. What is written there names nobody: a program is known by its digest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from roost.sidecar.journal import LearnVersion

if TYPE_CHECKING:
    from roost.acp.bridge.negotiation import Version
    from roost.sidecar.launch import AgentProgram


class Spoken:
    """Versions by program, at most `bound`; what was learned longest ago goes first. `tell` hears what is new."""

    def __init__(self, bound: int, tell: Callable[[LearnVersion], None]) -> None:
        self._bound = bound
        self._tell = tell
        self._versions: dict[str, Version] = {}

    def __len__(self) -> int:
        return len(self._versions)

    def get(self, program: AgentProgram) -> Version | None:
        return self._versions.get(program.digest)

    def learn(self, program: AgentProgram, version: Version) -> None:
        digest = program.digest
        if self._versions.get(digest) != version:
            self._keep(digest, version)
            self._tell(LearnVersion(digest, version, self._bound))

    def recall(self, versions: Mapping[str, int]) -> None:
        """What was learned before this daemon began, in that order; nothing that is known better by now."""
        newer = self._versions
        self._versions = {}
        for digest, version in [*versions.items(), *newer.items()]:
            match version:
                case 1 | 2:
                    self._keep(digest, version)

    def _keep(self, digest: str, version: Version) -> None:
        self._versions.pop(digest, None)
        self._versions[digest] = version
        if len(self._versions) > self._bound:
            del self._versions[next(iter(self._versions))]
