"""The unstable parts, where they are advertised: providers and edit suggestions."""

from __future__ import annotations

from roost.testing.conformance.bench import INVALID_PARAMS, SHOULD, Bench
from roost.testing.conformance.peer import Json
from roost.testing.conformance.registry import check


@check("providers.list", "PRV-1", "O-10")
async def providers(bench: Bench) -> None:
    """Providers are listed, without headers."""
    bench.need("providers")
    peer = await bench.ready()
    result = bench.expect_result("PRV-1", "providers/list", await peer.call("providers/list", {}))
    listed = result.get("providers")
    if not isinstance(listed, list):
        bench.stop("PRV-1", "a list of providers", result)
    for provider in listed:
        current = provider.get("current") if isinstance(provider, dict) else None
        if "headers" in (provider if isinstance(provider, dict) else {}) or "headers" in (current or {}):
            bench.fail("PRV-1", "no headers in providers/list: they are secret", "a provider with headers")


@check("providers.unknown", "PRV-2", "PRV-3", "O-13")
async def unknown_provider(bench: Bench) -> None:
    """Setting an unknown provider is refused; disabling it succeeds."""
    bench.need("providers")
    peer = await bench.ready()
    params = {"providerId": "roost-check-none", "apiType": "openai", "baseUrl": "http://127.0.0.1:9"}
    answer = await peer.call("providers/set", params)
    bench.expect_error("PRV-2", "providers/set of an unknown provider", answer, INVALID_PARAMS, code_level=SHOULD)
    answer = await peer.call("providers/disable", {"providerId": "roost-check-none"})
    if "error" in answer:
        bench.advise("PRV-3", "providers/disable of an unknown provider to succeed", answer)


@check("providers.required", "PRV-3", "O-12")
async def required_provider(bench: Bench) -> None:
    """A required provider cannot be disabled."""
    bench.need("providers")
    peer = await bench.ready()
    listed = (await peer.call("providers/list", {})).get("result", {}).get("providers")
    for provider in listed if isinstance(listed, list) else ():
        if isinstance(provider, dict) and provider.get("required") is True:
            answer = await peer.call("providers/disable", {"providerId": provider.get("providerId")})
            bench.expect_error("PRV-3", "providers/disable of a required one", answer, INVALID_PARAMS)


@check("nes.session", "NES-1", "NES-5", "NES-8")
async def suggestions(bench: Bench) -> None:
    """A suggestion session starts, suggests and closes; a closed or unknown one does not suggest."""
    bench.need("nes")
    peer = await bench.ready()
    result = bench.expect_result("NES-1", "nes/start", await peer.call("nes/start", {}))
    session = result.get("sessionId")
    if not isinstance(session, str):
        bench.stop("NES-1", "a sessionId in the answer to nes/start", result)
    uri = (bench.workspace / "notes.txt").as_uri()
    document = {"sessionId": session, "uri": uri, "languageId": "plaintext", "version": 1, "text": "one\ntwo\n"}
    if bench.profile.has("nes.events.document.didOpen"):
        peer.notify("document/didOpen", document)
    params: Json = {
        "sessionId": session,
        "uri": uri,
        "version": 1,
        "position": {"line": 0, "character": 3},
        "triggerKind": "manual",
    }
    result = bench.expect_result("NES-5", "nes/suggest", await peer.call("nes/suggest", params))
    for suggestion in result.get("suggestions") or ():
        if isinstance(suggestion, dict) and suggestion.get("kind") == "edit" and not suggestion.get("edits"):
            bench.fail("NES-5", "edits in an edit suggestion", suggestion)
    bench.expect_result("NES-8", "nes/close", await peer.call("nes/close", {"sessionId": session}))
    answer = await peer.call("nes/suggest", params)
    bench.expect_error("NES-8", "nes/suggest of a closed session", answer)


@check("nes.kinds", "NES-5", "INI-19", "O-20")
async def kinds(bench: Bench) -> None:
    """A client that offers no further kinds is sent edits alone."""
    bench.need("nes")
    peer = await bench.ready({})
    session = (await peer.call("nes/start", {})).get("result", {}).get("sessionId")
    uri = (bench.workspace / "notes.txt").as_uri()
    params: Json = {
        "sessionId": session,
        "uri": uri,
        "version": 1,
        "position": {"line": 0, "character": 0},
        "triggerKind": "automatic",
    }
    answer = await peer.call("nes/suggest", params)
    for suggestion in answer.get("result", {}).get("suggestions") or ():
        if isinstance(suggestion, dict) and suggestion.get("kind") in ("jump", "rename", "searchAndReplace"):
            bench.fail("NES-5", "suggestions of kinds the client has advertised", suggestion, SHOULD)
