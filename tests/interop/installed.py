"""Other people's software for the interoperability tests: pinned, installed once into the checkout's cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "interop"
INSTALL_TIMEOUT = 300


def npm(package: str, version: str) -> Path:
    """The `node_modules` that holds exactly this version. Without npm: skipped locally, failed in CI."""
    folder = CACHE / "npm" / f"{package.replace('/', '+')}@{version}"
    modules = folder / "node_modules"
    if (modules / package / "package.json").exists():
        return modules
    if shutil.which("npm") is None or shutil.which("node") is None:
        absent("node and npm (Debian: apt-get install nodejs npm)")
    draft = folder.with_name(f"{folder.name}.{os.getpid()}")
    draft.mkdir(parents=True)
    (draft / "package.json").write_text(json.dumps({"private": True}))
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", f"{package}@{version}"]
    try:
        subprocess.run(command, cwd=draft, check=True, capture_output=True, text=True, timeout=INSTALL_TIMEOUT)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        shutil.rmtree(draft, ignore_errors=True)
        absent(f"{package}@{version} from npm: {getattr(error, 'stderr', error)}")
    publish(draft, folder)
    return modules


def python_sdk_examples(version: str) -> Path:
    """The `examples` folder of the official Python SDK, which only its source distribution has."""
    folder = CACHE / "pypi" / f"agent-client-protocol-{version}"
    if (folder / "examples").is_dir():
        return folder / "examples"
    draft = folder.with_name(f"{folder.name}.{os.getpid()}")
    draft.mkdir(parents=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    command += ["--dest", str(draft), f"agent-client-protocol=={version}"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_TIMEOUT)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        shutil.rmtree(draft, ignore_errors=True)
        absent(f"agent-client-protocol=={version} from PyPI: {getattr(error, 'stderr', error)}")
    [archive] = draft.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(draft, filter="data")
    [unpacked] = [path for path in draft.iterdir() if path.is_dir()]
    publish(unpacked, folder)
    shutil.rmtree(draft, ignore_errors=True)
    return folder / "examples"


def publish(draft: Path, folder: Path) -> None:
    """All or nothing, also when two test runs install at once."""
    try:
        draft.rename(folder)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)


def absent(what: str) -> None:
    text = f"needs {what}"
    if os.environ.get("CI"):
        pytest.fail(text)
    pytest.skip(text)
