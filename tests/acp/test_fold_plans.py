"""The patch rules of plans, and what is told of terminals, one by one."""

from __future__ import annotations

from roost.acp import v2
from roost.acp.fold import fold
from roost.acp.view import SessionView
from tests.acp.views import folded, plain, plan, tool, update_of


def test_t_29_plans_stand_beside_each_other_and_are_replaced_one_by_one() -> None:
    entry = {"content": "c", "priority": "high", "status": "pending"}
    view = folded(
        plan(type="items", planId="a", entries=[entry]),
        plan(type="markdown", planId="b", content="# b"),
        plan(type="items", planId="a", entries=[]),
    )
    assert plain(view.plans["a"].value) == {"type": "items", "planId": "a", "entries": []}
    assert plain(view.plans["b"].value) == {"type": "markdown", "planId": "b", "content": "# b"}


def test_t_30_a_plan_may_change_its_form() -> None:
    """PLN-3."""
    view = folded(plan(type="items", planId="a", entries=[]), plan(type="file", planId="a", uri="file:///p.md"))
    assert isinstance(view.plans["a"].value, v2.PlanFile)
    assert len(view.timeline) == 1


def test_t_31_removing_a_plan_that_is_not_there_does_nothing() -> None:
    """PLN-5."""
    view = folded(plan(type="items", planId="a", entries=[]), {"sessionUpdate": "plan_removed", "planId": "x"})
    assert list(view.plans) == ["a"]
    fold(view, update_of({"sessionUpdate": "plan_removed", "planId": "a"}))
    assert view.timeline == []
    assert view.weight == 0


def test_t_32_a_plan_entry_that_is_malformed_leaves_the_others() -> None:
    good = {"content": "c", "priority": "high", "status": "pending"}
    view = folded(plan(type="items", planId="a", entries=[good, {**good, "status": 5}]))
    assert plain(view.plans["a"].value)["entries"] == [good]


def test_pln_4_a_plan_of_an_unknown_form_is_kept_under_its_id() -> None:
    view = folded(plan(type="_tree", planId="a", root=1), plan(type="_tree", planId="a", root=2))
    assert plain(view.plans["a"].value) == {"type": "_tree", "planId": "a", "root": 2}


def test_a_hand_made_plan_without_an_id_is_kept_as_unknown() -> None:
    view = SessionView()
    fold(view, v2.PlanUpdate(plan=v2.Unknown.of({"type": "_tree"})))
    assert [other.tag for other in view.others] == ["_tree"]


# --- terminals: what is told about the session; the bytes have their own file ---


def test_t_12_a_terminal_may_be_referred_to_before_it_is_there() -> None:
    view = folded(tool(content=[{"type": "terminal", "terminalId": "x"}]))
    assert view.terminal("x") is None
    fold(view, update_of({"sessionUpdate": "terminal_update", "terminalId": "x", "command": "ls"}))
    found = view.terminal("x")
    assert found is not None
    assert found.command == "ls"


def test_t_17_a_terminal_that_has_exited_says_nothing_about_its_tool() -> None:
    view = folded(tool(status="in_progress"), {"sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": {}})
    assert view.terminals["x"].has_exited
    assert view.tool_calls["t"].status == "in_progress"
    fold(view, update_of({"sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": None}))
    assert not view.terminals["x"].has_exited


def test_x28_a_negative_exit_code_is_an_exit_without_a_code() -> None:
    view = folded({"sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": {"exitCode": -1}})
    status = view.terminals["x"].exit_status
    assert status is not None
    assert status.exit_code is None


def test_t_21_one_string_may_name_a_terminal_and_a_tool_call() -> None:
    view = folded(tool(title="a"), {"sessionUpdate": "terminal_update", "terminalId": "t", "command": "ls"})
    assert view.tool_calls["t"].title == "a"
    assert view.terminals["t"].command == "ls"
