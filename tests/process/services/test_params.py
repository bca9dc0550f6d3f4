"""What a request's params have to be, and what is said when they are not."""

from __future__ import annotations

import signal

import pytest

from roost.errors import RpcError
from roost.process.services.params import Params


def refusal(read, value, method="fs/read") -> str:
    with pytest.raises(RpcError) as caught:
        read(Params(method, value))
    assert caught.value.code == -32602
    return caught.value.message


@pytest.mark.parametrize("value", [None, [], "x", 1, True])
def test_params_have_to_be_an_object(value):
    assert refusal(lambda params: params, value) == "fs/read requires object params"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "fs/read requires a string path"),
        ({"path": None}, "fs/read requires a string path"),
        ({"path": 1}, "fs/read requires a string path"),
        ({"path": ["/a"]}, "fs/read requires a string path"),
        ({"path": "/a\ud800"}, "fs/read requires a string path"),
        ({"path": ""}, "fs/read requires an absolute path: "),
        ({"path": "a/b"}, "fs/read requires an absolute path: a/b"),
        ({"path": "file:///a"}, "fs/read requires an absolute path: file:///a"),
        ({"path": "/a\0b"}, "fs/read requires a path without NUL characters"),
    ],
)
def test_a_path_is_an_absolute_string(value, text):
    assert refusal(lambda params: params.path(), value) == text


def test_a_long_text_of_the_agents_is_not_repeated_whole():
    assert len(refusal(lambda params: params.path(), {"path": "a" * 100_000})) < 300


@pytest.mark.parametrize("value", [-1, 1.5, 1.0, "1", True, 2**63, [], {}])
def test_a_count_is_a_whole_number(value):
    assert refusal(lambda params: params.count("line"), {"line": value}) == (
        "fs/read requires line to be a whole number of at least 0"
    )


@pytest.mark.parametrize(("value", "count"), [({}, None), ({"line": None}, None), ({"line": 0}, 0), ({"line": 7}, 7)])
def test_a_count_may_be_left_out(value, count):
    assert Params("fs/read", value).count("line") == count


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ({"content": "zwölf"}, "zwölf".encode()),
        ({"content": ""}, b""),
        ({"content": "/wA=", "encoding": "base64"}, b"\xff\x00"),
        ({"content": "a", "encoding": None}, b"a"),
        ({"content": "a", "encoding": "utf-8"}, b"a"),
        ({"content": "a", "encoding": "utf8"}, b"a"),
    ],
)
def test_content_is_text_or_base64(value, content):
    assert Params("fs/write", value).content("content") == content


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"content": 1},
        {"content": "\udc80"},
        {"content": "no base64", "encoding": "base64"},
        {"content": "/wA", "encoding": "base64"},
        {"content": "a", "encoding": "latin-1"},
        {"content": "a", "encoding": ["base64"]},
        {"content": "a", "encoding": False},
    ],
)
def test_content_that_is_neither_is_refused(value):
    assert refusal(lambda params: params.content("content"), value).startswith("fs/read ")


@pytest.mark.parametrize(
    ("value", "variables"),
    [
        ({}, {}),
        ({"env": None}, {}),
        ({"env": {}}, {}),
        ({"env": []}, {}),
        ({"env": {"A": "1", "B": ""}}, {"A": "1", "B": ""}),
        ({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}, {"A": "2"}),
    ],
)
def test_an_environment_is_an_object_or_a_list_of_names_and_values(value, variables):
    assert Params("terminal/create", value).environment("env") == variables


@pytest.mark.parametrize(
    "env",
    [
        "A=1",
        ["A=1"],
        [{"name": "A"}],
        [{"value": "A"}],
        {"A": 1},
        {"A": None},
        {"": "x"},
        {"A=B": "x"},
        {"A": "x\0y"},
        {"A\0": "x"},
        {"A": "\ud800"},
    ],
)
def test_an_environment_that_no_program_could_be_given_is_refused(env):
    assert "env" in refusal(lambda params: params.environment("env"), {"env": env})


@pytest.mark.parametrize("args", ["x", [1], ["a\0b"], [None], {"0": "a"}, ["\ud800"]])
def test_arguments_are_a_list_of_strings(args):
    assert "args" in refusal(lambda params: params.words("args"), {"args": args})


@pytest.mark.parametrize("command", [None, "", "a\0b", 1, ["ls"]])
def test_a_command_is_a_string_that_is_not_empty(command):
    assert "command" in refusal(lambda params: params.word("command"), {"command": command})


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ({}, None),
        ({"signal": None}, None),
        ({"signal": 0}, 0),
        ({"signal": 15}, signal.SIGTERM),
        ({"signal": 31}, 31),
        ({"signal": "SIGINT"}, signal.SIGINT),
        ({"signal": "INT"}, signal.SIGINT),
    ],
)
def test_a_signal_is_a_number_or_a_name(value, number):
    assert Params("terminal/kill", value).signal("signal") == number


@pytest.mark.parametrize("value", [-1, 32, 9.0, True, "SIGNOTHING", "__class__", "", [9]])
def test_anything_else_is_no_signal(value):
    assert "signal" in refusal(lambda params: params.signal("signal"), {"signal": value})
