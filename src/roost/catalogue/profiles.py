"""What is known of the agents in the field: their quirks, each with its reason, and what they need.

The facts are in `profiles.json`, one profile for each agent. Whoever starts one asks `Profiles.quirks`; a user's
configuration adds to it, agent by agent, or says otherwise. An agent nobody knows has no quirks and needs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from roost.errors import ConfigError
from roost.sidecar.quirks import NO_QUIRKS, Quirks

# A launcher may have to fetch the agent first, some of which are hundreds of megabytes. Seconds; ours.
LAUNCHER_TIMEOUT: Final = 300.0


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Which agent a program is, as far as its files tell. Empty: not known.

    `launched`: it is run by a program that may fetch it first (npx, uvx).
    """

    name: str = ""  # what it is called here, or its id in a registry
    npm: str = ""
    pypi: str = ""
    program: str = ""  # the name of the program's file
    launched: bool = False

    def names(self) -> Iterator[str]:
        """What it may be called in a configuration, most telling first."""
        yield from filter(None, (self.npm, self.pypi, self.name, self.program))


class Quirk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One quirk as it is written down: its value, and what was seen that asks for it."""

    is_: Any = msgspec.field(name="is")
    why: str


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent. `seen` is the version that the facts are of.

    `keys`: the environment opens it a session when it has all variables of one of them; empty: not known of any.
    `login` is the command that logs a user in where the agent cannot be asked to. `python` and `node` are the
    versions it runs on, as its package has them; empty: any, or as the package says itself.
    """

    id: str
    title: str
    seen: str
    quirks: Mapping[str, Quirk]
    names: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    pypi: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()  # what it calls itself at initialize
    keys: tuple[tuple[str, ...], ...] = ()
    login: str = ""
    python: str = ""
    node: str = ""
    notes: tuple[str, ...] = ()

    def values(self) -> Quirks:
        return msgspec.convert({name: quirk.is_ for name, quirk in self.quirks.items()}, Quirks)


@cache
def known_profiles() -> tuple[Profile, ...]:
    """The profiles that come with Roost."""
    # Not `importlib.resources`, which a daemon would pay a megabyte of modules for.
    with open(os.path.join(os.path.dirname(__file__), "profiles.json"), "rb") as file:
        return msgspec.json.decode(file.read(), type=tuple[Profile, ...])


class Profiles:
    """The profiles, and what the user has said about quirks: agent -> fields of Quirks."""

    def __init__(
        self, overrides: Mapping[str, Mapping[str, Any]] | None = None, known: tuple[Profile, ...] | None = None
    ) -> None:
        self._known = known_profiles() if known is None else known
        self._overrides = overrides or {}
        self._by_info: dict[str, Quirks] | None = None

    def find(self, identity: Identity) -> Profile | None:
        """A package's own name tells more than what somebody has called it, and that more than a file's name."""
        for wanted, names in (
            (identity.npm, _npm),
            (identity.pypi, _pypi),
            (identity.name, _names),
            (identity.program, _programs),
        ):
            for profile in self._known if wanted else ():
                if wanted in names(profile):
                    return profile
            if wanted and names in (_npm, _pypi):
                return None  # it is known what it is, and nothing is known of it
        return None

    def quirks(self, identity: Identity) -> Quirks:
        """Raises ConfigError for overrides that cannot be."""
        profile = self.find(identity)
        found = self._with_overrides(NO_QUIRKS if profile is None else profile.values(), profile, identity)
        if identity.launched and (found.initialize_timeout or 0) < LAUNCHER_TIMEOUT:
            return msgspec.structs.replace(found, initialize_timeout=LAUNCHER_TIMEOUT)
        return found

    def by_info(self) -> Mapping[str, Quirks]:
        """The quirks by the name an agent tells at `initialize`, for programs whose files do not say what they are."""
        if self._by_info is None:
            table = {name: override_quirks(NO_QUIRKS, given) for name, given in self._overrides.items()}
            for profile in self._known:
                for info in profile.infos:
                    table[info] = self._with_overrides(profile.values(), profile, Identity(name=info))
            self._by_info = table
        return self._by_info

    def _with_overrides(self, quirks: Quirks, profile: Profile | None, identity: Identity) -> Quirks:
        """What is said of the profile counts first, and what is said of this very agent last."""
        names = dict.fromkeys(() if profile is None else (profile.id,)) | dict.fromkeys(reversed([*identity.names()]))
        for name in names:
            quirks = override_quirks(quirks, self._overrides.get(name, {}))
        return quirks


def override_quirks(quirks: Quirks, fields: Mapping[str, Any]) -> Quirks:
    """The quirks with these fields instead. Raises ConfigError saying which cannot be."""
    if not fields:
        return quirks
    try:
        given = msgspec.convert(fields, Quirks)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error)) from error
    return msgspec.structs.replace(quirks, **{name: getattr(given, name) for name in fields})


def _npm(profile: Profile) -> tuple[str, ...]:
    return profile.npm


def _pypi(profile: Profile) -> tuple[str, ...]:
    return profile.pypi


def _names(profile: Profile) -> tuple[str, ...]:
    return (profile.id, *profile.names)


def _programs(profile: Profile) -> tuple[str, ...]:
    return profile.programs
