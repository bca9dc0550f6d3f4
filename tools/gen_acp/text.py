"""Small pieces of Python text, laid out."""

from __future__ import annotations

from typing import Final

WIDTH: Final = 120
NOTICE: Final = "Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit."


def snake(wire: str) -> str:
    if wire == "_meta":
        return "meta"
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in wire)


def quoted(text: str) -> str:
    return '"' + text + '"'


def class_line(name: str, arguments: list[str]) -> str:
    line = f"class {name}({', '.join(arguments)}):"
    return line if len(line) <= WIDTH else f"class {name}(\n    {', '.join(arguments)}\n):"


def dictionary(entries: list[str]) -> str:
    line = "{" + ", ".join(entries) + "}"
    if len(line) < 70:
        return line
    return "{\n" + "".join(f"            {entry},\n" for entry in entries) + "        }"


def wrapped(head: str, names: list[str], separator: str) -> str:
    line = head + separator.join(names)
    if len(line) <= WIDTH:
        return line
    indent = " " * (len(head) - len(head.lstrip()))
    inner = "\n".join(f"{indent}    {'' if index == 0 else '| '}{name}" for index, name in enumerate(names))
    return f"{head}(\n{inner}\n{indent})"


def import_line(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"
