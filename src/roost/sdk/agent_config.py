"""A session's settings: the options it offers, and setting one, by the rules (CFG-1 to CFG-6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import structs

from roost.acp import v2
from roost.errors import LocalProtocolError
from roost.sdk.handlers import invalid_params

Value = str | bool


class ConfigOptions:
    """The options of one session, in the agent's order (CFG-2). Each always has a value (CFG-3)."""

    def __init__(self, options: Iterable[v2.SessionConfigOption] = ()) -> None:
        self._options: list[v2.SessionConfigOption] = []
        self.replace(options)

    def __iter__(self) -> Iterator[v2.SessionConfigOption]:
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)

    def __contains__(self, config_id: object) -> bool:
        return any(_id_of(option) == config_id for option in self._options)

    def __getitem__(self, config_id: str) -> Value:
        """The current value. KeyError."""
        option = self._find(config_id)
        if isinstance(option, v2.SessionConfigSelect | v2.SessionConfigBoolean):
            return option.current_value
        raise KeyError(config_id)

    def get(self, config_id: str, default: Value | None = None) -> Value | None:
        """The current value of an option; `default` where there is no such option, or it is of an unknown kind."""
        try:
            return self[config_id]
        except KeyError:
            return default

    def replace(self, options: Iterable[v2.SessionConfigOption]) -> None:
        """Offers other options. LocalProtocolError: two have one id, or a select's value is not among its own."""
        options = list(options)
        if len({_id_of(option) for option in options}) < len(options):
            raise LocalProtocolError("two config options have one id")
        for option in options:
            if isinstance(option, v2.SessionConfigSelect) and option.current_value not in values_of(option):
                raise LocalProtocolError(f"config option {option.config_id} has a value it does not offer")
        self._options = options

    def assign(self, config_id: str, value: Value) -> None:
        """Sets a value. RpcError -32602, and nothing changed: no such option, or not a value of it (CFG-5)."""
        option = self._find(config_id)
        if option is None:
            raise invalid_params("no such config option", "configId", configId=config_id)
        if isinstance(option, v2.SessionConfigSelect):
            if not isinstance(value, str) or value not in values_of(option):
                raise invalid_params("not a value of this config option", "value", configId=config_id)
        elif isinstance(option, v2.SessionConfigBoolean):
            if not isinstance(value, bool):
                raise invalid_params("this config option is on or off", "value", configId=config_id)
        else:
            raise invalid_params("this config option has a type of its own", "type", configId=config_id)
        changed = structs.replace(option, current_value=value)
        self._options[self._options.index(option)] = changed

    def values(self) -> dict[str, Value]:
        """Current values by id, as they are stored."""
        return {
            option.config_id: option.current_value
            for option in self._options
            if isinstance(option, v2.SessionConfigSelect | v2.SessionConfigBoolean)
        }

    def restore(self, values: dict[str, Any]) -> None:
        """Sets what was stored, as far as it is still on offer."""
        from roost.errors import RpcError

        for config_id, value in values.items():
            try:
                self.assign(config_id, value)
            except RpcError:
                continue  # the agent has changed since: its default stands

    def listed(self) -> list[v2.SessionConfigOption]:
        """All of them, for an answer or an update: always complete (CFG-1)."""
        return list(self._options)

    def _find(self, config_id: str) -> v2.SessionConfigOption | None:
        return next((option for option in self._options if _id_of(option) == config_id), None)


def values_of(option: v2.SessionConfigSelect) -> list[str]:
    """The values a select offers, groups opened."""
    values: list[str] = []
    for entry in option.options:
        if isinstance(entry, v2.SessionConfigSelectGroup):
            values += [inner.value for inner in entry.options]
        else:
            values.append(entry.value)
    return values


def select(
    config_id: str, name: str, values: dict[str, str], *, value: str | None = None, **more: Any
) -> v2.SessionConfigSelect:
    """A select option from `{value: name}`; the first is the default."""
    return v2.SessionConfigSelect(
        config_id=config_id,
        name=name,
        current_value=next(iter(values)) if value is None else value,
        options=[v2.SessionConfigSelectOption(value=key, name=text) for key, text in values.items()],
        **more,
    )


def switch(config_id: str, name: str, value: bool = False, **more: Any) -> v2.SessionConfigBoolean:
    """An option that is on or off."""
    return v2.SessionConfigBoolean(config_id=config_id, name=name, current_value=value, **more)


def _id_of(option: v2.SessionConfigOption) -> str:
    if isinstance(option, v2.Unknown):
        value = option.value().get("configId")
        return value if isinstance(value, str) else ""
    return option.config_id
