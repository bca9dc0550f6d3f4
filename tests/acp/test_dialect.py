"""Dialects and version negotiation."""

from __future__ import annotations

import pytest

from roost.acp.dialect import V1, V2, Dialect, accepted, negotiate
from roost.errors import LocalProtocolError


@pytest.mark.parametrize(
    ("requested", "supported", "answer"),
    [
        (2, [V1, V2], V2),
        (1, [V1, V2], V1),
        (1, [V2], V2),  # INI-3: higher than what was asked for
        (3, [V1, V2], V2),  # INI-9
        (3, [V2, V1], V2),
        (0, [V1, V2], V2),
        (65535, [V1], V1),
    ],
)
def test_the_answer_is_the_requested_version_or_the_latest(
    requested: int, supported: list[Dialect], answer: Dialect
) -> None:
    """INI-3"""
    assert negotiate(requested, supported) is answer


def test_a_client_hangs_up_on_a_version_it_does_not_speak() -> None:
    """INI-4"""
    assert accepted(2, [V1, V2]) is V2
    assert accepted(1, [V2]) is None


def test_negotiating_with_no_dialect_is_our_own_mistake() -> None:
    with pytest.raises(LocalProtocolError):
        negotiate(2, [])


def test_a_method_is_known_to_the_side_that_implements_it_only() -> None:
    """ENV-9"""
    assert V2.request("session/new", "agent") is not None
    assert V2.request("session/new", "client") is None
    assert V2.request("session/request_permission", "client") is not None
    assert V2.request("session/request_permission", "agent") is None
    assert V2.request("session/cancel") is None
    assert V2.notification("session/cancel", "agent") is not None
    assert V2.request("mcp/message", "agent") is V2.request("mcp/message", "client")
    assert V2.request("session/nothing") is None


def test_what_is_only_a_notification_is_told_apart() -> None:
    assert V2.is_notification("session/update")
    assert not V2.is_notification("mcp/message")
    assert V2.is_request("mcp/message")
    assert not V2.is_notification("session/new")
    assert V1.is_notification("session/cancel")
    assert not V1.is_notification("session/set_mode")


def test_each_version_has_the_methods_the_other_dropped() -> None:
    gone = {
        *("authenticate", "logout", "session/load", "session/set_mode", "session/set_model"),
        *("fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output"),
        *("terminal/wait_for_exit", "terminal/kill", "terminal/release"),
    }
    first, second = ({method.name for method in dialect.methods} for dialect in (V1, V2))
    assert gone == first - second
    assert second - first == {"auth/login", "auth/logout"}


def test_v1_has_no_types() -> None:
    assert all(method.params is None and method.result is None for method in V1.methods)
    assert all(method.params is not None for method in V2.methods)
