"""The requirements are all there, and each that is not for later has a test that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.requirements import CASES, REQUIREMENTS, RULES
from tools.check_requirements import Proof, ids_in, main, scan, table, unproved

ROOT = Path(__file__).resolve().parents[2]


def test_there_are_328_rules_and_365_cases_each_once() -> None:
    assert (len(RULES), len(CASES)) == (328, 365)
    assert len(REQUIREMENTS) == 693
    assert all(case.is_case for case in CASES)
    assert not any(rule.is_case for rule in RULES)


def test_cases_refer_to_rules_there_are() -> None:
    rules = {rule.id for rule in RULES}
    for case in CASES:
        assert set(case.refs) <= rules, case.id


def test_what_is_for_later_is_about_bridges_and_http_alone() -> None:
    later = {requirement.id.partition("-")[0] for requirement in REQUIREMENTS.values() if requirement.later}
    assert later == {"B", "BR", "H", "HTTP", "I", "AUTH", "BAT", "CAN", "MCP"}
    assert all(REQUIREMENTS[f"E-{number:02d}"].later is None for number in range(1, 45))


def test_every_requirement_has_a_test_that_names_it() -> None:
    assert [requirement.id for requirement in unproved(scan(ROOT / "tests"))] == []


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("PRM-16", ["PRM-16"]),
        ("test e-01 half a message", ["E-01"]),
        ("E-1 and S_05, e01 too", ["E-01", "S-05", "E-01"]),
        ("PRM-3 to PRM-5", ["PRM-3", "PRM-3", "PRM-4", "PRM-5"]),
        ("PRM-3 to MSG-5", ["PRM-3", "MSG-5"]),
        ("P-99, XYZ-1, utf-8, PRM-100", []),
        ("BPRM-1 PRM-1x", []),
    ],
)
def test_ids_are_found_in_all_their_spellings(text: str, ids: list[str]) -> None:
    assert list(ids_in(text)) == ids


PROGRAM = '''
"""ENV-1 in a module's docstring names nothing: every test in it would prove it."""
import pytest

TABLE = [("E-01", 1), ("not an E-02", 2)]
CASES = [pytest.param(1, id="E-03 in words")]


def test_prm_16_a_cancel_ends_once_msg_1() -> None: ...


@pytest.mark.parametrize("row", TABLE)
async def test_from_a_table(row):
    """S-05"""
    assert "P-13"


class TestOfAClass:
    """TCL-1"""

    @pytest.mark.parametrize("row", CASES)
    def test_inside(self, row): ...


def helper_p_01() -> None:
    """P-02"""
'''


def test_tests_name_what_they_prove_in_names_docstrings_and_ids(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_x.py").write_text(PROGRAM)
    (folder / "x.py").write_text("def test_p_03(): ...\n")
    proofs = {id: [test.name for test in tests] for id, tests in scan(folder).items() if tests}
    assert proofs == {
        "PRM-16": ["test_prm_16_a_cancel_ends_once_msg_1"],
        "MSG-1": ["test_prm_16_a_cancel_ends_once_msg_1"],
        "E-01": ["test_from_a_table"],
        "S-05": ["test_from_a_table"],
        "TCL-1": ["TestOfAClass::test_inside"],
        "E-03": ["TestOfAClass::test_inside"],
    }
    assert scan(folder)["TCL-1"] == [Proof(Path("tests/test_x.py"), "TestOfAClass::test_inside", 22)]


def test_a_requirement_without_a_test_is_told_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_x.py").write_text(PROGRAM)
    assert main(["--table", str(folder)]) == 1
    told = capsys.readouterr()
    assert "PRM-15: no test names it: " in told.err
    assert "BR-1" not in told.err
    assert "PRM-16   tests/test_x.py::test_prm_16_a_cancel_ends_once_msg_1" in told.out


def test_the_table_has_a_line_for_each() -> None:
    lines = list(table(scan(ROOT / "tests")))
    assert [line.split()[0] for line in lines] == list(REQUIREMENTS)
    assert not any("MISSING" in line for line in lines)
