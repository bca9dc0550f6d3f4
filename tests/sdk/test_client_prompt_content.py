"""What a prompt may be made of (PRM-1), and what passes through with it."""

from __future__ import annotations

import pytest

from roost.acp import v2
from roost.errors import CapabilityError, LocalProtocolError
from tests.sdk.raw_agent import (
    RUNNING,
    bounded,
    idle,
    in_session,
    settled,
)


async def test_metadata_of_a_prompt_passes_through() -> None:
    """EXT-1, EXT-7."""
    async with in_session() as (session, agent):
        trace = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "_x": {"y": [1]}}
        turn = session.prompt("hi", meta=trace).send()
        request = await agent.next("session/prompt")
        assert request["params"]["_meta"] == trace
        agent.reply(request)
        agent.update("s1", RUNNING, idle())
        await bounded(turn)


IMAGE = v2.ImageContent(data="QQ==", mime_type="image/png")
EMBEDDED = v2.EmbeddedResource(resource=v2.TextResourceContents(text="t", uri="file:///t"))


@pytest.mark.parametrize("block", [IMAGE, v2.AudioContent(data="QQ==", mime_type="audio/wav"), EMBEDDED])
@pytest.mark.parametrize("prompt", [None, {}, {"image": True, "audio": None, "embeddedContext": []}])
async def test_p_04_content_the_agent_does_not_take_is_not_sent(block: v2.ContentBlock, prompt: object) -> None:
    session_capability = {} if prompt is None else {"prompt": prompt}
    async with in_session({"session": session_capability}) as (session, agent):
        with pytest.raises(CapabilityError) as caught:
            session.prompt(["look", block])
        assert caught.value.path.startswith("capabilities.session.prompt.")
        await settled(session.client, agent)
        assert not agent.untaken


async def test_p_07_text_and_links_go_to_every_agent_and_the_rest_to_those_that_take_it() -> None:
    link = v2.ResourceLink(name="a", uri="file:///a")
    async with in_session({"session": {}}) as (session, agent):
        turn = session.prompt(["look", link]).send()
        request = await agent.next("session/prompt")
        assert [block["type"] for block in request["params"]["prompt"]] == ["text", "resource_link"]
        agent.refuse(request, -32603)
        await turn.wait()
    async with in_session() as (session, agent):
        turn = session.prompt([IMAGE, EMBEDDED]).send()
        request = await agent.next("session/prompt")
        assert [block["type"] for block in request["params"]["prompt"]] == ["image", "resource"]
        agent.refuse(request, -32603)
        await turn.wait()


@pytest.mark.parametrize("prompt", [[], [v2.Unknown.of({"type": "hologram"})], [5]])
async def test_what_is_no_prompt_is_not_sent(prompt: list[v2.ContentBlock]) -> None:
    async with in_session() as (session, _):
        with pytest.raises(LocalProtocolError):
            session.prompt(prompt)
