"""No conformance case of the sidecar is without a test that bears its number."""

from __future__ import annotations

import re
from pathlib import Path

CASES = 112
TESTS = Path(__file__).parents[2]  # most cases are here; those of files and of packages are where those are


def test_every_case_has_a_test() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    named = re.findall(r"^(?:async )?def test_cases?_((?:\d{3}_(?:and_)?)+)", text, re.MULTILINE)
    numbers = {int(number) for name in named for number in re.findall(r"\d{3}", name)}
    assert numbers == set(range(1, CASES + 1))
