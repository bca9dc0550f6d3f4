"""`initialize`, and which version an agent is spoken to in: its own when a caller asks for 2, as asked otherwise.

Version 2 is v2 whatever the agent speaks. An agent that answers in the shape of v1, with an error, or not at all, is
started again and bridged (`acp.bridge.negotiation`). What it speaks is remembered (`spoken`), so that it is started
once from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from roost.acp.bridge.negotiation import Speak, Trial, Version, first_trial, is_answered_in, is_known
from roost.acp.dialect import V1, V2
from roost.errors import ProcessError, SidecarError
from roost.sidecar.bootstrap import Bootstrap, give_up, handshake_failed, result_members
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut
from roost.sidecar.launch import Launch, shown
from roost.sidecar.mcp_relay import names_acp_server
from roost.sidecar.payloads import Json, decoded

METHOD = "initialize"
NO_ANSWER = frozenset(("timeout", "execution", "invalid_state"))  # silence, an exit, an answer that is none


def initialized(
    context: Context, start: Callable[[], Bootstrap], *, proven: Version | None = None
) -> Conversation[Bootstrap]:
    """An agent that has answered `initialize`. `start` starts its program, up to three times; all but the last are gone
    by then. `proven`: what this program has spoken lately, so that its silence now means something else.

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
    known = proven or context.spoken.get(launch.program)
    trial = first_trial(known, preferred=launch.program.quirks.speaks or 2)
    patience = "initialize_timeout" if known is not None else first_patience(context, launch)
    said: Json = {}  # to who asked for 2
    told: list[str] = []  # what came of the trials before
    while True:
        try:
            verdict = yield from _try(context, bootstrap, trial, patience, said, proven=proven is not None)
        except SidecarError as error:
            if not told:
                raise
            raise SidecarError(error.code, "; ".join((error.message, *told))) from None
        if isinstance(verdict, Speak):
            context.spoken.learn(launch.program, verdict.version)
            return bootstrap
        said = bootstrap.initialized or said
        told.append(f"asked for ACP version {trial.version} before, it {verdict.why}")
        text = f"{bootstrap.process}, asked for ACP version {trial.version}, {verdict.why}"
        context.note("info", f"{text}; it is started again and asked for {verdict.trial.version}")
        yield from give_up(context, bootstrap)
        trial, patience = verdict.trial, "initialize_timeout"
        bootstrap = start()


def first_patience(context: Context, launch: Launch) -> str:
    """Which time an agent has for its first answer that may be silent because it does not know the version."""
    limits = context.limits
    slow = (
        launch.program.quirks.initialize_timeout is not None or limits.initialize_timeout <= limits.negotiation_timeout
    )
    return "initialize_timeout" if slow else "negotiation_timeout"


class _Next(msgspec.Struct, frozen=True):
    """Another trial, and what the agent did instead of what it was asked for."""

    trial: Trial
    why: str


def _try(
    context: Context, bootstrap: Bootstrap, trial: Trial, patience: str, said: Json, *, proven: bool
) -> Conversation[Speak | _Next]:
    link = bootstrap.link
    if trial.version == 1:
        link.bridge_v1()
    elif context.relays_mcp and names_acp_server(link.launch.mcp_servers):
        link.relay_mcp()
    yield from _started(context, bootstrap)
    try:
        answer = yield from bootstrap.ask(METHOD, parameters(context, link.launch), patience)
        if answer.error is None:
            bootstrap.initialized = result_members(METHOD, answer.result)
    except SidecarError as error:
        other = trial.without_answer()
        # What is being ended, or says too much, has not refused a version.
        if proven or error.code not in NO_ANSWER or link.ending is not None or not isinstance(other, Trial):
            raise
        return _Next(other, _unanswered(context, bootstrap, error, patience))
    if answer.error is not None:
        speaks_2 = trial.version == 1 and is_answered_in(2, answer.error)
        verdict = trial.after(answer.error)
        if isinstance(verdict, Trial):
            why = "answered in version 2" if speaks_2 else f"answered with an error: {shown(answer.error.message)}"
            return _Next(verdict, why)
        if said and speaks_2:
            check_version(V2.version, said)
        raise handshake_failed(METHOD, answer)
    if trial.version == 2 and is_known(decoded(bootstrap.initialized.get("protocolVersion"))):
        verdict = trial.after(decoded(answer.result))
        if isinstance(verdict, Trial):
            return _Next(verdict, "answered in version 1")
    if link.v1 is None:
        check_version(V2.version, bootstrap.initialized)
    elif not is_known(link.v1.version):
        other = trial.without_answer()
        if proven or not isinstance(other, Trial):
            _check(V1.version, link.v1.version)
        else:
            return _Next(other, "named no version that is known")
    return Speak(trial.version)


def _unanswered(context: Context, bootstrap: Bootstrap, error: SidecarError, patience: str) -> str:
    if error.code == "timeout":
        seconds = max(getattr(context.limits, patience), getattr(bootstrap.link.quirks, patience, None) or 0.0)
        return f"did not answer within {seconds:g} s ({patience})"
    if bootstrap.link.gone:
        code = bootstrap.link.exit.value
        return "exited" if code is None else f"exited with code {code}"
    return "gave an answer that is none"


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
