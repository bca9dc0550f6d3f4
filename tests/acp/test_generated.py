"""The generated files: up to date, complete, cheap to import, and checked by the command that writes them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roost.acp import v2
from roost.wire.model import Model
from tests.oracle.acp_reference import DEFS, SCHEMA_FILE
from tools.gen_acp import __main__ as command
from tools.gen_acp.schema import read

ROOT = SCHEMA_FILE.parents[1]


def test_the_files_are_what_the_schema_gives() -> None:
    assert command.differences(command.generate(SCHEMA_FILE.read_bytes())) == []


def test_every_definition_is_a_type_or_has_a_reason_not_to_be() -> None:
    apart = v2.gen.NO_TYPE_OF_THEIR_OWN
    assert len(DEFS) == 263
    assert set(DEFS) <= set(v2.gen.TOPIC_OF) | set(apart)
    assert not set(v2.gen.TOPIC_OF) & set(apart)
    assert all(apart.values())
    documentation = {name for name, schema in DEFS.items() if schema.get("x-docs-ignore")}
    assert set(apart) - documentation == {"ElicitationFormMode", "ElicitationUrlMode", "ElicitationAcceptAction"}


@pytest.mark.parametrize("name", v2.gen.TOPIC_OF)
def test_every_name_can_be_reached_and_says_what_it_is(name: str) -> None:
    value = getattr(v2, name)
    if isinstance(value, type) and issubclass(value, msgspec.Struct):
        assert issubclass(value, Model)
        assert value.__module__ == f"roost.acp.v2.gen.{v2.gen.TOPIC_OF[name]}"
        assert value.__doc__
        first, _, rest = value.__doc__.partition("\n\n")
        assert first.endswith(".")
        assert "table." in rest


def test_wire_names_are_those_of_the_schema() -> None:
    for name, schema in DEFS.items():
        kind: Any = getattr(v2, name, None)
        if schema.get("properties") and hasattr(kind, "__struct_encode_fields__"):
            assert set(schema["properties"]) <= set(kind.__struct_encode_fields__)


def test_no_sentence_of_the_schema_was_copied() -> None:
    written = "\n".join(path.read_text() for path in command.TARGET.glob("*.py"))

    def sentences(schema: object) -> Any:
        if isinstance(schema, dict):
            for key, inner in schema.items():
                if key == "description" and isinstance(inner, str):
                    yield from (line.strip() for line in inner.splitlines())
                else:
                    yield from sentences(inner)
        elif isinstance(schema, list):
            for inner in schema:
                yield from sentences(inner)

    assert [line for line in sentences(DEFS) if len(line) > 30 and line in written] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchType"):
        _ = v2.NoSuchType  # type: ignore[attr-defined]


def test_only_the_topics_in_use_are_imported() -> None:
    program = (
        "import sys; from roost.acp import v2; v2.PromptRequest;"
        "print(*sorted(m for m in sys.modules if m.startswith('roost.acp.v2.gen.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    loaded = {name.rpartition(".")[2] for name in done.stdout.split()}
    assert loaded == {"prompts", "content", "ids"}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command, working on a directory of its own."""
    monkeypatch.setattr(command, "TARGET", tmp_path)
    assert command.main([]) == 0
    return tmp_path


def test_check_passes_on_what_was_just_written(tree: Path) -> None:
    assert command.main(["--check"]) == 0


@pytest.mark.parametrize("damage", ["changed", "missing", "extra"])
def test_check_names_the_file_that_differs(tree: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    if damage == "changed":
        (tree / "plans.py").write_text("# edited by hand\n")
    elif damage == "missing":
        (tree / "plans.py").unlink()
    else:
        (tree / "plans2.py").write_text("")
    assert command.main(["--check"]) == 1
    assert f"plans{'2' if damage == 'extra' else ''}.py" in capsys.readouterr().err
    assert command.main([]) == 0
    assert command.main(["--check"]) == 0


def test_a_schema_that_is_not_the_pinned_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "acp.v2.json"
    other.write_bytes(SCHEMA_FILE.read_bytes() + b"\n")
    monkeypatch.setattr(command, "SCHEMA", other)
    assert command.main(["--check"]) == 1
    assert "sha256" in capsys.readouterr().err


def changed(**definitions: Any) -> Any:
    return {"$defs": {**json.loads(json.dumps(DEFS)), **definitions}}


@pytest.mark.parametrize(
    "document",
    [
        changed(Surprise={"type": "array", "prefixItems": []}),
        changed(Surprise={"type": "integer", "format": "int7"}),
        changed(Role={"anyOf": [{"type": "string", "const": "a"}, {"type": "integer"}]}),
        changed(ReplayFrom={"anyOf": [DEFS["ReplayFrom"]["anyOf"][0]]}),
        changed(ReplayFrom={"anyOf": [DEFS["ReplayFrom"]["anyOf"][0], DEFS["McpServer"]["anyOf"][-1]]}),
    ],
    ids=["array", "integer", "enumeration", "closed-union", "open-arm"],
)
def test_a_shape_the_generator_does_not_know_stops_it(document: Any) -> None:
    with pytest.raises((ValueError, KeyError)):
        read(document)
