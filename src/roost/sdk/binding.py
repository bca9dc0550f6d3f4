"""An author's handlers, bound to the connection they answer on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roost.sdk.agent_link import AgentLink
    from roost.sdk.incoming import Incoming


def bound_request(handler: Callable[[Any, AgentLink], Any], link: AgentLink) -> Callable[[Any, Incoming], Any]:
    return lambda params, incoming: handler(params, link)


def bound_override(
    handler: Callable[[Any, Incoming, AgentLink], Any], link: AgentLink
) -> Callable[[Any, Incoming], Any]:
    return lambda params, incoming: handler(params, incoming, link)


def bound_notification(handler: Callable[[Any, AgentLink], Any], link: AgentLink) -> Callable[[Any], Any]:
    if not inspect.iscoroutinefunction(handler):
        return lambda params: handler(params, link)

    async def told(params: Any) -> None:
        await handler(params, link)

    return told
