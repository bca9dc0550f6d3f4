"""The server: held and endless answers, bodies as clients send them, and what is no request of any API."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from roost.testing.llm import ModelServer, Say
from roost.testing.llm.http import BODY_BYTES
from tests.testing.llm.client import events, exchange, post, request
from tests.testing.llm.shapes import Chat, Messages

TIMEOUT = 10


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with asyncio.timeout(TIMEOUT), ModelServer() as server:
        yield server


async def test_a_held_answer_waits_for_its_release(model: ModelServer) -> None:
    heard = []
    async for name, data in events(model, Messages.path, Messages.body("[[hold gate]] [[say free]]", stream=True)):
        heard.append(name)
        if name == "content_block_delta" and data["delta"]["text"] == "holding ":
            model.release("gate")
    assert heard[-1] == "message_stop"


async def test_a_gate_that_is_open_holds_nobody(model: ModelServer) -> None:
    model.release("gate")
    _, answer = await post(model, Chat.path, Chat.body("[[hold gate]]"))
    assert Chat.whole(answer).text == "holding released "


async def test_a_held_answer_goes_on_after_a_while() -> None:
    async with asyncio.timeout(TIMEOUT), ModelServer(hold_timeout=0.01) as model:
        _, answer = await post(model, Chat.path, Chat.body("[[hold gate]]"))
        assert Chat.whole(answer).text == "holding released "


@pytest.mark.parametrize("prompt", ["[[hang]]", "[[hold gate]]", "[[stream 100000]]"])
async def test_an_answer_ends_when_its_client_hangs_up(model: ModelServer, prompt: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", model.port)
    writer.write(request("POST", Chat.path, json.dumps(Chat.body(prompt, stream=True)).encode()))
    await model.asked(lambda ask: ask.said == prompt)
    writer.write_eof()
    await reader.read()  # to the end, which comes
    writer.close()


async def test_a_server_that_is_closed_ends_what_it_has_open() -> None:
    async with asyncio.timeout(TIMEOUT):
        async with ModelServer() as model:
            reader, writer = await asyncio.open_connection("127.0.0.1", model.port)
            writer.write(request("POST", Chat.path, json.dumps(Chat.body("[[hang]]")).encode()))
            await model.asked(lambda ask: True)
        assert await reader.read() == b""
        writer.close()


async def test_a_script_of_ones_own_decides() -> None:
    async with asyncio.timeout(TIMEOUT), ModelServer(lambda ask: [Say(f"{len(ask.tools)} tools")]) as model:
        _, answer = await post(model, Chat.path, Chat.body("hi"))
        assert Chat.whole(answer).text == "3 tools"


async def test_a_compressed_body_is_read(model: ModelServer) -> None:
    body = gzip.compress(json.dumps(Chat.body("[[say x]]")).encode())
    _, answer = await post(model, Chat.path, body, content_encoding="gzip")
    assert Chat.whole(answer).text == "x"


async def test_a_chunked_body_is_read(model: ModelServer) -> None:
    text = json.dumps(Chat.body("[[say x]]")).encode()
    chunks = b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in (text[:10], text[10:]))
    reader, writer = await asyncio.open_connection("127.0.0.1", model.port)
    head = f"POST {Chat.path} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
    writer.write(head.encode() + chunks + b"0\r\n\r\n")
    answer = (await reader.read()).partition(b"\r\n\r\n")[2]
    writer.close()
    assert Chat.whole(json.loads(answer)).text == "x"


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"messages": [{"role": "user", "content": "[[write x]]"}]}'])
async def test_a_body_that_is_no_request_is_a_bad_one(model: ModelServer, body: bytes) -> None:
    status, _ = await post(model, Chat.path, body)
    assert status == 400


async def test_an_encoding_nobody_knows_is_a_bad_request(model: ModelServer) -> None:
    status, answer = await post(model, Chat.path, b"x", content_encoding="br")
    assert status == 400
    assert "br" in answer["error"]["message"]


@pytest.mark.parametrize("data", [b"nonsense\r\n\r\n", f"POST / HTTP/1.1\r\ncontent-length: {BODY_BYTES + 1}".encode()])
async def test_what_is_no_http_ends_the_connection(model: ModelServer, data: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", model.port)
    writer.write(data + b"\r\n\r\n")
    assert await reader.read() == b""
    writer.close()


async def test_models_and_tokens_are_told(model: ModelServer) -> None:
    _, [models] = await exchange(model, "GET", "/v1/models")
    assert json.loads(models)["data"][0]["id"] == "scripted"
    assert (await post(model, "/v1/messages/count_tokens", {}))[1] == {"input_tokens": 11}
    assert (await post(model, "/v1beta/models/m:countTokens", {}))[1] == {"totalTokens": 11}
    assert await exchange(model, "HEAD", "/") == (200, [b""])


async def test_what_no_api_knows_is_noted(model: ModelServer) -> None:
    status, _ = await post(model, "/v1/telemetry", {})
    assert status == 404
    assert model.strange == ["POST /v1/telemetry"]


def test_it_is_a_program_too() -> None:
    command = [sys.executable, "-m", "roost.testing.llm"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("http://127.0.0.1:")
        finally:
            process.terminate()
