"""What the text of an error is, and that it survives being copied to another process."""

from __future__ import annotations

import pickle

import pytest

from roost.errors import (
    AgentExited,
    CapabilityError,
    CatalogueError,
    CodecError,
    ConfigError,
    ConnectionClosed,
    LimitError,
    ProcessError,
    RoostError,
    RpcError,
    SidecarError,
    StoreError,
    UnsupportedVersion,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RoostError(), ""),
        (ConfigError("the file is missing"), "the file is missing"),
        (ConnectionClosed("it ended"), "it ended"),
        (CodecError("no number"), "no number"),
        (CodecError("no number", ("params", 0, "id")), "no number (at params[0].id)"),
        (LimitError("agents", 3), "limit agents of 3 reached"),
        (LimitError("agents", 3, "no more agents"), "no more agents"),
        (CapabilityError("no images", "prompt[0]"), "no images"),
        (UnsupportedVersion(3, "it speaks 3"), "it speaks 3"),
        (RpcError(-32000, "log in", {"a": 1}), "log in (-32000)"),
        (SidecarError("unknown_session", "no such session"), "no such session"),
        (AgentExited("it is gone", -9, "last words"), "it is gone"),
        (ProcessError("no program", 127), "no program"),
        (CatalogueError("no such agent", "unknown"), "no such agent"),
        (StoreError("the disk is full", "full"), "the disk is full"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, RoostError) else "",
)
def test_the_text_of_an_error_is_its_sentence_here_and_in_another_process(error: RoostError, text: str) -> None:
    assert str(error) == text
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied), vars(copied)) == (type(error), text, vars(error))
