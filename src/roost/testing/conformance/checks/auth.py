"""Logins: what is advertised, and what is refused. No login is done that the user did not ask for."""

from __future__ import annotations

from roost.testing.conformance.bench import AUTH_REQUIRED, INVALID_PARAMS, SHOULD, Bench, Skip, error_of
from roost.testing.conformance.registry import check


@check("auth.unknown-method", "AUTH-4", "I-19")
async def unknown_method(bench: Bench) -> None:
    """A login with a method that was not advertised is refused, and logs nobody in."""
    _need_methods(bench)
    peer = await bench.ready()
    answer = await peer.call("auth/login", {"methodId": "roost-check-none"})
    error = bench.expect_error("AUTH-4", "auth/login with an unknown method", answer, INVALID_PARAMS, code_level=SHOULD)
    if error is None and _gated(bench):
        again = await peer.call("session/new", {"cwd": str(bench.workspace)})
        if "result" in again:
            bench.fail("AUTH-4", "a refused login not to open sessions", again)


@check("auth.elsewhere", "AUTH-6", "AUTH-4", "I-20")
async def methods_done_elsewhere(bench: Bench) -> None:
    """A method that is not driven by the protocol cannot be logged in with over it."""
    _need_methods(bench)
    elsewhere = [method for method in bench.profile.auth_methods if method.get("type") in ("terminal", "env_var")]
    if not elsewhere:
        raise Skip("the agent has no such methods")
    peer = await bench.ready({"auth": {"terminal": {}}})
    for method in elsewhere:
        answer = await peer.call("auth/login", {"methodId": method["methodId"]})
        bench.expect_error(
            "AUTH-6", f"auth/login with a {method['type']} method", answer, INVALID_PARAMS, code_level=SHOULD
        )


@check("auth.method-entries", "AUTH-3")
async def entries(bench: Bench) -> None:
    """Every login method has a type, an id of its own and a name."""
    _need_methods(bench)
    seen = set()
    for method in bench.profile.auth_methods:
        if not all(isinstance(method.get(key), str) for key in ("type", "methodId", "name")):
            bench.fail("AUTH-3", "a login method with type, methodId and name", method)
        elif method["methodId"] in seen:
            bench.fail("AUTH-3", "every login method to have an id of its own", method)
        seen.add(str(method.get("methodId")))


@check("auth.gate", "ERR-2", "AUTH-8", "I-22", "I-24")
async def gate(bench: Bench) -> None:
    """Only an agent with login methods asks for a login, and with code -32000."""
    if bench.profile.refusal is None:
        raise Skip("sessions need no login")
    code = error_of(bench.profile.refusal).get("code")
    if code == AUTH_REQUIRED and not bench.profile.auth_methods:
        bench.fail("ERR-2", "no -32000 from an agent without login methods", bench.profile.refusal)


@check("auth.logout", "AUTH-11", "AUTH-1", level=SHOULD)
async def logout(bench: Bench) -> None:
    """A logout when nobody is logged in succeeds."""
    _need_methods(bench)
    if not _gated(bench):
        raise Skip("somebody may be logged in, and shall stay so")
    peer = await bench.ready()
    bench.expect_result("AUTH-11", "auth/logout when not logged in", await peer.call("auth/logout", {}))


def _need_methods(bench: Bench) -> None:
    if not bench.profile.auth_methods:
        raise Skip("the agent has no login methods")


def _gated(bench: Bench) -> bool:
    refusal = bench.profile.refusal
    return refusal is not None and error_of(refusal).get("code") == AUTH_REQUIRED
