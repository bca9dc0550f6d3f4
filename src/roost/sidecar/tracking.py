"""Modes, options and turns of a session, kept up to date by what its agent tells and by what callers choose (4.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from roost.sidecar.answers import Answer
from roost.sidecar.payloads import decoded, items, members, string, update_body

if TYPE_CHECKING:
    from roost.sidecar.sessions import Session

SET_MODE: Final = "session/set_mode"
SET_OPTION: Final = "session/set_config_option"

_FACTS = ("current_mode_update", "config_option_update", "config_options_update")
TRACKED: Final = frozenset((*_FACTS, "state_update", "session_info_update", "usage_update"))


class Choice:
    """A mode or an option that a caller wants; while its request is open, what the agent itself tells is noticed."""

    __slots__ = ("mode", "told", "value")

    def __init__(self, mode: str | None, value: msgspec.Raw | None = None) -> None:
        self.mode = mode
        self.value = value
        self.told = False  # the agent has told of it itself


def choice_of(method: str, params: Mapping[str, msgspec.Raw]) -> Choice | None:
    """What a request chooses, or None: nothing that can be kept track of."""
    if method == SET_MODE:
        mode = string(params.get("modeId"))
        return None if mode is None else Choice(mode)
    if method == SET_OPTION and "value" in params and string(params.get("configId")) is not None:
        return Choice(None, params["value"])
    return None


def chosen(session: Session, choice: Choice, params: Mapping[str, msgspec.Raw], answer: Answer) -> None:
    """The agent has agreed. It is kept, and told once: what the agent has told of it itself is the latest."""
    facts = session.facts
    if choice.mode is not None:
        if not choice.told:
            update = facts.mode_chosen(choice.mode)
            session.keep_facts()
            session.tell(update)
        return
    answered = items((members(answer.result) or {}).get("configOptions"))
    if choice.told and answered is None:
        return
    assert choice.value is not None
    changed = facts.option_chosen(string(params.get("configId")) or "", choice.value, answered)
    if changed is not None:
        session.keep_facts()
        if not choice.told:
            session.tell(changed)


def told(session: Session, line: bytes, update: str) -> None:
    """An update of the agent's, of one of the kinds that are TRACKED."""
    body = update_body(line)
    match update:
        case "state_update":
            state = string(body.get("state"))
            if state is not None:
                busy, reason = session.turns.busy, string(body.get("stopReason"))
                session.turns.state_told(state, reason)
                if session.turns.busy and not busy:  # a turn nobody asked for, or the next of several prompts
                    session.turn_began()
                if busy and not session.turns.busy:
                    session.turn_ended(reason, decoded(body.get("usage")))
        case "session_info_update" | "usage_update":
            if session.journal is not None and update == "usage_update":
                session.journal.change(usage=msgspec.json.encode(body).decode())
            elif session.journal is not None and "title" in body:
                session.journal.change(title=string(body["title"]))
        case "current_mode_update":
            mode = string(body.get("currentModeId"))
            if mode is not None:
                session.facts.mode_chosen(mode)
                for choice in session.choices:
                    choice.told = choice.told or choice.mode == mode
                session.keep_facts()
        case _:
            options = items(body.get("configOptions"))
            if options is not None:
                session.facts.options_told(options)
                for choice in session.choices:
                    choice.told = choice.told or choice.mode is None
                session.keep_facts()
