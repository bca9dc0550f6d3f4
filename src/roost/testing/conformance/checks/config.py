"""Config options: always whole, and changed only by what fits."""

from __future__ import annotations

from typing import Any

from roost.testing.conformance.bench import INVALID_PARAMS, SHOULD, Bench, Skip
from roost.testing.conformance.peer import Json, Peer
from roost.testing.conformance.registry import check


async def _options(bench: Bench) -> tuple[Peer, str, list[Json]]:
    bench.need_sessions()
    peer = await bench.ready()
    session = await bench.new_session(peer)
    for part in peer.came():
        result = part.get("result") if isinstance(part, dict) else None
        if isinstance(result, dict) and result.get("sessionId") == session:
            listed = result.get("configOptions")
            options = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
            if options:
                return peer, session, options
    raise Skip("sessions have no config options")


def values_of(option: Json) -> list[Any]:
    """What a select offers, groups opened."""
    out = []
    for one in option.get("options") or ():
        if isinstance(one, dict):
            out += [x.get("value") for x in one["options"]] if "groupId" in one else [one.get("value")]
    return out


def _change(option: Json) -> Json | None:
    """Another value for it."""
    if option.get("type") == "boolean":
        return {"type": "boolean", "value": not option.get("currentValue")}
    if option.get("type") == "select":
        others = [value for value in values_of(option) if value != option.get("currentValue")]
        return {"type": "id", "value": others[0]} if others else None
    return None


@check("config.set", "CFG-1", "CFG-6", "O-01")
async def set_option(bench: Bench) -> None:
    """Setting an option answers with all options, the new value among them."""
    peer, session, options = await _options(bench)
    for option in options:
        change = _change(option)
        if change is None:
            continue
        params = {"sessionId": session, "configId": option.get("configId"), **change}
        answer = await peer.call("session/set_config_option", params)
        result = bench.expect_result("CFG-1", "session/set_config_option with an offered value", answer)
        listed = result.get("configOptions")
        if not isinstance(listed, list):
            bench.stop("CFG-6", "the whole list of configOptions in the answer", answer)
        now = {one.get("configId"): one for one in listed if isinstance(one, dict)}
        if option.get("configId") not in now:
            bench.fail("CFG-1", "the whole list of options, not the changed ones", answer)
        elif now[option.get("configId")].get("currentValue") != change["value"]:
            bench.fail("CFG-1", "the new value in the answer", answer)
        for missing in [one for one in options if one.get("configId") not in now]:
            same = {"type": "boolean" if missing.get("type") == "boolean" else "id", "value": missing["currentValue"]}
            params = {"sessionId": session, "configId": missing.get("configId"), **same}
            if "result" in await peer.call("session/set_config_option", params):
                bench.fail("CFG-1", "every option that can still be set in the answer", answer)


@check("config.bad-value", "CFG-5", "O-02", "O-03")
async def bad_value(bench: Bench) -> None:
    """An unknown option, an unknown value, another type or none is refused, and changes nothing."""
    peer, session, options = await _options(bench)
    option = options[0]
    id = option.get("configId")
    wrong = {"type": "boolean", "value": True} if option.get("type") == "select" else {"type": "id", "value": "x"}
    bad: list[Json] = [
        {"configId": "roost-check-none", "type": "id", "value": "x"},
        {"configId": id, "type": "id", "value": "roost-check-none"},
        {"configId": id, **wrong},
        {"configId": id, "value": option.get("currentValue")},
    ]
    for params in bad:
        answer = await peer.call("session/set_config_option", {"sessionId": session, **params})
        bench.expect_error(
            "CFG-5", f"session/set_config_option with {params}", answer, INVALID_PARAMS, code_level=SHOULD
        )
    same = {"type": "boolean" if option.get("type") == "boolean" else "id", "value": option.get("currentValue")}
    answer = await peer.call("session/set_config_option", {"sessionId": session, "configId": id, **same})
    listed = bench.expect_result("CFG-5", "setting an option to its current value", answer).get("configOptions")
    if isinstance(listed, list) and listed != options:
        bench.advise("CFG-5", "refused settings to change nothing", listed)
