"""What is in the file: long payloads once, deleted things gone, and no secret anywhere."""

# small files, and nobody else waits for this loop

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.sidecar.gen.messages import AcpRuntimeKind
from roost.sidecar.journal import ChangeSession, DeleteSession, Kind, OpenSession, StoredSession
from roost.sidecar.launch import AgentProgram, Launch
from roost.sidecar.redaction import redact_params, stored_launch
from roost.store.base import Retention, StoreLimits
from roost.store.sqlite import SqliteStore
from roost.store.sqlite_rows import cut
from tests.store.values import Clock, chunk, durable, entry, history, opened, prompt, turn, update

IMAGE = base64.b64encode(os.urandom(150_000)).decode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path)
    await store.open()
    yield store
    await store.close()


async def blobs(store: SqliteStore) -> list[tuple[int, int]]:
    """How long each is, and how often it is used."""
    return await store._call(
        lambda: store._writer.db.execute("SELECT length(data), uses FROM blobs ORDER BY id").fetchall()
    )


def image(number: int, message: str = "m", session_id: str = "s") -> Any:
    content = {"type": "image", "data": IMAGE, "mimeType": "image/png"}
    return update(
        number, session_id, sessionUpdate="agent_message_chunk", messageId=f"{message}{number}", content=content
    )


# --- long payloads ---


async def test_a_long_payload_is_stored_once_however_often_it_comes(store: SqliteStore) -> None:
    changes = [image(1), image(2), image(3, session_id="t"), prompt(4, "x" * 1_000)]
    await durable(store, opened(), opened("t"), *changes[:2], image(1, session_id="t"), entry(3), changes[3])
    assert await blobs(store) == [(len(IMAGE) + 2, 3)]
    assert (await history(store))[1].body == changes[1].entry.body


async def test_a_blob_goes_with_the_last_entry_that_has_it(store: SqliteStore) -> None:
    await durable(store, opened(), opened("t"), image(1), image(1, session_id="t"))
    await durable(store, DeleteSession("s"))
    await store.tidy()
    assert await blobs(store) == [(len(IMAGE) + 2, 1)]
    assert IMAGE.encode() in (await history(store, "t"))[0].body
    await durable(store, DeleteSession("t"))
    await store.tidy()
    assert await blobs(store) == []


async def test_retention_lets_go_of_blobs_too(path: Path) -> None:
    clock = Clock()
    store = SqliteStore(path, clock=clock, retention=Retention(max_age=10.0))
    await store.open()
    await durable(store, opened(), image(1), entry(2))
    clock.now += 20
    await store.tidy()
    assert await blobs(store) == []
    assert [one.kind for one in await history(store)] == [Kind.GAP]
    await store.close()


async def test_compaction_keeps_long_payloads_and_lets_go_of_what_it_merges(store: SqliteStore) -> None:
    whole = [{"type": "image", "data": IMAGE, "mimeType": "image/png"}, {"type": "text", "text": "y" * 80_000}]
    turns = [
        chunk(1, "z" * 90_000),
        update(2, sessionUpdate="agent_message", messageId="m", content=whole),
        chunk(3, "e" * 70_000),
        turn(4),
    ]
    await durable(store, opened(), *turns)
    assert len(await blobs(store)) == 4
    await store.tidy()
    merged, _ = await history(store)
    content = json.loads(merged.body)["params"]["update"]["content"]
    assert [block.get("data", block.get("text")) for block in content] == [IMAGE, "y" * 80_000, "e" * 70_000]
    assert sorted(await blobs(store)) == [(70_002, 1), (80_002, 1), (len(IMAGE) + 2, 1)]


async def test_a_body_of_many_short_strings_is_a_payload_by_itself(store: SqliteStore) -> None:
    body = json.dumps({"x": ["short"] * 20_000}).encode()
    await durable(store, opened(), entry(1, body=body), entry(2, body=body))
    assert await blobs(store) == [(len(body), 2)]
    assert [one.body for one in await history(store)] == [body, body]


