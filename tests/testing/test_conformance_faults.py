"""The checks find each planted fault, under the right rule, and nothing where nothing is wrong."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from roost.testing.conformance import Launch, Patience, Prompts, Report, check_agent

AGENT = Path(__file__).parent / "broken"  # a folder that is a program
PROMPTS = Prompts(
    texts=("Hello.", "tool", "terminal", "plan"),
    slow="slow",
    asks="ask",
    done=lambda workspace: (workspace / "asked.txt").exists(),
)
# A fault that is an absence is found when the wait for it ends.
PATIENCE = Patience(answer_timeout=20.0, turn_timeout=20.0, exit_timeout=5.0, silence=0.06)
QUICK = Patience(start_timeout=6.0, answer_timeout=0.3, turn_timeout=0.3, exit_timeout=5.0, silence=0.02)
IMPATIENT = Patience(start_timeout=20.0, answer_timeout=1.5, turn_timeout=1.5, exit_timeout=1.5, silence=0.06)


async def report_on(*faults: str, only: str = "", patience: Patience = PATIENCE) -> Report:
    launch = Launch(argv=(sys.executable, "-I", "-S", str(AGENT), *faults))
    return await check_agent(launch, prompts=PROMPTS, patience=patience, only=only.split())


@pytest.mark.timeout(180)
async def test_an_agent_that_keeps_the_rules_is_found_to_keep_them() -> None:
    report = await report_on(patience=Patience(answer_timeout=20.0, turn_timeout=20.0))
    assert report.findings == ()
    assert report.conforms
    assert report.count("failed") == 0
    assert report.speaks == 2
    skipped = {result.id: result.reason for result in report.results if result.status == "skipped"}
    assert skipped["fork.new"] == "the agent does not advertise session.fork"


# fault, the rule it breaks, the checks that are run; a MUST unless it says otherwise
FAULTS = [
    # negotiation
    ("echoes-the-version", "INI-9", "initialize.newer"),
    ("chokes-on-v1", "INI-3", "initialize.older"),
    ("any-version", "INI-8", "initialize.bad-version"),
    ("no-info", "INI-16", "initialize.answer"),
    ("chokes-on-capabilities", "INI-12", "initialize.lenient"),
    ("no-initialize-needed", "INI-1", "initialize.first"),
    ("initialize-again", "INI-10", "initialize.twice"),
    ("boolean-capability", "INI-12", "initialize.answer"),
    ("terminal-auth-for-all", "AUTH-5", "capabilities.terminal-auth"),
    # envelope
    ("dies-of-garbage", "ENV-10", "envelope.half-a-message"),
    ("silent-on-garbage", "ENV-10", "envelope.half-a-message"),
    ("dies-of-bad-utf8", "ENV-2", "envelope.not-utf8"),
    ("any-jsonrpc", "ENV-1", "envelope.version"),
    ("other-jsonrpc", "ENV-1", "initialize.answer"),
    ("any-id", "ID-1", "envelope.illegal-ids"),
    ("ids-as-strings", "ID-2", "envelope.legal-ids"),
    ("answers-notifications", "ENV-7", "envelope.notification-errors"),
    ("answers-responses", "ENV-12", "envelope.responses"),
    ("answers-twice", "ENV-17", "requests.unknown"),
    ("result-and-error", "ENV-16", "requests.unknown"),
    ("odd-code-for-unknown", "ENV-8", "requests.unknown"),
    ("silent-on-unknown", "ENV-8", "requests.unknown"),
    ("dies-of-bad-params", "ENV-4", "envelope.params"),
    ("blank-lines-are-errors", "STD-1", "envelope.blank-lines"),
    ("short-lines", "ENV-21", "envelope.large"),
    ("meta-as-params", "EXT-6", "envelope.meta"),
    ("stack-trace-in-error", "ENV-15", "requests.unknown"),
    ("answers-withdrawals", "CAN-3", "requests.withdraw-nothing"),
    # batches
    ("no-batches", "BAT-5", "batches.calls"),
    ("batch-in-pieces", "BAT-5", "batches.calls"),
    ("empty-for-empty", "BAT-2", "batches.empty"),
    ("empty-for-notifications", "BAT-4", "batches.notifications"),
    # gates and logins
    ("ignores-directories", "SES-8", "capabilities.directories"),
    ("ignores-mcp-servers", "SES-10", "capabilities.mcp"),
    ("ignores-blocks", "PRM-1", "capabilities.image"),
    ("reports-then-refuses", "PRM-3", "capabilities.audio"),
    ("any-login", "AUTH-4", "auth.unknown-method"),
    ("auth-required-for-nothing", "ERR-2", "capabilities.auth"),
    # sessions
    ("relative-cwd", "SES-1", "session.cwd"),
    ("one-session-id", "SES-2", "session.distinct"),
    ("prompts-anything", "ERR-3", "session.unknown"),
    ("cancel-of-nothing-fails", "PRM-17", "session.cancel-unknown"),
    ("update-of-nothing", "SES-5", "session.distinct"),
    ("no-filter", "SES-13", "list.filter"),
    ("pages-overlap", "SES-15", "list.pages"),
    ("endless-pages", "SES-13", "list.pages"),
    ("any-cursor", "SES-13", "list.cursor"),
    ("lenient-list", "SES-16", "list.strict"),
    ("always-replays", "SES-17", "resume.plain"),
    ("no-replay", "SES-17", "resume.replay"),
    ("resumes-anything", "ERR-3", "resume.unknown"),
    ("close-keeps-open", "SES-26", "close.idle"),
    ("close-leaves-running", "SES-26", "close.running"),
    ("deletes-nothing", "SES-28", "delete.gone"),
    ("delete-once", "SES-28", "delete.twice"),
    # prompts
    ("acknowledges-at-the-end", "PRM-3", "prompt.acknowledged"),
    ("no-user-message", "PRM-4", "prompt.lifecycle"),
    ("no-message-id", "PRM-4", "prompt.lifecycle"),
    ("no-running", "PRM-6", "prompt.lifecycle"),
    ("never-idle", "PRM-8", "prompt.lifecycle"),
    ("idle-without-reason", "PRM-8", "prompt.lifecycle"),
    ("idle-twice", "PRM-8", "prompt.lifecycle"),
    ("message-ids-again", "MSG-1", "prompt.again"),
    ("one-id-two-kinds", "MSG-1", "prompt.again"),
    ("chunk-without-content", "MSG-1", "prompt.again"),
    ("empty-prompt", "PRM-2", "prompt.empty"),
    ("usage-null", "MSC-4", "prompt.usage"),
    ("v1-update", "PLN-6", "prompt.again"),
    ("command-with-slash", "MSC-1", "prompt.again"),
    ("foreign-member", "EXT-2", "prompt.again"),
    ("withdrawn-prompts-run", "CAN-12", "queue.withdraw"),
    # cancel
    ("end-turn-after-cancel", "PRM-16", "cancel.running"),
    ("ignores-cancel", "PRM-16", "cancel.running"),
    ("late-updates", "PRM-16", "cancel.running"),
    ("idle-twice-after-cancel", "PRM-16", "cancel.twice"),
    ("forgets-an-early-cancel", "PRM-19", "cancel.at-once"),
    ("idle-after-cancelling-nothing", "PRM-17", "cancel.idle"),
    # tools, terminals, diffs, plans
    ("tool-without-title", "TCL-2", "prompt.lifecycle"),
    ("tool-left-open", "TCL-7", "prompt.lifecycle"),
    ("relative-location", "TCL-8", "prompt.lifecycle"),
    ("relative-diff", "DIF-1", "prompt.lifecycle"),
    ("diff-without-changes", "TCL-1", "prompt.lifecycle"),
    ("patch-with-prefixes", "DIF-5", "prompt.lifecycle"),
    ("patch-miscounted", "DIF-3", "prompt.lifecycle"),
    ("terminal-again", "TRM-2", "prompt.again"),
    ("terminal-relative-cwd", "TRM-3", "prompt.lifecycle"),
    ("bad-base64", "TRM-6", "prompt.lifecycle"),
    ("signed-exit-code", "TRM-3", "prompt.lifecycle"),
    ("plan-without-id", "PLN-4", "prompt.lifecycle"),
    ("plan-entry-without-status", "PLN-4", "prompt.lifecycle"),
    # permissions
    ("any-answer-allows", "PER-5", "permission.other-answers"),
    ("selected-allows", "PER-5", "permission.rejected"),
    ("any-option-allows", "PER-5", "permission.not-offered"),
    ("does-it-when-cancelled", "PER-5", "cancel.permission"),
    ("permission-without-options", "PER-2", "permission.allowed"),
    ("option-ids-twice", "PER-1", "permission.allowed"),
    ("permission-unannounced", "TCL-11", "permission.allowed"),
    ("no-requires-action", "PRM-7", "permission.allowed"),
    ("null-request-id", "ID-5", "permission.allowed"),
    # options
    ("part-of-config", "CFG-1", "config.set"),
    ("any-value", "CFG-5", "config.bad-value"),
    ("untyped-config", "CFG-5", "config.bad-value"),
    ("value-not-offered", "CFG-3", "session.distinct"),
    # stdio
    ("banner", "STD-2", "initialize.answer"),
    ("log-on-stdout", "STD-2", "initialize.answer"),
    ("survives-eof", "STD-5", "stdio.exit"),
    ("exit-code", "STD-5", "stdio.exit"),
]
ADVICE = {
    "blank-lines-are-errors", "short-lines", "stack-trace-in-error", "any-cursor", "delete-once", "empty-prompt",
    "foreign-member", "tool-without-title", "tool-left-open", "permission-unannounced", "no-requires-action",
    "value-not-offered", "exit-code", "ignores-blocks", "ignores-mcp-servers",
}  # fmt: skip
ABSENT = {
    "dies-of-garbage", "silent-on-garbage", "dies-of-bad-utf8", "silent-on-unknown", "dies-of-bad-params", "no-batches",
    "short-lines", "ids-as-strings", "never-idle", "ignores-cancel", "null-request-id", "survives-eof",
    "close-leaves-running", "batch-in-pieces", "acknowledges-at-the-end", "forgets-an-early-cancel",
}  # fmt: skip


@pytest.mark.parametrize(("fault", "rule", "only"), FAULTS, ids=[f"{fault}" for fault, _, _ in FAULTS])
async def test_a_planted_fault_is_found_under_its_rule(fault: str, rule: str, only: str) -> None:
    report = await report_on(fault, only=only, patience=IMPATIENT if fault in ABSENT else PATIENCE)
    assert report.trouble is None
    found = [finding for finding in report.findings if finding.rule == rule]
    assert found, [(finding.rule, finding.expected, finding.came) for finding in report.findings]
    assert found[0].level == ("SHOULD" if fault in ADVICE else "MUST")
    assert report.conforms is (fault in ADVICE)


def test_every_fault_of_the_agent_is_planted_by_a_test() -> None:
    named = {name for path in AGENT.glob("*.py") for name in re.findall(r'faulty\("([^"]+)"\)', path.read_text())}
    assert named - {fault for fault, _, _ in FAULTS} == {"v1", "auth-methods", "version-as-string"}


async def test_an_agent_of_version_1_is_said_to_be_one() -> None:
    report = await report_on("v1")
    assert report.speaks == 1
    assert report.trouble is not None
    assert "speaks v1" in report.trouble
    assert not report.conforms
    assert report.results == ()


OLD = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    answer = {"error": {"code": -32602, "message": "Invalid params"}}
    if "clientCapabilities" in message["params"]:
        answer = {"result": {"protocolVersion": 1, "agentCapabilities": {}}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


async def test_an_agent_of_version_1_that_cannot_read_version_2_is_said_to_be_one() -> None:
    report = await check_agent(Launch(argv=(sys.executable, "-I", "-S", "-c", OLD)))
    assert report.trouble is not None
    assert "speaks v1" in report.trouble
    assert "Invalid params" in report.trouble
    refusing = OLD.replace('"protocolVersion": 1', '"protocolVersion": 0')
    report = await check_agent(Launch(argv=(sys.executable, "-I", "-S", "-c", refusing)))
    assert report.trouble is not None
    assert "initialize with version 2 was refused" in report.trouble


async def test_an_agent_with_a_version_of_its_own_is_not_checked() -> None:
    report = await report_on("version-as-string")
    assert report.trouble is not None
    assert "answers version" in report.trouble


HOSTILE = """
import json, sys
RESULTS = [
    {"sessionId": "s", "sessions": [], "configOptions": [{"type": "select", "configId": {}, "options": [5]}]},
    [], "x", 5, None, {"sessionId": {}}, {"sessions": [1, {"sessionId": [], "cwd": {}}], "nextCursor": {}},
    {"sessions": {}}, {"providers": [3], "suggestions": 5}, {"configOptions": [None, {}]}, {"sessionId": 7},
]
LINES = [
    {"jsonrpc": "2.0", "method": "session/update", "params": 5},
    {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": [], "update": []}},
    {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": []}}},
    {"jsonrpc": "2.0", "method": [], "id": {}}, {"jsonrpc": "2.0", "id": {}, "method": "session/request_permission"},
    {"jsonrpc": "2.0", "id": 1.5, "method": "session/request_permission", "params": {"options": {"a": 1}}},
    {"id": [], "result": 1, "error": []}, [[], {}, 5, [None]], [], 7, {"error": "x", "id": None},
]
CAPABILITIES = {"session": {"delete": {}, "fork": {}, "additionalDirectories": {}}, "providers": {}, "nes": {}}
count = 0
for line in sys.stdin:
    count += 1
    try:
        message = json.loads(line)
        id = message["id"]
    except Exception:
        id = None
    if isinstance(message, dict) and message.get("method") == "initialize":
        result = {"protocolVersion": 2, "info": {"name": [], "version": 5}, "capabilities": CAPABILITIES}
        result["authMethods"] = [5, {"methodId": {}}, {"type": "terminal", "methodId": "t", "name": 5}]
    else:
        result = RESULTS[count % len(RESULTS)] if count > 2 else RESULTS[0]
    print(json.dumps(LINES[count % len(LINES)]))
    body = {"result": result} if count % 7 else {"error": RESULTS[count % len(RESULTS)]}
    print(json.dumps({"jsonrpc": "2.0", "id": id, **(body if count > 2 else {"result": result})}), flush=True)
"""


@pytest.mark.timeout(180)
async def test_nothing_an_agent_sends_stops_the_checks() -> None:
    launch = Launch(argv=(sys.executable, "-I", "-S", "-c", HOSTILE))
    prompts = Prompts(slow="slow", asks="ask")
    report = await check_agent(launch, prompts=prompts, patience=QUICK, jobs=16)
    assert report.trouble is None
    assert not report.conforms
    assert len(report.results) > 120
    assert {result.id for result in report.results if result.status == "failed"} > {"trace.envelope", "trace.lines"}


async def test_login_methods_are_checked_where_there_are_some() -> None:
    report = await report_on("auth-methods", only="auth capabilities.auth")
    assert report.findings == ()
    reasons = {result.id: result.reason for result in report.results}
    assert reasons["capabilities.auth"] == "the agent has login methods"
    assert reasons["auth.unknown-method"] is None


async def test_a_program_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    report = await check_agent(Launch(argv=(str(tmp_path / "none"),)))
    assert report.trouble is not None
    assert "cannot start" in report.trouble


@pytest.mark.parametrize(
    ("code", "patience", "said"),
    [
        ("import sys; sys.stderr.write('no key'); sys.exit(4)", 20.0, "exited with code 4; its stderr ends: no key"),
        ("import sys; sys.stdin.read()", 0.5, "within 0.5 s; nothing at all"),
        ("print('hello', flush=True); import sys; sys.stdin.read()", 3.0, "the last message was hello"),
    ],
)
async def test_an_agent_that_does_not_answer_is_told_about_in_bounded_time(
    code: str, patience: float, said: str
) -> None:
    launch = Launch(argv=(sys.executable, "-I", "-S", "-c", code))
    report = await check_agent(launch, patience=Patience(start_timeout=patience))
    assert report.trouble is not None
    assert said in report.trouble
