"""What an agent is like: what it can do, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from roost.sidecar.quirks import NO_QUIRKS, Quirks

OWNER_VARIABLE = "SIM_OWNER"
LOGIN = "key"  # the one login there is

SIGTERM, SIGKILL = 15, 9

# What an agent does, and what each vice makes of it.
VICES = (
    "slow",  # rarely does anything
    "silent",  # answers nothing but the handshake
    "mute",  # answers nothing at all
    "flooding",  # many updates
    "lying",  # answers what nobody asked, or wrongly
    "noisy",  # prints what is no protocol
    "crashing",  # ends at any point
    "asking",  # many questions, with odd ids
    "withdrawing",  # takes its questions back
    "batching",  # several messages in one line
    "endless",  # lines over the limit
    "deaf",  # does not read its input
    "stubborn",  # ignores SIGTERM and the end of its input
    "slow-to-end",  # obeys late
    "undead",  # ignores SIGKILL
    "wedged",  # ignores session/cancel
    "forgetful",  # does not know the sessions it is asked to load
    "colliding",  # names its sessions like those of others
    "chattering",  # much on stderr
)
KINDS = ("v1", "v1-load", "v1-resume", "v1-both", "v2", "v2-new")  # v2-new: cannot resume
# What an agent of v1 has besides, or lacks; those of v2 have all of it.
ABILITIES = ("lists", "closes", "deletes", "logs-in", "logs-out")
ERRANDS = "has-errands"  # of version 1: wants files and terminals of its client
# What is known of a program beforehand, rightly or not.
QUIRKS = {
    "wants-login": Quirks(authenticate={LOGIN: (OWNER_VARIABLE,)}),
    "said-to-speak-1": Quirks(speaks=1),
    "said-to-speak-2": Quirks(speaks=2),
    "starts-late": Quirks(initialize_timeout=90.0),
    "ends-at-once": Quirks(input_close_grace=0.0),
    "ends-late": Quirks(input_close_grace=20.0),
    "cannot-go-back": Quirks(resume="transcript"),
}


@dataclass(frozen=True)
class Temper:
    """One agent's; `kind` is in KINDS. A vice applies to a run of the program, or does not (it is drawn again)."""

    kind: str
    abilities: frozenset[str]
    vices: frozenset[str]
    has_errands: bool = False

    @staticmethod
    def named(agent_type: str, random: Random) -> Temper:
        kind, *words = agent_type.split("+")
        vices = [word for word in words if word in VICES]
        abilities = frozenset(word for word in words if word in ABILITIES)
        applies = frozenset(vice for vice in vices if random.random() < 0.8)
        return Temper(kind, abilities, applies, ERRANDS in words)

    def __str__(self) -> str:
        return "+".join((self.kind, *sorted(self.abilities), *sorted(self.vices)))

    def can(self, ability: str) -> bool:
        return self.version == 2 or ability in self.abilities

    @property
    def offers_login(self) -> bool:
        return self.can("logs-in") or self.can("logs-out")

    @property
    def version(self) -> int:
        return 2 if self.kind.startswith("v2") else 1

    def obeys(self, sig: int, random: Random) -> float | None:
        """How long until it ends over this signal; None: it does not."""
        if sig == SIGKILL:
            return None if "undead" in self.vices else 0
        if "stubborn" in self.vices or "undead" in self.vices:
            return None
        return random.choice((0.1, 2.0, 7.0)) if "slow-to-end" in self.vices else 0

    def leaves(self, random: Random) -> float | None:
        """The same over the end of its input."""
        if self.vices & {"stubborn", "undead"}:
            return None
        return random.choice((0.2, 1.0, 6.0)) if "slow-to-end" in self.vices else random.choice((0, 0, 0.3))


def random_type(random: Random, version: int, errands: float = 0.3) -> str:
    """An agent type of this protocol version: a few abilities, mostly one or two vices.

    `errands`: how likely one of version 1 has some.
    """
    kinds = [kind for kind in KINDS if kind.startswith(f"v{version}")]
    kind = random.choice(kinds)
    count = random.choices((0, 1, 2, 3), (30, 35, 25, 10))[0]
    able = [ability for ability in ABILITIES if random.random() < 0.4]
    quirk = [random.choice(list(QUIRKS))] if random.random() < 0.25 else []
    busy = [ERRANDS] if version == 1 and random.random() < errands else []
    return "+".join((kind, *able, *quirk, *busy, *sorted(random.sample(VICES, count))))


def quirks_of(agent_type: str) -> Quirks:
    return next((QUIRKS[word] for word in agent_type.split("+") if word in QUIRKS), NO_QUIRKS)
