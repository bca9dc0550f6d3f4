"""The recordings hold nothing but the shape of conversations: no words, no machine, no secret."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.replay.recording import agents, runs, text_of
from tools.take_recordings import filler, main, neutral_path, packed, without_prose

FORBIDDEN = {
    "a home or a folder of some machine": r"/(home|root|Users|tmp|var|opt|usr|etc|sandbox|work|private)/",
    "an address": r"[a-z]+://[^/\s\"]*[b-df-np-z]",
    "a registry": r"npmjs|pypi|debian|githubusercontent|\.(com|org|io|net|dev)\b",
    "a mail address": r"[\w.]+@[\w-]+\.\w",
    "a key": r"sk-[\w-]{8}|ghp_|Bearer |BEGIN [A-Z ]*KEY|(?i:secret|passw|token)\w*\"?:\s*\"[^\"]",
}
SIZE_LIMIT = 256_000  # bytes of all of them, as they are kept


@pytest.mark.parametrize("agent", agents())
@pytest.mark.parametrize("what", FORBIDDEN)
def test_a_recording_holds_nothing_that_is_somebodys(agent: str, what: str) -> None:
    found = re.findall(FORBIDDEN[what], text_of(agent))
    assert not found, f"{what}: {found[:5]}"


@pytest.mark.parametrize("agent", agents())
def test_no_text_in_a_recording_can_be_read(agent: str) -> None:
    """Whoever takes recordings again gets the same: nothing is left to take out."""
    for line in text_of(agent).split("\n"):
        if line[:3] in ("< {", "> {"):
            message = json.loads(line[2:])
            assert without_prose(message) == message


def test_the_recordings_are_small_and_all_there() -> None:
    sizes = [path.stat().st_size for path in (Path(__file__).parent / "recordings").iterdir()]
    assert sum(sizes) < SIZE_LIMIT
    assert len(runs()) > 200
    assert {run.dialect for run in runs()} == {0, 1, 2}


@pytest.mark.parametrize(
    "text",
    ["", "plain", "Grüße, 世界! 🦉\n\ttab", 'quote " and \\ and \x1b[0m', "user@example.com 4711", "/srv/me/x.py"],
)
def test_filler_has_the_length_and_the_shape_of_what_it_stands_for(text: str) -> None:
    made = filler(text)
    assert len(made.encode()) == len(text.encode())
    assert len(json.dumps(made, ensure_ascii=False)) == len(json.dumps(text, ensure_ascii=False))
    assert re.sub(r"\S", "x", made) == re.sub(r"\S", "x", text)
    assert filler(made) == made
    assert filler(text[:3]) + filler(text[3:]) == made  # so that chunks still make the text they made
    assert not set("bcdfghijklmnpqrstuvwxyz@3456789") & set(made)


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/workspace/hello.txt", "/workspace/hello.txt"),
        ("rel/dir", "rel/dir"),
        ("/srv/me/plan.md", "/workspace/aoae.aa"),
        ("/tmp/x1", "/workspace"),
        ("a name with spaces", "a eaae eoee aaaoea"),
    ],
)
def test_paths_become_neutral_and_stay_paths(path: str, kept: str) -> None:
    assert neutral_path(path) == kept


def test_ids_and_kinds_stay_and_what_an_agent_keeps_to_itself_goes() -> None:
    message = {
        "id": "req-7",
        "method": "session/update",
        "params": {
            "sessionId": "s-1",
            "update": {
                "sessionUpdate": "tool_call",
                "toolCallId": "t1",
                "kind": "edit",
                "title": "Edit",
                "rawInput": {"path": "/srv/me/x", "/srv/me": 1},
                "_meta": {"kind": "private"},
            },
        },
    }
    kept: Any = without_prose(message)
    update = kept["params"]["update"]
    assert (kept["id"], kept["method"], update["kind"], update["toolCallId"]) == (
        "req-7",
        "session/update",
        "edit",
        "t1",
    )
    assert update["title"] == filler("Edit")
    assert update["rawInput"] == {"path": filler("/srv/me/x"), filler("/srv/me"): 1}
    assert update["_meta"] == {"kind": filler("private")}


def test_taking_recordings_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    source, one, two = (tmp_path / name for name in ("source", "one", "two"))
    source.mkdir()
    hello: dict[str, Any] = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": 0, "result": {"agentInfo": {"name": "a", "version": "1"}}}
    recorded = [
        {"dir": "note", "note": "start"},
        {"dir": "c2a", "msg": hello},
        {"dir": "stderr", "raw": "words"},
        {"dir": "a2c", "msg": answer},
        {"dir": "a2c", "raw": "Logging in..."},
    ]
    (source / "some-agent-text.ndjson").write_text("".join(json.dumps(each) + "\n" for each in recorded))
    (source / "client-other-some-agent.ndjson").write_text(json.dumps(hello) + "\n" + json.dumps(answer) + "\n")
    for target in (one, two):
        assert main([str(source), str(target)]) == 0
    names = sorted(path.name for path in one.iterdir())
    assert names == ["other.wire.xz", "some-agent.wire.xz"]
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in names)
    text = f"= text\n+\n> {json.dumps(hello, separators=(',', ':'))}\n< {json.dumps(answer, separators=(',', ':'))}\n"
    assert (one / "some-agent.wire.xz").read_bytes() == packed(f"{text}< {filler('Logging in...')}\n")
