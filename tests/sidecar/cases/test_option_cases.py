"""Cases 31 to 36: modes, options and models of a new session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sidecar.cases.handshakes import answering, created
from tests.sidecar.scripted_agent import Json

MODES = {"currentModeId": "code", "availableModes": []}


@pytest.mark.parametrize(
    ("in_new", "in_initialize", "told"),
    [
        ({}, {}, None),
        ({}, {"modes": MODES}, MODES),
        ({"modes": {"currentModeId": "x"}}, {"modes": MODES}, {"currentModeId": "x"}),
        ({"modes": None}, {"modes": MODES}, "null"),
    ],
)
def test_case_031_modes_of_session_new_win_over_those_of_initialize(
    in_new: Json, in_initialize: Json, told: Any
) -> None:
    rig = answering(new={"sessionId": "s", **in_new}, initialize={"protocolVersion": 1, **in_initialize})
    modes = created(rig).modes
    assert modes == told if not isinstance(told, dict) else json.loads(modes or "") == told


A, B = {"id": "a", "currentValue": 1}, {"id": "b", "currentValue": "x"}


@pytest.mark.parametrize(
    ("in_new", "in_initialize", "told"),
    [
        ({}, {"configOptions": [A]}, [A]),
        ({"configOptions": [B]}, {"configOptions": [A]}, [B]),
        ({"configOptions": []}, {"configOptions": [A]}, []),
        ({"configOptions": None}, {"configOptions": [A]}, [A]),
        ({"configOptions": {"id": "b"}}, {"configOptions": "a"}, []),
    ],
)
def test_case_032_options_of_session_new_replace_those_of_initialize(
    in_new: Json, in_initialize: Json, told: list[Json]
) -> None:
    rig = answering(new={"sessionId": "s", **in_new}, initialize={"protocolVersion": 1, **in_initialize})
    assert [json.loads(option) for option in created(rig).config_options] == told


MODELS = {"currentModelId": "m1", "availableModels": [{"modelId": "m1", "name": "One"}, {"modelId": "m2"}, {"x": 1}, 5]}


def test_case_033_a_model_option_is_derived_from_models() -> None:
    (option,) = created(answering(new={"sessionId": "s", "models": MODELS})).config_options
    assert json.loads(option) == {
        "id": "model",
        "category": "model",
        "label": "Model",
        "allowedValues": [{"id": "m1", "label": "One"}, {"id": "m2"}],
        "readOnly": False,
        "currentValue": "m1",
    }


@pytest.mark.parametrize("option", [{"id": "model"}, {"id": "x", "category": "model"}])
def test_case_034_an_agents_own_model_option_is_enough(option: Json) -> None:
    rig = answering(new={"sessionId": "s", "models": MODELS, "configOptions": [option]})
    assert [json.loads(text) for text in created(rig).config_options] == [option]


def test_case_035_the_derived_option_of_opencode_cannot_be_changed() -> None:
    rig = answering(new={"sessionId": "s", "models": MODELS})
    rig.install("opencode")
    option = json.loads(created(rig, agent="opencode").config_options[0])
    assert option["readOnly"] is True
    assert option["description"] == (
        "Available models reported by OpenCode. Model switching must be configured before createSession() because "
        "ACP session/set_config_option is not implemented."
    )


@pytest.mark.parametrize(
    ("models", "count"),
    [
        ({}, 0),
        ({"availableModels": []}, 0),
        ({"availableModels": [{"name": "x"}, {"modelId": 5}]}, 0),
        (None, 0),
        ([], 0),
        ({"currentModelId": "m"}, 1),
        ({"availableModels": [{"modelId": "m"}]}, 1),
    ],
)
def test_case_036_nothing_is_derived_without_a_current_model_or_a_valid_one(models: Any, count: int) -> None:
    derived = created(answering(new={"sessionId": "s", "models": models})).config_options
    assert len(derived) == count
    assert all(("currentValue" in json.loads(option)) is ("currentModelId" in models) for option in derived)
