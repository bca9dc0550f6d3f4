"""The ways of agents in the field, each where it was recorded, and that a client of v2 does not notice them.

They are numbered as everywhere in the tests. What no recording can show, since it is about processes or about agents
that were not recorded, is tested elsewhere: the table says where.
"""

from __future__ import annotations

import ast
from pathlib import Path
from random import Random
from typing import Any

import pytest

from roost.process.services.commands import SHELL, resolve
from roost.sidecar.permissions import outcome
from roost.wire.decode import encode
from tests.acp.bridge.rig import AgentRig, chunk, opened
from tests.replay.bridge_play import BridgePlay, ShownSession
from tests.replay.client_play import ClientPlay
from tests.replay.compared import texts
from tests.replay.recording import Json, Line, run_named
from tests.replay.sidecar_play import SidecarPlay

ROOT = Path(__file__).parents[2]
ELSEWHERE = {
    7: ("tests/sidecar/test_services.py", "test_an_agents_quirk_says_how_a_missing_file_is_read"),
    10: ("tests/sidecar/test_quirks.py", "test_an_agent_never_gets_a_batch"),
    11: ("tests/sidecar/test_quirks.py", "test_the_end_of_its_input_gets_its_own_time"),
    12: ("tests/process/test_endings.py", "test_a_stopped_tree_is_closed_like_any_other"),
    18: ("tests/process/test_local.py", "test_a_flood_on_stderr_neither_blocks_the_agent_nor_stays_in_memory"),
}


def played(name: str, seed: int = 1) -> BridgePlay:
    return BridgePlay(run_named(name), Random(seed))


def shown(play: BridgePlay) -> ShownSession:
    """The one session there is."""
    [session] = play.sessions.values()
    return session


def lines(name: str, *, from_agent: bool = True) -> list[Json]:
    found: list[Line] = [line for line in run_named(name).lines if line.from_agent is from_agent]
    return [line.message for line in found if line.message is not None]


def updates(name: str) -> list[Json]:
    return [message["params"]["update"] for message in lines(name) if message.get("method") == "session/update"]


def permissions(name: str) -> list[Json]:
    return [message for message in lines(name) if message.get("method") == "session/request_permission"]


@pytest.mark.parametrize("quirk", ELSEWHERE)
def test_what_no_recording_shows_is_tested_elsewhere(quirk: int) -> None:
    path, name = ELSEWHERE[quirk]
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_quirk_1_what_is_said_of_a_session_before_its_answer_is_told_behind_it() -> None:
    first, second = lines("vibe-new")[1:3]
    assert (first.get("method"), "sessionId" in second.get("result", {})) == ("session/update", True)
    play = played("vibe-new")
    told = [message for message in play.to_client if message.get("method") == "session/update"]
    [opening] = [message for message in play.to_client if "sessionId" in message.get("result", {})]
    assert play.to_client.index(opening) < play.to_client.index(told[0])
    assert shown(play).view.usage is not None
    assert "early_update" not in play.bridge.losses.counts


@pytest.mark.parametrize(("name", "id"), [("gemini-tools", 0), ("agentao-tools", "srv_")])
def test_quirk_2_an_agents_ids_are_its_own_whatever_they_are(name: str, id: Any) -> None:
    play = played(name)
    ids = [message["id"] for message in lines(name) if "method" in message and "id" in message]
    assert ids
    assert all(each in (0, 1, 2, 3) if id == 0 else each.startswith(id) for each in ids)
    assert sorted(map(repr, play.outcomes)) == sorted(map(repr, ids))
    assert shown(play).stops == ["end_turn"] * len(shown(play).stops)


@pytest.mark.parametrize("name", ["gemini-tools", "qwen-tools"])
def test_quirk_3_a_tool_call_may_first_be_heard_of_in_its_permission(name: str) -> None:
    announced = {update["toolCallId"] for update in updates(name) if update["sessionUpdate"] == "tool_call"}
    asked = {message["params"]["toolCall"]["toolCallId"] for message in permissions(name)}
    assert asked - announced
    calls = shown(played(name)).view.tool_calls
    assert all(calls[identifier].title and calls[identifier].status == "completed" for identifier in asked)


def test_quirk_4_a_tool_call_that_is_announced_twice_is_one() -> None:
    announced = [each["toolCallId"] for each in updates("claude-zed-tools") if each["sessionUpdate"] == "tool_call"]
    assert len(announced) > len(set(announced))
    calls = shown(played("claude-zed-tools")).view.tool_calls
    assert list(calls) == list(dict.fromkeys(announced))


