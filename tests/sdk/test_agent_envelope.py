"""Whatever arrives, an agent goes on: E-cases of the envelope, run against a whole agent (ENV, ID, BAT)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .raw_client import RawClient, started
from .steps import agent_of, echo


def ping(id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "_settle/ping"}


def error(id: Any, code: int) -> tuple[Any, int]:
    return id, code


def seen(message: Any) -> Any:
    """A message in short: (id, code) for an error, (id, result) for a result, a list for a batch."""
    if isinstance(message, list):
        return sorted((seen(one) for one in message), key=repr)
    return message["id"], message["error"]["code"] if "error" in message else message["result"]


OK = None  # what the ping answers

CASES: list[Any] = [
    pytest.param(b"{", [(None, -32700)], id="E-01 ENV-10"),
    pytest.param(b"\xff\xfe", [(None, -32700)], id="ENV-2"),
    pytest.param(b"5", [(None, -32600)], id="E-02 number ENV-11"),
    pytest.param(b'"x"', [(None, -32600)], id="E-02 string (users d)"),
    pytest.param(b"{}", [(None, -32600)], id="E-02 empty object"),
    pytest.param(b'{"jsonrpc":"2.0"}', [(None, -32600)], id="E-02 nothing but the version"),
    pytest.param(b'{"jsonrpc":"1.0","id":1,"method":"x"}', [(1, -32600)], id="E-03 ENV-1"),
    pytest.param(b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', [(None, -32600)], id="E-09 fraction ID-1"),
    pytest.param(b'{"jsonrpc":"2.0","id":true,"method":"x"}', [(None, -32600)], id="E-09 boolean"),
    pytest.param(b'{"jsonrpc":"2.0","id":{},"method":"x"}', [(None, -32600)], id="E-09 object"),
    pytest.param(b'{"jsonrpc":"2.0","id":77,"result":{}}', [], id="E-10 E-11 ENV-13"),
    pytest.param(b'{"jsonrpc":"2.0","id":[1],"result":{}}', [], id="ENV-12 (users c)"),
    pytest.param(b'{"jsonrpc":"2.0","id":77,"result":1,"error":{"code":1,"message":"x"}}', [], id="E-12 ENV-12"),
    pytest.param(b'{"jsonrpc":"2.0","id":77}', [], id="E-13 ENV-12"),
    pytest.param(b'{"jsonrpc":"2.0","method":"x","result":1,"id":1}', [(1, -32600)], id="E-14 ENV-3"),
    pytest.param(b'{"jsonrpc":"2.0","id":null,"method":"_settle/ping"}', [(None, OK)], id="E-08 null ENV-5"),
    pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"_settle/ping","more":[1]}', [(1, OK)], id="ENV-6"),
    pytest.param(b"[]", [(None, -32600)], id="E-24 BAT-2"),
    pytest.param(
        json.dumps([1, ping(9), {"foo": 1}]).encode(), [[(9, OK), (None, -32600), (None, -32600)]], id="E-25 BAT-3"
    ),
    pytest.param(b'[{"jsonrpc":"2.0","method":"_x"},{"jsonrpc":"2.0","method":"$/y"}]', [], id="E-26 BAT-4"),
    pytest.param(b'[{"jsonrpc":"2.0","id":1,"met', [(None, -32700)], id="E-27 BAT-1"),
    pytest.param(json.dumps([ping(3), ping(3)]).encode(), [[(3, OK), (3, OK)]], id="E-31 BAT-10"),
    pytest.param(json.dumps([{"jsonrpc": "2.0", "id": 77, "result": 1}, ping(4)]).encode(), [[(4, OK)]], id="BAT-11"),
    pytest.param(b"[" * 100_000, [(None, -32700)], id="SEC-8 depth"),
    pytest.param(b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"x"}', [(None, -32600)], id="SEC-8 digits"),
]


@pytest.mark.parametrize(("sent", "answers"), CASES)
async def test_whatever_arrives_is_answered_by_rule_and_the_next_request_works(sent: bytes, answers: list[Any]) -> None:
    client = await started(agent_of(echo))
    count = len(client.messages)
    client.send(sent)
    client.send(ping("last"))
    await client.until(lambda: len(client.messages) == count + len(answers) + 1)
    found = [seen(message) for message in client.messages[count:]]
    assert found[-1] == ("last", OK)
    assert found[:-1] == [sorted(a, key=repr) if isinstance(a, list) else a for a in answers]
    await client.new_session()


async def test_an_agent_never_sends_batches_nor_params_that_are_null_bat_8_bat_13() -> None:
    """(users h): what has no params has none."""
    client: RawClient = await started(agent_of(echo))
    client.prompt(await client.new_session())
    await client.idle()
    assert all(isinstance(message, dict) for message in client.messages)
    assert "null" not in json.dumps([m for m in client.messages if "method" in m])
