"""Turns what spans all topics into Python text: the method table and the index of names."""

from __future__ import annotations

from tools.gen_acp.methods import GATES, ORDER, SIDES, Methods
from tools.gen_acp.model import Vocabulary
from tools.gen_acp.text import NOTICE, quoted
from tools.gen_acp.topics import TOPICS


def methods_file(vocabulary: Vocabulary, methods: Methods) -> str:
    """The method table."""
    lines = [
        '"""The method table: who implements what, with which types, and what has to be advertised for it.',
        "",
        NOTICE,
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Final",
        "",
        "from roost.acp.calls import Gate, Method",
        "",
    ]
    for title, suffix in (("REQUESTS", "Request"), ("NOTIFICATIONS", "Notification")):
        lines += [f"{title}: Final[dict[str, Method]] = {{"]
        for method in ORDER:
            params = methods.params_of(method, suffix)
            if params is not None:
                lines.append(_row(vocabulary, methods, method, suffix.lower(), params))
        lines += ["}", f'"""The {suffix.lower()}s, by name."""', ""]
    lines += [
        "METHODS: Final[tuple[Method, ...]] = (*REQUESTS.values(), *NOTIFICATIONS.values())",
        '"""All of them; `mcp/message` is both a request and a notification."""',
    ]
    return "\n".join(lines) + "\n"


def _row(vocabulary: Vocabulary, methods: Methods, method: str, kind: str, params: str) -> str:
    result = methods.result_of(method) if kind == "request" else ""
    stable = not vocabulary.is_unstable(params)
    arguments = [
        f"name={quoted(method)}",
        f"side={quoted(SIDES[methods.side_of(method)])}",
        f"kind={quoted(kind)}",
        f"params_name={quoted(params)}",
    ]
    if result:
        arguments.append(f"result_name={quoted(result)}")
    if not stable:
        arguments.append("stable=False")
    if method in GATES:
        side, path = GATES[method]
        arguments.append(f"gate=Gate({quoted(side)}, {quoted(path)})")
    inner = "".join(f"        {argument},\n" for argument in arguments)
    return f"    {quoted(method)}: Method(\n{inner}    ),"


def index_file(vocabulary: Vocabulary) -> str:
    """The names of all topics, imported on first use."""
    topics = {topic: names.split() for topic, (_, names) in TOPICS.items()}
    topics["methods"] = ["METHODS", "NOTIFICATIONS", "REQUESTS"]
    lines = [
        '"""Every generated name. A topic is imported when one of its names is first used.',
        "",
        NOTICE,
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from importlib import import_module",
        "from typing import TYPE_CHECKING, Any, Final",
        "",
        "if TYPE_CHECKING:",
    ]
    for topic, names in sorted(topics.items()):
        lines.append(f"    from roost.acp.v2.gen.{topic} import (")
        lines += [f"        {name} as {name}," for name in sorted(names)]
        lines.append("    )")
    lines += ["", "TOPIC_OF: Final[dict[str, str]] = {"]
    lines += [f"    {quoted(name)}: {quoted(topic)}," for topic, names in topics.items() for name in names]
    lines += ["}", '"""The module each name lives in."""', "", "NO_TYPE_OF_THEIR_OWN: Final[dict[str, str]] = {"]
    apart = {**vocabulary.flattened, **vocabulary.documentation}
    lines += [f"    {quoted(name)}: {quoted(reason)}," for name, reason in sorted(apart.items())]
    lines += ["}", '"""The other definitions of the schema, and why they are not here."""', ""]
    lines += [
        "if not TYPE_CHECKING:  # or a misspelt name would have type Any",
        "",
        "    def __getattr__(name: str) -> Any:",
        "        topic = TOPIC_OF.get(name)",
        "        if topic is None:",
        '            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")',
        '        value = globals()[name] = getattr(import_module(f"{__name__}.{topic}"), name)',
        "        return value",
        "",
        "",
        "def __dir__() -> list[str]:",
        "    return sorted({*globals(), *TOPIC_OF})",
    ]
    return "\n".join(lines) + "\n"
