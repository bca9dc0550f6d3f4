"""Readings of this machine: CPU and memory of a process, and a table of results with their aims."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field


def plain_environment() -> dict[str, str]:
    """This environment as a user has it: with compiled modules kept, so that start-up is not measured as compiling."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its threads so far, to the nanosecond where the kernel tells."""
    return scheduled(pid)[0]


def scheduled(pid: int) -> tuple[float, float]:
    """Seconds that the threads of a process have run so far, and that they waited for a core though they had work."""
    ran = waited = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            fields = file.read().split()
        ran += int(fields[0])
        waited += int(fields[1])
    return ran / 1e9, waited / 1e9


def rss_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


median = statistics.median


@dataclass
class Report:
    """Rows of one run. Aims are ratios or budgets from the project's issues; a missed aim is told, never hidden."""

    title: str
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def row(self, what: str, value: str, aim: str = "", *, met: bool | None = None) -> None:
        mark = "" if met is None else ("  ok" if met else "  MISSED")
        if met is False:
            self.missed.append(what)
        self.rows.append((what, value, f"{aim}{mark}"))

    def show(self) -> None:
        print(
            f"\n{self.title}  ({platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores)"
        )
        widths = [max((len(row[column]) for row in self.rows), default=0) for column in range(2)]
        for what, value, aim in self.rows:
            print(f"  {what.ljust(widths[0])}  {value.rjust(widths[1])}  {aim}".rstrip())