@given(
    st.lists(
        st.one_of(st.binary(max_size=30), st.sampled_from([b'"', b"\\", b'\\"', b'"' + b"x" * 40 + b'"'])), max_size=12
    )
)
def test_what_is_cut_can_be_put_back(pieces: list[bytes]) -> None:
    body = b"".join(pieces)
    payloads, places, rest = cut(body, 20)
    whole, end = b"", 0
    for place, payload in zip(places, payloads, strict=True):
        whole += rest[end:place] + payload
        end = place
    assert whole + rest[end:] == body
    assert len(rest) <= 20
    assert all(len(payload) > 20 for payload in payloads)


async def test_bodies_of_any_size_around_the_bound_read_back(path: Path) -> None:
    store = SqliteStore(path, limits=StoreLimits(blob_bytes=1_000))
    await store.open()
    bodies = [b"x" * size for size in (999, 1_000, 1_001, 50_000)]
    bodies += [b'{"a":"%b","b":"%b"}' % (b"y" * size, b"z" * (size + 1)) for size in (400, 998, 999, 1_000, 9_000)]
    await durable(store, opened(), *(entry(number, body=body) for number, body in enumerate(bodies, 1)))
    assert [one.body for one in await history(store)] == bodies
    await store.close()


async def test_a_reader_that_comes_while_a_turn_is_compacted_is_waited_for(store: SqliteStore) -> None:
    await durable(store, opened(), *(chunk(number, "x") for number in range(1, 1_000)), turn(1_000))
    upkeep = store._writer._upkeep

    def compact_in_part() -> None:
        steps = upkeep.steps()
        next(steps)
        store._pins["s"] = 1
        for _ in steps:
            pass
        del store._pins["s"]

    await store._call(compact_in_part)
    assert upkeep.postponed
    assert len(await history(store)) == 1_000
    await store.tidy()
    assert len(await history(store)) == 2


async def test_a_pass_that_was_under_way_ends_when_everything_is_put_in_order_at_once(path: Path) -> None:
    clock = Clock()
    store = SqliteStore(path, clock=clock, retention=Retention(max_age=10.0), limits=StoreLimits(idle_grace=1_000.0))
    await store.open()
    await durable(store, opened(), *(chunk(number, "x") for number in range(1, 1_000)))
    clock.now += 15
    await durable(store, turn(1_000))
    writer = store._writer

    def begin() -> None:
        writer._steps = writer._upkeep.steps()
        for _ in range(4):
            next(writer._steps)

    await store._call(begin)
    await store.tidy()
    await store._call(writer._rest)
    mark, end = await history(store)
    assert (mark.kind, json.loads(mark.body)["last"], end.number) == (Kind.GAP, 999, 1_000)
    await store.close()


async def test_a_session_deleted_while_it_is_compacted_stays_deleted(store: SqliteStore) -> None:
    await durable(store, opened(), *(chunk(number, "x") for number in range(1, 1_000)), turn(1_000))
    steps = store._writer._upkeep.steps()
    await store._call(lambda: next(steps))
    await durable(store, DeleteSession("s"), opened(), entry(1))
    await store._call(lambda: list(steps))
    assert len(await history(store)) == 1


