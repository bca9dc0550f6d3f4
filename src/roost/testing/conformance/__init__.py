"""Checks of the protocol's agent side, for any agent: `roost check`, and the same from Python.

    from roost.testing.conformance import Launch, check_agent

    report = await check_agent(Launch(argv=("my-agent", "--acp")))
    assert report.conforms, report.findings

Each check starts the agent anew and speaks to it over stdio in plain JSON, well-formed or not. Every line the agent
says, whatever for, is judged as well.
"""

from roost.testing.conformance.bench import Bench, Profile, Prompts
from roost.testing.conformance.findings import MUST, SHOULD, Finding, Level, Report, Result
from roost.testing.conformance.peer import Patience
from roost.testing.conformance.registry import Check, all_checks
from roost.testing.conformance.runner import JOBS, check_agent
from roost.transport.child import Launch

__all__ = [
    "JOBS",
    "MUST",
    "SHOULD",
    "Bench",
    "Check",
    "Finding",
    "Launch",
    "Level",
    "Patience",
    "Profile",
    "Prompts",
    "Report",
    "Result",
    "check_agent",
    "all_checks",
]
