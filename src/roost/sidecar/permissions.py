"""From a caller's one-word reply to an outcome the agent understands.

A reply is `once`, `always`, `reject` or one of the four option kinds; anything else selects the option of exactly
that id, or nothing. What selects nothing is `cancelled`, never an approval (PER-4, PER-5, PER-13).
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from roost.sidecar.payloads import UNREADABLE, members, string

CANCELLED = b'{"outcome":{"outcome":"cancelled"}}'

# A permissionId is only a label for the caller, and has to fit beside the question in one frame.
PERMISSION_ID_LENGTH = 1024

# What each reply may select, best first; each target is an option kind and the ids agents use for it.
_ALLOW_ONCE = ("allow_once", frozenset(("once", "allow_once")))
_ALLOW_ALWAYS = ("allow_always", frozenset(("always", "allow_always")))
_REJECT_ONCE = ("reject_once", frozenset(("reject", "reject_once")))
_REJECT_ALWAYS = ("reject_always", frozenset(("reject_always",)))
_TARGETS = {
    "once": (_ALLOW_ONCE,),
    "allow_once": (_ALLOW_ONCE,),
    "always": (_ALLOW_ALWAYS, _ALLOW_ONCE),  # a narrower consent than the one given is still a consent
    "allow_always": (_ALLOW_ALWAYS, _ALLOW_ONCE),
    "reject": (_REJECT_ONCE,),
    "reject_once": (_REJECT_ONCE,),
    "reject_always": (_REJECT_ALWAYS, _REJECT_ONCE),
}
# Where an option tells a kind the kind decides, so that no word ever selects its opposite, or more than it says.
_KINDS = frozenset(("allow_once", "allow_always", "reject_once", "reject_always"))


_ABSENT = msgspec.Raw(b"null")


class _Option(msgspec.Struct):
    option_id: msgspec.Raw = msgspec.field(name="optionId", default=_ABSENT)
    kind: msgspec.Raw = _ABSENT


class _Params(msgspec.Struct):
    options: list[msgspec.Raw] = []


class Option(NamedTuple):
    """One option of a request. A member that is no string is None."""

    id: str | None
    kind: str | None


def outcome(reply: str, params: bytes | None) -> bytes:
    """The result of session/request_permission for this reply, as JSON."""
    options = _options(params)
    targets = _TARGETS.get(reply)
    if targets is None:
        return _selected(reply) if any(option.id == reply for option in options) else CANCELLED
    for kind, ids in targets:
        for option in options:
            if option.kind == kind or (option.id in ids and option.kind not in _KINDS):
                return _selected(kind if option.id is None else option.id)
    if not options:  # an agent that offers nothing to choose from expects the plain words
        return _selected(targets[0][0])
    return CANCELLED


def refusal(params: bytes | None) -> bytes:
    """What an agent is told when nobody can answer: a rejection it offered, else `cancelled`."""
    for option in _options(params):
        if option.kind == "reject_once" and option.id is not None:
            return _selected(option.id)
    return CANCELLED


def permission_id(params: bytes | None) -> str:
    """`params.permissionId` when it is a string of sensible length, else the word `permission`."""
    found = string((members(params) or {}).get("permissionId"))
    return "permission" if found is None or len(found) > PERMISSION_ID_LENGTH else found


def _options(params: bytes | None) -> list[Option]:
    try:
        raw = msgspec.json.decode(params or b"{}", type=_Params).options
    except UNREADABLE:
        return []
    options = []
    for item in raw:
        try:
            option = msgspec.json.decode(item, type=_Option)
        except UNREADABLE:
            continue  # an option nobody can read cannot be chosen
        options.append(Option(string(option.option_id), string(option.kind)))
    return options


def _selected(option: str) -> bytes:
    return b'{"outcome":{"outcome":"selected","optionId":' + msgspec.json.encode(option) + b"}}"
