"""`initialize` between the versions: who speaks, what they can do, how one logs in (spec of the bridge: 4.1)."""

from __future__ import annotations

from typing import Any, Final

from roost.acp.bridge.losses import Losses
from roost.acp.bridge.payload import (
    Json,
    as_object,
    as_text,
    is_offered,
    noted,
    objects,
    picked,
    with_meta,
    without_note,
)

_PROMPT: Final = ("image", "audio", "embeddedContext")
_SHARED_AGENT: Final = ("providers", "nes", "positionEncoding")
_SHARED_CLIENT: Final = ("elicitation", "nes", "positionEncodings")


# ---- a v1 agent, toward v2


def client_to_v1(params: Json, services: Json) -> Json:
    """A v2 client's `initialize` as a v1 agent gets it; `services` are the `fs` and `terminal` the driver serves."""
    client = as_object(params.get("capabilities"))
    capabilities: Json = {
        "fs": {
            "readTextFile": as_object(services.get("fs")).get("readTextFile") is True,
            "writeTextFile": as_object(services.get("fs")).get("writeTextFile") is True,
        },
        "terminal": services.get("terminal") is True,
        "auth": {"terminal": as_object(client.get("auth")).get("terminal") is not None},
        "session": {"configOptions": {"boolean": {}}},
        "plan": {},
        **picked(client, *_SHARED_CLIENT),
    }
    v1: Json = {"protocolVersion": 1, "clientCapabilities": with_meta(capabilities, client)}
    info = as_object(params.get("info"))
    if info:
        v1["clientInfo"] = info
    return with_meta(v1, params)


def agent_to_v2(result: Json, name: str, client: Json, losses: Losses, *, relays_mcp: bool = False) -> Json:
    """A v1 agent's answer as a v2 client gets it. What an agent leaves out is made up (B-36).

    The bridge's note says that it is one, and what it stands in for: `list`, `resume`, `close`, `logout`, `replay`,
    `mcp`. `name` is what it is called when it does not say; `client` the v2 client's `initialize`; `relays_mcp`: the
    client's own MCP servers can be used even if the agent knows nothing of such.
    """
    v1 = as_object(result.get("agentCapabilities"))
    of_session = as_object(v1.get("sessionCapabilities"))
    of_prompt = as_object(v1.get("promptCapabilities"))
    of_mcp = as_object(v1.get("mcpCapabilities"))
    prompt: Json = {kind: {} for kind in _PROMPT if is_offered(of_prompt.get(kind))}
    mcp: Json = {"stdio": {}, **{kind: {} for kind in ("http", "acp") if is_offered(of_mcp.get(kind))}}
    relays_mcp = relays_mcp and "acp" not in mcp
    if relays_mcp:
        mcp["acp"] = {}
    if is_offered(of_mcp.get("sse")):
        losses.count("mcp_sse")
    session: Json = {"prompt": with_meta(prompt, of_prompt), "mcp": with_meta(mcp, of_mcp)}
    for kind in ("delete", "fork", "additionalDirectories"):
        if is_offered(of_session.get(kind)):
            session[kind] = as_object(of_session[kind])
    capabilities: Json = {"session": with_meta(session, of_session)}
    for kind in ("providers", "nes"):
        if is_offered(v1.get(kind)):
            capabilities[kind] = as_object(v1[kind])
    if isinstance(v1.get("positionEncoding"), str):
        capabilities["positionEncoding"] = v1["positionEncoding"]
    auth = with_meta({}, v1.get("auth"))
    if auth:
        capabilities["auth"] = auth
    info = as_object(result.get("agentInfo"))
    v2: Json = {
        "protocolVersion": 2,
        "info": with_meta(
            {
                "name": as_text(info.get("name"), name),
                "version": as_text(info.get("version"), "0"),
                **({"title": info["title"]} if isinstance(info.get("title"), str) else {}),
            },
            info,
        ),
        "capabilities": with_meta(capabilities, v1),
    }
    with_terminal = as_object(as_object(client.get("capabilities")).get("auth")).get("terminal") is not None
    methods = [_auth_to_v2(method) for method in objects(result.get("authMethods"))]
    # AUTH-5: a login in a terminal only for those who can show one
    methods = [method for method in methods if method["type"] != "terminal" or with_terminal]
    if methods:
        v2["authMethods"] = methods
    lacking = [kind for kind in ("list", "resume", "close") if not is_offered(of_session.get(kind))]
    if not is_offered(v1.get("loadSession")):
        lacking.append("replay")
    if methods and not is_offered(as_object(v1.get("auth")).get("logout")):
        lacking.append("logout")
    if relays_mcp:
        lacking.append("mcp")
    return noted(with_meta(v2, result), protocolVersion=1, emulated=lacking)


