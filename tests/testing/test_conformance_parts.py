"""The parts of the checks that need no agent: patches, strictness, findings, the text of a report."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp import v2
from roost.sdk.diffs import FileChange, git_patch
from roost.testing.conformance import Finding, Report, Result, all_checks
from roost.testing.conformance.findings import MAX_FINDINGS, SHOWN_LENGTH, Findings, shown
from roost.testing.conformance.judge import TOPICS, Judge, Verdicts
from roost.testing.conformance.patches import faults_in
from roost.testing.conformance.peer import NOT_JSON, Entry
from roost.testing.conformance.report import lines
from roost.testing.conformance.strict import examine

GOOD = "diff --git /a/b.txt /a/b.txt\n--- /a/b.txt\n+++ /a/b.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (GOOD, []),
        ("", ["DIF-3"]),
        (f"From 1234 Mon Sep\n{GOOD}", ["DIF-3"]),
        (GOOD.replace("/a/b.txt /a/b.txt", "a/a/b.txt b/a/b.txt"), ["DIF-5", "DIF-5"]),
        (GOOD.replace("diff --git /a/b.txt /a/b.txt", "diff --git /a/c.txt /a/c.txt"), ["DIF-1", "DIF-1"]),
        (GOOD.replace("-1,2 +1,2", "-1,3 +1,3"), ["DIF-3"]),
        (GOOD.replace("-1,2 +1,2", "-1 +1"), ["DIF-3"]),
        (GOOD + "and a word\n", ["DIF-3"]),
        (GOOD.replace("-two", "two"), ["DIF-3"]),
        ("diff --git /a/b.txt /a/b.txt\nnew file mode 100644\nBinary files /dev/null and /a/b.txt differ\n", []),
        (GOOD + "\\ No newline at end of file\n", []),
        ('diff --git "/a/b c.txt" "/a/b c.txt"\n--- "/a/b c.txt"\n+++ "/a/b c.txt"\n@@ -0,0 +1 @@\n+x\n', []),
    ],
)
def test_a_patch_is_judged_by_its_sections_paths_and_counts(text: str, rules: list[str]) -> None:
    assert [rule for rule, _ in faults_in(text, {"/a/b.txt", "/a/b c.txt"})] == rules


def test_the_patches_of_our_own_library_are_good_ones() -> None:
    """DIF-3, DIF-5"""
    for before, after in ((None, "a\n"), ("a\nb\n", "a\nc"), ("a\n", None)):
        patch = git_patch(FileChange(path="/w/x.txt", before=before, after=after))
        assert list(faults_in(patch, {"/w/x.txt"})) == []


def test_strictness_is_no_losses_and_nothing_of_ones_own() -> None:
    good = examine(v2.ToolCallUpdate, {"toolCallId": "t", "_meta": {"own": 1}, "rawInput": {"any": 1}})
    assert (good.faults, good.foreign) == ((), ())
    forgiven = examine(v2.ToolCallUpdate, {"toolCallId": "t", "title": 5})
    assert forgiven.faults == ("title: default used: expected a string or null",)
    refused = examine(v2.ToolCallUpdate, {})
    assert refused.value is None
    assert refused.faults == ("missing (at toolCallId)",)
    own = examine(
        v2.ToolCallUpdate, {"toolCallId": "t", "mood": 1, "locations": [{"path": "/x", "column": 5}], "content": []}
    )
    assert own.foreign == ("mood", "locations[0].column")
    assert examine(v2.PromptResponse, {"messageId": "m"}).foreign == ()  # a later draft wants it


def test_findings_are_told_once_each_and_bounded() -> None:
    findings = Findings()
    for number in range(100):
        findings.add("PRM-8", "idle", f"came {number}")
    assert [finding.came for finding in findings.all] == ["came 0"]
    for number in range(100):
        findings.add("PRM-8", f"expected {number}", "x")
    assert len(findings.all) == MAX_FINDINGS


def test_what_came_is_shortened() -> None:
    text = shown({"text": "x" * 10_000})
    assert text.startswith('{"text":"xxx')
    assert text.endswith("(10011 characters)")
    assert len(text) < SHOWN_LENGTH + 30


def judge(*messages: Any) -> list[str]:
    """The rules broken in a trace; what we send is a pair ("we", message)."""
    verdicts = Verdicts()
    timeline = []
    for message in messages:
        ours = isinstance(message, tuple)
        value = message[1] if ours else message
        timeline.append(Entry(ours, b"" if value is NOT_JSON else repr(value).encode(), value))
    Judge(verdicts).read(timeline)
    return [finding.rule for findings in verdicts.findings.values() for finding in findings.all]


def call(method: str, params: Any, id: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, **({} if id is None else {"id": id})}


def result(id: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def update(tag: str, **fields: Any) -> dict[str, Any]:
    return call("session/update", {"sessionId": "s", "update": {"sessionUpdate": tag, **fields}})


NEW = [("we", call("session/new", {"cwd": "/w"}, 1)), result(1, {"sessionId": "s"})]
PROMPT = [("we", call("session/prompt", {"sessionId": "s", "prompt": []}, 2)), result(2, {})]
TOP = {"path": "/x", "line": 0}
RUNNING, IDLE = update("state_update", state="running"), update("state_update", state="idle", stopReason="end_turn")


@pytest.mark.parametrize(
    ("messages", "rules"),
    [
        ([*NEW, *PROMPT, RUNNING, IDLE], []),
        ([*NEW, update("state_update", state="idle")], []),  # SES-12: an idle at first ends nothing
        ([*NEW, *PROMPT, IDLE], []),  # PRM-19: cancelled before it ran
        ([*NEW, *PROMPT, RUNNING, IDLE, IDLE], ["PRM-8"]),
        ([*NEW, *PROMPT, RUNNING, update("state_update", state="idle")], ["PRM-8"]),
        ([*NEW, *PROMPT, RUNNING, update("state_update", state="idle", stopReason="done")], ["PRM-9"]),
        ([*NEW, *PROMPT, RUNNING, update("state_update", state="idle", stopReason="_acme/done")], []),
        ([*NEW, update("_acme/thing", x=1), update("notice", title="later draft")], []),
        ([RUNNING], ["SES-5"]),
        ([NEW[0], update("available_commands_update", availableCommands=[]), NEW[1]], []),  # SES-4
        ([*NEW, {**result(1, {}), "id": "1"}], ["ID-2"]),
        ([*NEW, NEW[1]], ["ENV-17"]),
        ([{"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no"}}], ["ENV-7"]),
        ([("we", NOT_JSON), {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no"}}], []),
        ([("we", call("initialize", {"protocolVersion": 1}, 1)), result(1, {"protocolVersion": 1})], []),  # INI-5
        ([call("session/new", {"cwd": "/"}, 5)], ["ENV-9"]),
        ([call("made/up", {}, 5)], ["EXT-3"]),
        ([call("_acme/own", {}, 5)], []),
        ([call("session/request_permission", {"sessionId": "s", "title": "t", "options": []})], ["ENV-5"]),
        ([[]], ["BAT-4"]),
        ([*NEW, [RUNNING, IDLE]], ["BAT-8"]),
        ([5], ["STD-2"]),
        ([NOT_JSON], ["STD-2"]),
        ([*NEW, update("usage_update", used=1, size=0)], ["MSC-4"]),
        ([*NEW, update("usage_update", used=1, size=5, cost={"amount": 1, "currency": "eur"})], ["MSC-4"]),
        ([*NEW, update("plan_update", plan={"type": "file", "planId": "p", "uri": "plan.md"})], ["PLN-3"]),
        ([*NEW, update("session_info_update", updatedAt="yesterday")], ["SES-15"]),
        ([*NEW, update("tool_call_update", toolCallId="t", title="T", status="paused")], ["EXT-5"]),
        ([*NEW, update("tool_call_update", toolCallId="t", title="T", locations=[TOP])], ["TCL-8"]),
        ([*NEW, ("we", call("session/close", {"sessionId": "s"}, 3)), result(3, {}), RUNNING], ["SES-26"]),
        (
            [("we", call("session/list", {}, 1)), result(1, {"sessions": [{"sessionId": "s", "cwd": "x"}]})],
            ["SES-1"],
        ),
        (
            [
                ("we", call("initialize", {"protocolVersion": 2, "info": {"name": "n", "version": "1"}}, 1)),
                result(1, {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "authMethods": []}),
                ("we", call("session/new", {"cwd": "/"}, 2)),
                {"jsonrpc": "2.0", "id": 2, "error": {"code": -32000, "message": "log in"}},
            ],
            ["ERR-2"],
        ),
    ],
)  # fmt: skip
def test_a_trace_is_judged_by_what_it_says(messages: list[Any], rules: list[str]) -> None:
    assert judge(*messages) == rules


def permission(**more: Any) -> dict[str, Any]:
    options = [{"optionId": "y", "name": "Y", "kind": "allow_once"}]
    return call("session/request_permission", {"sessionId": "s", "title": "T", "options": options, **more}, 7)


def test_a_permission_is_judged_by_what_came_before_it() -> None:
    asking = update("state_update", state="requires_action")
    known = update("tool_call_update", toolCallId="t", title="T")
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "t", "title": "T"}}
    assert judge(*NEW, RUNNING, known, asking, permission(subject=subject)) == []
    assert judge(*NEW, RUNNING, asking, permission(subject=subject)) == ["TCL-11"]
    assert judge(*NEW, RUNNING, known, permission(subject=subject)) == ["PRM-7"]
    command = {"type": "command", "command": "ls", "cwd": "here"}
    assert judge(*NEW, RUNNING, asking, permission(subject=command)) == ["PER-3"]
    assert judge(*NEW, RUNNING, asking, permission(options=[])) == ["PER-2"]


def test_a_question_is_judged_by_what_the_client_advertised() -> None:
    form = {"mode": "form", "message": "m", "sessionId": "s", "requestedSchema": {"type": "object", "properties": {}}}
    params = {
        "protocolVersion": 2,
        "info": {"name": "n", "version": "1"},
        "capabilities": {"elicitation": {"form": {}}},
    }
    assert judge(("we", call("initialize", params, 1)), call("elicitation/create", form, 5)) == []
    assert judge(call("elicitation/create", form, 5)) == ["ELI-1"]
    form["requestedSchema"] = {"type": "object", "properties": {"apiPassword": {"type": "string"}}}
    assert judge(("we", call("initialize", params, 1)), call("elicitation/create", form, 5)) == ["ELI-12"]


def test_every_check_has_a_title_and_names_requirements_there_are() -> None:
    from tests.conformance.requirements import REQUIREMENTS

    assert len(all_checks()) > 80
    for check in all_checks():
        assert check.title.endswith("."), check.id
        assert check.rules, check.id
    rules = {rule for check in all_checks() for rule in check.rules} | {
        rule for _, rules in TOPICS.values() for rule in rules
    }
    assert rules <= set(REQUIREMENTS)


def test_a_report_says_what_to_do_and_counts() -> None:
    finding = Finding(rule="PRM-8", level="MUST", expected="idle", came="nothing")
    advice = Finding(rule="TCL-2", level="SHOULD", expected="a title", came="{}")
    report = Report(
        agent="x",
        speaks=2,
        name="plain",
        version="1",
        results=(
            Result(id="a.b", title="It ends.", rules=("PRM-8",), status="failed", findings=(advice, finding)),
            Result(id="c.d", title="It goes.", rules=(), status="passed"),
            Result(id="e.f", title="It logs in.", rules=(), status="skipped", reason="no logins"),
        ),
    )
    text = list(lines(report))
    assert text[0] == "plain 1, protocol version 2"
    assert text[2:9] == [
        "FAILED  a.b: It ends.",
        "  PRM-8 (MUST)",
        "    expected  idle",
        "    came      nothing",
        "  TCL-2 (SHOULD)",
        "    expected  a title",
        "    came      {}",
    ]
    assert "  no logins: e.f" in text
    assert text[-1] == "3 checks: 1 passed, 1 failed, 1 skipped; 1 MUST broken"
    assert not report.conforms
    assert "passed  c.d: It goes." in list(lines(report, verbose=True))
