"""Modes, options and turns: what is known of them is what was told last, is told once, and is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf

MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "code"}]}
OPTIONS = [{"id": "speed", "currentValue": "slow"}, {"id": "depth", "currentValue": 1}]


def kept(tells: Any = None, *, waits: tuple[str, ...] = (), **limits: Any) -> tuple[Rig, Shelf, int, str]:
    """A kept v1 session with modes and options. `tells`: what its agent does before it agrees to a choice."""

    def script(agent: Agent, message: Json) -> bool:
        method = message.get("method", "")
        if method == "session/new":
            agent.result(message, {"sessionId": "s", "modes": MODES, "configOptions": OPTIONS})
            return True
        if method.startswith("session/set_") and tells is not None:
            tells(agent)
        return method in waits

    shelf = Shelf()
    rig = Rig(script, journal=shelf, **limits)
    me = rig.connect("me")
    return rig, shelf, me, rig.create(me).session_id


def updates(rig: Rig, caller: int) -> list[Json]:
    return [message["params"]["update"] for message in rig.notifications(caller)]


def mode_of(rig: Rig, caller: int, session: str) -> str:
    mode: str = json.loads(rig.state(caller, session).modes)["currentModeId"]
    return mode


def options_of(rig: Rig, caller: int, session: str) -> list[Json]:
    return [json.loads(option) for option in rig.state(caller, session).config_options]


def set_mode(rig: Rig, caller: int, session: str, mode: str) -> int:
    return rig.request(caller, session, "session/set_mode", {"modeId": mode})


def set_speed(rig: Rig, caller: int, session: str, value: str, option: str = "speed") -> int:
    return rig.request(caller, session, "session/set_config_option", {"configId": option, "value": value})


def test_an_agent_that_tells_the_mode_and_then_leaves_it_is_in_the_one_it_told_last() -> None:
    def tell(agent: Agent) -> None:
        agent.update(sessionUpdate="current_mode_update", currentModeId="code")
        agent.update(sessionUpdate="current_mode_update", currentModeId="ask")

    rig, _, me, session = kept(tell)
    set_mode(rig, me, session, "code")
    assert [update["currentModeId"] for update in updates(rig, me)] == ["code", "ask"]
    assert mode_of(rig, me, session) == "ask"


def test_an_agent_that_makes_another_value_of_the_one_it_was_given_is_believed() -> None:
    told = [{**OPTIONS[0], "currentValue": "faster"}, OPTIONS[1]]
    rig, _, me, session = kept(lambda agent: agent.update(sessionUpdate="config_option_update", configOptions=told))
    set_speed(rig, me, session, "fast")
    assert updates(rig, me) == [{"sessionUpdate": "config_option_update", "configOptions": told}]
    assert options_of(rig, me, session) == told


def test_of_several_choices_at_once_each_is_told() -> None:
    """What the sidecar tells of one is not taken for what the agent tells of another."""
    rig, _, me, session = kept(waits=("session/set_mode", "session/set_config_option"))
    set_mode(rig, me, session, "code")
    set_mode(rig, me, session, "ask")
    set_speed(rig, me, session, "fast")
    set_speed(rig, me, session, "far", "depth")
    for number in (3, 4, 5, 6):
        rig.agent.result({"id": number}, {})
    assert [update.get("currentModeId") for update in updates(rig, me)[:2]] == ["code", "ask"]
    assert [option["currentValue"] for option in updates(rig, me)[2]["configOptions"]] == ["fast", 1]
    assert [option["currentValue"] for option in updates(rig, me)[3]["configOptions"]] == ["fast", "far"]


def test_what_was_told_before_a_choice_or_after_it_is_no_answer_to_it() -> None:
    rig, _, me, session = kept()
    rig.agent.update(sessionUpdate="current_mode_update", currentModeId="code")
    rig.agent.update(sessionUpdate="config_option_update", configOptions=OPTIONS)
    set_mode(rig, me, session, "code")
    set_speed(rig, me, session, "fast")
    assert len(updates(rig, me)) == 4


def test_a_told_mode_is_no_answer_to_a_chosen_option_nor_the_other_way_round() -> None:
    def tell(agent: Agent) -> None:
        agent.update(sessionUpdate="current_mode_update", currentModeId="ask")

    rig, _, me, session = kept(tell)
    set_speed(rig, me, session, "fast")
    assert [update["sessionUpdate"] for update in updates(rig, me)] == ["current_mode_update", "config_option_update"]


FAST = [{**OPTIONS[0], "currentValue": "fast"}, OPTIONS[1]]


@pytest.mark.parametrize("outlives", ["a sleep", "the daemon"])
@pytest.mark.parametrize("by", ["caller", "agent"])
@pytest.mark.parametrize("what", ["mode", "options"])
def test_a_mode_or_an_option_is_known_of_the_session_at_rest(what: str, by: str, outlives: str) -> None:
    rig, shelf, me, session = kept(sleep_after=10.0 if outlives == "a sleep" else 0)
    if (what, by) == ("mode", "caller"):
        set_mode(rig, me, session, "code")
    elif what == "mode":
        rig.agent.update(sessionUpdate="current_mode_update", currentModeId="code")
    elif by == "caller":
        set_speed(rig, me, session, "fast")
    else:
        rig.agent.update(sessionUpdate="config_option_update", configOptions=FAST)
    assert shelf.kinds(session) == ["update"]
    if outlives == "a sleep":
        rig.advance(60)
    else:
        rig = Rig(journal=shelf)
        me = rig.connect("me")
    assert rig.state(me, session).process_id == ""
    assert mode_of(rig, me, session) == ("code" if what == "mode" else "ask")
    assert options_of(rig, me, session) == (OPTIONS if what == "mode" else FAST)


def test_what_the_sidecar_tells_comes_after_what_waits_for_the_journal() -> None:
    rig = Rig(lambda agent, message: message.get("method") == "session/prompt", journal=Shelf())
    assert rig.shelf is not None
    me = rig.connect("me")
    session = rig.create(me, protocol_version=2).session_id
    rig.prompt(me, session)
    rig.agent.result({"id": 3}, {})
    rig.agent.update(sessionUpdate="state_update", state="running")
    rig.shelf.stuck = True
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    set_mode(rig, me, session, "code")
    assert [update.get("state") for update in updates(rig, me)] == ["running"]
    rig.store()
    assert [update["sessionUpdate"] for update in updates(rig, me)[1:]] == ["state_update", "current_mode_update"]


def cancelled(**limits: Any) -> tuple[Rig, Shelf, int, str, int]:
    """A v2 turn whose cancel was sent, and the number of that request."""
    shelf = Shelf()
    rig = Rig(lambda agent, message: message.get("method") == "session/prompt", journal=shelf, **limits)
    me = rig.connect("me")
    session = rig.create(me, protocol_version=2).session_id
    rig.prompt(me, session)
    rig.agent.result({"id": 3}, {})
    rig.agent.update(sessionUpdate="state_update", state="running")
    return rig, shelf, me, session, rig.request(me, session, "session/cancel")


def test_a_cancel_is_answered_after_the_end_of_the_turn_was_told() -> None:
    rig, shelf, me, _, cancel = cancelled()
    shelf.stuck = True
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="cancelled")
    assert rig.reply(me, cancel) is None
    rig.store()
    assert rig.rpc(me, cancel)["result"]["cancelled"] is True
    assert rig.told[-2][1].notification.endswith('"stopReason": "cancelled"}}}')


def test_the_end_of_a_turn_that_its_agent_does_not_end_is_kept_like_any_other() -> None:
    rig, shelf, me, session, cancel = cancelled()
    rig.advance(11)
    assert rig.rpc(me, cancel)["result"]["cancelled"] is True
    assert shelf.kinds(session) == ["prompt", "update", "update", "turn", "exit"]
    assert json.loads(shelf.entries[session][3].body)["stopReason"] == "cancelled"
    assert shelf.sessions[session].turn_open is False
    told = [getattr(event, "notification", None) for event in rig.events(me)]
    assert json.loads(told[-2] or "")["params"] == {
        "sessionId": session,
        "update": {"sessionUpdate": "state_update", "state": "idle", "stopReason": "cancelled"},
    }


def test_an_agent_that_tells_its_options_and_answers_with_them_is_believed_in_its_answer() -> None:
    """CFG-1. Whoever asked has the answer; nobody is told a second time."""
    told, answered = [{"id": "speed", "currentValue": "fast"}], [{"id": "speed", "currentValue": "faster"}]
    rig, _, me, session = kept(waits=("session/set_config_option",))
    set_speed(rig, me, session, "fast")
    rig.agent.update(sessionUpdate="config_option_update", configOptions=told)
    rig.agent.result({"id": 3}, {"configOptions": answered})
    assert updates(rig, me) == [{"sessionUpdate": "config_option_update", "configOptions": told}]
    assert options_of(rig, me, session) == answered


@pytest.mark.parametrize("params", [None, {"configId": "speed"}, {"value": 1}, {"configId": 5, "value": 1}])
def test_without_an_option_and_a_value_nothing_is_tracked(params: Any) -> None:
    rig, _, me, session = kept(waits=("session/set_config_option",))
    request = rig.request(me, session, "session/set_config_option", params)
    rig.agent.result({"id": 3}, {"configOptions": []})
    assert rig.rpc(me, request)["result"] == {"configOptions": []}
    assert updates(rig, me) == []
    assert options_of(rig, me, session) == OPTIONS


@pytest.mark.parametrize("version", [1, 2])
def test_a_turn_that_a_close_ends_is_over_in_the_journal(version: int) -> None:
    """And not interrupted, as one that the daemon's end has cut."""
    shelf = Shelf()
    rig = Rig(lambda agent, message: message.get("method") == "session/prompt", journal=shelf)
    me = rig.connect("me")
    session = rig.create(me, protocol_version=version).session_id
    rig.prompt(me, session)
    if version == 2:
        rig.agent.result({"id": 3}, {})
        rig.agent.update(sessionUpdate="state_update", state="running")
    rig.close(me, session)
    assert shelf.sessions[session].closed
    assert not shelf.sessions[session].turn_open
    assert shelf.kinds(session).count("turn") == 1
    assert json.loads(shelf.entries[session][-1].body)["stopReason"] == "cancelled"