def test_quirk_5_a_permission_about_an_id_alone_has_the_calls_title_and_its_option_is_found_by_kind() -> None:
    [request, *_] = permissions("vibe-tools")
    params = request["params"]
    assert set(params["toolCall"]) <= {"toolCallId", "_meta"}
    kinds = [option["kind"] for option in params["options"]]
    assert len(kinds) > len(set(kinds)), "two of a kind"
    play = played("vibe-tools")
    [asked, *_] = [each for each in play.to_client if each.get("method") == "session/request_permission"]
    call = shown(play).view.tool_calls[params["toolCall"]["toolCallId"]]
    assert asked["params"]["title"] == call.title != ""
    once = next(option["optionId"] for option in params["options"] if option["kind"] == "allow_once")
    assert outcome("once", encode(params)) == encode({"outcome": {"outcome": "selected", "optionId": once}})


def test_quirk_6_traffic_of_vendors_is_passed_on_refused_or_let_go() -> None:
    """With an underscore it is an extension; without, a method nobody knows."""
    play = played("codex-acp2-new")
    assert [each["method"] for each in play.to_client if each.get("method", "").startswith("_")] == [
        "_auth/status_update"
    ]
    rig = opened()
    rig.request("q1", "craft/drainMidTurnQueue", {})
    rig.south_sends({"method": "qwen/notify/session/x", "params": {}})
    [refused] = rig.south()
    assert (refused["id"], refused["error"]["code"]) == ("q1", -32601)
    assert rig.north() == []


def test_quirk_7_a_missing_file_is_an_error_to_the_agent_that_gives_up_and_empty_to_the_one_that_goes_on() -> None:
    statuses = [call.status for call in shown(played("gemini-tools")).view.tool_calls.values()]
    kinder = [call.status for call in shown(played("gemini-tools_missing_file_is_empty")).view.tool_calls.values()]
    assert statuses.count("failed") > kinder.count("failed") == 0


def test_quirk_8_a_command_without_arguments_is_a_line_for_the_shell(tmp_path: Path) -> None:
    [command, *_] = [each["params"] for each in lines("claude-zed-tools") if each.get("method") == "terminal/create"]
    assert " > " in command["command"]
    assert "args" not in command
    resolved = resolve("echo hi > f && cat f", (), cwd=str(tmp_path), base_env={"PATH": "/usr/bin:/bin"}, env={})
    assert (resolved.program, resolved.args) == (SHELL, ("-c", "echo hi > f && cat f"))


def test_quirk_8_a_terminal_that_is_released_while_its_end_is_waited_for_answers_both() -> None:
    play = played("claude-zed-cancel")
    asked = {
        message["id"]: message["method"]
        for message in lines("claude-zed-cancel")
        if "id" in message and message.get("method", "").startswith("terminal/")
    }
    assert {"terminal/wait_for_exit", "terminal/release"} <= set(asked.values())
    assert all("result" in play.outcomes[id] for id in asked)


async def test_quirk_9_what_is_no_json_is_passed_over() -> None:
    assert [line.text for line in run_named("openhands-text").lines if line.from_agent and line.message is None]
    play = ClientPlay(run_named("openhands-text"), Random(1))
    await play.play()
    assert play.agent.is_over


@pytest.mark.parametrize("name", ["agentao-errors", "codex-acp2-errors"])
def test_quirk_9_an_error_about_nothing_answers_nothing(name: str) -> None:
    assert [message for message in lines(name) if "error" in message and message["id"] is None]
    play = played(name)
    assert play.bridge.losses.counts["late_answer"] >= 1
    assert any(session.stops for session in play.sessions.values())


def test_quirk_10_a_clients_batch_is_taken_apart() -> None:
    """Agents die of one"""
    rig = opened({"sessionCapabilities": {"list": {}}})
    batch = [{"jsonrpc": "2.0", "id": id, "method": "session/list", "params": {}} for id in (900, 901)]
    rig.bridge.from_north(encode(batch), rig.now)
    assert [message["method"] for message in rig.south()] == ["session/list", "session/list"]


@pytest.mark.parametrize("name", ["gemini-errors", "agentao-errors", "claude-acp-errors"])
def test_quirk_13_a_second_prompt_waits_whatever_the_agent_would_make_of_it(name: str) -> None:
    """One cancels the first, one refuses the second, one finishes both."""
    play = played(name)
    open_turns = 0
    for sign, message in play.agent.log:
        if sign == ">" and message.get("method") == "session/prompt":
            open_turns += 1
            assert open_turns == 1
        elif sign == "<" and ("stopReason" in message.get("result", {}) or is_answer_to_prompt(play, message)):
            open_turns -= 1
    assert len(shown(play).stops) >= 2


def is_answer_to_prompt(play: BridgePlay, message: Json) -> bool:
    prompts = [each["id"] for sign, each in play.agent.log if sign == ">" and each.get("method") == "session/prompt"]
    return "error" in message and message["id"] in prompts


@pytest.mark.parametrize(
    ("name", "code"), [("gemini-errors", 400), ("claude-acp-errors", -32603), ("agentao-errors", -32603)]
)
def test_quirk_14_a_model_that_fails_is_a_turn_that_fails(name: str, code: int) -> None:
    assert code in [message["error"]["code"] for message in lines(name) if "error" in message]
    play = played(name)
    assert shown(play).stops[0] == "_error"
    [idle, *_] = [
        each["params"]["update"]
        for each in play.to_client
        if each.get("method") == "session/update" and each["params"]["update"].get("state") == "idle"
    ]
    assert idle["_meta"]["_bridge"]["code"] == code


