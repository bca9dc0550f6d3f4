"""`initialize`, and which version an agent is spoken to in: its own when a caller asks for 2, as asked otherwise.

Version 2 is v2 whatever the agent speaks. An agent that answers in the shape of v1, or with an error, is started again
and bridged (`acp.bridge.negotiation`); what it speaks is remembered, so that it is started once from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from roost.acp.bridge.negotiation import Speak, Trial, first_trial
from roost.acp.dialect import V1, V2
from roost.errors import ProcessError, SidecarError
from roost.sidecar.bootstrap import Bootstrap, give_up, handshake_failed, result_members
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut
from roost.sidecar.launch import Launch
from roost.sidecar.payloads import Json, decoded

METHOD = "initialize"
OTHER_VERSION = {"protocolVersion": V2.version}  # how the bridge says that an agent speaks v2 after all


def initialized(context: Context, start: Callable[[], Bootstrap]) -> Conversation[Bootstrap]:
    """An agent that has answered `initialize`. `start` starts its program, once or twice; the first is gone by then.

    The last one that was started is the caller's to end when this raises.
    """
    bootstrap = start()
    launch = bootstrap.link.launch
    if launch.protocol_version != V2.version:
        yield from _started(context, bootstrap)
        answer = yield from bootstrap.ask(METHOD, parameters(context, launch), "initialize_timeout")
        if answer.error is not None:
            raise handshake_failed(METHOD, answer)
        bootstrap.initialized = result_members(METHOD, answer.result)
        check_version(launch.protocol_version, bootstrap.initialized)
        return bootstrap
    key = (launch.agent_type, launch.program.entrypoint)
    trial = first_trial(context.spoken.get(key), preferred=launch.program.quirks.speaks or 2)
    said: Json = {}  # to who asked for 2
    while True:
        verdict = yield from _try(context, bootstrap, trial, said)
        said = bootstrap.initialized
        if isinstance(verdict, Speak):
            context.spoken[key] = verdict.version
            return bootstrap
        text = f"{bootstrap.process} does not speak ACP version {trial.version}; it is asked for {verdict.version}"
        context.note("info", text)
        yield from give_up(context, bootstrap)
        trial = verdict
        bootstrap = start()


def _try(context: Context, bootstrap: Bootstrap, trial: Trial, said: Json) -> Conversation[Speak | Trial]:
    link = bootstrap.link
    if trial.version == 1:
        link.bridge_v1()
    yield from _started(context, bootstrap)
    answer = yield from bootstrap.ask(METHOD, parameters(context, link.launch), "initialize_timeout")
    if answer.error is not None:
        verdict = trial.after(answer.error)
        if isinstance(verdict, Trial):
            return verdict
        if said and answer.error.data == OTHER_VERSION:
            check_version(V2.version, said)
        raise handshake_failed(METHOD, answer)
    bootstrap.initialized = result_members(METHOD, answer.result)
    if trial.version == 2 and decoded(bootstrap.initialized.get("protocolVersion")) in (1, 2):
        verdict = trial.after(decoded(answer.result))
        if isinstance(verdict, Trial):
            return verdict
    if link.v1 is None:
        check_version(V2.version, bootstrap.initialized)
    elif link.v1.version != V2.version:  # several echo what they were once asked for
        _check(V1.version, link.v1.version)
    return Speak(trial.version)


def _started(context: Context, bootstrap: Bootstrap) -> Conversation[None]:
    link, timeout = bootstrap.link, context.limits.initialize_timeout
    try:
        link.pid = yield context.stage.within(timeout, link.started)
    except TimedOut:
        text = f"{link.process} was not started within {timeout:g} s (initialize_timeout)"
        raise SidecarError("timeout", text) from None
    except ProcessError as error:
        raise SidecarError("execution", f"{error.message}; {link.activity.diagnosis()}") from None


def parameters(context: Context, launch: Launch) -> dict[str, Any]:
    """`initialize` in the shape of the version asked for."""
    capabilities = msgspec.Raw(launch.client_capabilities.encode())
    if launch.dialect is V2:
        info = {"name": "roost", "title": "Roost", "version": context.version}
        return {"protocolVersion": launch.protocol_version, "info": info, "capabilities": capabilities}
    return {"protocolVersion": launch.protocol_version, "clientCapabilities": capabilities}


def check_version(wanted: int, initialized: Json) -> None:
    _check(wanted, decoded(initialized.get("protocolVersion")))


def _check(wanted: int, told: Any) -> None:
    if not isinstance(told, int) or isinstance(told, bool) or abs(told) >= 2**31:
        raise SidecarError("invalid_state", "ACP initialize response missing protocolVersion")
    if told != wanted:
        text = f"ACP initialize protocolVersion mismatch: requested {wanted}, agent reported {told}"
        raise SidecarError("protocol_version_mismatch", text)