def v2(**limits: Any) -> tuple[Rig, int, str]:
    """A v2 session that is not kept, whose agent does nothing by itself."""
    rig = Rig(lambda agent, message: message.get("method") == "session/prompt", **limits)
    caller = rig.connect()
    return rig, caller, rig.create(caller, protocol_version=2).session_id


def test_a_turn_that_the_agent_began_by_itself_has_its_inactivity_deadline_too() -> None:
    rig, _, session = v2()
    rig.agent.update(sessionUpdate="state_update", state="running")
    rig.advance(599)
    assert rig.agent.requests("session/cancel") == []
    rig.advance(2)
    assert [message["params"] for message in rig.agent.requests("session/cancel")] == [{"sessionId": session}]
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="cancelled")
    rig.advance(60)
    assert not rig.agent.exited


def test_a_state_that_is_none_begins_no_turn_and_a_mode_that_is_none_is_not_kept() -> None:
    rig, caller, session = v2()
    for state in ({}, {"state": None}, {"state": 5}):
        rig.agent.update(sessionUpdate="state_update", **state)
    cancel = rig.request(caller, session, "session/cancel")
    assert rig.rpc(caller, cancel)["result"]["cancelled"] is False
    rig, _, me, session = kept()
    for mode in ({}, {"currentModeId": None}, {"currentModeId": 5}):
        rig.agent.update(sessionUpdate="current_mode_update", **mode)
    rig.agent.update(sessionUpdate="config_option_update")
    assert mode_of(rig, me, session) == "ask"
    assert options_of(rig, me, session) == OPTIONS


