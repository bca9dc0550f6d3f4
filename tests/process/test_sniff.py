"""What a file is, told from its first bytes and, when those are silent, from its name."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.process.runtimes.sniff import HEAD_BYTES, FileKind, read_head, sniff


@pytest.mark.parametrize(
    ("path", "head", "kind", "interpreter"),
    [
        ("x", b"#!/usr/bin/env node\n", FileKind.JAVA_SCRIPT, ("node",)),
        ("x", b"#!/usr/bin/env node\r\nx", FileKind.JAVA_SCRIPT, ("node",)),
        ("x", b"#!/usr/bin/env -S node --no-warnings\n", FileKind.JAVA_SCRIPT, ("node", "--no-warnings")),
        ("x", b"#!/usr/bin/env -S A=1 node\n", FileKind.JAVA_SCRIPT, ("node",)),
        ("x", b"#! /opt/n/bin/node\n", FileKind.JAVA_SCRIPT, ("/opt/n/bin/node",)),
        ("x", b"#!/usr/bin/env bun\n", FileKind.JAVA_SCRIPT, ("bun",)),
        ("x", b"#!/usr/bin/env -S deno run -A\n", FileKind.JAVA_SCRIPT, ("deno", "run", "-A")),
        ("x.js", b"#!/usr/bin/python3\n", FileKind.PYTHON, ("/usr/bin/python3",)),
        ("x", b"#!/v/bin/python3.13\n", FileKind.PYTHON, ("/v/bin/python3.13",)),
        ("x", b"#!/usr/bin/env pypy3", FileKind.PYTHON, ("pypy3",)),
        ("x", b"#!/bin/sh\n'''exec' python\n", FileKind.SCRIPT, ("/bin/sh",)),
        ("x.py", b"#!/usr/bin/env -S uv run --script\n", FileKind.SCRIPT, ("uv", "run", "--script")),
        ("x", b"#!/usr/bin/pythonista\n", FileKind.SCRIPT, ("/usr/bin/pythonista",)),
        ("x", b"#!", FileKind.SCRIPT, ()),
        ("x", b"#!/usr/bin/env\n", FileKind.SCRIPT, ()),
        ("x.js", b"\0asm\1\0\0\0", FileKind.WEB_ASSEMBLY, ()),
        ("x.py", b"\x7fELF\2\1", FileKind.NATIVE, ()),
        ("x", b"\xcf\xfa\xed\xfe\0", FileKind.NATIVE, ()),
        ("x.mjs", b"import x", FileKind.JAVA_SCRIPT, ()),
        ("x.CJS", b"", FileKind.JAVA_SCRIPT, ()),
        ("x.py", b"import x", FileKind.PYTHON, ()),
        ("x.pyz", b"PK\3\4", FileKind.PYTHON, ()),
        ("x.wasm", b"", FileKind.WEB_ASSEMBLY, ()),
        ("x", b"", FileKind.UNKNOWN, ()),
        ("x.txt", b"hello", FileKind.UNKNOWN, ()),
    ],
)
def test_kinds(path, head, kind, interpreter):
    sniffed = sniff(f"/nowhere/{path}", head)
    assert (sniffed.kind, sniffed.interpreter) == (kind, interpreter)


def test_a_link_is_known_by_what_it_leads_to(tmp_path):
    (tmp_path / "cli.mjs").write_text("import x")
    (tmp_path / "agent").symlink_to("cli.mjs")
    assert sniff(str(tmp_path / "agent")).kind is FileKind.JAVA_SCRIPT


def test_only_the_head_is_read(tmp_path):
    file = tmp_path / "x"
    file.write_bytes(b"x" * 10_000)
    assert len(read_head(str(file))) == HEAD_BYTES
    with pytest.raises(OSError, match="No such file"):
        sniff(str(tmp_path / "none"))


def test_this_interpreter_is_native():
    assert sniff(sys.executable).kind is FileKind.NATIVE


@given(st.binary(max_size=300))
def test_no_bytes_raise(head):
    for start in (b"", b"#!", b"#!/usr/bin/env "):
        assert sniff("/nowhere/x", start + head).description
