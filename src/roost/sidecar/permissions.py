"""From a caller's one-word reply to an outcome the agent understands.

A reply is `once`, `always`, `reject` or one of the four option kinds; anything else selects the option of exactly
that id, or nothing. What selects nothing is `cancelled`, never an approval (PER-4, PER-5, PER-13).
"""

from __future__ import annotations

import msgspec

CANCELLED = b'{"outcome":{"outcome":"cancelled"}}'

# What each reply may select, best first; each target is an option kind or one of the ids agents use for it.
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


class _Option(msgspec.Struct):
    option_id: str | None = msgspec.field(name="optionId", default=None)
    kind: str | None = None


class _Params(msgspec.Struct):
    options: list[msgspec.Raw] = []


def outcome(reply: str, params: bytes | None) -> bytes:
    """The result of session/request_permission for this reply, as JSON."""
    options = _options(params)
    targets = _TARGETS.get(reply)
    if targets is None:
        return _selected(reply) if any(option.option_id == reply for option in options) else CANCELLED
    for kind, ids in targets:
        for option in options:
            if option.option_id in ids or option.kind == kind:
                return _selected(option.option_id or kind)
    if not options:  # an agent that offers nothing to choose from expects the plain words
        return _selected(targets[0][0])
    return CANCELLED


def refusal(params: bytes | None) -> bytes:
    """What an agent is told when nobody can answer: a rejection it offered, else `cancelled`."""
    options = _options(params)
    for option in options:
        if option.kind == "reject_once" and option.option_id:
            return _selected(option.option_id)
    return CANCELLED


def permission_id(params: bytes | None) -> str:
    """`params.permissionId` when it is a string, else the word `permission`."""
    try:
        found = msgspec.json.decode(params or b"{}", type=dict[str, msgspec.Raw]).get("permissionId")
        return "permission" if found is None else msgspec.json.decode(found, type=str)
    except msgspec.MsgspecError:
        return "permission"


def _options(params: bytes | None) -> list[_Option]:
    try:
        raw = msgspec.json.decode(params or b"{}", type=_Params).options
    except msgspec.MsgspecError:
        return []
    options = []
    for item in raw:
        try:
            options.append(msgspec.json.decode(item, type=_Option))
        except msgspec.MsgspecError:
            continue  # an option nobody can read cannot be chosen
    return options


def _selected(option: str) -> bytes:
    return b'{"outcome":{"outcome":"selected","optionId":' + msgspec.json.encode(option) + b"}}"
