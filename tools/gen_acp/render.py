"""Turns the intermediate form into Python text."""

from __future__ import annotations

import textwrap
from typing import Any

from tools.gen_acp.meanings import MEANINGS
from tools.gen_acp.methods import SIDES, Methods
from tools.gen_acp.model import (
    Alias,
    Closed,
    Constants,
    Definition,
    Either,
    Field,
    Listed,
    Mapped,
    Named,
    Nullable,
    Structure,
    Type,
    Union,
    Untagged,
    Vocabulary,
)
from tools.gen_acp.tables import index_file, methods_file
from tools.gen_acp.text import NOTICE, WIDTH, class_line, dictionary, import_line, quoted, snake, wrapped
from tools.gen_acp.topics import TOPICS, topic_of

MODEL_NAMES = {"FirstOf", "Items", "Lenient", "Model", "NeverType", "OpenUnion", "Unknown", "JsonObject", "CONSTANT"}
MODEL_NAMES |= {"UNSET", "UnsetType", "Uint16", "Uint32", "Uint64", "Int32", "Int64", "check_one_of", "Untagged"}
TYPING_NAMES = {"Any", "Annotated", "ClassVar", "Final", "Literal", "TypeAlias", "TYPE_CHECKING"}


class Renderer:
    """All files of `gen/`, by name."""

    def __init__(self, vocabulary: Vocabulary, raw: dict[str, dict[str, Any]]) -> None:
        self.vocabulary = vocabulary
        self.raw = raw
        self.methods = Methods(raw)
        self.topic_of = topic_of()
        self.used: set[str] = set()
        missing = {name for name in vocabulary.definitions if not self._is_private(name)} ^ set(self.topic_of)
        if missing:
            raise ValueError(f"topics.py and the schema disagree about {sorted(missing)}")
        unknown = set(self.topic_of) ^ set(MEANINGS)
        if unknown:
            raise ValueError(f"topics.py and meanings.py disagree about {sorted(unknown)}")

    def files(self) -> dict[str, str]:
        files = {f"{topic}.py": self._topic(topic) for topic in TOPICS}
        files["methods.py"] = methods_file(self.vocabulary, self.methods)
        files["__init__.py"] = index_file(self.vocabulary)
        return files

    # one topic

    def _topic(self, topic: str) -> str:
        purpose, names = TOPICS[topic]
        self.used = set()
        blocks = []
        for name in names.split():
            definition = self.vocabulary.definitions[name]
            if isinstance(definition, Union) and definition.other:
                blocks.append(self._definition(self.vocabulary.definitions[definition.other]))
            blocks.append(self._definition(definition))
        defined = set(names.split())
        head = f'"""{purpose}\n\n{NOTICE}\n"""'
        return "\n".join([head, "", *self._imports(topic, defined), "", *blocks]).rstrip() + "\n"

    def _imports(self, topic: str, defined: set[str]) -> list[str]:
        lines = ["from __future__ import annotations", ""]
        if standard := sorted(self.used & TYPING_NAMES):
            lines += [import_line("typing", standard), ""]
        if "field" in self.used:
            lines += ["from msgspec import field", ""]
        groups: dict[str, list[str]] = {}
        for name in sorted(self.used - TYPING_NAMES - {"field"}):
            if name in defined:
                continue
            if name in MODEL_NAMES:
                module = "roost.wire.model"
            elif name in ("Request", "Notification"):
                module = "roost.acp.calls"
            else:
                module = f"roost.acp.v2.gen.{self.topic_of[name]}"
                order = list(TOPICS)
                if order.index(self.topic_of[name]) > order.index(topic):
                    raise ValueError(f"{topic} would import {name} from a later topic, {self.topic_of[name]}")
            groups.setdefault(module, []).append(name)
        return lines + [import_line(module, names) for module, names in sorted(groups.items())]

    def _definition(self, definition: Definition) -> str:
        match definition:
            case Alias():
                return self._alias(definition)
            case Constants():
                return self._constants(definition)
            case Closed():
                self.used |= {"Literal", "TypeAlias"}
                values = ", ".join(quoted(value) for value in definition.values)
                return f"{definition.name}: TypeAlias = Literal[{values}]\n{self._doc(definition.name, '')}\n"
            case Structure():
                return self._structure(definition)
            case Union():
                return self._union(definition)
            case Untagged():
                return self._untagged(definition)

    def _alias(self, alias: Alias) -> str:
        self.used.add("TypeAlias")
        return f"{alias.name}: TypeAlias = {self._type(alias.type)}\n{self._doc(alias.name, '')}\n"

    def _constants(self, constants: Constants) -> str:
        self.used.add("Final")
        base = "str" if constants.base == "str" else "int"
        doc = self._doc(constants.name, "    ", f"Names for some values; fields hold any {base}.")
        lines = ["", f"class {constants.name}:", doc, ""]
        names = ERROR_NAMES if constants.base != "str" else {}
        for value in constants.values:
            name = names.get(value, str(value).upper().replace("-", "_"))
            lines.append(f"    {name}: Final = {quoted(value) if isinstance(value, str) else value}")
        return "\n".join([*lines, ""])

    def _structure(self, structure: Structure) -> str:
        name = f"_{structure.name}" if structure.private else structure.name
        # Neither msgspec nor type checkers inherit these two.
        arguments = [self._base(structure), "frozen=True", "kw_only=True"]
        if structure.tag is not None:
            arguments += [f"tag_field={quoted(structure.tag.field)}", f"tag={quoted(structure.tag.value)}"]
        lines = ["", class_line(name, arguments)]
        lines.append(self._doc(structure.name, "    ", self._call_note(structure)))
        body = []
        if structure.method is not None and not structure.name.endswith("Response"):
            self.used.add("ClassVar")
            body.append(f"    METHOD: ClassVar[str] = {quoted(structure.method)}")
        if structure.one_of:
            self.used |= {"ClassVar", "Model", "check_one_of", *structure.one_of}
            body.append(f"    ONE_OF: ClassVar[tuple[type[Model], ...]] = ({', '.join(structure.one_of)})")
        body += ([""] if body and structure.fields else []) + [
            self._field(field) for field in _in_order(structure.fields)
        ]
        if structure.one_of:
            body += ["", "    def __post_init__(self) -> None:", "        check_one_of(self)"]
        return "\n".join([*lines, *([""] if body else []), *body, ""])

    def _base(self, structure: Structure) -> str:
        if structure.base is not None:
            self.used.add(structure.base)
            return structure.base
        if structure.method is None or structure.name.endswith("Response"):
            self.used.add("Model")
            return "Model"
        if structure.name.endswith("Notification"):
            self.used.add("Notification")
            return "Notification"
        self.used.add("Request")
        return f"Request[{quoted(self.methods.result_of(structure.method))}]"

    def _call_note(self, structure: Structure) -> str:
        if structure.method is None or structure.name.endswith("Response"):
            return ""
        side = SIDES[self.methods.side_of(structure.method)]
        receiver = {"agent": "To the agent", "client": "To the client", "both": "Either way"}[side]
        kind = "notification" if structure.name.endswith("Notification") else "request"
        return f"{receiver}: {kind} `{structure.method}`."

    def _field(self, field: Field) -> str:
        attribute = snake(field.wire)
        if field.constant is not None:
            self.used |= {"Annotated", "Literal", "CONSTANT", "field"}
            value = quoted(field.constant)
            text = f"    {attribute}: Annotated[Literal[{value}], CONSTANT]"
            # A plain default would be left out when encoding.
            return f"{text} = field(default_factory=lambda: {value})"
        type_text = self._type(field.type)
        if (field.patch or field.optional_member) and type_text != "Any":
            self.used.add("UnsetType")
            type_text = f"{type_text} | UnsetType"
        if field.lenient:
            self.used.add("Lenient")
            type_text = f"Lenient[{type_text}]"
        notes = [*sorted(self._open_enums(field.type)), *(["unstable"] if field.unstable else [])]
        comment = f"  # {', '.join(notes)}" if notes else ""
        return f"    {attribute}: {type_text}{self._default(field)}{comment}"

    def _default(self, field: Field) -> str:
        if field.required:
            return ""
        if field.patch or field.optional_member:
            self.used.add("UNSET")
            return " = UNSET"
        match field.type:
            case Listed():
                return " = []"
            case Mapped() if field.default == {}:
                # Written even when it is empty (ELI-6). As a plain default it would be left out.
                self.used.add("field")
                return " = field(default_factory=lambda: {})"
            case Mapped():
                return " = {}"
            case Nullable() | Named("Any"):
                return " = None"
        if isinstance(field.default, bool):
            return f" = {field.default}"
        if field.default == {} and isinstance(field.type, Named):
            self.used.add("field")
            return f" = field(default_factory={field.type.name})"
        if isinstance(field.default, str):
            # Written even though it is the default: peers that validate against the schema's examples expect it.
            self.used.add("field")
            return f" = field(default_factory=lambda: {quoted(field.default)})"
        raise ValueError(f"{field.wire}: optional, but with no default")

    def _union(self, union: Union) -> str:
        self.used |= {"TYPE_CHECKING", "TypeAlias", "Annotated", "OpenUnion", "Unknown"}
        arms = list(dict.fromkeys(name for _, name in union.arms))
        self.used |= set(arms)
        nested = [name for name in arms if isinstance(self.vocabulary.definitions[name], Union)]
        flat = [name for name in arms if name not in nested]
        known = [*flat, *(["NeverType"] if len(flat) == 1 else [])]
        if len(flat) == 1:
            self.used.add("NeverType")
        if union.outer is not None:
            self.used.add("Untagged")
            known = ["Untagged"]  # one msgspec tag cannot stand for several structures
        other = f", _{union.other}" if union.other else ""
        tags = [f"{quoted(tag)}: {name}" for tag, name in union.arms]
        return "\n".join(
            [
                "",
                "if TYPE_CHECKING:",
                wrapped(f"    {union.name}: TypeAlias = ", [*arms, "Unknown"], " | "),
                "else:",
                f"    {union.name} = Annotated[",
                wrapped("        ", known, " | ") + ",",
                f"        OpenUnion({quoted(union.tag_field)}, {dictionary(tags)}{other}),",
                "    ]",
                self._doc(union.name, "", f"Told apart by `{union.tag_field}`."),
                "",
            ]
        )

    def _untagged(self, union: Untagged) -> str:
        self.used |= {"TYPE_CHECKING", "TypeAlias", "Annotated", "FirstOf"}
        alternatives = [self._type(alternative) for alternative in union.alternatives]
        if not union.native:
            self.used.add("Untagged")
        known = " | ".join(alternatives) if union.native else "Untagged"
        return "\n".join(
            [
                "",
                "if TYPE_CHECKING:",
                wrapped(f"    {union.name}: TypeAlias = ", alternatives, " | "),
                "else:",
                f"    {union.name} = Annotated[{known}, FirstOf({', '.join(alternatives)})]",
                self._doc(union.name, "", "The first that fits, in this order."),
                "",
            ]
        )

    # parts

    def _type(self, of: Type) -> str:
        match of:
            case Named(name):
                definition = self.vocabulary.definitions.get(name)
                if isinstance(definition, Constants):
                    name = definition.base
                if name not in ("str", "bool", "float"):
                    self.used.add(name)
                return name
            case Listed(item, True):
                self.used.add("Items")
                return f"Items[{self._type(item)}]"
            case Listed(item, _):
                return f"list[{self._type(item)}]"
            case Mapped(value):
                return f"dict[str, {self._type(value)}]"
            case Nullable(inner):
                return f"{self._type(inner)} | None"
            case Either(options):
                return " | ".join(self._type(option) for option in options)

    def _open_enums(self, of: Type) -> set[str]:
        match of:
            case Named(name):
                return {name} if isinstance(self.vocabulary.definitions.get(name), Constants) else set()
            case Listed(inner, _) | Mapped(inner) | Nullable(inner):
                return self._open_enums(inner)
            case Either(options):
                return {name for option in options for name in self._open_enums(option)}

    def _doc(self, name: str, indent: str, note: str = "") -> str:
        definition = self.vocabulary.definitions.get(name)
        if isinstance(definition, Structure) and definition.private:
            return f'{indent}"""What a variant of {definition.source} needs beside its tag, whatever the tag."""'
        source = definition.source if isinstance(definition, Structure) else name
        stability = "Unstable" if self.vocabulary.is_unstable(name, source) else "Stable"
        where = f"{stability}. Schema: #/$defs/{source}." if source in self.raw else f"{stability}."
        tail = textwrap.wrap(f"{note} {where}".strip(), WIDTH - len(indent))
        head = textwrap.wrap(f'"""{MEANINGS[name]}', WIDTH - len(indent))
        lines = [*head, "", *tail, '"""']
        return "\n".join(f"{indent}{line}".rstrip() for line in lines)

    def _is_private(self, name: str) -> bool:
        definition = self.vocabulary.definitions[name]
        return isinstance(definition, Structure) and definition.private


ERROR_NAMES: dict[str | int, str] = {
    -32700: "PARSE_ERROR",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
    -32603: "INTERNAL_ERROR",
    -32800: "REQUEST_CANCELLED",
    -32000: "AUTHENTICATION_REQUIRED",
    -32002: "RESOURCE_NOT_FOUND",
}


def _in_order(fields: tuple[Field, ...]) -> list[Field]:
    """The schema's order, with `_meta` last."""
    return sorted(fields, key=lambda field: field.wire == "_meta")