@pytest.mark.parametrize("steps_taken", range(1, 12, 2))
@pytest.mark.parametrize("version", [1, 2])
async def test_a_history_shows_the_same_at_every_step_of_its_compaction(
    store: SqliteStore, steps_taken: int, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.store.sqlite_upkeep._REMOVED_ROWS", 40)
    output = {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "eHk="}
    await durable(store, opened(version=version), update(1, **output), turn(2))
    await store.tidy()
    turns = [chunk(number, f"{number} ", f"m{number % 3}") for number in range(3, 150)]
    turns += [update(number, **output) for number in range(150, 250)]
    await durable(store, *turns, turn(250))
    before = texts(await history(store))
    steps = store._writer._upkeep.steps()
    for _ in range(steps_taken):
        await store._call(lambda: next(steps, None))
        assert texts(await history(store)) == before
    await store.tidy()  # begun again from what is there, as after a crash
    assert texts(await history(store)) == before
    assert len(await history(store)) <= (4 + 5 if version == 2 else 252)


def texts(entries: list[Any]) -> Any:
    """What the updates come to, in either version."""
    seen: dict[str, Any] = {}
    for one in entries:
        members = json.loads(one.body).get("params", {}).get("update", {})
        match members.get("sessionUpdate"):
            case "agent_message_chunk":
                key = members["messageId"]
                seen[key] = seen.get(key, "") + members["content"]["text"]
            case "agent_message" if "content" in members:
                seen[members["messageId"]] = "".join(block["text"] for block in members["content"])
            case "terminal_output_chunk":
                seen["t"] = seen.get("t", b"") + base64.b64decode(members["data"])
            case "terminal_update":
                seen["t"] = base64.b64decode(members["output"]["data"])
    return seen


# --- space ---


async def test_a_deleted_session_leaves_no_rows(store: SqliteStore) -> None:
    await durable(
        store, opened(), *(chunk(number, "x") for number in range(1, 2_000)), prompt(2_000, key="k"), turn(2_001)
    )
    await store.tidy()
    await durable(store, DeleteSession("s"))
    await store.tidy()
    tables = ("sessions", "progress", "entries", "blobs", "prompts", "subjects", "trash")
    counts = await store._call(
        lambda: [store._writer.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]
    )
    assert counts == [0] * len(tables)


async def test_space_that_is_free_is_given_back(store: SqliteStore, path: Path) -> None:
    body = {"x": "y" * 60_000}
    await durable(store, opened(), *(entry(number, body=body) for number in range(1, 500)))
    await store.tidy()
    assert path.stat().st_size > 30_000_000
    await durable(store, DeleteSession("s"))
    await store.tidy()
    await store.tidy()  # a log that others may still read is worked in the next time
    assert path.stat().st_size < 20_000_000
    assert store.stats().stored_bytes < 1_000_000


# --- secrets ---

SECRETS = [f"hunter2-{name}" for name in ("env", "base", "stdio", "http", "userinfo", "file", "terminal", "token")]


async def test_no_secret_of_a_launch_or_a_request_is_in_any_file(store: SqliteStore, path: Path) -> None:
    env, base, stdio, http, userinfo, file, terminal, token = SECRETS
    servers = [
        {"type": "stdio", "name": "a", "command": "/a", "args": [], "env": [{"name": "STDIO_KEY", "value": stdio}]},
        {"type": "http", "name": "b", "url": f"https://me:{userinfo}@h/", "headers": [{"name": "Auth", "value": http}]},
        {"name": "c", "token": token},
    ]
    launch = Launch(
        program=AgentProgram(agent_type="wren", entrypoint="wren", env={"BASE_KEY": base}),
        runtime=AcpRuntimeKind.PYTHON,
        cwd="/work",
        args=(),
        env={"ENV_KEY": env, "BASE_KEY": base},
        protocol_version=2,
        client_capabilities="{}",
        mcp_servers=json.dumps(servers),
        files=(("/tmp/x", file),),
    )
    stored = StoredSession(session_id="s", live_id="l", owner="me", launch=stored_launch(launch))
    params = redact_params(json.dumps({"command": "x", "env": [{"name": "T_KEY", "value": terminal}]}).encode())
    body = b'{"id":1,"method":"terminal/create","params":%b}' % params
    await durable(
        store,
        OpenSession(stored),
        entry(1, Kind.REQUEST, body),
        prompt(2, "my password is kept: opensesame"),
        ChangeSession("s", {"launch": stored_launch(launch)}),
    )

    def files() -> bytes:
        return b"".join(file.read_bytes() for file in path.parent.iterdir())

    for data in (files(), await store.tidy() or files()):
        assert all(name in data for name in (b"ENV_KEY", b"BASE_KEY", b"STDIO_KEY", b"Auth", b"T_KEY", b"opensesame"))
        assert [secret for secret in SECRETS if secret.encode() in data] == []
