"""What a client answers when it is asked for permission, and what it shows (PER-1 to PER-13)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from roost.acp import v2
from roost.sdk.client_permissions import allow_once, deny, permission_text
from tests.sdk.raw_agent import in_session, permission, settled

YES = {"optionId": "yes", "name": "Allow", "kind": "allow_once"}
ALWAYS = {"optionId": "always", "name": "Always", "kind": "allow_always"}
NO = {"optionId": "no", "name": "Reject", "kind": "reject_once"}
NEVER = {"optionId": "never", "name": "Never", "kind": "reject_always"}
ODD = {"optionId": "odd", "name": "Maybe", "kind": "_x"}


async def answer(options: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    async with in_session(**more) as (_, agent):
        request_id = agent.request("session/request_permission", permission(options=options))
        return await agent.answer_to(request_id)


def selected(option_id: str) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


CANCELLED = {"outcome": {"outcome": "cancelled"}}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([YES, NO, NEVER], selected("no")),
        ([YES, NEVER, ALWAYS], CANCELLED),
        ([YES], CANCELLED),
        ([ODD, YES], CANCELLED),
    ],
)
async def test_per_11_by_default_the_answer_is_no(options: list[dict[str, str]], expected: dict[str, Any]) -> None:
    """R-14, SEC-5."""
    assert (await answer(options))["result"] == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([ODD, NO, YES], selected("yes")),
        ([NO, NEVER], CANCELLED),
        ([ALWAYS, NO], CANCELLED),  # PER-13: for always, somebody has to want it
        ([ODD], CANCELLED),
    ],
)
async def test_r_09_a_policy_of_yes_takes_nothing_else_for_a_yes(
    options: list[dict[str, str]], expected: dict[str, Any]
) -> None:
    """R-08, PER-7, PER-13, SEC-5."""
    assert (await answer(options, on_permission=allow_once))["result"] == expected


async def test_r_01_the_option_that_is_picked_is_the_one_that_is_sent() -> None:
    async def second(request: v2.RequestPermissionRequest) -> v2.PermissionOption:
        return request.options[1]

    assert (await answer([YES, ODD], on_permission=second))["result"] == selected("odd")


@pytest.mark.parametrize("choice", ["yes", v2.SelectedPermissionOutcome(option_id="yes")])
async def test_an_answer_may_be_an_id_or_an_outcome(choice: Any) -> None:
    assert (await answer([YES, NO], on_permission=lambda request: choice))["result"] == selected("yes")


async def test_None_is_a_no() -> None:
    assert (await answer([YES, NO], on_permission=lambda request: None))["result"] == selected("no")


@pytest.mark.parametrize(
    "choice",
    ["allow_once", "Allow", v2.SelectedPermissionOutcome(option_id="later"), True, 0, {"outcome": "selected"}],
)
async def test_per_4_what_is_not_offered_is_not_sent(choice: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        response = await answer([YES, NO], on_permission=lambda request: choice)
    assert response["error"]["code"] == -32603


async def test_a_handler_that_raises_permits_nothing_and_stops_nothing() -> None:
    def broken(request: v2.RequestPermissionRequest) -> None:
        raise RuntimeError("the secret is 42")

    async with in_session(on_permission=broken) as (session, agent):
        response = await agent.answer_to(agent.request("session/request_permission", permission()))
        assert response["error"] == {"code": -32603, "message": "Internal error"}
        await settled(session.client, agent)


async def test_r_05_a_request_that_offers_nothing_is_malformed() -> None:
    assert (await answer([]))["error"]["code"] == -32602


async def test_r_06_a_command_without_its_directory_is_malformed() -> None:
    async with in_session() as (_, agent):
        subject = {"type": "command", "command": "ls"}
        request_id = agent.request("session/request_permission", permission(subject=subject))
        assert (await agent.answer_to(request_id))["error"]["code"] == -32602


async def test_r_07_a_subject_that_is_not_known_reaches_the_handler_whole() -> None:
    seen: list[v2.RequestPermissionRequest] = []

    def handler(request: v2.RequestPermissionRequest) -> None:
        seen.append(request)

    async with in_session(on_permission=handler) as (_, agent):
        subject = {"type": "_door", "room": 3}
        await agent.answer_to(agent.request("session/request_permission", permission(subject=subject, _meta={"k": 1})))
    (request,) = seen
    assert isinstance(request.subject, v2.Unknown)
    assert request.subject.value() == subject
    assert request.meta == {"k": 1}
    assert permission_text(request) == "May I?\nabout: _door, which is not known here"


async def test_a_permission_for_a_session_nobody_knows_is_asked_for_all_the_same() -> None:
    async with in_session() as (_, agent):
        request_id = agent.request("session/request_permission", permission("of a sub-agent"))
        assert (await agent.answer_to(request_id))["result"] == selected("no")


async def test_tcl_11_what_a_permission_is_about_makes_no_entry() -> None:
    async with in_session() as (session, agent):
        subject = {"type": "tool_call", "toolCall": {"toolCallId": "t9", "title": "Delete"}}
        await agent.answer_to(agent.request("session/request_permission", permission(subject=subject)))
        assert session.view.tool_calls == {}


async def test_r_13_a_command_that_was_allowed_is_not_run_here(tmp_path: Path) -> None:
    """PER-8."""
    made = tmp_path / "made"
    async with in_session(on_permission=allow_once) as (session, agent):
        subject = {"type": "command", "command": f"touch {made}", "cwd": str(tmp_path)}
        response = await agent.answer_to(agent.request("session/request_permission", permission(subject=subject)))
        assert response["result"] == selected("yes")
        await settled(session.client, agent)
    assert not made.exists()


async def test_e_08_a_request_is_answered_under_its_own_id_whatever_that_is() -> None:
    """ID-2, ID-6."""
    async with in_session() as (_, agent):
        for request_id in ("1", 1, "6b1c6d52-0e0a-4a8e-9a7e-0f6c1d2e3f40", 0, -1, 2**63 - 1, '\u00e4 "x"'):
            agent.request("session/request_permission", permission(), request_id)
            assert (await agent.answer_to(request_id))["result"] == selected("no")


def request_of(**fields: Any) -> v2.RequestPermissionRequest:
    options = [v2.PermissionOption(option_id="y", name="Allow", kind="allow_once")]
    return v2.RequestPermissionRequest(session_id="s", options=options, **{"title": "Run?", **fields})


def test_r_12_the_command_is_shown_whole_and_nothing_in_it_is_hidden() -> None:
    """PER-12."""
    command = "ls\n" + "#" * 10_000 + "\u202e; rm -rf /"
    shown = permission_text(request_of(subject=v2.CommandPermissionSubject(command=command, cwd="/w\u200b")))
    assert shown == "Run?\ncommand: ls<U+000A>" + "#" * 10_000 + "<U+202E>; rm -rf /\nin: /w<U+200B>"


def test_a_tool_is_shown_with_what_it_is_given() -> None:
    call = v2.ToolCallUpdate(
        tool_call_id="t",
        title="Write\x1b[8m",
        locations=[v2.ToolCallLocation(path="/etc/passwd")],
        raw_input={"content": "root"},
    )
    request = request_of(subject=v2.ToolCallPermissionSubject(tool_call=call), description="first\nsecond\r")
    assert permission_text(request) == (
        'Run?\ntool: Write<U+001B>[8m\nat: /etc/passwd\ninput: {"content":"root"}\nfirst\nsecond<U+000D>'
    )


def test_a_tool_of_which_nothing_is_said_is_shown_by_the_title() -> None:
    call = v2.ToolCallUpdate(tool_call_id="t", title=None, raw_input=None)
    assert permission_text(request_of(subject=v2.ToolCallPermissionSubject(tool_call=call))) == "Run?"
    assert permission_text(request_of()) == "Run?"


def test_the_policies_are_functions_of_the_options_alone() -> None:
    """TCL-9."""
    request = request_of()
    assert deny(request) == v2.CancelledPermissionOutcome()
    assert allow_once(request) == v2.SelectedPermissionOutcome(option_id="y")
