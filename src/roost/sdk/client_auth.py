"""Logging in to an agent, by each kind of method it may advertise (AUTH-3 to AUTH-8).

`agent`: one request. `terminal`: the agent's own program, run interactively with further arguments; never a command
that came over the wire. `env_var`: the user fills in variables, and the agent is started anew with them. The latter two
end this connection and make a new one.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from roost.acp import v2
from roost.errors import LocalProtocolError, ProcessError, RemoteProtocolError
from roost.transport.child import Launch

if TYPE_CHECKING:
    from roost.sdk.client import Client


async def login(client: Client, method_id: str) -> None:
    """See `Client.login`."""
    method = next((m for m in client.auth_methods if not isinstance(m, v2.Unknown) and m.method_id == method_id), None)
    match method:
        case v2.AuthMethodAgent():
            await client.link.call(v2.LoginAuthRequest(method_id=method_id))
        case v2.AuthMethodTerminal():
            await _login_in_terminal(client, method)
        case v2.AuthMethodEnvVar():
            await _login_by_variables(client, method)
        case _:  # AUTH-4, I-27
            raise LocalProtocolError(f"there is no method {method_id!r} to log in by that is known here")


async def offer_login(client: Client) -> bool:
    """Asks the program by which method to log in, and does so. False: it does not want to."""
    assert client.options.on_login is not None
    chosen = client.options.on_login(list(client.auth_methods))
    if inspect.isawaitable(chosen):
        chosen = await chosen
    if chosen is None:
        return False
    await login(client, chosen)
    return True


async def _login_in_terminal(client: Client, method: v2.AuthMethodTerminal) -> None:
    run = client.options.terminal_login
    if run is None:
        raise LocalProtocolError("this client offers no terminal to log in with (AUTH-5)")
    launch = _own_launch(client)
    names = [variable.name for variable in method.env]
    if len(set(names)) < len(names):  # I-26
        raise RemoteProtocolError("a terminal login sets one variable twice (AUTH-6)")
    env = {variable.name: variable.value for variable in method.env}
    code = await run(launch.with_args(method.args).with_env(env))
    if code != 0:
        raise ProcessError(f"the login ended with exit code {code}", code)
    await client.reopen()


async def _login_by_variables(client: Client, method: v2.AuthMethodEnvVar) -> None:
    if client.options.on_env_vars is None:
        raise LocalProtocolError("this client asks for no variables to log in with (AUTH-7)")
    launch = _own_launch(client)
    values = client.options.on_env_vars(method)
    if inspect.isawaitable(values):
        values = await values
    if values is None:
        raise LocalProtocolError("the login was given up")
    known = {variable.name for variable in method.vars}
    missing = {variable.name for variable in method.vars if not variable.optional}.difference(values)
    if missing or not known.issuperset(values):
        wrong = ", ".join(sorted({*missing, *set(values).difference(known)}))
        raise LocalProtocolError(f"the variables of the login are not those asked for: {wrong}")
    await client.reopen(launch.with_env(values))


def _own_launch(client: Client) -> Launch:
    if client.launch is None:
        raise LocalProtocolError("the agent was not started here, so it cannot be started anew")
    return client.launch
