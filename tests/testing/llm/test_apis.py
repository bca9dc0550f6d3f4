"""One script, four APIs, whole and streamed: agents of every vendor are told the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

import pytest

from roost.testing.llm import ModelServer
from tests.testing.llm.client import events, post
from tests.testing.llm.shapes import SHAPES, Gemini, Shape, Told

TIMEOUT = 10


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with asyncio.timeout(TIMEOUT), ModelServer() as server:
        yield server


async def told(
    model: ModelServer, shape: Shape, prompt: str, results: Iterable[str] = (), *, stream: bool, tools: bool = True
) -> Told:
    path, body = shape.path, shape.body(prompt, results, stream=stream, tools=tools)
    if not stream:
        status, answer = await post(model, path, body)
        assert status == 200, answer
        return shape.whole(answer)
    if shape is Gemini:
        path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
    return shape.streamed([event async for event in events(model, path, body)])


each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
each_api = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)


@each_api
@each_way
async def test_text_is_said(model: ModelServer, shape: Shape, stream: bool) -> None:
    answer = await told(model, shape, "Please [[say two words]]", stream=stream)
    assert answer.text == "two words"
    assert answer.call is None
    assert answer.ending in ("stop", "completed", "end_turn", "STOP")


@each_api
@each_way
async def test_reasoning_is_told_apart(model: ModelServer, shape: Shape, stream: bool) -> None:
    answer = await told(model, shape, "[[think about it]] [[say yes]]", stream=stream)
    assert "about it" in answer.thought
    assert answer.text == "yes"


@each_api
@each_way
async def test_a_call_has_the_arguments_its_schema_names(model: ModelServer, shape: Shape, stream: bool) -> None:
    answer = await told(model, shape, "[[write notes.txt: a note]]", stream=stream)
    assert answer.call == ("write_file", {"path": "notes.txt", "content": "a note\n"})
    assert answer.ending in ("tool_calls", "completed", "tool_use", "STOP")


@each_api
async def test_steps_are_done_one_after_the_other(model: ModelServer, shape: Shape) -> None:
    prompt = "[[read a]] then [[run ls]] and [[say all done]]"
    first = await told(model, shape, prompt, stream=False)
    second = await told(model, shape, prompt, ["text of a"], stream=False)
    third = await told(model, shape, prompt, ["text of a", "a b"], stream=False)
    assert first.call == ("read_file", {"path": "a"})
    assert second.call == ("bash", {"command": "ls"})
    assert third.text == "all done"


@each_api
async def test_the_result_of_the_last_call_is_told(model: ModelServer, shape: Shape) -> None:
    answer = await told(model, shape, "[[run ls]]", ["a\nb"], stream=False)
    assert answer.text == "Done: a b"


@each_api
async def test_an_ask_is_kept_as_it_was(model: ModelServer, shape: Shape) -> None:
    await told(model, shape, "[[say x]]", ["r"], stream=True)
    [ask] = model.asks
    assert ask.stream
    assert ask.said == "[[say x]]"
    assert [line.text for line in ask.lines if line.role == "tool"] == ["r"]
    assert [line.text for line in ask.lines if line.role == "system"] == ["Be brief."]
    assert ask.offers("bash")
    assert not ask.offers("fish")


@each_api
async def test_a_failure_is_a_status(model: ModelServer, shape: Shape) -> None:
    status, answer = await post(model, shape.path, shape.body("[[fail 429]]"))
    assert status == 429
    assert answer["error"]["code"] == 429


async def test_an_answer_with_a_shape_fits_it(model: ModelServer) -> None:
    shape = {"properties": {"name": {"type": "string"}, "count": {"type": "integer"}, "kind": {"enum": ["x", "y"]}}}
    wanted = {"type": "json_schema", "json_schema": {"schema": shape}}
    body = {"messages": [{"role": "user", "content": "hi"}], "response_format": wanted}
    _, answer = await post(model, "/v1/chat/completions", body)
    assert answer["choices"][0]["message"]["content"] == '{"name": "scripted", "count": 1, "kind": "x"}'
