"""What is known of a session: modes, options, capabilities; from the handshake, then from both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from roost.sidecar.gen.messages import AcpSessionCreatedResponse

Json = Mapping[str, msgspec.Raw]

MODEL_NOT_SWITCHABLE = (
    "Available models reported by OpenCode. Model switching must be configured before createSession() because ACP "
    "session/set_config_option is not implemented."
)


class Facts:
    """The latest known state of one session; texts are JSON, absent where the agent said nothing."""

    def __init__(self, agent_type: str, opened: Json, initialized: Json, *, version: int) -> None:
        capabilities, info = ("capabilities", "info") if version >= 2 else ("agentCapabilities", "agentInfo")
        self._id_key = "configId" if version >= 2 else "id"
        self.capabilities = _text(initialized.get(capabilities))
        self.info = _text(initialized.get(info))
        self.modes = _text(opened["modes"] if "modes" in opened else initialized.get("modes"))
        options = _array(opened.get("configOptions"))
        if options is None:
            options = _array(initialized.get("configOptions")) or []
        self.options: list[Any] = options
        if not any(_is_model(option) for option in options):
            derived = derive_model_option(agent_type, opened.get("models"))
            if derived is not None:
                self.options = [*options, derived]

    @property
    def option_texts(self) -> list[str]:
        return [msgspec.json.encode(option).decode() for option in self.options]

    def created(self, session_id: str, pid: int | None) -> AcpSessionCreatedResponse:
        return AcpSessionCreatedResponse(
            session_id=session_id,
            pid=pid,
            modes=self.modes,
            config_options=self.option_texts,
            agent_capabilities=self.capabilities,
            agent_info=self.info,
        )

    # ---- changes; each says what a synthetic update would have to tell, or None

    def mode_chosen(self, mode: str) -> dict[str, Any]:
        """session/set_mode went well, or the agent switched by itself."""
        modes = _object(self.modes)
        if modes is not None:
            modes["currentModeId"] = mode
            self.modes = msgspec.json.encode(modes).decode()
        return {"sessionUpdate": "current_mode_update", "currentModeId": mode}

    def option_chosen(self, option_id: str, value: Any, answered: list[Any] | None) -> dict[str, Any] | None:
        """session/set_config_option went well; `answered` is the complete list when the agent sent one (CFG-1)."""
        if answered is not None:
            self.options = answered
        else:
            index = self._find(option_id)
            if index is None:
                return None  # the agent accepted what it never told us of: nothing to track
            self.options = list(self.options)
            self.options[index] = {**self.options[index], "currentValue": value}
        return {"sessionUpdate": "config_option_update", "configOptions": self.options}

    def options_told(self, options: list[Any]) -> None:
        """The agent sent the complete list (CFG-1: replace, never merge)."""
        self.options = options

    def _find(self, option_id: str) -> int | None:
        for index, option in enumerate(self.options):
            if isinstance(option, dict) and option.get(self._id_key, option.get("id")) == option_id:
                return index
        return None


def derive_model_option(agent_type: str, models: msgspec.Raw | None) -> dict[str, Any] | None:
    """A `model` option out of the old `models` object, for agents that offer no such option themselves."""
    found = _object(_text(models))
    if found is None:
        return None
    current = found.get("currentModelId")
    available = found.get("availableModels")
    values = []
    for model in available if isinstance(available, list) else []:
        if isinstance(model, dict) and isinstance(model.get("modelId"), str):
            value = {"id": model["modelId"]}
            if isinstance(model.get("name"), str):
                value["label"] = model["name"]
            values.append(value)
    if not isinstance(current, str) and not values:
        return None
    fixed = agent_type == "opencode"
    option: dict[str, Any] = {"id": "model", "category": "model", "label": "Model", "allowedValues": values}
    option["readOnly"] = fixed
    if isinstance(current, str):
        option["currentValue"] = current
    if fixed:
        option["description"] = MODEL_NOT_SWITCHABLE
    return option


def _is_model(option: Any) -> bool:
    return isinstance(option, dict) and "model" in (option.get("id"), option.get("configId"), option.get("category"))


def _text(raw: msgspec.Raw | None) -> str | None:
    return None if raw is None else bytes(raw).decode()


def _array(raw: msgspec.Raw | None) -> list[Any] | None:
    value = None if raw is None else msgspec.json.decode(raw)
    return value if isinstance(value, list) else None


def _object(text: str | None) -> dict[str, Any] | None:
    value = None if text is None else msgspec.json.decode(text)
    return value if isinstance(value, dict) else None
