"""Config options and v1's modes and models: which option stands for which, and what was told last (4.3)."""

from __future__ import annotations

from typing import Any, Final

from roost.acp.bridge.losses import Losses
from roost.acp.bridge.payload import Json, as_object, as_text, objects, picked, with_meta

_OPTION: Final = ("name", "description", "category", "currentValue")
_SELECTORS: Final = (
    # category, member of the results, current, list, id of an entry, v1 method, parameter, name shown
    ("mode", "modes", "currentModeId", "availableModes", "id", "session/set_mode", "modeId", "Mode"),
    ("model", "models", "currentModelId", "availableModels", "modelId", "session/set_model", "modelId", "Model"),
)


def options_to_v2(options: Any) -> list[Json]:
    return [_option_to_v2(option) for option in objects(options)]


def _option_to_v2(option: Json) -> Json:
    v2 = picked(option, *_OPTION)
    v2["type"] = as_text(option.get("type"), "select")
    v2["configId"] = option.get("id", option.get("configId"))
    if v2["type"] == "select":
        v2["options"] = [_choice_to_v2(choice) for choice in objects(option.get("options"))]
    elif v2["type"] != "boolean":  # kept whole: it is for whoever knows it
        v2 = {**{name: value for name, value in option.items() if name != "id"}, **v2}
    return with_meta(v2, option)


def _choice_to_v2(choice: Json) -> Json:
    if isinstance(choice.get("options"), list):
        group = {"groupId": choice.get("group", choice.get("groupId")), "name": choice.get("name")}
        group["options"] = [_choice_to_v2(inner) for inner in objects(choice["options"])]
        return with_meta(group, choice)
    return with_meta(picked(choice, "value", "name", "description"), choice)


def option_to_v1(option: Json, with_switches: bool, losses: Losses) -> Json | None:
    """None for an option v1 has no form for. A switch is a choice of two for clients without switches."""
    v1 = picked(option, *_OPTION)
    v1["id"] = option.get("configId")
    kind = option.get("type")
    if kind == "select":
        v1["type"] = "select"
        v1["options"] = [_choice_to_v1(choice) for choice in objects(option.get("options"))]
    elif kind == "boolean" and with_switches:
        v1["type"] = "boolean"
    elif kind == "boolean":
        losses.count("boolean_option")
        v1["type"] = "select"
        v1["currentValue"] = "true" if option.get("currentValue") is True else "false"
        v1["options"] = [{"value": "true", "name": "On"}, {"value": "false", "name": "Off"}]
    else:
        losses.count("option_form")
        return None
    return with_meta(v1, option)


def _choice_to_v1(choice: Json) -> Json:
    if "groupId" in choice:
        group = {"group": choice["groupId"], "name": choice.get("name")}
        group["options"] = [_choice_to_v1(inner) for inner in objects(choice.get("options"))]
        return with_meta(group, choice)
    return with_meta(picked(choice, "value", "name", "description"), choice)


def choices(option: Json) -> list[Json]:
    """All choices of a select, those of groups as well."""
    out: list[Json] = []
    for choice in objects(option.get("options")):
        inner = choice.get("options")
        out += objects(inner) if isinstance(inner, list) else [choice]
    return out


class AgentConfig:
    """The options of one session of a v1 agent, as v2 shows them."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._options: list[Json] = []
        self._selectors: dict[str, Json] = {}  # v1's `modes` and `models`
        self.told: list[Json] | None = None
        """What the client knows; None before it was told anything."""

    def take(self, result: Json) -> None:
        """What an answer says of options, modes and models; what it leaves out stays."""
        if isinstance(result.get("configOptions"), list):
            self._options = options_to_v2(result["configOptions"])
        for _, member, *_ in _SELECTORS:
            if isinstance(result.get(member), dict):
                self._selectors[member] = result[member]

    def take_options(self, options: Any) -> None:
        self._options = options_to_v2(options)

    def take_mode(self, mode: Any) -> None:
        """The agent changed its mode, and perhaps has an option that says the same."""
        if not isinstance(mode, str):
            return
        modes = self._selectors.setdefault("modes", {"availableModes": []})
        modes["currentModeId"] = mode
        for option in self._options:
            if option.get("category") == "mode" and any(choice.get("value") == mode for choice in choices(option)):
                option["currentValue"] = mode

    def full(self) -> list[Json]:
        """All options, those that stand for modes and models in front (B-09, B-10)."""
        return [option for option, _ in self._made()] + [dict(option) for option in self._options]

    def change(self, config_id: str) -> tuple[str, str] | None:
        """The v1 method and parameter that change an option, when it is one that stands for a mode or a model."""
        for option, row in self._made():
            if option["configId"] == config_id:
                return row
        return None

    def chosen(self, config_id: str, value: str) -> None:
        """Such a change was made."""
        for option, (method, _) in self._made():
            if option["configId"] == config_id:
                for _, member, current, _, _, its_method, _, _ in _SELECTORS:
                    if its_method == method:
                        self._selectors[member][current] = value

    def set_current(self, config_id: str, value: Any) -> None:
        """An option was set, and the answer did not say how all of them are now."""
        for option in self._options:
            if option.get("configId") == config_id:
                option["currentValue"] = value

    def find(self, config_id: str) -> Json | None:
        return next((option for option in self.full() if option.get("configId") == config_id), None)

    def _made(self) -> list[tuple[Json, tuple[str, str]]]:
        out: list[tuple[Json, tuple[str, str]]] = []
        for category, member, current, entries, identifier, method, parameter, name in _SELECTORS:
            selector = self._selectors.get(member)
            if selector is None or not isinstance(selector.get(current), str):
                continue
            if any(option.get("category") == category for option in self._options):
                self._losses.count("mode_duplicate")
                continue
            values = objects(selector.get(entries))
            if not values:
                continue
            if any(as_object(entry).get("_meta") for entry in (selector, *values)):
                self._losses.count("mode_meta")
            taken = any(option.get("configId") == category for option in self._options)
            option: Json = {
                "type": "select",
                "configId": f"_bridge_{category}" if taken else category,
                "name": name,
                "category": category,
                "currentValue": selector[current],
                "options": [{"value": entry.get(identifier), **_named(entry, identifier)} for entry in values],
            }
            out.append((option, (method, parameter)))
        return out


def _named(entry: Json, identifier: str) -> Json:
    described = {"description": entry["description"]} if isinstance(entry.get("description"), str) else {}
    return {"name": as_text(entry.get("name"), as_text(entry.get(identifier))), **described}


def modes_of(options: list[Json], losses: Losses) -> Json:
    """The `modes` and `models` a v1 client gets beside the options (4.3): the first select of each category."""
    out: Json = {}
    for category, member, current, entries, identifier, _, _, _ in _SELECTORS:
        found = [option for option in options if option.get("category") == category]
        selects = [option for option in found if option.get("type") == "select"]
        if len(found) > 1:
            losses.count("second_mode")
        if selects:
            out[member] = {
                current: selects[0].get("currentValue"),
                entries: [
                    {identifier: choice.get("value"), **picked(choice, "name", "description")}
                    for choice in choices(selects[0])
                ],
            }
    return out


def mode_option(options: list[Json], category: str) -> Json | None:
    """The option that stands for v1's mode, or its model."""
    return next(
        (option for option in options if option.get("category") == category and option.get("type") == "select"), None
    )
