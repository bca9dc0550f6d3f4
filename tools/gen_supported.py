"""Writes docs/supported.md: everything the schema has, which side it concerns, and the test that proves we have it;
and what is lost where v1 meets v2.

The rows come from the method table and from schema/acp.v2.json, so nothing can be left out. A row says yes unless it
is in GAPS; the test it names fails when that is not so.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from roost.acp import v2
from roost.acp.bridge.losses import losses_table
from roost.acp.calls import Method

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "supported.md"
TESTS = "../tests/conformance/test_supported.py"
SCHEMA: Final[dict[str, dict[str, Any]]] = json.loads((ROOT / "schema" / "acp.v2.json").read_text())["$defs"]

GAPS: Final[frozenset[str]] = frozenset()
"""Names of rows that say no."""

_REF = re.compile(r"#/\$defs/(\w+)")


def _tags(union: str, tag_field: str) -> tuple[str, ...]:
    """The known tags of a union, in the schema's order."""
    found = []
    for option in SCHEMA[union]["anyOf"]:
        tag = option.get("properties", {}).get(tag_field, {}).get("const")
        if tag is not None:
            found.append(tag)
    return tuple(found)


def _capabilities(name: str, prefix: str = "") -> Iterator[str]:
    for key, member in SCHEMA[name].get("properties", {}).items():
        if key == "_meta":
            continue
        yield prefix + key
        target = _REF.search(json.dumps(member))
        if target is not None and SCHEMA[target[1]].get("properties"):
            yield from _capabilities(target[1], f"{prefix}{key}.")


def _codes() -> tuple[int, ...]:
    return tuple(option["const"] for option in SCHEMA["ErrorCode"]["anyOf"] if "const" in option)


UPDATES: Final = _tags("SessionUpdate", "sessionUpdate")
CONTENT_BLOCKS: Final = _tags("ContentBlock", "type")
AGENT_CAPABILITIES: Final = tuple(_capabilities("AgentCapabilities"))
CLIENT_CAPABILITIES: Final = tuple(_capabilities("ClientCapabilities"))
ERROR_CODES: Final = _codes()


def rendered() -> str:
    """The page."""
    lines = [
        "# What is supported",
        "",
        "Everything in the pinned schema of ACP v2, for both sides: the library for agents and the one for clients.",
        "Each row names the test that uses it, with our client and our agent on each other, both ends looked at. The",
        "rules each part has to keep have tests of their own: `python -m tools.check_requirements --table` lists them.",
        "",
        "[Lost between v1 and v2](#lost-between-v1-and-v2) is at the end.",
        "",
        "Written by `python -m tools.gen_supported` from the method table, the schema and the bridge; a test compares.",
    ]
    for kind, title in (("request", "Requests"), ("notification", "Notifications")):
        rows = [method for method in v2.METHODS if method.kind == kind]
        lines += ["", f"## {title}", "", *_methods(rows)]
    lines += ["", "## Updates", "", "What `session/update` carries, told by the agent.", ""]
    test = "test an update is told by the agent and seen by the client"
    lines += _table("update", ((tag, "agent", _stability(_update_type(tag))) for tag in UPDATES), test)
    lines += ["", "## Content blocks", ""]
    test = "test a content block goes to the agent and back"
    lines += _table("block", ((kind, "both", "stable") for kind in CONTENT_BLOCKS), test)
    lines += ["", "## Capabilities", ""]
    test = "test an agents capability is advertised when it is there and heard by the client"
    lines += _table("capability", ((path, "agent", _capability(path, "Agent")) for path in AGENT_CAPABILITIES), test)
    test = "test a clients capability is advertised when it is there and heard by the agent"
    rows_ = ((path, "client", _capability(path, "Client")) for path in CLIENT_CAPABILITIES)
    lines += ["", *_table("capability", rows_, test)]
    lines += ["", "## Error codes", ""]
    test = "test an error code is sent where it belongs and raised at the other end"
    lines += _table("code", ((str(code), "both", "stable") for code in ERROR_CODES), test)
    lines += ["", "## Lost between v1 and v2", ""]
    lines += ["Agents and clients of ACP v1 are reached through a [bridge](bridge.md). What one version can say and"]
    lines += [
        "the other cannot is here; each is counted under its name, and told in the log when it happens first.",
        "",
    ]
    lines += ["Of a v1 agent, for a v2 client (the sidecar makes up from its journal for much that is emulated):", ""]
    lines += [losses_table(2), "Of a v2 agent, for a v1 client:", "", losses_table(1).rstrip("\n")]
    return "\n".join(lines) + "\n"


def _methods(rows: list[Method]) -> Iterator[str]:
    yield "| method | implemented by | | needs | test | supported |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in rows:
        stable = "stable" if row.stable else "unstable"
        gate = "" if row.gate is None else f"{row.gate.side} `{row.gate.path.removeprefix('capabilities.')}`"
        test = _link("test a method is sent and answered")
        yield f"| `{row.name}` | {row.side} | {stable} | {gate} | {test} | {_said(row.name)} |"


def _table(head: str, rows: Iterator[tuple[str, str, str]], test: str) -> Iterator[str]:
    yield f"| {head} | side | | test | supported |"
    yield "| --- | --- | --- | --- | --- |"
    for name, side, stable in rows:
        yield f"| `{name}` | {side} | {stable} | {_link(test)} | {_said(name)} |"


def _link(test: str) -> str:
    return f"[{test}]({TESTS})"


def _said(name: str) -> str:
    return "no" if name in GAPS else "yes"


def _stability(definition: dict[str, Any]) -> str:
    return "unstable" if _UNSTABLE in str(definition.get("description", "")) else "stable"


_UNSTABLE = "**UNSTABLE**"


def _update_type(tag: str) -> dict[str, Any]:
    for option in SCHEMA["SessionUpdate"]["anyOf"]:
        if option.get("properties", {}).get("sessionUpdate", {}).get("const") == tag:
            return dict(option)
    raise KeyError(tag)


def _capability(path: str, side: str) -> str:
    """A capability is unstable when it says so, or what it is part of does."""
    name = f"{side}Capabilities"
    for step in path.split("."):
        member = SCHEMA[name]["properties"][step]
        target = _REF.search(json.dumps(member))
        if _stability(member) == "unstable" or (target and _stability(SCHEMA[target[1]]) == "unstable"):
            return "unstable"
        name = target[1] if target else name
    return "stable"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="gen_supported", description="Writes docs/supported.md.")
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    arguments = parser.parse_args(argv)
    if arguments.check:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != rendered():
            print(f"{PAGE.relative_to(ROOT)} is out of date: python -m tools.gen_supported", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(rendered(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
