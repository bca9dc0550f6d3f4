"""What an agent's environment is made of, by comparing dicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.process.environment import INHERITED_NAMES, agent_environment

FORCED = {"AGENTOS_KEEP_STDIN_OPEN": "1"}


@pytest.mark.parametrize(
    ("own", "manifest", "request_env", "expected"),
    [
        pytest.param({}, {}, {}, {}, id="nothing"),
        pytest.param({}, {"A": "m"}, {}, {"A": "m"}, id="the manifest fills gaps"),
        pytest.param(
            {}, {"A": "m", "B": "m"}, {"A": "r"}, {"A": "r", "B": "m"}, id="the caller wins over the manifest"
        ),
        pytest.param({}, {"A": "m"}, {"A": ""}, {"A": ""}, id="an empty value is a value"),
        pytest.param({"PATH": "o"}, {"PATH": "m"}, {}, {"PATH": "m"}, id="the manifest wins over what is inherited"),
        pytest.param({"PATH": "o"}, {"PATH": "m"}, {"PATH": "r"}, {"PATH": "r"}, id="the caller wins over all"),
        pytest.param({}, {"AGENTOS_KEEP_STDIN_OPEN": "0"}, {"AGENTOS_KEEP_STDIN_OPEN": "0"}, {}, id="19: forced"),
        pytest.param(
            {"ANTHROPIC_API_KEY": "k", "AWS_SECRET": "s", "PYTHONPATH": "p", "LD_PRELOAD": "x", "ROOST_PROCESS": "t:1"},
            {},
            {},
            {},
            id="secrets and traps are not inherited",
        ),
        pytest.param(
            {"HOME": "h", "LC_ALL": "C", "LCX": "x", "XDG_DATA_HOME": "d", "https_proxy": "p", "TZ": "z", "LANG": "l"},
            {},
            {},
            {"HOME": "h", "LC_ALL": "C", "XDG_DATA_HOME": "d", "https_proxy": "p", "TZ": "z", "LANG": "l"},
            id="what a program needs is",
        ),
    ],
)
def test_environment(own, manifest, request_env, expected):
    assert agent_environment(own, manifest, request_env) == {**expected, **FORCED}


def test_python_is_asked_for_utf8_and_may_be_told_otherwise():
    assert agent_environment({}, {}, {}, python=True) == {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8", **FORCED}
    assert agent_environment({}, {"PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "x"}, python=True) == {
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "x",
        **FORCED,
    }


def test_the_operator_lets_further_names_through():
    own = {"ANTHROPIC_API_KEY": "k", "AWS_A": "1", "AWS_B": "2", "OTHER": "3"}
    assert agent_environment(own, {}, {}, let_through=["ANTHROPIC_API_KEY", "AWS_*"]) == {
        "ANTHROPIC_API_KEY": "k",
        "AWS_A": "1",
        "AWS_B": "2",
        **FORCED,
    }


names = st.sampled_from(["PATH", "SECRET", "A", "B", "AGENTOS_KEEP_STDIN_OPEN", "LC_X"])
environments = st.dictionaries(names, st.text(max_size=3))


@given(environments, environments, environments)
def test_merging_what_was_merged_before_changes_nothing(own, manifest, request_env):
    once = agent_environment(own, manifest, request_env)
    assert agent_environment(own, manifest, {**manifest, **request_env, **FORCED}) == once
    assert once["AGENTOS_KEEP_STDIN_OPEN"] == "1"
    assert ("SECRET" in once) == ("SECRET" in manifest or "SECRET" in request_env)


def test_no_name_is_let_through_by_a_pattern_for_everything():
    assert not any(pattern.startswith("*") for pattern in INHERITED_NAMES)
