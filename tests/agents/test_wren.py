"""Wren at work, as its client sees it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from roost.agents.wren.agent import HELP, new_wren
from roost.agents.wren.workspace import Problem, Workspace, todo_in
from roost.sdk.store_directory import DirectorySessionStore
from tests.agents.bird import wren_in
from tests.sdk.raw_client import Json, initialize_params, started


async def test_todo_makes_a_plan_of_the_comments_and_goes_through_it(nest: Path) -> None:
    bird = await wren_in(nest)
    said = await bird.do("todo")
    plans = [[(e["content"], e["status"]) for e in u["plan"]["entries"]] for u in bird.client.updates("plan_update")]
    assert [content for content, _ in plans[0]] == [
        "README.md:5 say how to build one",
        "nest/__main__.py:8 take fractions of an inch, too",
        "nest/birds.py:7 starlings need 45",
        "nest/birds.py:13 a bird never uses an entrance much larger than it needs",
    ]
    assert [status for _, status in plans[0]] == ["pending"] * 4
    assert [status for _, status in plans[-1]] == ["completed"] * 4
    assert len(plans) == 9
    assert said.startswith("4 TODO comments found.\n- README.md:5 ")
    tools = bird.tools()
    assert [t["status"] for t in tools] == ["completed"] * 5
    assert tools[3]["title"] == "Read nest/birds.py:7"
    assert tools[3]["locations"] == [{"path": str(nest / "nest/birds.py"), "line": 7}]
    assert bird.asked == []


async def test_the_same_prompt_in_the_same_place_gives_the_same_stream(nest: Path) -> None:
    streams = []
    for _ in range(2):
        bird = await wren_in(nest)
        await bird.do("todo\nfind tit\nread check.sh")
        streams.append([u for u in bird.client.updates() if "updatedAt" not in u])
    assert streams[0] == streams[1]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("# TODO: a", "a"),
        ("x = 1  # TODO a", "a"),
        ("// TODO(me): a b ", "a b"),
        ("/* TODO: a */", "a"),
        (" * TODO a", "a"),
        ("<!-- TODO: a -->", "a"),
        ("-- TODO a", "a"),
        ("# TODO", "something"),
        ("# TODOS are no TODO", "something"),
        ("todo = 'TODO'", None),
        ("# TODOS", None),
        ("# todo", None),
    ],
)
def test_what_counts_as_a_todo_comment(line: str, text: str | None) -> None:
    assert todo_in(line) == text


async def test_todo_skips_version_control_binaries_links_and_large_files(tmp_path: Path) -> None:
    (tmp_path / "w" / ".git").mkdir(parents=True)
    folder = tmp_path / "w"
    (folder / ".git" / "x.py").write_text("# TODO: git")
    (folder / "binary").write_bytes(b"# TODO: binary\n\0")
    (folder / "latin1").write_bytes(b"# TODO: latin \xe9\n")
    (folder / "large.py").write_text("# TODO: large\n" + "x" * (1024 * 1024))
    (tmp_path / "outside.py").write_text("# TODO: outside")
    (folder / "link.py").symlink_to(tmp_path / "outside.py")
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    bird = await wren_in(folder)
    assert await bird.do("todo") == "There is nothing to do here: no TODO comments.\n"


async def test_a_long_list_is_shown_in_part_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# TODO: x\n" * 300)
    bird = await wren_in(tmp_path)
    said = await bird.do("todo")
    assert "200 TODO comments found." in said
    assert said.endswith("- and 180 more\n")
    assert len(bird.client.updates("plan_update")[0]["plan"]["entries"]) == 20


async def test_find_says_where_a_text_is(nest: Path) -> None:
    bird = await wren_in(nest)
    assert await bird.do("find great tit") == "'great tit' is on 1 line in 1 file.\n"
    assert await bird.do("find no such bird") == "'no such bird' is on 0 lines in 0 files.\n"
    tool = bird.tools()[0]
    assert (tool["kind"], tool["locations"]) == ("search", [{"path": str(nest / "nest/birds.py"), "line": 5}])
    content = bird.client.updates("tool_call_content_chunk")[0]["content"]["content"]["text"]
    assert content == 'nest/birds.py:5: "great tit": 32,'


async def test_read_shows_a_file(nest: Path) -> None:
    bird = await wren_in(nest)
    assert await bird.do("read check.sh") == "check.sh has 6 lines.\n"
    assert bird.client.updates("tool_call_content_chunk")[0]["content"]["content"]["text"].startswith("#!/bin/sh")
    assert bird.asked == []


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nothing.txt", "does not exist"),
        ("nest", "Is a directory"),
        ("../outside", "outside the workspace"),
        ("/etc/passwd", "outside the workspace"),
        ("way/out", "outside the workspace"),
        ("binary", "is not text"),
        ("~/x", "outside the workspace"),
    ],
)
async def test_what_cannot_be_read_is_said(nest: Path, path: str, why: str) -> None:
    (nest / "way").symlink_to("/etc")
    (nest / "binary").write_bytes(b"\0")
    bird = await wren_in(nest)
    assert why in await bird.do(f"read {path}\nsay still here")
    assert bird.client.said().endswith("still here\n")
    assert all(tool["status"] == "failed" for tool in bird.tools())


async def test_run_streams_a_command_in_a_terminal_and_says_how_it_ended(nest: Path) -> None:
    bird = await wren_in(nest)
    said = await bird.do("run ./check.sh")
    assert said == "./check.sh ended with 0.\n"
    lines = bird.output().decode().splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        f"an entrance of {size} mm lets in {count} kinds of birds"
        for size, count in ((26, 1), (32, 2), (35, 3), (45, 3))
    ]
    (asked,) = bird.asked
    call = bird.tools()[0]
    assert asked["subject"] == {
        "type": "command",
        "command": "./check.sh",
        "cwd": str(nest),
        "toolCallId": call["toolCallId"],
    }
    terminal = bird.client.updates("terminal_update")
    assert terminal[0]["command"] == "./check.sh"
    assert terminal[-1]["exitStatus"] == {"exitCode": 0}
    assert (call["kind"], call["status"]) == ("execute", "completed")
    assert await bird.do("run exit 3") == "exit 3 ended with 3.\n"
    assert bird.tools()[-1]["status"] == "failed"
    assert await bird.do("run kill -9 $$") == "kill -9 $$ was ended by SIGKILL.\n"


async def test_cancel_kills_what_runs_at_once(nest: Path) -> None:
    bird = await wren_in(nest)
    bird.client.prompt(bird.session, "run echo $$; sleep 60 & sleep 60\nsay never")
    await bird.client.until(lambda: bird.output().endswith(b"\n"))
    bird.client.cancel(bird.session)
    idle = await bird.client.idle()
    assert idle["stopReason"] == "cancelled"
    assert bird.client.said() == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(bird.output()), 0)
    assert bird.client.updates("terminal_update")[-1]["exitStatus"] == {"signal": "SIGKILL"}
    assert bird.tools()[-1]["status"] == "cancelled"


async def test_a_cancelled_plan_says_so(nest: Path) -> None:
    bird = await wren_in(nest)
    bird.client.prompt(bird.session, "todo")
    await bird.client.until(lambda: len(bird.client.updates("plan_update")) > 1)
    bird.client.cancel(bird.session)
    await bird.client.idle()
    last = bird.client.updates("plan_update")[-1]["plan"]["entries"]
    if bird.client.states()[-1] == "idle:cancelled":
        assert {e["status"] for e in last} <= {"completed", "cancelled"}


async def test_say_and_think_do_what_they_say(nest: Path) -> None:
    bird = await wren_in(nest)
    assert await bird.do("think hm\nsay hello\nsay you") == "hello\nyou\n"
    assert [u["content"]["text"] for u in bird.client.updates("agent_thought_chunk")] == ["hm\n"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"action": "accept", "content": {"answer": "42"}}, "Why? 42\n"),
        ({"action": "accept", "content": {}}, "Why? There was no answer.\n"),
        ({"action": "decline"}, "Why? There was no answer.\n"),
    ],
)
async def test_ask_asks_by_a_form(nest: Path, answer: Json, said: str) -> None:
    bird = await wren_in(nest, capabilities={"elicitation": {"form": {}}})
    bird.client.answers["elicitation/create"] = lambda params: answer
    assert await bird.do("ask Why?") == said


@pytest.mark.parametrize(
    ("option", "said"), [("yes", "Now? Yes\n"), ("no", "Now? No\n"), ("x", "Now? There was no answer.\n")]
)
async def test_ask_asks_by_yes_and_no_where_there_are_no_forms(nest: Path, option: str, said: str) -> None:
    assert await (await wren_in(nest, option)).do("ask Now?") == said


@pytest.mark.parametrize("text", ["hello", "what can you do?", "/help", "  \n "])
async def test_anything_else_is_answered_with_what_it_can_do_once(nest: Path, text: str) -> None:
    assert await (await wren_in(nest)).do(f"{text}\n{text}") == HELP


async def test_what_lacks_something_is_told_what(nest: Path) -> None:
    said = await (await wren_in(nest)).do("read\nsay next")
    assert said == "read needs a path: read PATH.\nnext\n"


async def test_title_usage_commands_and_settings_are_told(nest: Path) -> None:
    client = await started(new_wren())
    result = await client.call("session/new", {"cwd": str(nest)})
    assert [o["configId"] for o in result["configOptions"]] == ["detail"]
    await client.until(lambda: client.updates("available_commands_update"))
    commands = client.updates("available_commands_update")
    assert len(commands) == 1
    assert [c["name"] for c in commands[0]["availableCommands"]] == ["todo", "find", "read", "run", "help"]
    client.prompt(result["sessionId"], "say hello\nsay you")
    idle = await client.idle()
    assert client.updates("session_info_update")[0]["title"] == "say hello"
    assert client.updates("usage_update")[0] == {"sessionUpdate": "usage_update", "used": 27, "size": 1_000_000}
    assert idle["usage"] == {"totalTokens": 27, "inputTokens": 17, "outputTokens": 10}


async def test_less_detail_is_less_to_see(nest: Path) -> None:
    bird = await wren_in(nest)
    await bird.client.call(
        "session/set_config_option",
        {"type": "id", "sessionId": bird.session, "configId": "detail", "value": "brief"},
    )
    await bird.do("todo")
    assert len(bird.client.updates("tool_call_content_chunk")) == 1


async def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    client = await started(new_wren())
    for params in ({"cwd": str(tmp_path / "no")}, {"cwd": "/", "additionalDirectories": [str(tmp_path / "no")]}):
        error = await client.error("session/new", params)
        assert error["code"] == -32602
        assert "is not a directory" in error["message"]


async def test_a_session_goes_on_in_another_process(nest: Path, tmp_path: Path) -> None:
    store = tmp_path / "sessions"
    client = await started(new_wren(DirectorySessionStore(store)))
    session = await client.new_session(cwd=str(nest))
    client.prompt(session, "say hello")
    await client.idle()
    client.close()
    again = await started(new_wren(DirectorySessionStore(store)))
    await again.call("session/resume", {"sessionId": session, "cwd": str(nest), "replayFrom": {"type": "start"}})
    assert [u["content"][0]["text"] for u in again.updates("agent_message")] == ["hello\n"]
    again.prompt(session, "say again")
    await again.idle()
    assert again.updates("usage_update")[-1]["used"] > again.updates("usage_update")[0]["used"]


def test_the_program_answers_and_ends() -> None:
    messages = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params()})
    command = [sys.executable, "-P", "-m", "roost.agents.wren"]
    done = subprocess.run(command, input=messages.encode(), capture_output=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'"name":"wren"' in done.stdout
    assert subprocess.run([*command, "--help"], capture_output=True, timeout=20).stdout.startswith(b"usage:")
    assert subprocess.run([*command, "--nonsense"], capture_output=True, timeout=20).returncode == 2


def test_a_workspace_knows_its_bounds(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    workspace = Workspace([str(folder)])
    (folder / "big").write_bytes(b"x" * (4 * 1024 * 1024 + 1))
    with pytest.raises(Problem, match="more than"):
        workspace.read(str(folder / "big"))
    with pytest.raises(Problem, match="outside"):
        workspace.path(str(tmp_path / "w2"))
    assert workspace.path(".") == str(folder)


async def test_a_cancelled_search_stops_looking(tmp_path: Path) -> None:
    for n in range(200):
        (tmp_path / f"{n}.txt").write_text("x")
    looked: list[str] = []
    wanted = iter([True] * 5 + [False] * 500)
    await asyncio.to_thread(Workspace([str(tmp_path)]).search, lambda line: looked.append(line), lambda: next(wanted))
    assert len(looked) == 5
