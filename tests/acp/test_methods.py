"""The method table against the schema, and what request types know about themselves."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from roost.acp import v2
from roost.acp.calls import Gate, Method, Notification, Request
from tests.oracle.acp_reference import DEFS

# From the protocol's own list: method, kind, receiver, where it is advertised.
LISTED = """
initialize                     request      agent  -
auth/login                     request      agent  agent:authMethods
auth/logout                    request      agent  agent:authMethods
session/new                    request      agent  agent:capabilities.session
session/list                   request      agent  agent:capabilities.session
session/resume                 request      agent  agent:capabilities.session
session/close                  request      agent  agent:capabilities.session
session/delete                 request      agent  agent:capabilities.session.delete
session/fork                   request      agent  agent:capabilities.session.fork
session/prompt                 request      agent  agent:capabilities.session
session/cancel                 notification agent  agent:capabilities.session
session/set_config_option      request      agent  agent:capabilities.session
providers/list                 request      agent  agent:capabilities.providers
providers/set                  request      agent  agent:capabilities.providers
providers/disable              request      agent  agent:capabilities.providers
nes/start                      request      agent  agent:capabilities.nes
nes/suggest                    request      agent  agent:capabilities.nes
nes/close                      request      agent  agent:capabilities.nes
nes/accept                     notification agent  agent:capabilities.nes
nes/reject                     notification agent  agent:capabilities.nes
document/didOpen               notification agent  agent:capabilities.nes.events.document.didOpen
document/didChange             notification agent  agent:capabilities.nes.events.document.didChange
document/didClose              notification agent  agent:capabilities.nes.events.document.didClose
document/didSave               notification agent  agent:capabilities.nes.events.document.didSave
document/didFocus              notification agent  agent:capabilities.nes.events.document.didFocus
mcp/message                    request      both   agent:capabilities.session.mcp.acp
mcp/message                    notification both   agent:capabilities.session.mcp.acp
session/update                 notification client -
session/request_permission     request      client -
elicitation/create             request      client client:capabilities.elicitation
elicitation/complete           notification client client:capabilities.elicitation.url
mcp/connect                    request      client agent:capabilities.session.mcp.acp
mcp/disconnect                 request      client agent:capabilities.session.mcp.acp
$/cancel_request               notification both   -
"""


def in_words(method: Method) -> list[str]:
    gate = f"{method.gate.side}:{method.gate.path}" if method.gate else "-"
    return [method.name, method.kind, method.side, gate]


def test_the_table_is_the_protocols_list() -> None:
    assert sorted(map(in_words, v2.METHODS)) == sorted(line.split() for line in LISTED.split("\n") if line)


@pytest.mark.parametrize("method", v2.METHODS, ids=lambda method: f"{method.name}-{method.kind}")
def test_params_and_result_are_those_of_the_schema(method: Method) -> None:
    for name in filter(None, (method.params_name, method.result_name)):
        assert DEFS[name]["x-method"] == method.name
    assert method.params is getattr(v2, method.params_name)
    assert (method.result is None) == (method.kind == "notification")


@pytest.mark.parametrize("method", v2.METHODS, ids=lambda method: f"{method.name}-{method.kind}")
def test_each_params_type_knows_its_method(method: Method) -> None:
    base = Request if method.kind == "request" else Notification
    arms = method.params.__args__ if hasattr(method.params, "__metadata__") else [method.params]
    kinds = [kind for arm in arms for kind in getattr(arm, "__args__", [arm])]
    assert kinds
    for kind in kinds:
        assert issubclass(kind, base)
        assert method.name == kind.METHOD


def test_unstable_methods_are_those_the_schema_marks() -> None:
    stable = {method.name for method in v2.METHODS if method.stable}
    assert {"initialize", "auth/login", "session/prompt", "session/update", "$/cancel_request"} <= stable
    marked = {s["x-method"] for s in DEFS.values() if "x-method" in s and "UNSTABLE" in s.get("description", "")}
    opened_by_an_unstable_capability = {"nes/", "document/"}
    unstable = {method.name for method in v2.METHODS if not method.stable}
    assert unstable == marked | {
        method.name for method in v2.METHODS if method.name.startswith(tuple(opened_by_an_unstable_capability))
    }


INFO = v2.Implementation(name="n", version="1")


def agent(**members: Any) -> v2.InitializeResponse:
    return v2.InitializeResponse(protocol_version=2, info=INFO, **members)


def test_a_gate_is_open_when_every_step_is_advertised() -> None:
    """INI-11"""
    delete = Gate("agent", "capabilities.session.delete")
    assert not delete.is_open(agent())
    assert not delete.is_open(agent(capabilities=v2.AgentCapabilities(session=v2.SessionCapabilities())))
    session = v2.SessionCapabilities(delete=v2.SessionDeleteCapabilities())
    assert delete.is_open(agent(capabilities=v2.AgentCapabilities(session=session)))


def test_login_is_open_only_with_a_method_to_log_in_by() -> None:
    """AUTH-1"""
    gate = v2.REQUESTS["auth/login"].gate
    assert gate is not None
    assert not gate.is_open(agent())
    assert gate.is_open(agent(auth_methods=[v2.AuthMethodAgent(method_id="m", name="n")]))


@pytest.mark.parametrize("gate", sorted({(m.gate.side, m.gate.path) for m in v2.METHODS if m.gate}), ids=str)
def test_every_gate_can_be_opened(gate: tuple[str, str]) -> None:
    side, path = gate
    message: dict[str, Any] = {"protocolVersion": 2, "info": {"name": "n", "version": "1"}}
    kind = v2.InitializeResponse if side == "agent" else v2.InitializeRequest
    assert not Gate(*gate).is_open(msgspec.convert(message, kind))  # type: ignore[arg-type]
    *steps, last = path.split(".")
    inner = message
    for step in steps:
        inner = inner.setdefault(step, {})
    inner[last] = [{"type": "agent", "methodId": "m", "name": "n"}] if last == "authMethods" else {}
    if last == "didChange":
        inner[last] = {"syncKind": "full"}
    assert Gate(*gate).is_open(msgspec.convert(message, kind))  # type: ignore[arg-type]
