"""What an agent needs and has not got here, said before it fails for it.

An old node stops an agent, and so does an old Python: `hard`. A key does not, since nobody can see from outside
whether a login was done long ago: what is said about it goes beside the agent, and with the error when one comes.
Nothing is claimed that is not known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

import msgspec

from roost.catalogue.needs_ranges import fits, version_in
from roost.catalogue.profiles import Profile


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at the machine has brought to light. Empty: not known, or of no matter for this agent.

    `node_range` is what its package asks for. `node` and `python` are the versions of what would run it; `node_path`
    and `python_path` say where they are. `lacks_node`: it would be run by a node, and there is none.
    """

    node_range: str = ""
    node: str = ""
    node_path: str = ""
    lacks_node: bool = False
    python: str = ""
    python_path: str = ""


class Need(msgspec.Struct, frozen=True):
    """One thing that is missing, as a sentence about the agent. `hard`: it cannot be run as things are."""

    kind: Literal["node", "python", "credentials"]
    hard: bool
    sentence: str


def needs(
    name: str,
    profile: Profile | None,
    found: Found,
    environment: Mapping[str, str],
    *,
    at_hand: Collection[str] = (),
    advice: str = "",
) -> list[Need]:
    """What is missing for the agent called `name`, hard needs first.

    `environment` is what it gets; `at_hand` the names of variables that whoever runs it has, and could give it.
    `advice` is the command that logs in; empty: `roost login NAME`, or its own.
    """
    missing = [*_node(name, profile, found), *_python(name, profile, found)]
    credentials = credentials_hint(name, profile, environment, at_hand=at_hand, advice=advice)
    return missing if credentials is None else [*missing, Need("credentials", False, credentials)]


def hard_needs(name: str, profile: Profile | None, found: Found) -> list[Need]:
    """Those without which it cannot be run."""
    return [*_node(name, profile, found), *_python(name, profile, found)]


def credentials_hint(
    name: str,
    profile: Profile | None,
    environment: Mapping[str, str],
    *,
    at_hand: Collection[str] = (),
    advice: str = "",
) -> str | None:
    """What opens the agent a session; None when it has that, or when nothing is known to be wanted."""
    if profile is None or any(_given(key, environment) for key in profile.keys):
        return None
    command = advice or profile.login or f"roost login {name}"
    if not profile.keys:
        return f"{name} needs a login: {command}" if profile.login else None
    for key in profile.keys:
        if key and all(variable in at_hand or environment.get(variable) for variable in key):
            options = " ".join(f"--env {variable}" for variable in key if not environment.get(variable))
            return f"{name} does not get your {_and(key)} unless it is told to: {options}"
    return f"{name} needs {', '.join(map(_and, profile.keys))} or a login: {command}"


def _node(name: str, profile: Profile | None, found: Found) -> list[Need]:
    if found.lacks_node:
        return [Need("node", True, f"{name} needs node, which was not found: install Node.js (https://nodejs.org)")]
    wanted = (profile.node if profile is not None else "") or found.node_range
    return _runtime("node", name, wanted, found.node, found.node_path)


def _python(name: str, profile: Profile | None, found: Found) -> list[Need]:
    return _runtime("python", name, "" if profile is None else profile.python, found.python, found.python_path)


def _runtime(kind: Literal["node", "python"], name: str, wanted: str, told: str, path: str) -> list[Need]:
    version = version_in(told)
    if not wanted or version is None or fits(version, wanted) is not False:
        return []
    where = f"{path} is {told}" if path else f"this is {told}"
    title = "node" if kind == "node" else "Python"
    return [Need(kind, True, f"{name} needs {title} {wanted}, and {where}")]


def _given(key: Collection[str], environment: Mapping[str, str]) -> bool:
    return all(environment.get(variable) for variable in key)


def _and(key: Collection[str]) -> str:
    return " and ".join(key)
