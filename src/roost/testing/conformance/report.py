"""A report as text, for whoever has to mend the agent."""

from __future__ import annotations

from collections.abc import Iterator

from roost.testing.conformance.findings import MUST, Finding, Report, Result, Status


def lines(report: Report, *, verbose: bool = False) -> Iterator[str]:
    """The report, line by line. `verbose`: checks that passed, and all that were skipped, too."""
    yield head(report)
    if report.trouble is not None:
        yield f"not checked: {report.trouble}"
        for result in report.results:
            yield from result_lines(result, verbose)
        return
    for result in report.results:
        yield from result_lines(result, verbose)
    yield from _skipped(report, verbose)
    yield ""
    yield summary(report)


def head(report: Report) -> str:
    """Who was checked."""
    who = f"{report.name} {report.version or ''}".strip() if report.name else report.agent
    speaks = "" if report.speaks is None else f", protocol version {report.speaks}"
    return f"{who}{speaks}"


def result_lines(result: Result, verbose: bool = False) -> Iterator[str]:
    """One check: nothing when it passed, unless everything is wanted."""
    if result.status in ("failed", "warned"):
        yield ""
        yield f"{'FAILED' if result.status == 'failed' else 'advice'}  {result.id}: {result.title}"
        for finding in sorted(result.findings, key=lambda finding: finding.level != MUST):
            yield from _finding(finding)
    elif verbose:
        yield f"{result.status:7} {result.id}: {result.title if result.reason is None else result.reason}"


def _finding(finding: Finding) -> Iterator[str]:
    yield f"  {finding.rule} ({finding.level})"
    yield f"    expected  {finding.expected}"
    yield f"    came      {finding.came}"


def _skipped(report: Report, verbose: bool) -> Iterator[str]:
    skipped: dict[str, list[str]] = {}
    for result in report.results:
        if result.status == "skipped":
            skipped.setdefault(result.reason or "", []).append(result.id)
    if skipped and not verbose:
        yield ""
        yield "skipped:"
        for reason, ids in skipped.items():
            yield f"  {reason}: {', '.join(ids)}"


def summary(report: Report) -> str:
    """The last line: how many of what."""
    counts = [f"{report.count('passed')} passed"]
    words: dict[Status, str] = {"failed": "failed", "warned": "with advice", "skipped": "skipped"}
    for status in words:
        if number := report.count(status):
            counts.append(f"{number} {words[status]}")
    broken = sum(finding.level == MUST for finding in report.findings)
    verdict = "no MUST was broken" if report.conforms else f"{broken} MUST{'s' if broken > 1 else ''} broken"
    return f"{len(report.results)} checks: {', '.join(counts)}; {verdict}"
