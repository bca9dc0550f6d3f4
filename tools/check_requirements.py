"""Which tests prove which requirement: reads the tests, fails when a requirement is named by none.

A test names a requirement in its name, its docstring (or its class's), or the ids of its parameters, also those in a
table of its module. `PRM-16` is how it is written; `prm_16` in a name; `PRM-3 to PRM-8` is all of them.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.conformance.requirements import REQUIREMENTS, Requirement  # noqa: E402

NO_PROOF = ("testing/test_conformance", "conformance/test_requirements", "cli/test_check")
"""Tests of the checks and of this tool: they name rules without proving that we keep them."""

_ID = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{1,4})[-_]?(\d{1,2})(?![0-9A-Za-z])")
_RANGE = re.compile(r"\s+to\s+")


class Proof(NamedTuple):
    """One test function, and where it is."""

    path: Path
    name: str
    line: int

    def __str__(self) -> str:
        return f"{self.path.as_posix()}::{self.name}"


Proofs = dict[str, list[Proof]]


def ids_in(text: str) -> Iterator[str]:
    """The requirements a text names, ranges filled in."""
    previous: tuple[str, int, int] | None = None
    for found in _ID.finditer(text):
        area, number = found[1].upper(), int(found[2])
        if previous is not None and previous[0] == area and _RANGE.fullmatch(text[previous[2] : found.start()]):
            yield from _known(area, range(previous[1], number + 1))
        else:
            yield from _known(area, [number])
        previous = (area, number, found.end())


def _known(area: str, numbers: Iterable[int]) -> Iterator[str]:
    for number in numbers:
        id = f"{area}-{number:02d}" if len(area) == 1 else f"{area}-{number}"
        if id in REQUIREMENTS:
            yield id


def scan(folder: Path) -> Proofs:
    """Every requirement with the tests in `folder` that name it; paths are relative to its parent."""
    proofs: Proofs = {id: [] for id in REQUIREMENTS}
    for path in sorted(folder.rglob("test_*.py")):
        if path.relative_to(folder).as_posix().startswith(NO_PROOF):
            continue
        module = ast.parse(path.read_text(encoding="utf-8"))
        for test, texts in _tests(module, path.relative_to(folder.parent)):
            for id in dict.fromkeys(id for text in texts for id in ids_in(text)):
                proofs[id].append(test)
    return proofs


def _tests(module: ast.Module, path: Path) -> Iterator[tuple[Proof, list[str]]]:
    tables = {
        target.id: statement.value
        for statement in module.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name)
    }
    yield from _tests_of(module.body, path, tables, [], "")


def _tests_of(
    body: Iterable[ast.stmt], path: Path, tables: Mapping[str, ast.expr], outer: list[str], prefix: str
) -> Iterator[tuple[Proof, list[str]]]:
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            texts = [*outer, ast.get_docstring(statement) or ""]
            yield from _tests_of(statement.body, path, tables, texts, f"{prefix}{statement.name}::")
            if any(isinstance(base, ast.Name) and base.id == "RuleBasedStateMachine" for base in statement.bases):
                yield Proof(path, prefix + statement.name, statement.lineno), texts  # hypothesis makes a test of it
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name.startswith("test_"):
            texts = [*outer, _spaced(statement.name), ast.get_docstring(statement) or ""]
            for decorator in statement.decorator_list:
                texts += _parameter_ids(decorator, tables)
            yield Proof(path, prefix + statement.name, statement.lineno), texts


def _spaced(name: str) -> str:
    """A test's name as words, its ids joined again: `test_p_13_a_cancel` as `test p-13 a cancel`."""
    return re.sub(r"(?<=[a-z])_(?=\d)", "-", name).replace("_", " ")


def _parameter_ids(decorator: ast.expr, tables: Mapping[str, ast.expr]) -> Iterator[str]:
    for node in ast.walk(decorator):
        nodes = ast.walk(tables[node.id]) if isinstance(node, ast.Name) and node.id in tables else [node]
        for inner in nodes:
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and _ID.match(inner.value):
                yield inner.value


def unproved(proofs: Proofs) -> list[Requirement]:
    """What is required now, and named by no test."""
    return [requirement for id, requirement in REQUIREMENTS.items() if requirement.later is None and not proofs[id]]


def table(proofs: Proofs) -> Iterator[str]:
    """A line for each requirement: its id, and its tests or why there are none."""
    for id, requirement in REQUIREMENTS.items():
        tests = proofs[id]
        if tests:
            more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
            yield f"{id:8} {tests[0]}{more}"
        else:
            yield f"{id:8} {'later: ' + requirement.later if requirement.later else 'MISSING: ' + requirement.text}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="check_requirements", description="Which tests prove which requirement.")
    parser.add_argument("--table", action="store_true", help="print every requirement with its tests")
    parser.add_argument("tests", nargs="?", type=Path, default=ROOT / "tests", help="the folder of tests")
    arguments = parser.parse_args(argv)
    proofs = scan(arguments.tests.resolve())
    if arguments.table:
        print("\n".join(table(proofs)))
    missing = unproved(proofs)
    for requirement in missing:
        print(f"{requirement.id}: no test names it: {requirement.text}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
