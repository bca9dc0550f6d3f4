"""Other people's software for the interoperability tests, or the reason why it is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.interop.clients import PYTHON_SDK
from tools.interop.install import install
from tools.interop.pins import Npm, Pin, Unavailable


def installed(pin: Pin, *, own_node: bool = False) -> None:
    """Skips locally and fails in CI when it is not there; `make test` has installed it where that is possible.

    `own_node`: it is not run by this machine's.
    """
    if not pin.installed:
        absent(f"{pin.spec}; make test installs it, or: python -m tools.interop.install")
    if pin.lacking is not None and not own_node:
        absent(pin.lacking)


def npm(package: str, version: str) -> Path:
    """The `node_modules` that holds exactly this version. Without npm: skipped locally, failed in CI."""
    pin = Npm(package, version)
    try:
        install(pin)
    except Unavailable as error:
        absent(str(error))
    return pin.modules


def python_sdk_examples() -> Path:
    """The `examples` folder of the official Python SDK, which only its source distribution has."""
    try:
        install(PYTHON_SDK)
    except Unavailable as error:
        absent(str(error))
    return PYTHON_SDK.folder / "examples"


def absent(what: str) -> None:
    text = f"needs {what}"
    if os.environ.get("CI"):
        pytest.fail(text)
    pytest.skip(text)
