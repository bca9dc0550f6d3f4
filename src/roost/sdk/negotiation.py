"""The handshake of a client with an agent of v1 or v2: each is tried on an agent nobody has spoken to yet.

The shape of an answer decides, not the number in it (`acp.bridge.negotiation`). v2 is tried first: nothing is
lost in it. One that is silent, or ends, may know no other way to refuse a version.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from roost.acp.bridge.negotiation import Speak, Trial, Version, first_trial, is_answered_in, is_known
from roost.errors import RemoteProtocolError, RpcError, TransportError
from roost.rpc.messages import UNDECODABLE
from roost.sdk.client_link import ClientLink
from roost.sdk.client_openers import Opener
from roost.sdk.client_options import ClientOptions
from roost.sdk.relayed import RelayedChild

if TYPE_CHECKING:
    from roost.acp import v2

log = logging.getLogger("roost.client")

Handshake: TypeAlias = "tuple[ClientLink, Version]"


async def shake_hands(
    opener: Opener, options: ClientOptions, prepare: Callable[[ClientLink], None], known: Version | None
) -> Handshake:
    """A connection ready for use, and the version its agent speaks; `known` is what it spoke the last time.

    `prepare` is called for each connection before anything is sent. An agent that cannot be reached anew is asked once,
    in v2. Raises what `connect` says, of the last trial; what came of those before is in its notes.
    """
    request = options.initialize()
    limits = options.limits
    trial = first_trial(known if opener.is_fresh else None, preferred=2)
    patience = limits.start_timeout
    if opener.is_fresh and known is None:  # its silence may mean that it does not know the version
        patience = min(patience, limits.negotiation_timeout)
    told: list[str] = []
    while True:
        try:
            link = await _open(opener, options, trial)
            try:
                prepare(link)
                outcome = await _try(link, request, trial, opener.is_fresh, patience)
            except BaseException:
                await link.close()
                raise
            if isinstance(outcome, Speak):
                return link, outcome.version
            await link.close()
        except Exception as error:
            for text in told:
                error.add_note(text)
            raise
        told.append(f"asked for ACP version {trial.version} before, it {outcome.why}")
        text = f"{link.peer}, asked for ACP version {trial.version}, {outcome.why}"
        log.info("%s; it is started again and asked for %d", text, outcome.trial.version)
        trial, patience = outcome.trial, limits.start_timeout


class _Next(msgspec.Struct, frozen=True):
    """Another trial, and what the agent did instead of what it was asked for."""

    trial: Trial
    why: str


async def _open(opener: Opener, options: ClientOptions, trial: Trial) -> ClientLink:
    channel = await opener.open()
    if trial.version == 1:
        from roost.sdk.bridged import agent_in_v2

        channel = agent_in_v2(channel, options.services)
    elif hasattr(channel, "exit_code"):  # a process of ours: what it starts can connect back
        channel = RelayedChild(channel)
    return ClientLink(channel, options.limits, tolerant=opener.tolerant)


async def _try(
    link: ClientLink, request: v2.InitializeRequest, trial: Trial, is_fresh: bool, patience: float
) -> Speak | _Next:
    try:
        answer = await link.initialize(request, patience)
        plain = _plain(answer)
    except RpcError as error:
        verdict = trial.after(error)
        if not is_fresh or not isinstance(verdict, Trial):
            raise
        wrong = is_answered_in(verdict.version, error)
        return _Next(verdict, f"answered in version {verdict.version}" if wrong else f"answered with an error: {error}")
    except (TransportError, RemoteProtocolError) as error:  # silence, an end, an answer that is none
        verdict = trial.without_answer()
        if not is_fresh or not isinstance(verdict, Trial):
            raise
        return _Next(verdict, f"gave no answer: {error}")
    if trial.version == 2 and is_fresh and is_known(plain.get("protocolVersion")):
        verdict = trial.after(plain)
        if isinstance(verdict, Trial):
            return _Next(verdict, "answered in version 1")
    link.accept(answer)
    if trial.version == 1 and not is_known(named := _named(link)):
        verdict = trial.without_answer()
        if isinstance(verdict, Trial):
            return _Next(verdict, "named no version that is known")
        if type(named) is int:
            raise link.unsupported(named)
        raise RemoteProtocolError("the answer to initialize names no protocol version")
    return Speak(trial.version)


def _named(link: ClientLink) -> Any:
    """The number in the answer of an agent behind a bridge."""
    from roost.sdk.bridged import BridgedChannel

    assert isinstance(link.channel, BridgedChannel)
    return link.channel.named_version


def _plain(answer: msgspec.Raw) -> dict[str, Any]:
    """RemoteProtocolError: it is no object."""
    try:
        value = msgspec.json.decode(answer)
    except UNDECODABLE:
        value = None
    if not isinstance(value, dict):
        raise RemoteProtocolError("the answer to initialize is no object")
    return value
