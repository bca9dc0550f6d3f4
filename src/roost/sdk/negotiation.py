"""The handshake of a client with an agent of v1 or v2: each is tried on an agent nobody has spoken to yet.

The shape of an answer decides, not the number in it (`acp.bridge.negotiation`). v2 is tried first: nothing is
lost in it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from roost.acp.bridge.negotiation import GiveUp, Speak, Trial, Version, first_trial
from roost.errors import RpcError
from roost.rpc.messages import UNDECODABLE
from roost.sdk.client_link import ClientLink, named_version
from roost.sdk.client_openers import Opener
from roost.sdk.client_options import ClientOptions

if TYPE_CHECKING:
    from roost.acp import v2

log = logging.getLogger("roost.client")

Handshake: TypeAlias = "tuple[ClientLink, Version]"


async def shake_hands(
    opener: Opener, options: ClientOptions, prepare: Callable[[ClientLink], None], known: Version | None
) -> Handshake:
    """A connection ready for use, and the version its agent speaks; `known` is what it spoke the last time.

    `prepare` is called for each connection before anything is sent. An agent that cannot be reached anew is asked once,
    in v2. Raises what `connect` says.
    """
    request = options.initialize()
    trial = first_trial(known if opener.is_fresh else None, preferred=2)
    while True:
        link = await _open(opener, options, trial)
        prepare(link)
        try:
            outcome = await _try(link, request, trial, opener.is_fresh)
        except BaseException:
            await link.close()
            raise
        if isinstance(outcome, Speak):
            return link, outcome.version
        await link.close()
        log.info("%s does not speak ACP version %d; it is asked for %d", link.peer, trial.version, outcome.version)
        trial = outcome


async def _open(opener: Opener, options: ClientOptions, trial: Trial) -> ClientLink:
    channel = await opener.open()
    if trial.version == 1:
        from roost.sdk.bridged import agent_in_v2

        channel = agent_in_v2(channel, options.services)
    return ClientLink(channel, options.limits, tolerant=opener.tolerant)


async def _try(link: ClientLink, request: v2.InitializeRequest, trial: Trial, is_fresh: bool) -> Speak | Trial:
    try:
        answer = await link.initialize(request)
    except RpcError as error:
        verdict = trial.after(error) if is_fresh else GiveUp(error)
        if not isinstance(verdict, Trial):
            raise
        return verdict
    if trial.version == 2 and is_fresh and named_version(answer) in (1, 2):
        verdict = trial.after(_plain(answer))
        if isinstance(verdict, Trial):
            return verdict
    link.accept(answer)
    return Speak(trial.version)


def _plain(answer: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(answer)
    except UNDECODABLE:
        return None
