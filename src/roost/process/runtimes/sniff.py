"""What kind of program a file is: its first bytes know better than its name, and its name better than nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

# A `#!` line is at most 256 bytes long on Linux; every magic number is shorter.
HEAD_BYTES = 256

ReadHead = Callable[[str], bytes]


class FileKind(StrEnum):
    """The first three are named as the members of AcpRuntimeKind; the others need no runtime of ours."""

    JAVA_SCRIPT = "JAVA_SCRIPT"
    PYTHON = "PYTHON"
    WEB_ASSEMBLY = "WEB_ASSEMBLY"
    NATIVE = "NATIVE"  # the machine's own code
    SCRIPT = "SCRIPT"  # names an interpreter that is none of the above
    UNKNOWN = "UNKNOWN"  # text without a `#!` line and without a telling name, most likely


RUNTIME_KINDS = (FileKind.JAVA_SCRIPT, FileKind.PYTHON, FileKind.WEB_ASSEMBLY)

_DESCRIPTIONS = {
    FileKind.JAVA_SCRIPT: "a JavaScript program",
    FileKind.PYTHON: "a Python program",
    FileKind.WEB_ASSEMBLY: "a WebAssembly module",
    FileKind.NATIVE: "a native program",
    FileKind.SCRIPT: "a script",
    FileKind.UNKNOWN: "a file of unknown kind",
}

_MAGIC = {
    b"\0asm": FileKind.WEB_ASSEMBLY,
    b"\x7fELF": FileKind.NATIVE,
    b"\xcf\xfa\xed\xfe": FileKind.NATIVE,  # Mach-O, 64 bit
    b"\xca\xfe\xba\xbe": FileKind.NATIVE,  # Mach-O for several processors
}

_EXTENSIONS = {
    ".js": FileKind.JAVA_SCRIPT,
    ".mjs": FileKind.JAVA_SCRIPT,
    ".cjs": FileKind.JAVA_SCRIPT,
    ".ts": FileKind.JAVA_SCRIPT,
    ".mts": FileKind.JAVA_SCRIPT,
    ".py": FileKind.PYTHON,
    ".pyz": FileKind.PYTHON,
    ".wasm": FileKind.WEB_ASSEMBLY,
}

_JAVA_SCRIPT_INTERPRETERS = ("node", "nodejs", "bun", "deno", "tsx", "ts-node")
_PYTHON_INTERPRETERS = ("python", "pypy")


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What the first bytes say. `interpreter` holds the words of the `#!` line, without a leading `env`."""

    kind: FileKind
    interpreter: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """`a Python program (#!python3)`, for people."""
        told = f" (#!{' '.join(self.interpreter)})" if self.interpreter else ""
        return _DESCRIPTIONS[self.kind] + told


def read_head(path: str) -> bytes:
    """The first bytes of a file. OSError when there are none to be had."""
    with open(path, "rb", buffering=0) as file:
        return file.read(HEAD_BYTES)


def sniff(path: str, head: bytes | None = None) -> Sniffed:
    """What kind of program the file is; `head`: its first bytes, when known. OSError when it cannot be read."""
    if head is None:
        head = read_head(path)
    if head.startswith(b"#!"):
        words = interpreter_words(head)
        return Sniffed(interpreter_kind(words), words)
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return Sniffed(kind)
    # A package's bin/ holds links without an extension; what they lead to has one.
    for name in (path, os.path.realpath(path)):
        extension = os.path.splitext(name)[1].lower()
        if extension in _EXTENSIONS:
            return Sniffed(_EXTENSIONS[extension])
    return Sniffed(FileKind.UNKNOWN)


def interpreter_words(head: bytes) -> tuple[str, ...]:
    """The `#!` line's words, from the program that `env` would run, or the program itself, on."""
    # A script with Windows line ends names an interpreter all the same.
    words = os.fsdecode(head[2:].split(b"\n", 1)[0].strip()).split()
    if words and os.path.basename(words[0]) == "env":
        del words[0]
        while words and (words[0].startswith("-") or "=" in words[0]):
            del words[0]
    return tuple(words)


def interpreter_kind(words: tuple[str, ...]) -> FileKind:
    """The kind of program such an interpreter runs."""
    name = os.path.basename(words[0]) if words else ""
    if name in _JAVA_SCRIPT_INTERPRETERS:
        return FileKind.JAVA_SCRIPT
    # python, python3, python3.13, pypy3
    if name.rstrip("0123456789.") in _PYTHON_INTERPRETERS:
        return FileKind.PYTHON
    return FileKind.SCRIPT