def _auth_to_v2(method: Json) -> Json:
    identifier = method.get("id", method.get("methodId"))
    v2: Json = {name: value for name, value in method.items() if name not in ("id", "env") and value is not None}
    v2["type"] = as_text(method.get("type"), "agent")
    v2["methodId"] = identifier
    v2.setdefault("name", identifier)
    env = method.get("env")
    if isinstance(env, dict):
        v2["env"] = [{"name": name, "value": env[name]} for name in sorted(env)]
    elif env is not None:
        v2["env"] = env
    return v2


# ---- a v2 agent, toward v1


def client_to_v2(params: Json) -> Json:
    """A v1 client's `initialize` as a v2 agent gets it. Its files and terminals cannot be used in v2."""
    v1 = as_object(params.get("clientCapabilities"))
    capabilities: Json = picked(v1, *_SHARED_CLIENT)
    if is_offered(as_object(v1.get("auth")).get("terminal")):
        capabilities["auth"] = with_meta({"terminal": {}}, v1.get("auth"))
    client = as_object(params.get("clientInfo"))
    info: Json = {
        "name": as_text(client.get("name"), "acp-bridge"),
        "version": as_text(client.get("version"), "0"),
        **({"title": client["title"]} if isinstance(client.get("title"), str) else {}),
    }
    v2 = {"protocolVersion": 2, "info": with_meta(info, client), "capabilities": with_meta(capabilities, v1)}
    return with_meta(v2, params)


def agent_to_v1(result: Json, losses: Losses) -> Json:
    """A v2 agent's answer as a v1 client gets it."""
    v2 = as_object(result.get("capabilities"))
    session = as_object(v2.get("session"))
    capabilities: Json = {"loadSession": v2.get("session") is not None}
    prompt, mcp = as_object(session.get("prompt")), as_object(session.get("mcp"))
    of_prompt: Json = {kind: prompt.get(kind) is not None for kind in _PROMPT}
    of_mcp: Json = {"http": mcp.get("http") is not None, "sse": False}
    if mcp.get("acp") is not None:
        of_mcp["acp"] = True
    capabilities["promptCapabilities"] = with_meta(of_prompt, prompt)
    capabilities["mcpCapabilities"] = with_meta(of_mcp, mcp)
    if v2.get("session") is not None:
        of_session: Json = {"list": {}, "resume": {}, "close": {}}
        for kind in ("delete", "fork", "additionalDirectories"):
            if session.get(kind) is not None:
                of_session[kind] = session[kind]
        capabilities["sessionCapabilities"] = with_meta(of_session, session)
    capabilities.update(picked(v2, *_SHARED_AGENT))
    methods = [method for method in map(_auth_to_v1, objects(result.get("authMethods"))) if method is not None]
    for _ in range(len(objects(result.get("authMethods"))) - len(methods)):
        losses.count("auth_form")
    if methods:
        capabilities["auth"] = with_meta({"logout": {}}, v2.get("auth"))
    v1: Json = {"protocolVersion": 1, "agentCapabilities": with_meta(capabilities, v2), "authMethods": methods}
    if as_object(result.get("info")):
        v1["agentInfo"] = result["info"]
    return with_meta(v1, without_note(result))


def _auth_to_v1(method: Json) -> Json | None:
    """None for what v1 has no form for."""
    kind = method.get("type")
    if kind not in ("agent", "terminal", "env_var"):
        return None
    v1: Json = {name: value for name, value in method.items() if name not in ("methodId", "env", "type")}
    v1["id"] = method.get("methodId")
    if kind != "agent":
        v1["type"] = kind
    if kind == "terminal":
        env: dict[str, Any] = {}
        for variable in objects(method.get("env")):
            if variable.get("name") in env:
                return None
            env[as_text(variable.get("name"))] = variable.get("value")
        v1["env"] = env
    return v1
