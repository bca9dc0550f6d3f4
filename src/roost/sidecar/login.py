"""Logging in before the first session, for agents that want it although the key is at hand; and who the agent is.

Most agents take a key from their environment by themselves. Which do not, and which login goes with which variables,
is a quirk. Nothing is logged in by that the caller has not given: without the variables there is no login.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from roost.acp.bridge.negotiation import Version
from roost.sidecar.bootstrap import Bootstrap, handshake_failed
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation
from roost.sidecar.handshake import initialized
from roost.sidecar.payloads import items, member, members, string

AUTHENTICATE = "authenticate"
LOGIN = "auth/login"

# Logins that are no request; in v1 a method without a type is one.
_NOT_ASKED_FOR = frozenset(("terminal", "env_var"))


def logged_in(
    context: Context, start: Callable[[], Bootstrap], *, proven: Version | None = None
) -> Conversation[Bootstrap]:
    """An agent that sessions can be opened on; `start`, `proven` and what this raises are as for `initialized`."""
    bootstrap = yield from initialized(context, start, proven=proven)
    recognize(bootstrap)
    method = login_method(bootstrap)
    if method is None:
        return bootstrap
    if method not in offered_methods(bootstrap):
        context.note("info", f"{bootstrap.process} offers no login {method} any more; none is tried")
        return bootstrap
    name = LOGIN if bootstrap.link.launch.by_state else AUTHENTICATE
    answer = yield from bootstrap.ask(name, {"methodId": method}, "request_timeout")
    if answer.error is not None:
        raise handshake_failed(name, answer)
    return bootstrap


def recognize(bootstrap: Bootstrap) -> None:
    """A program nobody knew by its file may be known by the name it tells."""
    link = bootstrap.link
    info = bootstrap.initialized.get("info" if link.launch.by_state else "agentInfo")
    name = member(info, "name")
    if isinstance(name, str):
        link.quirks = link.launch.program.quirks_by_info.get(name, link.quirks)


def login_method(bootstrap: Bootstrap) -> str | None:
    """The first login whose variables the agent has been given; None when there is none to be done."""
    launch = bootstrap.link.launch
    given = {name for name, value in launch.env.items() if value}.union(launch.program.inherited)
    for method, variables in bootstrap.link.quirks.authenticate.items():
        if given.issuperset(variables):
            return method
    return None


def offered_methods(bootstrap: Bootstrap) -> Iterator[str]:
    """The logins that are asked for by a request."""
    key = "methodId" if bootstrap.link.launch.by_state else "id"
    for offered in items(bootstrap.initialized.get("authMethods")) or ():
        method = members(offered) or {}
        identifier = string(method.get(key))
        if identifier is not None and string(method.get("type")) not in _NOT_ASKED_FOR:
            yield identifier
