"""A question that fails is a no, of one kind whether it asks for a permission, a form or a visit (PER-5, ELI-10)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import AgentExited, ConnectionClosed, LocalProtocolError, RemoteProtocolError, RpcError
from roost.sdk.asking import ask_permission, form_outcome, url_outcome
from roost.sdk.elicitation import Action
from roost.sdk.permissions import Answer

CAPABILITIES = v2.ClientCapabilities(
    elicitation=v2.ElicitationCapabilities(form=v2.ElicitationFormCapabilities(), url=v2.ElicitationUrlCapabilities())
)
FAILURES = [
    (RpcError(-32800, "cancelled"), "cancelled"),
    (RpcError(-32603, "broken"), "refused"),
    (RemoteProtocolError("an answer that is none"), "invalid"),
    (ConnectionClosed("gone"), "disconnected"),
    (AgentExited("gone", 1), "disconnected"),
    (TimeoutError(), "timed_out"),
]


class Asked:
    """Whoever is asked fails with `error`."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.id = "s"
        self.remembered: dict[str, Any] = {}
        self.link: Any = SimpleNamespace(capabilities=CAPABILITIES, new_elicitation_id=lambda: "e1")

    async def ask(self, request: Any) -> Any:
        raise self.error

    async def permission(self) -> Any:
        return await ask_permission(self, "May I?", None, None, None, "key", None, None)  # type: ignore[arg-type]

    async def form(self) -> Any:
        return await form_outcome(self.link, self.ask, {"session_id": "s"}, "Who?", v2.ElicitationSchema())

    async def visit(self) -> Any:
        return await url_outcome(self.link, self.ask, {"session_id": "s"}, "Log in", "https://example.org/")


@pytest.mark.parametrize(("error", "ending"), FAILURES)
async def test_each_way_to_fail_is_a_no_of_its_own_kind(error: Exception, ending: str) -> None:
    asked = Asked(error)
    permission, form, visit = await asked.permission(), await asked.form(), await asked.visit()
    assert (permission.answer, form.action, visit.action) == (Answer(ending), Action(ending), Action(ending))
    assert not permission
    assert not form
    assert not visit
    assert asked.remembered == {}


@pytest.mark.parametrize("error", [LocalProtocolError("a wrong question"), KeyError("a fault of ours")])
async def test_a_fault_that_is_nobodys_answer_is_raised(error: Exception) -> None:
    asked = Asked(error)
    for question in (asked.permission, asked.form, asked.visit):
        with pytest.raises(type(error)):
            await question()
