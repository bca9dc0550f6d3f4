"""What is known of a session: modes, options, capabilities; from the handshake, then from both directions."""

from __future__ import annotations

from typing import Any

import msgspec

from roost.sidecar.gen.messages import AcpSessionCreatedResponse
from roost.sidecar.payloads import Json, decoded, encoded, items, member, members, string, text

MODEL_NOT_SWITCHABLE = (
    "Available models reported by OpenCode. Model switching must be configured before createSession() because ACP "
    "session/set_config_option is not implemented."
)


class Facts:
    """The latest known state of one session; texts are JSON as the agent wrote it, absent where it said nothing."""

    def __init__(self, agent_type: str, opened: Json, initialized: Json, *, by_state: bool) -> None:
        capabilities, info = ("capabilities", "info") if by_state else ("agentCapabilities", "agentInfo")
        self._id_key = "configId" if by_state else "id"
        self.capabilities = text(initialized.get(capabilities))
        self.info = text(initialized.get(info))
        self.modes = text(opened["modes"] if "modes" in opened else initialized.get("modes"))
        options = items(opened.get("configOptions"))
        if options is None:
            options = items(initialized.get("configOptions")) or []
        self.options: list[msgspec.Raw] = options
        if not any(_is_model(option) for option in options):
            derived = derive_model_option(agent_type, opened.get("models"))
            if derived is not None:
                self.options = [*options, encoded(derived)]

    @property
    def option_texts(self) -> list[str]:
        return [bytes(option).decode() for option in self.options]

    @property
    def size(self) -> int:
        """How many bytes an answer that tells all of it comes to, or a little less."""
        told = (self.modes, self.capabilities, self.info)
        return sum(len(part.encode()) for part in told if part is not None) + sum(map(len, self.options))

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
        modes = members(None if self.modes is None else self.modes.encode())
        if modes is not None:
            modes["currentModeId"] = encoded(mode)
            self.modes = msgspec.json.encode(modes).decode()
        return {"sessionUpdate": "current_mode_update", "currentModeId": mode}

    def option_chosen(
        self, option_id: str, value: msgspec.Raw, answered: list[msgspec.Raw] | None
    ) -> dict[str, Any] | None:
        """session/set_config_option went well; `answered` is the complete list when the agent sent one (CFG-1)."""
        if answered is not None:
            self.options = answered
        else:
            for index, option in enumerate(self.options):
                found = members(option)
                if found is not None and string(found.get(self._id_key, found.get("id"))) == option_id:
                    found["currentValue"] = value
                    self.options = [*self.options[:index], encoded(found), *self.options[index + 1 :]]
                    break
            else:
                return None  # the agent accepted what it never told us of: nothing to track
        return {"sessionUpdate": "config_option_update", "configOptions": self.options}

    def options_told(self, options: list[msgspec.Raw]) -> None:
        """The agent sent the complete list (CFG-1: replace, never merge)."""
        self.options = options


def derive_model_option(agent_type: str, models: msgspec.Raw | None) -> dict[str, Any] | None:
    """A `model` option out of the old `models` object, for agents that offer no such option themselves."""
    found = decoded(models)
    if not isinstance(found, dict):
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


def _is_model(option: msgspec.Raw) -> bool:
    return "model" in (member(option, "id"), member(option, "configId"), member(option, "category"))