@pytest.mark.parametrize("agent", ["gemini", "agentao", "claude-acp", "vibe", "ts-agent"])
def test_quirk_15_a_session_that_is_unknown_has_one_code(agent: str) -> None:
    """Each agent has its own: -32600, -32602, -32603"""
    play = played(f"{agent}-errors")
    answers = [
        answer
        for request, answer in play.answers
        if request["method"] == "session/prompt" and request["params"].get("sessionId") == "nope"
    ]
    assert [answer["error"]["code"] for answer in answers] == [-32002]


@pytest.mark.parametrize("name", ["agentao-config", "vibe-config", "gemini-config", "claude-acp-config"])
def test_quirk_16_a_mode_that_is_not_offered_does_not_reach_the_agent(name: str) -> None:
    """Some would take it silently."""
    wanted = [each for each in lines(name, from_agent=False) if each.get("params", {}).get("modeId") == "no-such-mode"]
    assert wanted
    play = played(name)
    [answer] = [answer for request, answer in play.answers if request["params"].get("modeId") == "no-such-mode"]
    assert answer["error"]["code"] == -32602
    assert "no-such-mode" not in str(play.to_agent)


@pytest.mark.parametrize(("name", "turns"), [("gemini-config", 0), ("gptme-new", 0)])
def test_quirk_16_text_outside_of_a_turn_is_a_message_and_no_turn(name: str, turns: int) -> None:
    session = shown(played(name))
    assert texts(session.view, "agent_message")
    assert len(session.stops) == turns
    assert session.view.state is None


@pytest.mark.parametrize(
    ("name", "members", "options"),
    [
        ("gemini-new", {"modes", "models"}, {"mode", "model"}),
        ("claude-acp-new", {"modes", "configOptions"}, {"mode", "model"}),
        ("claude-zed-new", {"modes", "models"}, {"mode", "model"}),
        ("qwen-new", {"modes", "models", "configOptions"}, {"mode", "model"}),
    ],
)
def test_quirk_17_modes_models_and_options_are_options(name: str, members: set[str], options: set[str]) -> None:
    [opening] = [message["result"] for message in lines(name) if "sessionId" in message.get("result", {})]
    assert members <= set(opening)
    categories = [option.category for option in shown(played(name)).view.config_options]
    assert options <= set(categories)
    assert all(categories.count(category) == 1 for category in options), "none of them twice"


CANCELS = ["agentao", "claude-acp", "claude-zed", "codex-acp", "gemini", "vibe", "ts-agent"]


@pytest.mark.parametrize("agent", CANCELS)
def test_quirk_19_a_cancelled_turn_ends_as_one(agent: str) -> None:
    """One ends it with end_turn while a permission is open."""
    play = played(f"{agent}-cancel")
    reasons = [
        message["result"]["stopReason"]
        for message in lines(f"{agent}-cancel")
        if "stopReason" in message.get("result", {})
    ]
    stops = shown(play).stops
    assert len(stops) == len(reasons)
    assert stops.count("cancelled") == len(
        [each for each in lines(f"{agent}-cancel", from_agent=False) if each.get("method") == "session/cancel"]
    )
    if agent == "ts-agent":
        assert reasons.count("cancelled") < stops.count("cancelled")


def test_quirk_20_a_prompt_that_is_echoed_is_shown_once() -> None:
    prompts = [
        each["params"]["prompt"][0]["text"]
        for each in lines("vibe-text", from_agent=False)
        if each.get("method") == "session/prompt"
    ]
    echoes = [update for update in updates("vibe-text") if update["sessionUpdate"] == "user_message_chunk"]
    assert len(echoes) == len(prompts)
    play = played("vibe-text")
    assert texts(shown(play).view, "user_message") == "".join(prompts)
    assert play.bridge.losses.counts["user_echo"] == len(prompts)


def test_a_fork_that_replays_before_it_answers_is_shown_whole() -> None:
    """quirk 1"""
    rig = AgentRig()
    rig.initialize({"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"fork": {}}}, "agentInfo": {}})
    rig.new()
    rig.ask("session/fork", {"sessionId": "s1", "cwd": "/work"})
    fork = rig.asked()
    rig.update("s2", chunk("past"))
    assert rig.north() == []
    rig.reply(fork["id"], {"sessionId": "s2"})
    answer, update = rig.north()
    assert answer["result"]["sessionId"] == "s2"
    assert update["params"]["update"]["content"]["text"] == "past"


@pytest.mark.parametrize("name", ["gemini-text", "vibe-text", "agentao-text", "openhands-text"])
def test_the_sidecar_passes_over_the_same(name: str) -> None:
    play = SidecarPlay(run_named(name), Random(2), 2)
    play.close()