def test_an_idle_of_no_turn_ends_none() -> None:
    rig, shelf, _, session = kept()
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    assert shelf.kinds(session) == ["update"]


def test_a_title_and_the_usage_are_kept_until_others_are_told() -> None:
    rig, shelf, _, session = kept()
    rig.agent.update(sessionUpdate="session_info_update", title="A title")
    rig.agent.update(sessionUpdate="session_info_update", updatedAt="2026-01-01T00:00:00Z")
    rig.agent.update(sessionUpdate="usage_update", used=1, size=2)
    assert shelf.sessions[session].title == "A title"
    assert json.loads(shelf.sessions[session].usage or "")["used"] == 1
    rig.agent.update(sessionUpdate="session_info_update", title=None)
    assert shelf.sessions[session].title is None


def test_what_a_session_tells_of_itself_is_only_passed_on_where_nothing_is_kept() -> None:
    rig, caller, _ = v2()
    rig.agent.update(sessionUpdate="session_info_update", title="A title")
    rig.agent.update(sessionUpdate="usage_update", used=1, size=2)
    assert len(rig.notifications(caller)) == 2


@pytest.mark.parametrize(("version", "key"), [(1, "id"), (2, "configId"), (2, "id")])
def test_an_option_is_known_by_the_name_its_version_has_for_that(version: int, key: str) -> None:
    """A v2 option is found by `id` as well where it has no `configId`; v1 knows `id` only."""
    other = "configId" if version == 1 else "label"
    options = [{key: "speed", other: "depth", "currentValue": 1}, {key: "depth", other: "speed", "currentValue": 2}]

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/new":
            agent.result(message, {"sessionId": "s", "configOptions": options})
        return bool(message.get("method") == "session/new")

    rig = Rig(script)
    caller = rig.connect()
    session = rig.create(caller, protocol_version=version).session_id
    rig.request(caller, session, "session/set_config_option", {"configId": "speed", "value": 3})
    assert [option["currentValue"] for option in options_of(rig, caller, session)] == [3, 2]
